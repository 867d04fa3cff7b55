/** Lists, copies and replaces files of saves: at home a file is the old version or the new one, whenever the power goes. */
import { copyFile, link, lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { savesDepthMax, savesListedMax } from "../../core/limits.ts";
import { syncFolderBehind } from "../../store/files.ts";
import { backupEnding, freshName } from "./names.ts";
import { isWhole } from "./whole.ts";

export interface SaveFile {
  /** Below the folder that was listed. */
  readonly path: string;
  readonly bytes: number;
  /** Another one after each write. */
  readonly version: string;
}

/** The plain files below `top` of `folder` whose names are wanted; none where there is no such folder. Rejects beyond the limits. */
export async function listSaves(
  folder: string,
  top: string,
  isWanted: (name: string) => boolean,
): Promise<readonly SaveFile[]> {
  const found: SaveFile[] = [];
  let listed = 0;
  const walk = async (below: string, depth: number): Promise<void> => {
    const entries = await readdir(join(folder, below), { withFileTypes: true }).catch(noneIfMissing);
    listed += entries.length;
    if (listed > savesListedMax || depth > savesDepthMax)
      throw new Error(`there are more files or folders in ${join(folder, top)} than are looked through`);
    for (const entry of entries) {
      const path = join(below, entry.name);
      if (entry.isDirectory()) await walk(path, depth + 1);
      else if (entry.isFile() && isWanted(entry.name)) {
        const file = await saveFileAt(folder, path);
        if (file !== undefined) found.push(file);
      }
    }
  };
  await walk(top, 1);
  return found;
}

/** Undefined where there is none. */
export async function saveFileAt(folder: string, path: string): Promise<SaveFile | undefined> {
  const found = await lstat(join(folder, path), { bigint: true }).catch(undefinedIfMissing);
  if (found?.isFile() !== true) return undefined;
  const { size, mtimeNs, ino } = found;
  return { path, bytes: Number(size), version: `${ino} ${size} ${mtimeNs}` };
}

export async function copySave(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await copyFile(from, to);
}

export interface Replacing {
  /** Where the new version is, and what it is known as. */
  readonly from: string;
  readonly file: SaveFile;
  readonly home: string;
  /** Keeps the version that is there as `<name>.bak`. */
  readonly keepsOld: boolean;
}

/**
 * Puts the file in the place of the one at home, and resolves once that is on the disk: with `cut` where the new version
 * is not whole, and with `changed` where it was written meanwhile. The old version stays then.
 */
export async function replaceSave(replacing: Replacing): Promise<"kept" | "cut" | "changed"> {
  const folder = dirname(join(replacing.home, replacing.file.path));
  const fresh = join(folder, freshName);
  await makeFolder(folder);
  try {
    return await replaceBy(fresh, replacing);
  } finally {
    // Of a full disk it would take the last room. After the rename it is gone.
    await rm(fresh, { force: true }).catch(() => {});
  }
}

async function replaceBy(
  fresh: string,
  { from, file, home, keepsOld }: Replacing,
): Promise<"kept" | "cut" | "changed"> {
  const to = join(home, file.path);
  await copyFile(join(from, file.path), fresh);
  const after = await saveFileAt(from, file.path);
  if (after?.version !== file.version) return "changed";
  if (!(await isWhole(fresh))) return "cut";
  await syncFile(fresh);
  if (keepsOld) await keepOld(to);
  await rename(fresh, to);
  await syncFolderBehind(dirname(to));
  return "kept";
}

async function syncFile(path: string): Promise<void> {
  await using file = await open(path, "r+");
  await file.sync();
}

/** A second name of the same file: the rename that follows leaves it with the old content. */
async function keepOld(path: string): Promise<void> {
  await rm(`${path}${backupEnding}`, { force: true });
  // There may be no old version, no room for the longer name, or a file system without links: it is one copy less.
  await link(path, `${path}${backupEnding}`).catch(() => {});
}

/** With those above it, each of them on the disk. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; ; made = dirname(made)) {
    await syncFolderBehind(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}

function noneIfMissing(error: unknown): never[] {
  if (isMissing(error)) return [];
  throw error;
}

function undefinedIfMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
