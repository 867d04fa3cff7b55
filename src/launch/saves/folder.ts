/**
 * Folders and files that are opened without following links: players may write among the saves, and a link there must not
 * lead the service, which may read and write more than they, to another place. A folder that is open keeps its identity, and
 * what is in it is named by way of its descriptor (proc(5), "/proc/pid/fd").
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open } from "node:fs/promises";
import { join } from "node:path";

export interface OpenFolder extends AsyncDisposable {
  /** Names the open folder, whatever stands at the path that it had. Good until it is closed. */
  readonly path: string;
}

const asFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
// A FIFO must not keep its opener waiting.
const asSource = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const asNew = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Opens the folder `below` the folder `top`; with `makes`, folders that are missing are made, each of them on the disk. Rejects with
 * `ENOENT` or `ENOTDIR`, and with a sentence where one of them is a link.
 */
export async function openFolder(top: string, below = ".", makes = false): Promise<OpenFolder> {
  let folder = await openOne(top);
  for (const name of below.split("/").filter((part) => part !== "" && part !== ".")) {
    const above = folder;
    try {
      const path = join(pathOf(above), name);
      if (makes && (await isMade(path))) await above.sync();
      folder = await openOne(path, join(top, below));
    } finally {
      await above.close();
    }
  }
  return { path: pathOf(folder), [Symbol.asyncDispose]: () => folder.close() };
}

/** Opens a plain file to read it; undefined where that name is something else. */
export async function openPlain(folder: OpenFolder, name: string): Promise<FileHandle | undefined> {
  const file = await open(join(folder.path, name), asSource);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  return undefined;
}

/** Makes a file that nobody else reads. Rejects with `EEXIST` where the name is taken. */
export function makePlain(folder: OpenFolder, name: string): Promise<FileHandle> {
  return open(join(folder.path, name), asNew, 0o600);
}

/** The path of an open file, for what takes no descriptor. */
export function pathOf({ fd }: Pick<FileHandle, "fd">): string {
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

/** Whether it was missing. */
async function isMade(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
