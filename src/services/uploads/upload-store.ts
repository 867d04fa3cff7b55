/**
 * The folder of unfinished uploads in a media folder, and the way from this folder to the place of a finished file.
 *
 * Players and other users may write to media folders, so any name there may become a link, a FIFO or another file at any
 * moment. Therefore each file is opened below an open folder, without following links, and checked by its descriptor.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { codeOf, failed } from "../../core/errors.ts";
import { toHex } from "../../core/hex.ts";
import { type MediaFolders, uploadsFolder } from "../../core/media.ts";
import { isInside } from "../../media/scan/scan-folders.ts";
import { syncFolder, type UploadPlace, uploadTarget } from "./upload-place.ts";

const asFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
// Without O_NONBLOCK, opening a FIFO would wait for its writer.
const asPlainFile = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const asNewFile = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A path to an entry of an open folder. It stays valid wherever that folder is moved. */
export function inFolder({ fd }: Pick<FileHandle, "fd">, name: string): string {
  return `/proc/self/fd/${fd}/${name}`;
}

export function newUploadId(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(16)));
}

/**
 * Opens the folder of uploads in `top`, a real path. With `makes`, a missing folder is made. Rejects if a link is in the
 * path, or the folder belongs to another user. No other user may open the folder after that, except on a file system
 * without rights, such as FAT.
 */
export async function openUploadsFolder(top: string, makes = false): Promise<FileHandle> {
  await using above = await openFolder(top);
  const store = await openBelow(above, uploadsFolder, makes);
  try {
    const { uid, mode } = await store.stat();
    if (!(await isOwn(store, uid))) throw failed(`${uploadsFolder} belongs to another user: remove it`);
    // Earlier versions made a folder that all may read. FAT and similar file systems refuse the change, and store no links.
    if ((mode & 0o077) !== 0) await store.chmod(0o700).catch(() => {});
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Whether the file system gives a new file of this service to this user. On FAT, one user owns all files, and this may
 * also be so on a network drive.
 */
async function isOwn(store: FileHandle, uid: number): Promise<boolean> {
  if (uid === process.geteuid?.()) return true;
  const name = `${newUploadId()}.part`;
  try {
    await using probe = await makeFile(store, name);
    return (await probe.stat()).uid === uid;
  } catch {
    // A folder in which no file can be made cannot hold uploads.
    return false;
  } finally {
    await rm(inFolder(store, name), { force: true }).catch(() => {});
  }
}

/** Makes a file with the rights of the finished one. Rejects with `EEXIST`. */
export function makeFile(store: FileHandle, name: string): Promise<FileHandle> {
  return open(inFolder(store, name), asNewFile, 0o666);
}

/** Opens a file that belongs to the user of the store and has no second name. Rejects with a sentence for anything else. */
export async function openFile(
  store: FileHandle,
  name: string,
  access: number = constants.O_RDONLY,
): Promise<FileHandle> {
  const file = await open(inFolder(store, name), access | asPlainFile).catch((error: unknown) => {
    // The errors for a link, a folder, and a socket.
    throw ["ELOOP", "EISDIR", "ENXIO"].includes(codeOf(error)) ? replaced(error) : error;
  });
  const found = await file.stat();
  // Some network drives report 0 links.
  if (found.isFile() && found.nlink <= 1 && found.uid === (await store.stat()).uid) return file;
  await file.close();
  throw replaced();
}

function replaced(cause?: unknown) {
  return failed("another program has replaced the file of this upload: cancel it, and send it again", cause);
}

/** Whether the name still leads to the open file. */
export async function isStill(path: string, file: FileHandle): Promise<boolean> {
  const named = await lstat(path);
  const opened = await file.stat();
  return named.dev === opened.dev && named.ino === opened.ino;
}

/** Opens the folder of the finished file, and makes the missing parts of its path. Rejects if a link is in the path. */
export async function openTargetFolder(place: UploadPlace): Promise<FileHandle> {
  const { base, top } = place;
  const start = isInside(base, top) ? top : base;
  let folder = await openFolder(start);
  for (const name of relative(start, dirname(uploadTarget(place))).split("/")) {
    if (name === "") continue;
    await using above = folder;
    folder = await openBelow(above, name, true);
  }
  return folder;
}

/** A file in an open folder. */
export interface HeldFile extends AsyncDisposable {
  /** Both paths are valid until it is disposed. */
  readonly path: Buffer;
  readonly folder: string;
}

/** Opens the folder of a media file by the file's real path, so the file cannot be one of another folder afterwards. */
export async function holdFile(path: string | Buffer): Promise<HeldFile> {
  const whole = Buffer.from(path);
  const slash = whole.lastIndexOf("/");
  const folder = await openFolder(whole.subarray(0, slash));
  return {
    path: Buffer.concat([Buffer.from(inFolder(folder, "")), whole.subarray(slash + 1)]),
    folder: inFolder(folder, "."),
    [Symbol.asyncDispose]: () => folder.close(),
  };
}

/** Opens a folder by its real path. */
async function openFolder(path: string | Buffer): Promise<FileHandle> {
  const folder = await open(path, asFolder).catch(refuseMoved);
  const real = await readlink(`/proc/self/fd/${folder.fd}`, { encoding: "buffer" });
  if (real.equals(Buffer.from(path))) return folder;
  await folder.close();
  return refuseMoved();
}

async function openBelow(above: FileHandle, name: string, makes: boolean): Promise<FileHandle> {
  const path = inFolder(above, name);
  const isNew = makes && (await isMade(path, name));
  if (isNew) await syncFolder(inFolder(above, "."));
  const folder = await open(path, asFolder).catch(refuseMoved);
  if (isNew && name !== uploadsFolder) await shareWithGroup(folder, above);
  return folder;
}

/**
 * Gives the group the rights of the owner if entries of the folder inherit its group (inode(7), S_ISGID). On the image
 * SFTP and the share for PCs write with this group.
 */
export async function shareWithGroup(entry: FileHandle, folder: FileHandle): Promise<void> {
  const isShared = ((await folder.stat()).mode & sharedFolder) === sharedFolder;
  const { mode } = await entry.stat();
  // A file system without rights refuses the change.
  if (isShared) await entry.chmod((mode & 0o7777) | ((mode & 0o700) >> 3)).catch(() => {});
}

const sharedFolder = 0o2020;

/** Makes the folder. Returns false if the name is taken. */
async function isMade(path: string, name: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: name === uploadsFolder ? 0o700 : 0o777 });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function refuseMoved(error?: unknown): never {
  if (error !== undefined && !["ELOOP", "ENOTDIR"].includes(codeOf(error))) throw error;
  throw failed("a folder of this path is a link now: nothing is changed there", error);
}

/** The folders in which a folder of uploads may be. For a system on another drive, that is the system's folder. */
export async function topsIn({ roots, own }: MediaFolders): Promise<readonly string[]> {
  const below = await Promise.all(
    roots.map(async (root) => {
      const entries = await readdir(root, { withFileTypes: true }).catch(() => []);
      return entries.filter((entry) => !entry.isFile()).map(({ name }) => join(root, name));
    }),
  );
  const all = [...roots, ...own.map(({ folder }) => folder), ...below.flat()];
  return [...new Set((await Promise.all(all.map((folder) => realpath(folder).catch(() => [])))).flat())];
}
