/** The files around the database: who may read them, and how a change of them outlasts a pulled plug. */
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

/** Secrets of clients stand in these files: they are their owner's alone. */
const privateMode = 0o600;

/**
 * Makes the file, empty, where it is not there. Before SQLite opens it, never after: to close a file that this process
 * has open elsewhere lets go of its locks (fcntl(2), "Advisory record locking").
 */
export function makePrivate(path: string): void {
  closeSync(openSync(path, "a", privateMode));
  // SQLite gives `-wal` and `-shm` the mode of the file they belong to, so it must be right before those are made.
  becomesPrivate(path);
}

/**
 * Takes others' access away from the file and from all that belong to it. Returns the names of those where that
 * failed: some file systems keep no modes.
 */
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
    // Another's file, or a file system without modes: the caller tells it, and the service starts all the same.
    return false;
  }
}

/** Length in bytes; undefined where there is no such file. */
export function lengthOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

/** Renames and returns once the new name is on the disk. */
export function moveDurably(from: string, to: string): void {
  renameSync(from, to);
  syncFolder(dirname(to));
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

/** As `writeDurably`, with the wait for the disk off the event loop: an SD card may take a second. */
export async function writeBehind(path: string, bytes: Uint8Array): Promise<void> {
  await using file = await open(path, "w", privateMode);
  await file.writeFile(bytes);
  await file.sync();
}

/** Makes renames in the folder last. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** As `syncFolder`, off the event loop. */
export async function syncFolderBehind(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}

/**
 * Waits, off the event loop, until what was written to the file is on the disk; nothing where there is no such file. Not
 * for a file that SQLite locks: to close it here would let go of those locks. The log (`-wal`) is not one.
 */
export async function syncBehind(path: string): Promise<void> {
  try {
    await using file = await open(path, "r");
    await file.datasync();
  } catch (error) {
    // Without a log the database is written in place, and synced with each commit.
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
