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

export interface Events {
  "readers.added": Reader;
  "readers.removed": Reader;
  "tokens.added": Token;
  "tokens.removed": Token;
  running: Running;
  "media.started": ActiveMedia;
  "media.stopped": MediaStopped;
  "media.indexing": IndexStatus;
  "launch.finished": LaunchFinished;
}

export type EventName = keyof Events;
