/**
 * Gives the service access to its own files again, at each start. Players run as its user, and no rule of Landlock
 * covers chmod(2): a player can remove the permissions of files that it can neither read nor change. Without this repair
 * the service would no longer start.
 */
import type { Stats } from "node:fs";
import { chmod, lstat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { type Environment, ownRunFolder, type ServicePlaces } from "./folders.ts";
import { dataOfPlayers } from "./player-places.ts";

const all = { folder: 0o700, file: 0o600 };
/** The service makes files in this folder and reads those of a person, who may have removed the permission to write. */
const certificates = { folder: 0o700, file: 0o400 };
/** The settings are also files of a person, who may have made their folder read-only. */
const settings = { folder: 0o500, file: 0o400 };
const others: Readonly<Record<string, typeof all>> = {
  "config.toml": settings,
  mappings: settings,
  tls: certificates,
};

/** Files in these folders belong to players; the service needs only the folder. */
const ofPlayers: readonly string[] = [...dataOfPlayers, "players"];

/** Adds missing permissions of the owner, and logs each file. Links and files of another user stay as they are. */
export async function regainAccess(places: ServicePlaces, environment: Environment, log: Log): Promise<void> {
  const { configPath, configNamed, dataFolder, savesMemory } = places;
  const config = dirname(configPath);
  // The folder of a named config file may hold other files.
  const ofSettings = configNamed ? [configPath, join(config, "mappings")] : [config];
  const run = ownRunFolder(environment);
  for (const path of ofSettings) await regain(path, settings, 2, log);
  await regain(dataFolder, all, 2, log);
  await regain(savesMemory, all, 0, log);
  if (run !== undefined) await regain(run, all, 1, log);
}

/** Adds the missing permissions to the file or folder at the path, and to all within it up to `depth` folders deep. */
async function regain(path: string, access: typeof all, depth: number, log: Log): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || found.uid !== process.geteuid?.()) return;
  const needed = found.isDirectory() ? access.folder : found.isFile() ? access.file : 0;
  if ((found.mode & needed) !== needed) await addTo(path, found, needed, log);
  if (!found.isDirectory() || depth === 0) return;
  for (const name of await readdir(path).catch(() => [])) {
    if (name.startsWith(".")) continue;
    await regain(join(path, name), others[name] ?? access, ofPlayers.includes(name) ? 0 : depth - 1, log);
  }
}

async function addTo(path: string, { mode }: Stats, needed: number, log: Log): Promise<void> {
  try {
    await chmod(path, (mode | needed) & 0o7777);
    log.warn("store", "the service had no access to its own file until now", { file: path });
  } catch (error) {
    log.warn("store", "the service has no access to its own file", { file: path, error: messageOf(error) });
  }
}
