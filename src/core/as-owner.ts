/**
 * root and the files of others. A user could put a link into a folder of their own, for root to follow. A command of root
 * therefore acts as that user in this folder. A link opens nothing that the user could not open, and files that root
 * makes belong to the user.
 */
import { constants } from "node:fs";
import { lstat, open, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { exitFailure, messageOf } from "./errors.ts";

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Runs `work` as the user who may replace what is at `path`. This changes the user of the whole process for that time, so
 * it is for commands, which do one thing at a time, and not for the service. Without root's rights, and for a path of
 * root's own, it only calls `work`.
 */
export async function asOwnerOf<Value>(path: string, work: () => Promise<Value>): Promise<Value> {
  const owner = await otherOwnerOf(path);
  if (owner === undefined) return work();
  const before = { gid: process.getegid?.() ?? 0, groups: process.getgroups?.() ?? [] };
  try {
    process.setgroups?.([owner.gid]);
    process.setegid?.(owner.gid);
    process.seteuid?.(owner.uid);
  } catch (error) {
    throw exitFailure(`root cannot act as the owner of ${path}: ${messageOf(error)}`, error);
  }
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(before.gid);
    process.setgroups?.(before.groups);
  }
}

/**
 * For a service that root runs on the folder of another user: gives a folder and a file inside it to that user, and
 * follows no link. Rejects if a link or another file is in their place.
 */
export async function giveToOwnerOf(path: string, folder: string, name: string): Promise<void> {
  const owner = await otherOwnerOf(path);
  if (owner === undefined) return;
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  await using opened = await open(folder, flags | constants.O_DIRECTORY);
  // Its name may lead to another place by now.
  await using file = await open(`/proc/self/fd/${opened.fd}/${name}`, flags);
  if ((await file.stat()).nlink !== 1) throw exitFailure(`${name} is another file, too`);
  for (const one of [opened, file]) await one.chown(owner.uid, owner.gid);
}

/**
 * The user who may replace what is at `path`: the owner of the first part of it that is not root's. Undefined if there is none, or
 * this process has no rights of root to give up.
 */
export async function otherOwnerOf(path: string): Promise<Owner | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  for (const part of partsOf(resolve(path))) {
    // A link may have another owner than the folder to which it leads.
    for (const look of [lstat, stat]) {
      // The rest of the path does not exist yet.
      const found = await look(part).catch(() => undefined);
      if (found === undefined) return undefined;
      if (found.uid !== 0) return { uid: found.uid, gid: found.gid };
    }
  }
  return undefined;
}

/** All folders of `path`, from the root of the file system to `path` itself. */
function partsOf(path: string): readonly string[] {
  return dirname(path) === path ? [path] : [...partsOf(dirname(path)), path];
}
