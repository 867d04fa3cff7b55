/** The shapes of events of the device itself: updates, restarts and backups. */
import * as v from "valibot";
import { soundPlaces } from "./playback.ts";
import { count, time, type ValueOf } from "./shapes.ts";

/** Requests about the device itself, which need the right `own`. */
export const deviceActions = ["restart", "shutdown", "update"] as const;
export type DeviceAction = (typeof deviceActions)[number];

const updateSteps = ["fetching", "waiting", "checking", "writing", "reading back", "restarting"] as const;

/** An update of the image that is being fetched and installed, waits until nothing plays, or failed. */
export const updateState = v.object({
  step: v.picklist([...updateSteps, "failed"]),
  percent: v.exactOptional(count),
  /** A sentence that says why a failed update failed. */
  why: v.exactOptional(v.string()),
  /** The step during which it failed. */
  at: v.exactOptional(v.picklist(updateSteps)),
});
export type UpdateState = ValueOf<typeof updateState>;

/** The newest version that a server of updates offers this device. */
export const latestVersion = v.object({ version: v.string(), summary: v.exactOptional(v.string()) });
export type LatestVersion = ValueOf<typeof latestVersion>;

/** The server of updates that the settings name, and its last answer. */
export const updateServer = v.object({
  server: v.string(),
  latest: v.exactOptional(latestVersion),
  checked: v.exactOptional(time),
  /** A sentence that says why the last try failed. */
  fault: v.exactOptional(v.string()),
});
export type UpdateServer = ValueOf<typeof updateServer>;

/** Where the image plays its sound, and the places that are connected. */
export const soundReport = v.object({
  plays: v.exactOptional(v.picklist(soundPlaces)),
  there: v.array(v.picklist(soundPlaces)),
});
export type SoundReport = ValueOf<typeof soundReport>;

/** A backup that was made. */
export const backupFacts = v.object({
  /** The SHA-256 of the packed content, which identifies the backup. */
  sha256: v.string(),
  bytes: count,
  leftOut: v.array(v.string()),
  /** The name of a backup that stays on the device. */
  kept: v.exactOptional(v.string()),
});
/** The numbers of rows, files and launchers. */
const backupCounts = v.object({
  mappings: count,
  mappingFiles: count,
  launchers: count,
  history: count,
  plays: count,
  positions: count,
});
export const backupNoteCodes = [
  "mapping-file-invalid",
  "settings-kept",
  "media-folder-missing",
  "reader-missing",
] as const;
/** Something that a restore would not bring back as it was. */
export interface BackupNote {
  readonly code: (typeof backupNoteCodes)[number];
  readonly subject: string;
  readonly sentence: string;
}
/** The content of a backup, without the part that only its passphrase opens. */
export const backupContent = v.object({
  sha256: v.string(),
  bytes: count,
  made: time,
  version: v.string(),
  counts: backupCounts,
  /** `none`: the backup holds no clients. `locked`: without the passphrase their number is unknown. */
  clients: v.union([v.picklist(["none", "locked"]), count]),
  /** Settings that differ from those of the device. */
  changes: v.array(v.string()),
  warnings: v.array(v.string()),
  /** The same notes as codes, each with a path, a name of a file, or names of settings. */
  notes: v.array(v.object({ code: v.picklist(backupNoteCodes), subject: v.string() })),
});
/** The answer to `PUT /backup`: the content of the backup, and the same numbers of the device now. */
export const backupPreview = v.object({ ...backupContent.entries, now: backupCounts });
export type BackupContent = ValueOf<typeof backupContent>;
