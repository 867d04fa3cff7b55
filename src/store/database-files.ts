/** The files around the database: their modes, renames and writes that survive a power cut, and the lock of the data folder. */
import { Database, SQLiteError } from "bun:sqlite";
import {
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { exitCodes, ifThere, StartError } from "../core/errors.ts";

/** The files hold secrets of clients, so only their owner may read them. */
const privateMode = 0o600;

/**
 * Creates an empty file if there is none. Call it before SQLite opens the file, because closing a second descriptor of
 * a file drops this process's locks on it (fcntl(2), "Advisory record locking").
 */
export function makePrivate(path: string): void {
  closeSync(openSync(path, "a", privateMode));
  // SQLite creates `-wal` and `-shm` with the mode of the database.
  becomesPrivate(path);
}

/** Makes the database and its side files private. Returns the names of those that it could not change. */
export function keepPrivate(path: string): readonly string[] {
  const folder = dirname(path);
  const belongs = (name: string) =>
    name === basename(path) || [".", "-"].some((mark) => name.startsWith(basename(path) + mark));
  return readdirSync(folder).filter((name) => belongs(name) && !becomesPrivate(join(folder, name)));
}

function becomesPrivate(file: string): boolean {
  try {
    if (((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0) chmodSync(file, privateMode);
    return true;
  } catch {
    // The file belongs to another user, or the file system has no modes. The caller logs it, and the service starts
    // nevertheless.
    return false;
  }
}

/** The length in bytes; undefined if there is no such file. */
export function lengthOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

/** Renames and returns once the new name is on the disk. */
export function moveDurably(from: string, to: string): void {
  renameSync(from, to);
  syncPath(dirname(to));
}

/** Writes the whole file, and returns once its bytes are on the disk. */
export function writeDurably(path: string, bytes: Uint8Array): void {
  const file = openSync(path, "w", privateMode);
  try {
    writeFileSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Like `writeDurably`, but without blocking the event loop, because an SD card may take a second. */
export async function writeBehind(path: string, bytes: Uint8Array): Promise<void> {
  await using file = await open(path, "w", privateMode);
  await file.writeFile(bytes);
  await file.sync();
}

/** Syncs a file, or the names in a folder. */
export function syncPath(path: string): void {
  const handle = openSync(path, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Syncs a folder as `syncPath` does, without blocking the event loop. */
export async function syncFolderAsync(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}

/**
 * Syncs the data of a file, without blocking the event loop. It does nothing if there is no such file. Do not use it
 * for a file that SQLite locks, because closing it here would drop those locks. SQLite does not lock the log (`-wal`).
 */
export async function syncBehind(path: string): Promise<void> {
  // Without the log, the database is written in place, and synced with each commit.
  await using file = await ifThere(open(path, "r"));
  await file?.datasync();
}

// This time is long enough for another service to end that is stopping.
const waitMs = 2000;

/**
 * Locks the data folder for one service, until disposed. The lock is one of SQLite, on an empty file beside the
 * database. The kernel releases it when the process ends (fcntl(2)). Throws `StartError` if another process holds it.
 * If the file cannot be created, as on a full disk, nothing is locked, because the service must start nevertheless.
 */
export function lockFolderOf(path: string): Disposable {
  let lock: Database | undefined;
  try {
    makePrivate(`${path}.lock`);
    lock = new Database(`${path}.lock`, { create: true, strict: true });
    lock.run(`PRAGMA busy_timeout = ${waitMs}`);
    lock.run("PRAGMA journal_mode = MEMORY");
    lock.run("BEGIN EXCLUSIVE");
  } catch (error) {
    lock?.close();
    lock = undefined;
    if (error instanceof SQLiteError && error.code === "SQLITE_BUSY")
      throw new StartError(
        exitCodes.unavailable,
        `another tapdeck uses the data folder ${dirname(path)}: end that one first, or name another folder with --data`,
        error,
      );
  }
  return { [Symbol.dispose]: () => lock?.close() };
}
