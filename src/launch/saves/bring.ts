/** Copies the saves of a game into memory before it starts, and recovers what a service that died left there. */
import { lstat, mkdir, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { uptime } from "node:os";
import { join } from "node:path";
import { orphanSaveMsMax, savesBytesMax, savesFilesMax } from "../../core/console-limits.ts";
import { filesFolder, type Game } from "./game.ts";
import { gameNamesOf, isForGame } from "./retroarch-saves.ts";
import { copySave, hasCode, listSaves, moveSave, type SaveFile, saveFileAt } from "./save-files.ts";

/** Makes the folder if it is missing, and resolves with its real path; rejects if it belongs to another user. */
export async function privateFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const found = await lstat(path);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0)
    throw new Error(`${path} is not a folder for this user alone`);
  return realpath(path);
}

/** A file that marks a complete game folder. Players may write to it, so its content is never read. */
const madeNote = "made";

/** The game folders that a service left, the oldest first; folders without the mark, which no player used, are removed. */
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

/** Makes a folder for one start of a game. Names increase while the machine runs. */
export async function newGameFolder(memory: string): Promise<string> {
  for (let name = Math.round(uptime() * 1000); ; name++) {
    const folder = join(memory, String(name).padStart(15, "0"));
    try {
      await mkdir(folder, { mode: 0o700 });
    } catch (error) {
      if (hasCode(error, "EEXIST")) continue;
      throw error;
    }
    await mkdir(join(folder, filesFolder), { mode: 0o700 });
    await writeFile(join(folder, madeNote), "");
    return folder;
  }
}

/** The files that a game needs: from home, and newer ones from games whose saves could not be carried home yet. */
export async function findSaves(path: string, home: string, left: readonly Pick<Game, "memory" | "home">[]) {
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
 * Puts the files into the game's folder in memory, and resolves with those that are at home as well. Files from memory are
 * moved, so that an older one is never carried home after a newer one.
 */
export async function putSaves(
  found: Awaited<ReturnType<typeof findSaves>>,
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
