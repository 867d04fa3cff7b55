/** Every script command, in the order of docs/SCRIPT.md. */
import type { ScriptCommand } from "../command.ts";
import { deviceCommands } from "./device-commands.ts";
import { launchCommands } from "./launch-commands.ts";
import { playerCommands } from "./player-commands.ts";
import { playlistCommands } from "./playlist-commands.ts";
import { programCommands } from "./program-commands.ts";

export const scriptCommands: readonly ScriptCommand[] = [
  ...launchCommands,
  ...playlistCommands,
  ...playerCommands,
  ...programCommands,
  ...deviceCommands,
];

/** Commands of one other kind of device, which cards may have. They get an error of their own. */
export const misterCommands: readonly string[] = [
  ...["mister.ini", "mister.core", "mister.script", "mister.mgl", "mister.wallpaper", "ini"],
];
