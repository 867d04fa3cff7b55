/**
 * BIOS files that a game needs, by the core's `.info` file (docs.libretro.com, "Core info files"). A table adds systems whose
 * games need a file that cores call optional. One of several files is enough, and the game's region decides which one.
 */
import { basename } from "node:path";
import { firmwareFilesMax } from "../core/limits.ts";
import { coreInfo, coreNameOf } from "./retroarch-cores.ts";

export interface Firmware {
  /** The path below RetroArch's `system_directory`. */
  readonly path: string;
  /** The MD5 in lower case; absent if it is not known. */
  readonly md5?: string;
}

interface ListedFirmware extends Firmware {
  readonly isOptional: boolean;
}

/** Files and sums of the cores' pages on docs.libretro.com, "BIOS". */
const playStation = {
  "scph5500.bin": "8dd7d5296a650fac7319bce665a6a53c",
  "scph5501.bin": "490f666e1afb15b7362b406ed1cea246",
  "scph5502.bin": "32736f17079d0b2b7024407c39bd3050",
};
const neededBySystem: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  FDS: { "disksys.rom": "ca30b50f880eb660a320674ed365ef7a" },
  TurboGrafx16CD: { "syscard3.pce": "38179df8f4ac870017db21ebcbf53114" },
  MegaCD: {
    "bios_CD_U.bin": "2efd74e3232ff260e371b99f84024f7f",
    "bios_CD_E.bin": "e66fa1dc5820d254611fdcdba0662372",
    "bios_CD_J.bin": "278a9397d192149e84e820ac621a8edd",
  },
};
/** PlayStation cores that have no built-in BIOS. */
const playStationCores = ["swanstation", "mednafen_psx", "mednafen_psx_hw"];
/** Systems that need no file, although their cores call some required. */
const withoutFirmware = ["GBA", "Gameboy", "GameboyColor", "Atari800", "AtariXEGS"];

/** A game of this system needs one of these files with this core; empty if it needs none. */
export function neededFirmware(
  systemId: string,
  coreFile: string,
  infoFolders: readonly string[],
): readonly Firmware[] {
  const core = coreNameOf(coreFile);
  const listed = firmwareIn(coreInfo(core, infoFolders));
  const isPlayStation = systemId === "PSX" && playStationCores.includes(core);
  const stated = isPlayStation ? playStation : neededBySystem[systemId];
  if (stated !== undefined) {
    const own = Object.entries(stated).map(([path, md5]) => ({ path, md5 }));
    const others = listed.filter(({ path }) => isLike(path, Object.keys(stated)));
    return [...own, ...others.filter(({ path }) => !(path in stated))].slice(0, firmwareFilesMax);
  }
  if (withoutFirmware.includes(systemId)) return [];
  return listed.filter(({ isOptional }) => !isOptional).slice(0, firmwareFilesMax);
}

/** True for another version of a file: syscard2.pce may replace syscard3.pce. */
function isLike(path: string, names: readonly string[]): boolean {
  const stem = (name: string) => name.replace(/\d*\.[a-z]+$/i, "").toLowerCase();
  return names.some((name) => stem(name) === stem(path));
}

/**
 * The files in the text of an `.info` file: `firmware0_path = "x.bin"`, `firmware0_opt = "false"`, and `(!) x.bin
 * (md5): ...` in its notes.
 */
export function firmwareIn(text: string): readonly ListedFirmware[] {
  const values = new Map(
    [...text.matchAll(/^[ \t]*(\w+)[ \t]*=[ \t]*"([^"\n]*)"/gm)].map(([, key = "", value = ""]) => [
      key,
      value,
    ]),
  );
  const sums = new Map(
    [...(values.get("notes") ?? "").matchAll(/\(!\)([^|()]+)\(md5\):?\s*([0-9a-f]{32})/gi)].map(
      ([, name = "", sum = ""]) => [name.trim().toLowerCase(), sum.toLowerCase()],
    ),
  );
  const found: ListedFirmware[] = [];
  for (let at = 0; at < firmwareFilesMax * 4; at++) {
    const path = values.get(`firmware${at}_path`);
    if (path === undefined) break;
    const isOptional = values.get(`firmware${at}_opt`) !== "false";
    const md5 = sums.get(path.toLowerCase()) ?? sums.get(basename(path).toLowerCase());
    if (path !== "" && !path.startsWith("/") && !path.split("/").includes(".."))
      found.push({ path, isOptional, ...(md5 === undefined ? {} : { md5 }) });
  }
  return found;
}
