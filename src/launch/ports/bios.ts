/**
 * Checks that a game has its BIOS file. A game without it fails before RetroArch starts, with the name and MD5 of the file. A
 * file is searched for in RetroArch's system folder, beside the game, and in the folder `bios` of each USB stick.
 */
import { exists } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { launchFailed } from "../../core/errors.ts";
import { systemByName } from "../../media/known-systems.ts";
import { type Firmware, neededFirmware } from "../../players/firmware.ts";
import {
  infoFolders,
  type ServiceEnvironment,
  settingsFolder,
  statedFolders,
} from "../../players/retroarch-cores.ts";
import type { PlayerChoice } from "../launchers.ts";
import type { MediaFile } from "../media-file.ts";

/** Returns the choice with the folder of the BIOS; throws `ServiceError("failed")` for a game whose BIOS is missing. */
export type CheckBios = (file: MediaFile, choice: PlayerChoice) => Promise<PlayerChoice>;

export function createBios(environment: ServiceEnvironment, sticks: () => readonly string[]): CheckBios {
  /** The BIOS files by system and core. They are kept, so a tap does not read an info file again. */
  const known = new Map<string, readonly Firmware[]>();
  const needed = (systemId: string, core: string) => {
    const key = `${systemId}\0${core}`;
    const files = known.get(key) ?? neededFirmware(systemId, core, infoFolders(core, environment));
    known.set(key, files);
    return files;
  };
  return async (file, choice) => {
    const { core } = choice;
    if (core === undefined || file.path === "" || !isUsual(choice)) return choice;
    const files = needed(systemByName(file.system.id)?.id ?? file.system.id, core);
    if (files.length === 0) return choice;
    const folders = systemFolders(environment);
    const ofSticks = sticks().map((stick) => join(stick, "bios"));
    if (await isIn([...folders, dirname(file.path)], files)) return choice;
    for (const systemFolder of ofSticks)
      if (await isIn([systemFolder], files)) return { ...choice, systemFolder };
    throw launchFailed("bios-missing", sentenceOf(files, folders[0] ?? ""));
  };
}

/** The system folder in RetroArch's settings, and then its default folders. */
function systemFolders(environment: ServiceEnvironment): readonly string[] {
  const home = environment.HOME ?? homedir();
  const flatpak = join(home, ".var/app/org.libretro.RetroArch/config/retroarch/system");
  const usual = join(settingsFolder(environment), "system");
  return [...new Set([...statedFolders("system_directory", environment), usual, flatpak])];
}

/** False for a RetroArch with unknown settings, because its command or its environment changes them. */
function isUsual({ argv, environment = {} }: PlayerChoice): boolean {
  const [program = ""] = argv;
  const isOwn = argv.some((word) => /^(-c|--config(=.*)?|--appendconfig(=.*)?)$/.test(word));
  return (
    basename(program) === "retroarch" &&
    !isOwn &&
    !("HOME" in environment || "XDG_CONFIG_HOME" in environment)
  );
}

async function isIn(folders: readonly string[], files: readonly Firmware[]): Promise<boolean> {
  const paths = folders.flatMap((folder) => files.map(({ path }) => join(folder, path)));
  return (await Promise.all(paths.map((path) => exists(path)))).includes(true);
}

const shownMax = 3;

function sentenceOf(files: readonly Firmware[], folder: string): string {
  const named = files
    .slice(0, shownMax)
    .map(({ path, md5 }) => (md5 === undefined ? path : `${path} (MD5 ${md5})`))
    .join(" or ");
  return `the BIOS file ${named} is missing: put it into ${folder}`;
}
