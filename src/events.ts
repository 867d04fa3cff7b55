/**
 * Every event of the service and its payload. Names and shapes are the wire's (contract "Events", decisions
 * "Notification params"): there is no translation table.
 */
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

/** Media has ended. `elapsed` in seconds; `exitCode` is null where a signal ended the player. */
export interface MediaStopped extends ActiveMedia {
  readonly elapsed: number;
  readonly exitCode: number | null;
  /** `ended` by itself, `stopped` because it was asked to, or `failed`: a code other than 0, or a signal. */
  readonly reason?: "ended" | "stopped" | "failed";
  /** Why it was stopped, as a sentence, where its USB stick was removed. */
  readonly why?: string;
}

/** A script ended. `time` is that of its `running`. */
export interface LaunchFinished {
  readonly time: string;
  readonly uid: string;
  readonly text: string;
  readonly success: boolean;
  readonly error?: string;
  /** Which file a title was taken for, where several fitted or none quite. */
  readonly note?: string;
}

/** The launch guard holds a card back that would end what plays. `time` is that of its `running`. */
export interface LaunchGuarded {
  readonly time: string;
  readonly uid: string;
  readonly text: string;
  /** The name of what plays. */
  readonly playing: string;
  /** How long it may be confirmed, in milliseconds. */
  readonly confirmMs: number;
}

/** Play time comes to its end: in `minutesLeft`, or, where that is 0, now. */
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
  /** Its player pauses, and goes on, as far as it tells: mpv at once, RetroArch where it is asked. */
  "media.paused": ActiveMedia;
  "media.resumed": ActiveMedia;
  "media.stopped": MediaStopped;
  "media.indexing": IndexStatus;
  "launch.finished": LaunchFinished;
  "launch.guarded": LaunchGuarded;
  "playtime.warning": PlayTimeWarning;
}

export type EventName = keyof Events;
