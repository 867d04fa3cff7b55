/**
 * Which files in the folder of saves are of one game. RetroArch names them after the file that it plays, without its
 * ending, in a folder that has the name of the folder around that file:
 *
 *   <folder>/<game>.srm               battery RAM; .rtc, .sav and others beside it
 *   <folder>/<core>/<game>.state.auto states
 *   <folder>/<other name>             what a core keeps for several games, such as a memory card
 */
import { basename, dirname, extname } from "node:path";

export interface GameNames {
  readonly folder: string;
  /** What all names of its own files begin with, before a dot. */
  readonly game: string;
}

/** Of the file that is played; a name that is not UTF-8 reaches RetroArch as `linkCleanly` makes it. */
export function gameNamesOf(path: string): GameNames {
  const clean = path.replaceAll("\ufffd", "_");
  return { folder: basename(dirname(clean)), game: basename(clean, extname(clean)) };
}

/** The version that was there before a game was started. */
export const backupEnding = ".bak";
/** What is being written; one for each folder, for one file is written at a time. */
export const freshName = ".tapdeck-save.new";

/** Endings that files of single games have, with any name before them. */
const ofOneGame = /\.(?:srm|sav|rtc|ldci|\d\.mcr|pure\.zip|state(?:\d+|\.auto)?(?:\.png)?)$/i;

/** Whether the game needs the file: its own, or one that no other game owns by its name. */
export function isForGame(name: string, game: string): boolean {
  if (name === freshName || name.endsWith(backupEnding)) return false;
  return name.startsWith(`${game}.`) || !ofOneGame.test(name);
}
