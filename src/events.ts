/** Every event of the service and its payload. Names and shapes are those of the wire (docs/API.md). */
import type { UpdateState } from "./core/device-shapes.ts";
import type * as shapes from "./core/shapes.ts";

export type { LaunchFinished } from "./core/shapes.ts";

export interface Events {
  "readers.added": shapes.Reader;
  "readers.removed": shapes.Reader;
  "tokens.added": shapes.Token;
  "tokens.removed": shapes.Token;
  "tokens.written": shapes.TokenWritten;
  running: shapes.Running;
  "media.started": shapes.ActiveMedia;
  /** mpv reports every pause; RetroArch only one by a card or over the API. */
  "media.paused": shapes.ActiveMedia;
  "media.resumed": shapes.ActiveMedia;
  "media.stopped": shapes.MediaStopped;
  "media.indexing": shapes.IndexStatus;
  "media.uploading": shapes.Uploading;
  "launch.finished": shapes.LaunchFinished;
  "playlist.opened": shapes.LoadedPlaylist;
  "launch.guarded": shapes.LaunchGuarded;
  "device.updating": UpdateState;
  "playtime.warning": shapes.PlayTimeWarning;
  "playtime.limit.warning": shapes.PlayTimeLimitWarning;
  "playtime.limit.reached": shapes.PlayTimeLimitReached;
  "clients.paired": shapes.ClientPaired;
}

export type EventName = keyof Events;
