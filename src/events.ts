/** Every event of the service and its payload. Names and shapes are those of the wire (docs/API.md). */
import type { ActiveMedia, IndexStatus } from "./core/media.ts";
import type { Reader, Token } from "./core/token.ts";

/** A script joined the launch queue. `script` is the text after mapping, `time` RFC 3339. */
export interface Running {
  readonly type: string;
  readonly uid: string;
  readonly text: string;
  readonly data: string;
  readonly time: string;
  readonly script: string;
}

/** Media has ended. `elapsed` in seconds; `exitCode` is null if a signal ended the player. */
export interface MediaStopped extends ActiveMedia {
  readonly elapsed: number;
  readonly exitCode: number | null;
  /** `ended` by itself, `stopped` on request, or `failed`: a code other than 0, or a signal. */
  readonly reason?: "ended" | "stopped" | "failed";
  /** A sentence, if it was stopped because its USB stick was removed. */
  readonly why?: string;
}

/** A script ended. `time` is that of its `running`. */
export interface LaunchFinished {
  readonly time: string;
  readonly uid: string;
  readonly text: string;
  readonly success: boolean;
  readonly error?: string;
  /** The file that was chosen for a title, if several files matched or none matched exactly. */
  readonly note?: string;
}

/** The launch guard holds back a card that would end what plays. `time` is that of its `running`. */
export interface LaunchGuarded {
  readonly time: string;
  readonly uid: string;
  readonly text: string;
  /** The name of what plays. */
  readonly playing: string;
  /** The time to confirm it, in milliseconds. */
  readonly confirmMs: number;
}

/** Play time ends in `minutesLeft` minutes; 0 means now. */
export interface PlayTimeWarning {
  readonly limit: "day" | "session";
  readonly minutesLeft: number;
}

export interface Events {
  "readers.added": Reader;
  "readers.removed": Reader;
  "tokens.added": Token;
  "tokens.removed": Token;
  running: Running;
  "media.started": ActiveMedia;
  /** mpv reports every pause; RetroArch only one by a card or over the API. */
  "media.paused": ActiveMedia;
  "media.resumed": ActiveMedia;
  "media.stopped": MediaStopped;
  "media.indexing": IndexStatus;
  "launch.finished": LaunchFinished;
  "launch.guarded": LaunchGuarded;
  "playtime.warning": PlayTimeWarning;
}

export type EventName = keyof Events;
