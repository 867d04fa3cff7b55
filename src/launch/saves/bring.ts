/** Copies the saves of a game into memory before it starts, and finds those that an earlier service left there. */
import { lstat, mkdir, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { uptime } from "node:os";
import { join } from "node:path";
import { savesBytesMax, savesFilesMax } from "../../core/limits.ts";
import { filesFolder, type Game } from "./game.ts";
import { copySave, listSaves, moveSave, type SaveFile, saveFileAt } from "./save-files.ts";
import { gameNamesOf, isForGame } from "./save-names.ts";

/** Makes the folder where it is missing, and resolves with its true path; rejects where another user's is in its place. */
export async function privateFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const found = await lstat(path);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0)
    throw new Error(`${path} is not a folder for this user alone`);
  return realpath(path);
}

/** In a game's folder in memory: it was made whole. Players may write here, so that its content is never read. */
const madeNote = "made";

/** The folders that an earlier service left, the oldest first; a folder without the note was never played from. */
export async function leftGames(memory: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of (await readdir(memory)).sort()) {
    const folder = join(memory, name);
    const note = await lstat(join(folder, madeNote)).catch(() => undefined);
    if (note?.isFile() === true) found.push(folder);
    else await rm(folder, { recursive: true, force: true });
  }
  return found;
}

/** Makes a folder for one start of a game; its name is later than those of all others since the machine started. */
export async function newGameFolder(memory: string): Promise<string> {
  for (let name = Math.round(uptime() * 1000); ; name++) {
    const folder = join(memory, String(name).padStart(15, "0"));
    try {
      await mkdir(folder, { mode: 0o700 });
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "EEXIST") continue;
      throw error;
    }
    await mkdir(join(folder, filesFolder), { mode: 0o700 });
    await writeFile(join(folder, madeNote), "");
    return folder;
  }
}

interface Found {
  readonly from: string;
  readonly file: SaveFile;
}

/** The files that a game needs, from home, and, newer, from games whose saves could not be carried there yet. */
export async function findSaves(
  path: string,
  home: string,
  left: readonly Pick<Game, "memory" | "home">[],
): Promise<readonly Found[]> {
  const { folder, game } = gameNamesOf(path);
  const newer = left.filter((one) => one.home === home).map(({ memory }) => join(memory, filesFolder));
  const found = new Map<string, Found>();
  for (const from of [home, ...newer])
    for (const file of await listSaves(from, folder, (name) => isForGame(name, game)))
      found.set(file.path, { from, file });
  const bytes = [...found.values()].reduce((sum, { file }) => sum + file.bytes, 0);
  if (found.size > savesFilesMax || bytes > savesBytesMax)
    throw new Error(`its ${found.size} files of ${bytes} bytes are too many for the memory`);
  return [...found.values()];
}

/**
 * Puts the files into the game's folder in memory, and resolves with those that are at home as well. What comes out of
 * memory is moved: the older one must not be carried home after the newer one.
 */
export async function putSaves(
  found: readonly Found[],
  home: string,
  memory: string,
): Promise<readonly SaveFile[]> {
  const brought: SaveFile[] = [];
  const files = join(memory, filesFolder);
  for (const { from, file } of found) {
    if (from !== home) {
      await moveSave(from, files, file.path);
      continue;
    }
    await copySave(from, files, file.path);
    const copy = await saveFileAt(files, file.path);
    if (copy !== undefined) brought.push(copy);
  }
  return brought;
}
