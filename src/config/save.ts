/**
 * Puts a new text in the place of a file so that, whenever the plug is pulled, the old one or the new one is there as a
 * whole: a temporary file beside it, fsync, rename, fsync of the folder.
 */
import { constants } from "node:fs";
import { access, type FileHandle, mkdir, open, readdir, readlink, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { messageOf } from "../core/errors.ts";

const newFileMode = 0o600;
const linksMax = 40; // As the kernel follows (path_resolution(7)).

/**
 * Replaces the file at `target`, keeping its mode, and its owner where this process may. Asks `mayReplace` at the last
 * moment, and returns false, with nothing changed, where it says no. Throws what the system refuses, with nothing
 * changed either; only where the folder cannot be synced does the new text stand there all the same.
 */
export async function saveFile(
  target: string,
  text: string,
  mayReplace: () => Promise<boolean>,
): Promise<boolean> {
  const folder = dirname(target);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const present = await ifThere(stat(target));
  // A rename would not ask whether the file itself is write-protected.
  if (present !== undefined) await access(target, constants.W_OK);
  const temporary = temporaryOf(target, process.pid);
  try {
    await rm(temporary, { force: true });
    await writeSynced(temporary, text, present);
    if (!(await mayReplace())) {
      await rm(temporary);
      return false;
    }
    await rename(temporary, target);
  } catch (error) {
    // The reason for the failure is what matters; a leftover is swept away at the next start.
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(folder);
  return true;
}

interface Ownership {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

async function writeSynced(path: string, text: string, like: Ownership | undefined): Promise<void> {
  await using file = await open(path, "wx", newFileMode);
  if (like !== undefined) await own(file, like);
  await file.writeFile(text);
  await file.sync();
}

async function own(file: FileHandle, { mode, uid, gid }: Ownership): Promise<void> {
  const mine = await file.stat();
  // Only root gives files away; for anyone else the file is then their own, which the folder's owner allowed.
  if (mine.uid !== uid || mine.gid !== gid) await file.chown(uid, gid).catch(() => {});
  await file.chmod(mode & 0o777);
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}

/** The file behind symbolic links, also where it does not exist yet. */
export async function targetOf(path: string): Promise<string> {
  let target = path;
  for (let links = 0; links < linksMax; links++) {
    // What is no link cannot be read as one.
    const link = await readlink(target).catch(() => undefined);
    if (link === undefined) return target;
    target = resolve(dirname(target), link);
  }
  throw new Error("too many links");
}

/** Removes temporary files of processes that were killed while they saved. */
export async function sweepTemporaries(target: string): Promise<void> {
  const [folder, name] = [dirname(target), basename(target)];
  const form = new RegExp(`^\\.${RegExp.escape(name)}\\.(\\d+)\\.new$`);
  // A folder that cannot be listed holds nothing that could be removed.
  for (const entry of await readdir(folder).catch(() => [])) {
    const pid = Number(form.exec(entry)?.[1] ?? "0");
    if (pid > 0 && (pid === process.pid || !isAlive(pid)))
      await rm(join(folder, entry), { force: true }).catch(() => {});
  }
}

/** Why a file could not be saved, for people: no path, no number. */
export function savingFault(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return "the disk is full";
    case "EROFS":
      return "the disk is read-only";
    case "EACCES":
    case "EPERM":
      return "the service may not write to it";
    case "EFBIG":
      return "it would be too large";
    default:
      return typeof code === "string" ? `the system says ${code}` : messageOf(error);
  }
}

function temporaryOf(target: string, pid: number): string {
  return join(dirname(target), `.${basename(target)}.${pid}.new`);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process is alive too, and says EPERM.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

async function ifThere<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
