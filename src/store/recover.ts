/** Recovery of a broken database: it is moved aside under a dated name, and the last good copy replaces it. */
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
import { backupPathOf } from "./database-copy.ts";
import { lengthOf, moveDurably, syncPath, writeDurably } from "./database-files.ts";
import { bringUpToDate } from "./migrations.ts";

export interface Recovery {
  /** The fault in a few words. */
  readonly reason: string;
  /** The name of the damaged file in the same folder; absent if there was no file. */
  readonly setAside?: string;
  /** The time of the copy that replaced it (RFC 3339); absent if there was no copy, and the database is new. */
  readonly restoredFrom?: string;
}

/** Suffixes of the files of a database: SQLite would treat a leftover as a part of the restored database. */
const parts = ["", "-wal", "-shm", "-journal"] as const;

/** The first 16 bytes of each database (sqlite.org/fileformat2.html, 1.3.1). */
const magic = Buffer.from("SQLite format 3\0");

/**
 * Moves the database aside and restores its backup if that is good. A bad backup is also moved aside, because the next
 * copy would overwrite it. Each step is on the disk before the next one. A start that finds a backup and no database
 * continues from there.
 */
export function recover(path: string, reason: string, nowMs: number): Recovery {
  const aside = freeName(path, nowMs);
  const left = parts.filter((part) => (lengthOf(path + part) ?? 0) > 0);
  for (const part of left) renameSync(path + part, aside + part);
  for (const part of parts) rmSync(path + part, { force: true });
  syncPath(dirname(path));
  const restoredFrom = restore(path, `${aside}-backup`);
  forgetOldest(path, basename(aside));
  return {
    reason,
    ...(left.length === 0 ? {} : { setAside: basename(aside) }),
    ...(restoredFrom === undefined ? {} : { restoredFrom }),
  };
}

/**
 * The reason why the file is lost; undefined if SQLite must check it. SQLite takes an absent or empty file for a new
 * database, and deletes the log, which may be all that remains of the old one.
 */
export function lossOf(path: string): string | undefined {
  const length = lengthOf(path);
  if (length !== undefined && length > 0)
    return startOf(path).equals(magic) ? undefined : "it is no database";
  if (lengthOf(backupPathOf(path)) === undefined && !lengthOf(`${path}-wal`)) return undefined;
  return length === undefined ? "the file is gone" : "the file is empty";
}

/** The sentence for the log and for `health`. */
export function recoverySentence({ reason, setAside, restoredFrom }: Recovery): string {
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

/** The time of the copy; undefined if there is no good one, after moving a bad one to `aside`. */
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

/** Tries in memory the checks of the next start. */
function servesAsDatabase(bytes: Uint8Array): boolean {
  try {
    using trial = Database.deserialize(bytes);
    return bringUpToDate(trial) === undefined;
  } catch {
    // The copy is damaged, or of a newer version. In both cases the copy is kept aside.
    return false;
  }
}

/**
 * A name such as `tapdeck.db.damaged-2026-01-31T120000Z`. If it exists, a number follows it, because a clock may stand still.
 */
function freeName(path: string, nowMs: number): string {
  const stamp = rfc3339(nowMs).replace(/\.\d+/, "").replaceAll(":", "");
  const taken = new Set(groupsOf(path));
  for (let number = 1; ; number++) {
    const name = `${path}.damaged-${stamp}${number === 1 ? "" : `-${number}`}`;
    if (!taken.has(basename(name))) return name;
  }
}

/** Keeps the newest `damagedFilesMax` damaged files, and always `latest`, because the clock may be wrong. */
function forgetOldest(path: string, latest: string): void {
  const others = groupsOf(path).filter((name) => name !== latest);
  const excess = Math.max(0, others.length - (damagedFilesMax - 1));
  for (const name of others.slice(0, excess)) {
    for (const part of [...parts, "-backup"]) rmSync(join(dirname(path), name + part), { force: true });
  }
}

/** The names of the damaged files without suffixes, the oldest first. */
function groupsOf(path: string): readonly string[] {
  const names = readdirSync(dirname(path)).flatMap((name) => {
    if (!name.startsWith(`${basename(path)}.damaged-`)) return [];
    return [name.replace(/-(wal|shm|journal|backup)$/, "")];
  });
  return [...new Set(names)].sort();
}
