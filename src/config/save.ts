/**
 * Replaces a file atomically, so after a power cut the old or the new text is complete. The steps: a temporary file
 * beside it, fsync, rename, fsync of the folder.
 */
import { constants, type Stats } from "node:fs";
import { access, type FileHandle, mkdir, open, readdir, readlink, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { codeOf, ifThere, messageOf } from "../core/errors.ts";

const newFileMode = 0o600;
const linksMax = 40; // The kernel follows at most this many links (path_resolution(7)).

/**
 * Replaces the file at `target`, and keeps its mode, and its owner if this process may. Calls `mayReplace` right before
 * the rename. If it returns false, this returns false and changes nothing. Throws the system's errors. Nothing has
 * changed then, unless only the fsync of the folder failed: in that case the file has the new text.
 */
export async function saveFile(
  target: string,
  text: string,
  mayReplace: () => Promise<boolean>,
): Promise<boolean> {
  const folder = dirname(target);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const present = await ifThere(stat(target));
  // A rename does not check the permissions of the file itself.
  if (present !== undefined) await access(target, constants.W_OK);
  const temporary = join(folder, `.${basename(target)}.${process.pid}.new`);
  try {
    await rm(temporary, { force: true });
    await writeSynced(temporary, text, present);
    if (!(await mayReplace())) {
      await rm(temporary);
      return false;
    }
    await rename(temporary, target);
  } catch (error) {
    // The error above is the one to report. If the removal also fails, the next start removes the file.
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  await using handle = await open(folder, "r");
  await handle.sync();
  return true;
}

async function writeSynced(path: string, text: string, like: Stats | undefined): Promise<void> {
  await using file = await open(path, "wx", newFileMode);
  if (like !== undefined) await own(file, like);
  await file.writeFile(text);
  await file.sync();
}

async function own(file: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  const mine = await file.stat();
  // Only root can change the owner. Otherwise the file belongs to this user, as the folder's permissions allow.
  if (mine.uid !== uid || mine.gid !== gid) await file.chown(uid, gid).catch(() => {});
  await file.chmod(mode & 0o777);
}

/** The file that symbolic links lead to; it need not exist. */
export async function targetOf(path: string): Promise<string> {
  let target = path;
  for (let links = 0; links < linksMax; links++) {
    // `readlink` fails for anything but a link.
    const link = await readlink(target).catch(() => undefined);
    if (link === undefined) return target;
    target = resolve(dirname(target), link);
  }
  throw new Error("too many links");
}

/** Removes temporary files of processes that were killed while they saved. */
export async function sweepTemporaries(target: string): Promise<void> {
  const folder = dirname(target);
  const name = basename(target);
  const form = new RegExp(`^\\.${RegExp.escape(name)}\\.(\\d+)\\.new$`);
  // If the folder cannot be listed, its files cannot be removed.
  for (const entry of await readdir(folder).catch(() => [])) {
    const pid = Number(form.exec(entry)?.[1] ?? "0");
    if (pid > 0 && (pid === process.pid || !isAlive(pid)))
      await rm(join(folder, entry), { force: true }).catch(() => {});
  }
}

/** The reason why a file could not be saved, in words for people, without a path. */
export function savingFault(error: unknown): string {
  const code = codeOf(error);
  return savingFaults[code] ?? (code === "" ? messageOf(error) : `the system says ${code}`);
}

const savingFaults: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk is full",
  EROFS: "the disk is read-only",
  EACCES: "the service may not write to it",
  EPERM: "the service may not write to it",
  EFBIG: "it would be too large",
};

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM means a process of another user.
    return codeOf(error) === "EPERM";
  }
}
