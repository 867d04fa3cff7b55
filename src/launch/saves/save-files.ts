/** Lists, copies and replaces files of saves: at home a file is the old version or the new one, whenever the power goes. */
import { type FileHandle, link, lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { savesDepthMax, savesListedMax } from "../../core/limits.ts";
import { syncFolderBehind } from "../../store/database-files.ts";
import { makePlain, type OpenFolder, openFolder, openPlain, pathOf } from "./folder.ts";
import { backupEnding, freshName } from "./save-names.ts";
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

/** Undefined where there is none. */
export async function saveFileAt(folder: string, path: string): Promise<SaveFile | undefined> {
  await using opened = await openFolder(folder, dirname(path)).catch(undefinedIfMissing);
  return opened === undefined ? undefined : await saveFileIn(opened, path);
}

async function saveFileIn(opened: OpenFolder, path: string): Promise<SaveFile | undefined> {
  const name = join(opened.path, basename(path));
  const found = await lstat(name, { bigint: true }).catch(undefinedIfMissing);
  if (found?.isFile() !== true) return undefined;
  const { size, mtimeNs, ino } = found;
  return { path, bytes: Number(size), version: `${ino} ${size} ${mtimeNs}` };
}

/** From below one folder to the same place below another, where the name must be free. */
export async function copySave(from: string, to: string, path: string): Promise<void> {
  await using folder = await openFolder(to, dirname(path), true);
  await using copy = await makePlain(folder, basename(path));
  await copyInto(copy, from, path);
}

/** As `copySave`, and it is not at its old place any more. */
export async function moveSave(from: string, to: string, path: string): Promise<void> {
  await using source = await openFolder(from, dirname(path));
  await using target = await openFolder(to, dirname(path), true);
  await rename(join(source.path, basename(path)), join(target.path, basename(path)));
}

const pieceBytes = 256 * 1024;

async function copyInto(copy: FileHandle, from: string, path: string): Promise<void> {
  await using folder = await openFolder(from, dirname(path));
  await using file = await openPlain(folder, basename(path));
  if (file === undefined) throw new Error(`${path} is not a plain file any more`);
  const piece = Buffer.alloc(pieceBytes);
  for (let at = 0; ; ) {
    const { bytesRead } = await file.read(piece, 0, pieceBytes, at);
    if (bytesRead === 0) return;
    for (const end = at + bytesRead; at < end; )
      at += (await copy.write(piece, bytesRead - (end - at), end - at, at)).bytesWritten;
  }
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
  const { home, file } = replacing;
  await makeFolder(home);
  await using folder = await openFolder(home, dirname(file.path), true);
  const fresh = join(folder.path, freshName);
  await rm(fresh, { force: true });
  try {
    return await replaceIn(folder, replacing);
  } finally {
    // Of a full disk it would take the last room. After the rename it is gone.
    await rm(fresh, { force: true }).catch(() => {});
  }
}

async function replaceIn(
  folder: OpenFolder,
  { from, file, keepsOld }: Replacing,
): Promise<"kept" | "cut" | "changed"> {
  const to = join(folder.path, basename(file.path));
  await using copy = await makePlain(folder, freshName);
  await copyInto(copy, from, file.path);
  const after = await saveFileAt(from, file.path);
  if (after?.version !== file.version) return "changed";
  if (!(await isWhole(pathOf(copy)))) return "cut";
  await copy.sync();
  if (keepsOld) await keepOld(to);
  await rename(join(folder.path, freshName), to);
  await syncFolderBehind(folder.path);
  return "kept";
}

/** A second name of the same file: the rename that follows leaves it with the old content. */
async function keepOld(path: string): Promise<void> {
  await rm(`${path}${backupEnding}`, { force: true }).catch(() => {});
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

function undefinedIfMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
