/**
 * Lists, copies and replaces files of saves. A replacement is atomic: after a loss of power a file is old or new.
 *
 * No link is followed, because players write among the saves, and a link could lead the service to files outside. An open
 * folder keeps its identity, and its entries are named by its descriptor (proc(5), "/proc/pid/fd").
 */

import { constants } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { savesDepthMax, savesListedMax } from "../../core/console-limits.ts";
import { syncFolderAsync } from "../../store/database-files.ts";
import { backupEnding, freshName, isComplete } from "./retroarch-saves.ts";

export interface SaveFile {
  /** The path below the folder that was listed. */
  readonly path: string;
  readonly bytes: number;
  /** True if parts of the file were never written, and take up no room on its disk. A copy would have them as zeros. */
  readonly hasHoles: boolean;
  /** A text that changes with each write. */
  readonly version: string;
}

/** The plain files below `top` of `folder` whose names are wanted; none without such a folder. Rejects above the limits. */
export async function listSaves(
  folder: string,
  top: string,
  isWanted: (name: string) => boolean,
): Promise<readonly SaveFile[]> {
  const found: SaveFile[] = [];
  let listed = 0;
  const walk = async (below: string, depth: number): Promise<void> => {
    await using opened = await openFolder(folder, below).catch(undefinedIfMissing);
    if (opened === undefined) return;
    const entries = await readdir(opened.path, { withFileTypes: true });
    listed += entries.length;
    if (listed > savesListedMax || depth > savesDepthMax)
      throw new Error(`there are more files or folders in ${join(folder, top)} than are looked through`);
    for (const entry of entries) {
      const path = join(below, entry.name);
      if (entry.isDirectory()) await walk(path, depth + 1);
      else if (entry.isFile() && isWanted(entry.name)) {
        const file = await saveFileIn(opened, path);
        if (file !== undefined) found.push(file);
      }
    }
  };
  await walk(top, 1);
  return found;
}

export async function saveFileAt(folder: string, path: string): Promise<SaveFile | undefined> {
  await using opened = await openFolder(folder, dirname(path)).catch(undefinedIfMissing);
  return opened === undefined ? undefined : await saveFileIn(opened, path);
}

// The unit of `st_blocks` (stat(2)).
const statBlockBytes = 512n;

async function saveFileIn(opened: OpenFolder, path: string): Promise<SaveFile | undefined> {
  const name = join(opened.path, basename(path));
  const found = await lstat(name, { bigint: true }).catch(undefinedIfMissing);
  if (found?.isFile() !== true) return undefined;
  const { size, blocks, mtimeNs, ino } = found;
  const hasHoles = blocks * statBlockBytes < size;
  return { path, bytes: Number(size), hasHoles, version: `${ino} ${size} ${mtimeNs}` };
}

/** Copies a file to the same path below another folder, where the name must be free. */
export async function copySave(from: string, to: string, path: string): Promise<void> {
  await using folder = await openFolder(to, dirname(path), true);
  await using copy = await makePlainFile(folder, basename(path));
  await copyInto(copy, from, path);
}

export async function moveSave(from: string, to: string, path: string): Promise<void> {
  await using source = await openFolder(from, dirname(path));
  await using target = await openFolder(to, dirname(path), true);
  await rename(join(source.path, basename(path)), join(target.path, basename(path)));
}

/** Removes a file if it exists. */
export async function removeSave(folder: string, path: string): Promise<void> {
  await using opened = await openFolder(folder, dirname(path)).catch(undefinedIfMissing);
  if (opened !== undefined) await rm(join(opened.path, basename(path)), { force: true });
}

const pieceBytes = 256 * 1024;

async function copyInto(copy: FileHandle, from: string, path: string): Promise<void> {
  await using folder = await openFolder(from, dirname(path));
  await using file = await openPlainFile(folder, basename(path));
  if (file === undefined) throw new Error(`${path} is not a plain file any more`);
  const piece = Buffer.alloc(pieceBytes);
  for (let at = 0; ; ) {
    const { bytesRead } = await file.read(piece, 0, pieceBytes, at);
    if (bytesRead === 0) return;
    for (const end = at + bytesRead; at < end; )
      at += (await copy.write(piece, bytesRead - (end - at), end - at, at)).bytesWritten;
  }
}

/**
 * Replaces the file at home by that in `from`, and resolves once it is on the disk. Resolves with `cut` if the new
 * version is incomplete, and with `changed` if it was written meanwhile. In both cases the old version stays. `keepsOld`
 * keeps the old version as `<name>.bak`.
 */
export async function replaceSave(
  from: string,
  file: SaveFile,
  home: string,
  keepsOld: boolean,
): Promise<"kept" | "cut" | "changed"> {
  await makeFolder(home);
  await using folder = await openFolder(home, dirname(file.path), true);
  const fresh = join(folder.path, freshName);
  const to = join(folder.path, basename(file.path));
  await rm(fresh, { force: true });
  try {
    await using copy = await makePlainFile(folder, freshName);
    await copyInto(copy, from, file.path);
    const after = await saveFileAt(from, file.path);
    if (after?.version !== file.version) return "changed";
    if (!(await isComplete(descriptorPath(copy)))) return "cut";
    await copy.sync();
    if (keepsOld) await keepOld(to);
    await rename(fresh, to);
    await syncFolderAsync(folder.path);
    return "kept";
  } finally {
    // A temporary file that remains would take up space on a full disk. After the rename no such file exists.
    await rm(fresh, { force: true }).catch(() => {});
  }
}

/** Removes the folder with all below it, or the link at its place. Rejects if the folder above it is a link. */
export async function removeFolder(path: string): Promise<void> {
  await using above = await openFolder(dirname(path));
  await rm(join(above.path, basename(path)), { recursive: true, force: true });
}

/** Links the old version to its backup name, which keeps it when the rename replaces the file. */
async function keepOld(path: string): Promise<void> {
  await rm(`${path}${backupEnding}`, { force: true }).catch(() => {});
  // The backup is optional: there may be no old version, the name may be too long, or the file system has no links.
  await link(path, `${path}${backupEnding}`).catch(() => {});
}

/** Makes the folder and its parents, and syncs each to the disk. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; ; made = dirname(made)) {
    await syncFolderAsync(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (!hasCode(error, "ENOENT", "ENOTDIR")) throw error;
}

/** True for an error of the system with one of these codes, such as `ENOENT`. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

export interface OpenFolder extends AsyncDisposable {
  /** The path of an entry, which names the open folder by its descriptor. The path is valid until the folder is closed. */
  readonly path: string;
}

const asFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
// Without O_NONBLOCK, opening a FIFO would wait for its writer.
const asSource = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const asNew = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Opens the folder `below` the folder `top`. With `makes`, missing folders are created and synced. Rejects with `ENOENT` or
 * `ENOTDIR`, and with a sentence if one of them is a link.
 */
export async function openFolder(top: string, below = ".", makes = false): Promise<OpenFolder> {
  let folder = await openOne(top);
  for (const name of below.split("/").filter((part) => part !== "" && part !== ".")) {
    const above = folder;
    try {
      const path = join(descriptorPath(above), name);
      if (makes && (await isMade(path))) await above.sync();
      folder = await openOne(path, join(top, below));
    } finally {
      await above.close();
    }
  }
  return { path: descriptorPath(folder), [Symbol.asyncDispose]: () => folder.close() };
}

/** Opens a plain file to read it; undefined for anything else. */
async function openPlainFile(folder: OpenFolder, name: string): Promise<FileHandle | undefined> {
  const file = await open(join(folder.path, name), asSource);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  return undefined;
}

/** Makes a file that only this user may read. Rejects with `EEXIST`. */
function makePlainFile(folder: OpenFolder, name: string): Promise<FileHandle> {
  return open(join(folder.path, name), asNew, 0o600);
}

/** The path of an open file, for functions that take no descriptor. */
function descriptorPath({ fd }: Pick<FileHandle, "fd">): string {
  return `/proc/self/fd/${fd}`;
}

async function openOne(path: string, named = path): Promise<FileHandle> {
  try {
    return await open(path, asFolder);
  } catch (error) {
    const found = await lstat(path).catch(() => undefined);
    if (found?.isSymbolicLink() === true)
      throw new Error(`${named} is or has a link, which is not followed`, { cause: error });
    throw error;
  }
}

/** Makes the folder. Returns false if it exists. */
async function isMade(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}
