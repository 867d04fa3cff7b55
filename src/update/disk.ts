/** The boot partition and the slots of this machine, as files and block devices. */
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, statfs } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { updateNoteBytesMax } from "../core/limits.ts";
import type { Source } from "./check-bundle.ts";
import type { BootFiles, OpenFile, RootPartition } from "./update-paths.ts";

const chunkBytes = 1024 * 1024;
// A manifest is the largest file that is read whole.
const wholeBytesMax = 32 * updateNoteBytesMax;

export function bootFilesAt(folder: string, forgetCaches: () => Promise<void>): BootFiles {
  const at = (path: string) => join(folder, path);
  return {
    async read(path) {
      const file = await ifThere(open(at(path), "r"));
      if (file === undefined) return undefined;
      try {
        const { size } = await file.stat();
        if (size > wholeBytesMax) throw new Error(`${path} is larger than ${wholeBytesMax} bytes`);
        return new Uint8Array(await file.readFile());
      } finally {
        await file.close();
      }
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
    async create(path) {
      await mkdir(dirname(at(path)), { recursive: true });
      return openFile(await open(at(path), "w", 0o644));
    },
    rename: (from, to) => rename(at(from), at(to)),
    remove: (path) => rm(at(path)),
    async syncFolder(path) {
      const handle = await open(at(path), "r");
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
    async *chunks(path) {
      await forgetCaches();
      yield* chunksAt(at(path), Number.POSITIVE_INFINITY);
    },
  };
}

/** A block device, or a file that stands for one. */
export async function rootPartitionAt(
  path: string,
  forgetCaches: () => Promise<void>,
): Promise<RootPartition> {
  return {
    bytes: await sizeOf(path),
    open: async () => openFile(await open(path, "r+")),
    async *chunks(bytes) {
      await forgetCaches();
      yield* chunksAt(path, bytes);
    },
  };
}

/** What is read from now on comes from the disk, not from the memory that it was written through (proc_sys_vm(5)). */
export async function forgetCaches(): Promise<void> {
  const file = await open("/proc/sys/vm/drop_caches", "w");
  try {
    await file.write("1");
  } finally {
    await file.close();
  }
}

export async function openSource(path: string): Promise<Source & AsyncDisposable> {
  const file = await open(path, "r");
  return {
    bytes: (await file.stat()).size,
    async read(offset, length) {
      const bytes = new Uint8Array(length);
      const { bytesRead } = await file.read(bytes, 0, length, offset);
      return bytes.subarray(0, bytesRead);
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

/** The first bytes of a small text file; empty where there is none. */
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
  const file = await open(path, "r");
  try {
    for (let at = 0; at < bytes; ) {
      const chunk = new Uint8Array(Math.min(chunkBytes, bytes - at));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
      if (bytesRead === 0) return;
      yield chunk.subarray(0, bytesRead);
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
}

/** A block device has no size of its own for `stat`; the kernel tells it elsewhere. */
async function sizeOf(path: string): Promise<number> {
  const file = await open(path, "r");
  try {
    const found = await file.stat();
    if (found.isFile()) return found.size;
  } finally {
    await file.close();
  }
  const name = path.slice(path.lastIndexOf("/") + 1);
  // In sectors of 512 bytes, whatever the disk's own are (Linux, "Documentation/ABI/stable/sysfs-block").
  return Number(await readFile(`/sys/class/block/${name}/size`, "utf8")) * 512;
}

async function ifThere<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
