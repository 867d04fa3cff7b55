/** The discs of a game for RetroArch: those that its list names, or the files beside it whose names differ in the disc's number. */
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { discsMax } from "../../core/limits.ts";
import { extensionOf } from "../../core/media.ts";
import { discsOfGame, isNamedAsDisc } from "../../media/discs.ts";
import type { DiscSet } from "../../players/player.ts";
import { type ServiceEnvironment, takesDiscLists } from "../../players/retroarch-cores.ts";
import type { PlayerChoice } from "../launchers.ts";
import type { MediaFile } from "../media-file.ts";
import { playlistItems } from "../playlist-items.ts";

/** The result adds the discs to the choice, if the game has several and the core takes a list of them. */
export function createDiscs(environment: ServiceEnvironment) {
  const known = new Map<string, boolean>();
  const takesLists = (core: string) => {
    const takes = known.get(core) ?? takesDiscLists(core, environment);
    known.set(core, takes);
    return takes;
  };
  return async (file: MediaFile, choice: PlayerChoice): Promise<PlayerChoice> => {
    const { core } = choice;
    if (core === undefined || file.bytes !== undefined) return choice;
    const discs = await discsOf(file.path);
    return discs === undefined || !takesLists(core) ? choice : { ...choice, discs };
  };
}

/** The discs of the game of this file; undefined for a game of one disc. */
async function discsOf(path: string): Promise<DiscSet | undefined> {
  const folder = dirname(path);
  if (extensionOf(path) === ".m3u") {
    const paths = await playlistItems(path);
    return paths.length > 1 && paths.length <= discsMax ? { content: path, paths, inserted: 0 } : undefined;
  }
  const name = basename(path);
  // Most games have one disc, and their folder is not read.
  if (!isNamedAsDisc(name)) return undefined;
  const discs = discsOfGame(name, await readdir(folder)).slice(0, discsMax);
  const [first] = discs;
  // A list has a line for each disc, so a name with a line feed cannot be in it.
  if (first === undefined || !discs.includes(name) || discs.some((one) => one.includes("\n")))
    return undefined;
  return {
    content: join(folder, first),
    paths: discs.map((one) => join(folder, one)),
    inserted: discs.indexOf(name),
  };
}
