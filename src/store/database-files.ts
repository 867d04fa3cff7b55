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
 * Creates the file, empty, if it does not exist. Call it before SQLite opens the file: closing a second descriptor of a
 * file drops this process's locks on it (fcntl(2), "Advisory record locking").
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
    // The file of another user, or a file system without modes: the caller logs it, and the service starts all the same.
    return false;
  }
}

/** Length in bytes; undefined if there is no such file. */
export function lengthOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

/** Renames and returns once the new name is on the disk. */
export function moveDurably(from: string, to: string): void {
  renameSync(from, to);
  syncPath(dirname(to));
}

/** Writes the whole file and returns once its bytes are on the disk. */
export function writeDurably(path: string, bytes: Uint8Array): void {
  const file = openSync(path, "w", privateMode);
  try {
    writeFileSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Like `writeDurably`, without blocking the event loop: an SD card may take a second. */
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

/** As `syncPath` of a folder, without blocking the event loop. */
export async function syncFolderAsync(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}

/**
 * Syncs the data of a file, without blocking the event loop; does nothing if there is no such file. Do not use it for a file
 * that SQLite locks, because closing it here would drop those locks. SQLite does not lock the log (`-wal`).
 */
export async function syncBehind(path: string): Promise<void> {
  // Without a log the database is written in place, and synced with each commit.
  await using file = await ifThere(open(path, "r"));
  await file?.datasync();
}

// Long enough for another service that is stopping to end.
const waitMs = 2000;

/**
 * Locks the data folder for one service, until disposed. The lock is SQLite's own, on an empty file beside the database:
 * the kernel releases it when the process ends (fcntl(2)). Throws `StartError` if another process holds it. Locks nothing
 * if the file cannot be created, as on a full disk: the service must start all the same.
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
