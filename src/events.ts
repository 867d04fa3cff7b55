/** Every event of the service and its payload. Names and shapes are those of the wire (docs/API.md). */
import type {
  ActiveMedia,
  IndexStatus,
  LaunchFinished,
  LaunchGuarded,
  MediaStopped,
  PlayTimeWarning,
  Reader,
  Running,
  Token,
} from "./core/shapes.ts";

export type { LaunchFinished, LaunchGuarded, MediaStopped, PlayTimeWarning, Running };

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
