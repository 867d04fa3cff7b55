/**
 * Copies the saves of a game into memory before it starts, and recovers the saves that a service left in memory when it
 * died.
 */
import { lstat, mkdir, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { uptime } from "node:os";
import { join } from "node:path";
import { orphanSaveMsMax, savesBytesMax, savesFilesMax } from "../../core/console-limits.ts";
import { filesFolder, type GameSaves } from "./game-saves.ts";
import { gameNamesOf, isForGame } from "./retroarch-saves.ts";
import {
  copySave,
  hasCode,
  listSaves,
  moveSave,
  type OpenFolder,
  openFolder,
  removeSave,
  type SaveFile,
  saveFileAt,
} from "./save-files.ts";

/** The folder in memory while it is open. A player may replace the folder by a link, so entries are named by its descriptor. */
export interface OpenMemory extends OpenFolder {
  readonly realPath: string;
}

/** Opens the folder, which is made if it is missing. Rejects if it is a link or belongs to another user. */
export async function openMemory(memory: string): Promise<OpenMemory> {
  await mkdir(memory, { recursive: true, mode: 0o700 });
  const folder = await openFolder(memory);
  const close = () => folder[Symbol.asyncDispose]();
  try {
    const { uid, mode } = await stat(folder.path);
    if (uid !== process.getuid?.() || (mode & 0o077) !== 0)
      throw new Error(`${memory} is not a folder for this user alone`);
    return { path: folder.path, realPath: await readlink(folder.path), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A file that marks a complete game folder. Players may write to it, so its content is never read. */
const madeNote = "made";

/** The game folders that a service left, the oldest first; folders without the mark, which no player used, are removed. */
export async function leftGames({ path, realPath }: OpenMemory): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of (await readdir(path)).sort()) {
    const folder = join(path, name);
    const isFolder = (await lstat(folder).catch(() => undefined))?.isDirectory();
    const note = await lstat(join(folder, madeNote)).catch(() => undefined);
    if (isFolder === true && note?.isFile() === true) found.push(join(realPath, name));
    // A left-over folder does no harm.
    else await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
  return found;
}

/** Makes a folder for one start of a game, and resolves with its real path. Names increase while the machine runs. */
export async function newGameFolder({ path, realPath }: OpenMemory): Promise<string> {
  for (let number = Math.round(uptime() * 1000); ; number++) {
    const name = String(number).padStart(15, "0");
    try {
      await mkdir(join(path, name), { mode: 0o700 });
    } catch (error) {
      if (hasCode(error, "EEXIST")) continue;
      throw error;
    }
    await using folder = await openFolder(join(path, name));
    await mkdir(join(folder.path, filesFolder), { mode: 0o700 });
    await writeFile(join(folder.path, madeNote), "", { flag: "wx" });
    return join(realPath, name);
  }
}

/** The files that a game needs: those from home, and newer ones from games whose saves could not be copied home yet. */
export async function findSaves(
  path: string,
  home: string,
  left: readonly Pick<GameSaves, "memory" | "home">[],
) {
  const { folder, game } = gameNamesOf(path);
  const newer = left.filter((one) => one.home === home).map(({ memory }) => join(memory, filesFolder));
  const found = new Map<string, { readonly from: string; readonly file: SaveFile }>();
  for (const from of [home, ...newer])
    for (const file of await listSaves(from, folder, (name) => isForGame(name, game)))
      found.set(file.path, { from, file });
  const bytes = [...found.values()].reduce((sum, { file }) => sum + file.bytes, 0);
  if (found.size > savesFilesMax || bytes > savesBytesMax)
    throw new Error(`its ${found.size} files of ${bytes} bytes are too many for the memory`);
  return [...found.values()];
}

/**
 * Puts the files into the game's folder in memory, and resolves with those that also are at home. Files from memory are
 * moved, so an older one is never copied home after a newer one. After a failure no copy remains, because RetroArch then
 * writes the files at home, and a copy would replace them later.
 */
export async function putSaves(
  found: Awaited<ReturnType<typeof findSaves>>,
  home: string,
  memory: string,
): Promise<readonly SaveFile[]> {
  const files = join(memory, filesFolder);
  const atHome = found.filter(({ from }) => from === home).map(({ file }) => file.path);
  try {
    const copies: SaveFile[] = [];
    for (const path of atHome) {
      await copySave(home, files, path);
      const copy = await saveFileAt(files, path);
      if (copy !== undefined) copies.push(copy);
    }
    for (const { from, file } of found) if (from !== home) await moveSave(from, files, file.path);
    return copies;
  } catch (error) {
    for (const path of atHome) await removeSave(files, path);
    throw error;
  }
}

const pollMs = 50;

/** The option of RetroArch that names a settings file in the folder in memory. */
const settingsOption = "--appendconfig=";

/** Ends each RetroArch of a service that died, which makes it write its saves; kills it after `orphanSaveMsMax`. */
export async function endOrphans(memory: string): Promise<void> {
  const deadline = performance.now() + orphanSaveMsMax;
  let asked = new Set<number>();
  for (;;) {
    const found = await orphansOf(memory);
    if (found.length === 0) return;
    const isLate = performance.now() >= deadline;
    for (const pid of found) if (isLate || !asked.has(pid)) send(pid, isLate ? "SIGKILL" : "SIGTERM");
    if (isLate) return;
    asked = new Set(found);
    await Bun.sleep(pollMs);
  }
}

async function orphansOf(memory: string): Promise<readonly number[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const ours = await Promise.all(
    ids.map(async (id) => {
      const line = await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "");
      return line.split("\0").some((word) => word.startsWith(`${settingsOption}${memory}/`));
    }),
  );
  return ids.filter((_id, nth) => ours[nth]).map(Number);
}

function send(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended meanwhile.
  }
}
