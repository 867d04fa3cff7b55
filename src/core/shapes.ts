/**
 * The data that the service keeps, sends and returns, as schemas of docs/API.md; the types are inferred from them. Times are
 * RFC 3339. Other files import only the types, so the jobs of the index and the screen load no schemas.
 */
import * as v from "valibot";
import { launchReasonCodes } from "./faults.ts";
import { roles } from "./rights.ts";

/** Recursively read-only. */
export type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;

/** The value of a schema, recursively read-only. */
export type ValueOf<Schema extends v.GenericSchema> = Frozen<v.InferOutput<Schema>>;

export const time = v.pipe(v.string(), v.isoTimestamp());
export const integer = v.pipe(v.number(), v.integer());
export const count = v.pipe(integer, v.minValue(0));
const text = v.string();
const optionalText = v.exactOptional(text);

/** The content of a token. Absent fields are empty, because existing clients expect that. */
const content = { type: text, uid: text, text, data: text };

/** The reason why a tag on a reader has no text. */
export const tagProblems = [
  /** The tag is formatted and has no message. */
  "blank",
  /** The tag is not formatted for NDEF. */
  "unformatted",
  /** The message is truncated or malformed. */
  "half-written",
  /** The message holds no text and no URI. */
  "other-message",
  /** The memory requires a password or a key. */
  "locked",
  /** The memory should be readable, but could not be read. */
  "unreadable",
] as const;
export type TagProblem = (typeof tagProblems)[number];

export const token = v.object({
  ...content,
  scanTime: time,
  /** Empty for tokens that came from the API. */
  readerId: text,
  problem: v.exactOptional(v.picklist(tagProblems)),
  /** Absent or false, as in `Sighting`. If it is false, a removal never stops the media. */
  removable: v.exactOptional(v.literal(false)),
});
export type Token = ValueOf<typeof token>;
/** Launch parameters: at least one of uid, text and data is not empty. */
export type TokenParams = Pick<Token, keyof typeof content>;

export const reader = v.object({
  /** The device path, like `path`, because existing clients show it. */
  id: text,
  /** Stable over restarts and re-plugging of the same port. */
  readerId: text,
  /** Driver id, such as `pn532-uart`. */
  driver: text,
  path: text,
  /** A name for people, such as `PN532 v1.6`. */
  info: text,
  connected: v.boolean(),
  capabilities: v.array(v.picklist(["read", "write", "removable"])),
});
export type Reader = ValueOf<typeof reader>;
/** A reader that is not connected, or a port that did not open as one. For a wrong name, only the reason is known. */
export const refusedReader = v.object({
  driver: optionalText,
  path: optionalText,
  /** A sentence for people. */
  why: text,
});
export type RefusedReader = ValueOf<typeof refusedReader>;

/** The field of the token with which a mapping's pattern is compared. */
const mappingType = v.picklist(["uid", "text", "data"]);
export const mappingMatch = v.picklist(["exact", "partial", "regex"]);
/** A rule that replaces the text of matching tokens before they are launched. */
export const mapping = v.object({
  id: integer,
  added: time,
  enabled: v.boolean(),
  /** May be empty. */
  label: text,
  type: mappingType,
  match: mappingMatch,
  pattern: text,
  /** Replaces the token's text. */
  override: text,
  /** True for a mapping in a file of the owner's. */
  readOnly: v.exactOptional(v.boolean()),
  /** The name of that file in the folder `mappings` of the settings. */
  file: optionalText,
});
export type ListedMapping = ValueOf<typeof mapping>;
export type Mapping = Omit<ListedMapping, "readOnly" | "file">;
export type MappingParams = Omit<Mapping, "id" | "added">;

/** A game console or kind of media that files are grouped under. */
export const system = v.object({ id: text, name: text, category: text });
export type System = ValueOf<typeof system>;

/** A tag in the name of a file: `Rev 1` of `Game (Rev 1).sfc` has the type `rev`. */
export const mediaTag = v.object({
  type: v.picklist(["region", "lang", "rev", "disc", "status", "unknown"]),
  /** In lower case. */
  tag: text,
});
export type MediaTag = ValueOf<typeof mediaTag>;

/** The tags in an audio file, if it has them. */
export const audioTags = v.object({
  title: optionalText,
  artist: optionalText,
  album: optionalText,
  track: v.exactOptional(count),
  disc: v.exactOptional(count),
  durationMs: v.exactOptional(count),
});
export type AudioTags = ValueOf<typeof audioTags>;

/** A file of the index. */
export const mediaItem = v.object({
  system,
  /** File name without extension. */
  name: text,
  /** `<system id>/<path below the system's folder>`, if the path has that form. */
  path: text,
  tags: v.array(mediaTag),
  /** A script that launches it. */
  zapScript: text,
  /** The tags of an audio file, once they were read. */
  audio: v.exactOptional(audioTags),
});
export type Media = ValueOf<typeof mediaItem>;

const startedMedia = {
  systemId: text,
  systemName: text,
  /** Absolute path of the file. */
  mediaPath: text,
  /** File name without extension. */
  mediaName: text,
  launcherId: text,
  started: time,
};
export const mediaStarted = v.object(startedMedia);
/** A text was written to a tag and read back. The tag is launched only after it was removed and put on the reader again. */
export const tokenWritten = v.object({ readerId: v.string(), uid: v.string() });
export type TokenWritten = ValueOf<typeof tokenWritten>;

/** Media has ended. `elapsed` in seconds; `exitCode` is null if a signal ended the player. */
export const mediaStopped = v.object({
  ...startedMedia,
  elapsed: count,
  exitCode: v.nullable(integer),
  /** `ended`: by itself; `stopped`: on request; `failed`: with a code other than 0, or by a signal. */
  reason: v.exactOptional(v.picklist(["ended", "stopped", "failed"])),
  /** A sentence, if the media was stopped because its USB stick was removed. */
  why: optionalText,
  /** The name of that stick. */
  stick: optionalText,
});
export type MediaStopped = ValueOf<typeof mediaStopped>;
/** `loading`: started, and not yet visible; `buffering`: waiting for more of the file. */
const playbackStates = ["loading", "playing", "paused", "buffering"] as const;

/** The media that is playing. Position, duration, state and volume (percent) are present only if the player reports them. */
export const activeMedia = v.object({
  ...startedMedia,
  /** The present title of a web radio, in the words of its station. */
  streamTitle: v.exactOptional(v.string()),
  /** The tags of an audio file of the index. */
  audio: v.exactOptional(audioTags),
  positionMs: v.exactOptional(count),
  durationMs: v.exactOptional(count),
  playbackState: v.exactOptional(v.picklist(playbackStates)),
  volume: v.exactOptional(count),
  /** The disc in the drive, from 1, and the number of discs of the game. */
  disc: v.exactOptional(v.object({ number: count, of: count })),
});
export type ActiveMedia = ValueOf<typeof activeMedia>;

export const uploadFields = {
  id: text,
  system: text,
  /** Relative to the folder of the system. */
  path: text,
  size: count,
  /** The bytes that are on the device. */
  offset: count,
};
/** An upload has begun or continued, has become a media file, or was deleted. */
export const uploading = v.object({
  ...uploadFields,
  state: v.picklist(["started", "progress", "finished", "cancelled"]),
});
export type Uploading = ValueOf<typeof uploading>;

/** The state of the index. Counts are absent until they are known. */
export const indexStatus = v.object({
  exists: v.boolean(),
  indexing: v.boolean(),
  optimizing: v.boolean(),
  totalSteps: v.exactOptional(count),
  currentStep: v.exactOptional(count),
  currentStepDisplay: optionalText,
  totalFiles: v.exactOptional(count),
  totalMedia: v.exactOptional(count),
  /** While the tags of audio files are read, after a run of the index: files read, and files to be read. */
  tagsRead: v.exactOptional(count),
  tagsTotal: v.exactOptional(count),
});
export type IndexStatus = ValueOf<typeof indexStatus>;

/** A row of the launch history, as `tokens.history` returns it. */
export const launchEntry = v.object({
  ...content,
  /** True for a launch that succeeded, or that still runs. */
  success: v.boolean(),
  state: v.picklist(["running", "done", "failed"]),
  time,
  readerId: optionalText,
  /** The text after mapping. */
  script: optionalText,
  /** A sentence about the failure; present only if `success` is false. */
  error: optionalText,
  /** The code of the failure. Rows of a version without codes have none. */
  reason: optionalText,
});
export type LaunchEntry = ValueOf<typeof launchEntry>;

/** A card of the history. */
export const tappedCard = v.object({
  uid: text,
  /** The text on the card at its last tap. */
  text,
  /** The text that this tap launched, after mapping. */
  script: text,
  lastTap: time,
  taps: count,
});
export type TappedCard = ValueOf<typeof tappedCard>;

/** The playlist that is loaded. `place` is the item that plays or is next, from 1. */
export const loadedPlaylist = v.object({
  /** The path of the playlist; empty for a list that is on the card. */
  path: text,
  name: text,
  place: count,
  count,
  state: v.picklist(["playing", "paused"]),
  isShuffled: v.boolean(),
  repeat: v.picklist(["no", "all", "one"]),
  /**
   * Up to 100 items from `place` on, to choose from. The field is present only after `playlist.open`, until an item
   * starts.
   */
  items: v.exactOptional(v.array(v.object({ place: count, name: text }))),
});
export type LoadedPlaylist = ValueOf<typeof loadedPlaylist>;

/** A script joined the launch queue. `script` is the text after mapping. */
export const running = v.object({ ...content, time, script: text });
export type Running = ValueOf<typeof running>;

/** A script ended. `time` is the time of the `running` of this launch. */
export const launchFinished = v.object({
  time,
  uid: text,
  text,
  success: v.boolean(),
  error: optionalText,
  /** The code of the error. */
  reason: v.exactOptional(v.picklist(launchReasonCodes)),
  /** The subject of the reason, such as a USB stick. */
  subject: optionalText,
  /** The file that was chosen for a title, if several files matched or none matched exactly. */
  note: optionalText,
  /** The traits of its script, `#key=value`. */
  traits: v.exactOptional(v.record(v.string(), v.string())),
});
export type LaunchFinished = ValueOf<typeof launchFinished>;

/**
 * The launch guard holds back a card that would end the current media. `time` is the time of the `running` of this
 * launch.
 */
export const launchGuarded = v.object({
  time,
  uid: text,
  text,
  /** The name of the current media. */
  playing: text,
  /** The time to confirm the card, in milliseconds. */
  confirmMs: count,
});
export type LaunchGuarded = ValueOf<typeof launchGuarded>;

/** Play time ends in `minutesLeft` minutes; 0 means now. */
export const playTimeWarning = v.object({ limit: v.picklist(["day", "session"]), minutesLeft: count });
export type PlayTimeWarning = ValueOf<typeof playTimeWarning>;

/** The same event as `playTimeWarning`, for known apps, with durations such as `1h30m0s`. */
export const playTimeLimitWarning = v.object({ interval: text, remaining: text });
export type PlayTimeLimitWarning = ValueOf<typeof playTimeLimitWarning>;
export const playTimeLimitReached = v.object({ reason: v.picklist(["session", "daily"]) });
export type PlayTimeLimitReached = ValueOf<typeof playTimeLimitReached>;

export const clientPaired = v.object({ clientId: text, clientName: text });
export type ClientPaired = ValueOf<typeof clientPaired>;

/** A line of the audit log. For counted events, `time` is the time of the last one. */
export const auditEntry = v.object({
  time,
  event: v.picklist([
    "pairing-opened",
    "paired",
    "revoked",
    "role-changed",
    "expired",
    "refused",
    "launched",
    "changed",
  ]),
  client: optionalText,
  name: optionalText,
  /** `secret`: created on the device with its secret; `pin`: by a PIN (version 1); `code`: by a short code; `undo`: a revocation was taken back. */
  by: v.exactOptional(v.picklist(["secret", "pin", "code", "undo"])),
  /** The new role. */
  role: v.exactOptional(v.picklist(roles)),
  /** The reason why a caller was refused. */
  why: v.exactOptional(
    v.picklist([
      "host-or-origin",
      "too-many-requests",
      "too-many-connections",
      "encryption-required",
      "secure-failure",
      "too-many-failures",
      "wrong-pin",
      "wrong-code",
      "wrong-token",
      "launch-not-allowed",
      "forbidden-method",
    ]),
  ),
  address: optionalText,
  /** The method that changed something. */
  method: optionalText,
  /** The changed object, such as `mapping 7`; no secret, and no text of a card. */
  object: optionalText,
  /** The number of events since the previous line of this kind; an absent count is 1. */
  count: v.exactOptional(v.pipe(integer, v.minValue(1))),
});
export type AuditEntry = ValueOf<typeof auditEntry>;
