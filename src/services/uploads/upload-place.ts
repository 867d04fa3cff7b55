/**
 * The place of an uploaded file: a relative path below the folder of its system, in a media folder. Neither the name nor
 * a link can lead out of that folder. Names that FAT cannot store are refused on every file system, because media folders
 * are copied to USB sticks.
 */
import { lstat, open, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  coded,
  codeOf,
  failed,
  ifThere,
  messageOf,
  publicError,
  type ServiceError,
} from "../../core/errors.ts";
import { browsePathCharsMax, folderDepthMax } from "../../core/limits.ts";
import type { MediaFolders } from "../../core/media.ts";
import { type KnownSystem, noSystemNamed, systemByFolder, systemByName } from "../../media/known-systems.ts";
import { isInside } from "../../media/scan/scan-folders.ts";
import { closedNow } from "../../system/closed-places.ts";

export interface UploadPlace {
  readonly system: KnownSystem;
  /** The absolute path of the system's folder, with its links resolved. The folder may not exist yet. */
  readonly base: string;
  /** The path below `base`. */
  readonly path: string;
  /** An existing folder on the same file system, in which unfinished files lie. */
  readonly top: string;
}

const nameBytesMax = 255; // The longest name of a file (limits.h, NAME_MAX).
// Names that Windows does not open, with any extension (learn.microsoft.com, "Naming Files, Paths, and Namespaces").
const reserved = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;

/** The reason why no file may have this path below a system's folder; undefined if it may. */
export function pathFault(path: string): string | undefined {
  const names = path.split("/");
  if (path === "") return "the file has no name";
  if (!path.isWellFormed() || path.includes("\ufffd")) return "the name is not valid UTF-8: rename the file";
  if (path.startsWith("/")) return "the path must be relative to the folder of the system";
  if (path.length > browsePathCharsMax) return `a path has at most ${browsePathCharsMax} characters`;
  if (names.length > folderDepthMax) return `a path has at most ${folderDepthMax} folders`;
  return names.map(nameFault).find((fault) => fault !== undefined);
}

function nameFault(name: string): string | undefined {
  if (name === "" || name === "." || name === "..") return 'a path has no empty names, no "." and no ".."';
  if (/\p{Cc}/u.test(name)) return "a name has no control characters: rename the file";
  const shown = name.slice(0, 64);
  if (name.startsWith(".")) return `${shown} would be hidden: a name does not begin with a dot`;
  if (new TextEncoder().encode(name).length > nameBytesMax)
    return `${shown}... is too long: a name has at most ${nameBytesMax} bytes`;
  const sign = /[\\:*?"<>|]/.exec(name)?.[0];
  if (sign !== undefined) return `${shown} has a ${sign}, which FAT cannot store: rename the file`;
  if (/[. ]$/.test(name))
    return `${shown} ends with a dot or a space, which FAT cannot store: rename the file`;
  if (reserved.test(name)) return `${shown} is a name that FAT reserves: rename the file`;
  return undefined;
}

/** The system of a file, and its path below the folder of the system. */
export interface NamedUpload {
  /** The id of a known system, or another of its names. */
  readonly system: string;
  readonly path: string;
}

/**
 * The place for the file. `isIndexed` is true for a media folder with files in the index: if it is empty, its drive is away.
 * Rejects with `not-found` for an unknown system, and `failed` with a sentence.
 */
export async function uploadPlace(
  { system: name, path }: NamedUpload,
  folders: MediaFolders,
  isIndexed: (root: string) => boolean,
): Promise<UploadPlace> {
  const fault = pathFault(path);
  if (fault !== undefined) throw coded("upload-name", failed(fault));
  const system = systemByName(name);
  if (system === undefined)
    throw coded("system-unknown", publicError("not-found", noSystemNamed(name)), { name });
  const place = { system, path, ...(await systemFolder(system, folders, isIndexed)) };
  await refuseLinks(place);
  if (await closedNow(folders.closed).isClosed(uploadTarget(place)))
    throw coded(
      "upload-no-folder",
      failed("this folder belongs to Tapdeck itself or to the kernel: choose another media folder"),
    );
  return place;
}

export function uploadTarget({ base, path }: UploadPlace): string {
  return join(base, path);
}

/** Rejects if something other than a folder is on the way to the file. Returns whether the file exists. */
export async function refuseLinks({ base, path }: UploadPlace): Promise<boolean> {
  let at = base;
  const names = path.split("/");
  for (const [index, name] of ["", ...names].entries()) {
    at = join(at, name);
    const isLast = index === names.length;
    const found = await ifThere(lstat(at));
    if (found === undefined) return false;
    if (isLast && found.isFile()) return true;
    if (!isLast && found.isDirectory()) continue;
    throw coded(
      "upload-name",
      failed(`${name} is there already, and is no ${isLast ? "file" : "folder"}: use another name`),
    );
  }
  return true;
}

/** The folder of the system: an existing one, or one to be made in the first media folder. */
async function systemFolder(
  system: KnownSystem,
  { roots, own }: MediaFolders,
  isIndexed: (root: string) => boolean,
): Promise<Pick<UploadPlace, "base" | "top">> {
  const present = await Promise.all(
    roots.map(async (root) => {
      const top = await resolved(root);
      // A folder that cannot be read is treated as a drive that is away.
      const entries = top === undefined ? [] : await readdir(top).catch(() => []);
      return top === undefined || (entries.length === 0 && isIndexed(root)) ? [] : { top, entries };
    }),
  );
  const tops = present.flat();
  for (const { top, entries } of tops)
    for (const entry of entries.sort()) {
      if (systemByFolder(entry)?.id !== system.id) continue;
      const base = await resolved(join(top, entry));
      // The index also leaves out links to other places.
      if (base === undefined || !tops.some((one) => isInside(base, one.top))) continue;
      const there = await stat(base);
      const above = await stat(top);
      if (there.isDirectory()) return { base, top: there.dev === above.dev ? top : base };
    }
  for (const { system: name, folder } of own) {
    const base = systemByName(name)?.id === system.id ? await resolved(folder) : undefined;
    if (base !== undefined) return { base, top: base };
  }
  const [first] = tops;
  if (first !== undefined) return { base: join(first.top, system.id), top: first.top };
  throw coded(
    "upload-no-folder",
    failed("there is no media folder to write to: its drive may not be plugged in"),
  );
}

/** The real path; undefined if there is no such folder, or its drive does not answer. */
function resolved(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}

/** Resolves when the entries of the folder are on the disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } catch (error) {
    // Some file systems cannot sync a folder (fsync(2)).
    if (codeOf(error) !== "EINVAL") throw error;
  } finally {
    await folder.close();
  }
}

/** The sentence for a refusal by the file system. */
export function writeFailure(error: unknown): ServiceError {
  const code = codeOf(error);
  const why =
    {
      ENOSPC: "the disk is full: delete some media, then send the rest",
      EDQUOT: "the disk quota is used up: delete some media, then send the rest",
      EFBIG: "the file is too large for this file system",
      EROFS: "the media folder is read-only",
      EACCES: "the service may not write to the media folder",
      EPERM: "the service may not write to the media folder",
      EXDEV: "the two folders are on different drives: copy the file instead",
      EIO: "the drive reports an error",
    }[code] ?? `the file cannot be written: ${code || messageOf(error)}`;
  const isFull = code === "ENOSPC" || code === "EDQUOT";
  return coded(isFull ? "upload-no-room" : "upload-not-written", failed(why, error), { errno: code });
}
