/**
 * What happens where the database is broken: the file is set aside under a dated name, the last good copy takes its
 * place, and whoever asks is told.
 */
import { Database } from "bun:sqlite";
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { rfc3339 } from "../core/clock.ts";
import { damagedFilesMax } from "../core/limits.ts";
import { backupPathOf } from "./backup.ts";
import { lengthOf, moveDurably, syncFolder, writeDurably } from "./database-files.ts";
import { bringUpToDate } from "./migrate.ts";

export interface Recovery {
  /** What was wrong with the file: a few words. */
  readonly reason: string;
  /** The name of the file it was moved to, in the same folder; absent where there was none to move. */
  readonly setAside?: string;
  /** When the copy that took its place was made (RFC 3339); absent where there was none, and it starts afresh. */
  readonly restoredFrom?: string;
}

/** What belongs to a database, behind its name: left in place, it would be taken for a part of the restored one. */
const parts = ["", "-wal", "-shm", "-journal"] as const;

/** How each database begins, 16 bytes (sqlite.org/fileformat2.html, 1.3.1). */
const magic = Buffer.from("SQLite format 3\0");

/**
 * Moves the database away and puts its backup in its place, if there is a good one. A backup that is no good is moved
 * away too, for the next copy would overwrite it. Each step is on the disk before the next one, and a start that finds
 * a backup and no database goes on from there.
 */
export function recover(path: string, reason: string, nowMs: number): Recovery {
  const aside = freeName(path, nowMs);
  const left = parts.filter((part) => (lengthOf(path + part) ?? 0) > 0);
  for (const part of left) renameSync(path + part, aside + part);
  for (const part of parts) rmSync(path + part, { force: true });
  syncFolder(dirname(path));
  const restoredFrom = restore(path, `${aside}-backup`);
  forgetOldest(path, basename(aside));
  return {
    reason,
    ...(left.length === 0 ? {} : { setAside: basename(aside) }),
    ...(restoredFrom === undefined ? {} : { restoredFrom }),
  };
}

/**
 * Why the file cannot be what the last run left, or undefined where SQLite must look into it. It would take an empty
 * file for a new database, and in both cases delete the log, which is then all that is left.
 */
export function lossOf(path: string): string | undefined {
  const length = lengthOf(path);
  if (length !== undefined && length > 0)
    return startOf(path).equals(magic) ? undefined : "it is no database";
  if (lengthOf(backupPathOf(path)) === undefined && !lengthOf(`${path}-wal`)) return undefined;
  return length === undefined ? "the file is gone" : "the file is empty";
}

/** A sentence for the log and for `health`. */
export function sentenceOf({ reason, setAside, restoredFrom }: Recovery): string {
  const kept = setAside === undefined ? "" : `; the damaged file is kept as ${setAside}`;
  return restoredFrom === undefined
    ? `the database could not be used (${reason}) and had no good copy, so it starts afresh${kept}`
    : `the database could not be used (${reason}), so its copy of ${restoredFrom} took its place, without the history${kept}`;
}

function startOf(path: string): Buffer {
  const file = openSync(path, "r");
  try {
    const start = Buffer.alloc(magic.length);
    return start.subarray(0, readSync(file, start));
  } finally {
    closeSync(file);
  }
}

/** The time of the copy, or undefined where there is no good one; then what is there goes to `aside`. */
function restore(path: string, aside: string): string | undefined {
  const backup = backupPathOf(path);
  if (lengthOf(backup) === undefined) return undefined;
  const bytes = readFileSync(backup);
  if (!servesAsDatabase(bytes)) {
    moveDurably(backup, aside);
    return undefined;
  }
  const fresh = `${path}.restored`;
  writeDurably(fresh, bytes);
  moveDurably(fresh, path);
  return rfc3339(Math.trunc(statSync(backup).mtimeMs));
}

/** Tries in memory what the start will do with it. */
function servesAsDatabase(bytes: Uint8Array): boolean {
  try {
    using trial = Database.deserialize(bytes);
    return bringUpToDate(trial) === undefined;
  } catch {
    // Damaged, or of a newer version: why does not help anybody; that it is kept does.
    return false;
  }
}

/** `tapdeck.db.damaged-2026-01-31T120000Z`, with a number behind it where that is taken: clocks may stand still. */
function freeName(path: string, nowMs: number): string {
  const stamp = rfc3339(nowMs).replace(/\.\d+/, "").replaceAll(":", "");
  const taken = new Set(groupsOf(path));
  for (let number = 1; ; number++) {
    const name = `${path}.damaged-${stamp}${number === 1 ? "" : `-${number}`}`;
    if (!taken.has(basename(name))) return name;
  }
}

/** Keeps the newest `damagedFilesMax` files that were set aside, `latest` among them whatever the clock says. */
function forgetOldest(path: string, latest: string): void {
  const others = groupsOf(path).filter((name) => name !== latest);
  const excess = Math.max(0, others.length - (damagedFilesMax - 1));
  for (const name of others.slice(0, excess)) {
    for (const part of [...parts, "-backup"]) rmSync(join(dirname(path), name + part), { force: true });
  }
}

/** The names of what was set aside, oldest first. */
function groupsOf(path: string): readonly string[] {
  const names = readdirSync(dirname(path)).flatMap((name) => {
    if (!name.startsWith(`${basename(path)}.damaged-`)) return [];
    return [name.replace(/-(wal|shm|journal|backup)$/, "")];
  });
  return [...new Set(names)].sort();
}
