/**
 * The boot partition and the slots, as files and block devices. Each step of an update that changes a disk is one call,
 * so a test can cut the power between any two of them. A write is on the disk only after the next call of `sync`.
 */
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, statfs } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { updateNoteBytesMax } from "../core/console-limits.ts";
import { ifThere } from "../core/errors.ts";

export interface OpenFile {
  write(bytes: Uint8Array): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Files of the boot partition, by paths below its root. */
export interface BootFiles {
  /** The whole of a small file; undefined if there is none. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** All files below a folder; empty if there is no such folder. */
  list(folder: string): Promise<readonly { readonly path: string; readonly bytes: number }[]>;
  freeBytes(): Promise<number>;
  /** Makes a folder and those above it, unless it exists. */
  makeFolder(path: string): Promise<void>;
  /** Creates an empty file and the folders above it; replaces an old file. */
  create(path: string): Promise<OpenFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Writes changed names in a folder to the disk. */
  syncFolder(folder: string): Promise<void>;
  chunks(path: string): AsyncIterable<Uint8Array>;
}

/** The partition of a slot's root file system. */
export interface RootPartition {
  readonly bytes: number;
  /** Resolves when all that was written to the partition is on the disk. */
  sync(): Promise<void>;
  /** The first `bytes` bytes of the partition. */
  chunks(bytes: number): AsyncIterable<Uint8Array>;
}

/** Replaces a small file. After a power cut, either the old or the new file exists, and it is complete. */
export async function replaceFile(files: BootFiles, path: string, text: string): Promise<void> {
  const fresh = path.replace(/\.[^./]*$/, ".new");
  const file = await files.create(fresh);
  await file.write(new TextEncoder().encode(text));
  await file.sync();
  await file.close();
  await files.rename(fresh, path);
  await files.syncFolder(folderOf(path));
}

/** Removes a file if it exists. The removal is on the disk when the promise resolves. */
export async function removeFile(files: BootFiles, path: string): Promise<void> {
  if ((await files.read(path)) === undefined) return;
  await files.remove(path);
  await files.syncFolder(folderOf(path));
}

export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

const chunkBytes = 1024 * 1024;
// The largest file that is read as a whole is a manifest.
const wholeBytesMax = 32 * updateNoteBytesMax;

export function bootFilesAt(folder: string, forgetCaches: () => Promise<void>): BootFiles {
  const at = (path: string) => join(folder, path);
  return {
    async read(path) {
      await using file = await ifThere(open(at(path), "r"));
      if (file === undefined) return undefined;
      const { size } = await file.stat();
      if (size > wholeBytesMax) throw new Error(`${path} is larger than ${wholeBytesMax} bytes`);
      return new Uint8Array(await file.readFile());
    },
    async list(path) {
      const entries = (await ifThere(readdir(at(path), { recursive: true, withFileTypes: true }))) ?? [];
      const found = entries
        .filter((entry) => entry.isFile())
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
        .sort();
      return Promise.all(found.map(async (name) => ({ path: name, bytes: (await stat(at(name))).size })));
    },
    async freeBytes() {
      const { bavail, bsize } = await statfs(folder);
      return bavail * bsize;
    },
    makeFolder: async (path) => void (await mkdir(at(path), { recursive: true })),
    async create(path) {
      await mkdir(dirname(at(path)), { recursive: true });
      return openFile(await open(at(path), "w", 0o644));
    },
    rename: (from, to) => rename(at(from), at(to)),
    remove: (path) => rm(at(path)),
    async syncFolder(path) {
      await using handle = await open(at(path), "r");
      await handle.sync();
    },
    async *chunks(path) {
      await forgetCaches();
      yield* chunksAt(at(path), Number.POSITIVE_INFINITY);
    },
  };
}

/** Opens the partition: a block device, or a file in its place. */
export async function rootPartitionAt(
  path: string,
  forgetCaches: () => Promise<void>,
): Promise<RootPartition> {
  return {
    bytes: await sizeOf(path),
    async sync() {
      await using file = await open(path, "r+");
      await file.sync();
    },
    async *chunks(bytes) {
      await forgetCaches();
      yield* chunksAt(path, bytes);
    },
  };
}

/** Drops the page cache, so later reads come from the disk (proc_sys_vm(5)). */
export async function forgetCaches(): Promise<void> {
  await using file = await open("/proc/sys/vm/drop_caches", "w");
  await file.write("1");
}

/** The first bytes of a small text file; empty if there is none. */
export async function readNote(path: string): Promise<string> {
  return (await ifThere(readFile(path, "utf8")))?.slice(0, updateNoteBytesMax) ?? "";
}

function openFile(file: FileHandle): OpenFile {
  return {
    async write(bytes) {
      for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
    },
    sync: () => file.sync(),
    close: () => file.close(),
  };
}

async function* chunksAt(path: string, bytes: number): AsyncGenerator<Uint8Array, void, void> {
  await using file = await open(path, "r");
  for (let at = 0; at < bytes; ) {
    const chunk = new Uint8Array(Math.min(chunkBytes, bytes - at));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
    if (bytesRead === 0) return;
    yield chunk.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** The size of a file or a device, because `stat` gives the size of a file only. */
async function sizeOf(path: string): Promise<number> {
  const found = await stat(path);
  if (found.isFile()) return found.size;
  // The kernel states the size in sectors of 512 bytes, whatever the sectors of the disk are (Linux,
  // "Documentation/ABI/stable/sysfs-block").
  return Number(await readFile(`/sys/class/block/${basename(path)}/size`, "utf8")) * 512;
}
