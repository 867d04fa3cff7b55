/**
 * Libretro cores: the cores for each system, the usual one first, and their folders. The name of a core is that of its file,
 * `<name>_libretro.so`, as docs.libretro.com lists them.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import { coreInfoBytesMax, retroArchSettingsBytesMax } from "../core/limits.ts";

/** Cores by the ids of systems. Systems with the same cores share a row. */
const rows: readonly (readonly [systems: string, cores: string])[] = [
  ["NES FDS", "mesen fceumm nestopia quicknes"],
  [
    "SNES SNESMSU1 Sufami",
    "snes9x bsnes bsnes_hd_beta mesen-s snes9x2010 bsnes_mercury_balanced bsnes_mercury_performance",
  ],
  ["SuperGameboy", "mesen-s bsnes sameboy mgba"],
  ["Gameboy GameboyColor", "gambatte sameboy mgba gearboy tgbdual"],
  ["Gameboy2P", "tgbdual"],
  ["GBA", "mgba vba_next gpsp vbam"],
  ["NDS", "melonds melondsds desmume"],
  ["3DS", "citra azahar"],
  ["Nintendo64", "mupen64plus_next parallel_n64"],
  ["VirtualBoy", "mednafen_vb"],
  ["GameCube Wii", "dolphin"],
  ["PokemonMini", "pokemini"],
  ["GameNWatch", "gw"],
  ["SG1000 MasterSystem GameGear", "genesis_plus_gx picodrive smsplus"],
  ["Genesis MegaCD SegaPico", "genesis_plus_gx picodrive"],
  ["GenesisMSU", "genesis_plus_gx"],
  ["Sega32X", "picodrive"],
  ["Saturn", "mednafen_saturn kronos yabasanshiro yabause"],
  ["Dreamcast NAOMI Atomiswave", "flycast"],
  ["PSX", "swanstation mednafen_psx_hw mednafen_psx pcsx_rearmed"],
  ["PS2", "pcsx2 play"],
  ["PSP", "ppsspp"],
  ["TurboGrafx16 TurboGrafx16CD", "mednafen_pce mednafen_pce_fast geargrafx"],
  ["SuperGrafx", "mednafen_supergrafx mednafen_pce"],
  ["PCFX", "mednafen_pcfx"],
  ["NeoGeo NeoGeoMVS NeoGeoAES", "fbneo geolith mame"],
  ["NeoGeoCD", "neocd fbneo"],
  ["NeoGeoPocket NeoGeoPocketColor", "mednafen_ngp race"],
  ["WonderSwan WonderSwanColor", "mednafen_wswan"],
  ["Atari2600", "stella stella2014"],
  ["Atari5200 Atari800 AtariXEGS", "atari800 a5200"],
  ["Atari7800", "prosystem"],
  ["AtariLynx", "handy mednafen_lynx"],
  ["Jaguar", "virtualjaguar"],
  ["AtariST", "hatari"],
  ["3DO", "opera"],
  ["CDI", "same_cdi"],
  ["ColecoVision", "bluemsx gearcoleco"],
  ["Intellivision", "freeintv"],
  ["Vectrex", "vecx"],
  ["Odyssey2 VideopacPlus", "o2em"],
  ["ChannelF", "freechaf"],
  ["SuperVision", "potator"],
  ["MegaDuck", "sameduck"],
  ["Uzebox", "uzem"],
  ["Arduboy", "arduous ardens"],
  ["Amiga Amiga500 Amiga1200 AmigaCD32 CommodoreCDTV", "puae puae2021 uae4arm"],
  ["C64", "vice_x64 vice_x64sc frodo"],
  ["C16 CommodorePlus4", "vice_xplus4"],
  ["VIC20", "vice_xvic"],
  ["PET2001", "vice_xpet"],
  ["ZXSpectrum", "fuse"],
  ["ZX81", "81"],
  ["Amstrad AmstradGX4000", "cap32 crocods"],
  ["MSX MSX1 MSX2 MSX2Plus SVI328 Spectravideo", "bluemsx fmsx"],
  ["PC88", "quasi88"],
  ["PC98", "np2kai nekop2"],
  ["X1", "x1"],
  ["X68000", "px68k"],
  ["Thomson", "theodore"],
  ["DOS", "dosbox_pure dosbox_core dosbox"],
  ["Arcade CPS1 CPS2 CPS3 PGM", "fbneo mame mame2010 mame2003_plus mame2003"],
  ["DAPHNE", "daphne"],
  ["ScummVM", "scummvm"],
  ["EasyRPG", "easyrpg"],
  ["Lutro", "lutro"],
  ["TIC80", "tic80"],
  ["WASM4", "wasm4"],
  ["Vircon32", "vircon32"],
  ["LowResNX", "lowresnx"],
  ["Pico8", "retro8 fake08"],
];

const coresOf: ReadonlyMap<string, readonly string[]> = new Map(
  rows.flatMap(([systems, cores]) => systems.split(" ").map((system) => [system, cores.split(" ")] as const)),
);

/** The ids of all systems with a known core. */
export const coredSystems: readonly string[] = [...coresOf.keys()];

/** The core files, by the names of the cores. */
export function coreNamesOf(systemId: string): readonly string[] {
  return coresOf.get(systemId) ?? [];
}

/** Files of cores by their names. */
export type Cores = ReadonlyMap<string, string>;

const ending = "_libretro.so";
const infoEnding = "_libretro.info";

/** The cores in these folders. Of two cores with one name, the one in the earlier folder counts. */
export function findCores(folders: readonly string[]): Cores {
  const found = new Map<string, string>();
  for (const folder of folders) {
    for (const file of filesIn(folder)) {
      if (!file.endsWith(ending)) continue;
      const name = file.slice(0, -ending.length);
      if (!found.has(name)) found.set(name, join(folder, file));
    }
  }
  return found;
}

/** The folder of cores in RetroArch's settings, and then the usual folders. */
export function coreFolders(environment: ServiceEnvironment): readonly string[] {
  const home = environment.HOME ?? homedir();
  const settings = settingsFolder(environment);
  const flatpak = join(home, ".var/app/org.libretro.RetroArch/config/retroarch");
  const triplet = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
  const usual = [
    join(settings, "cores"),
    join(flatpak, "cores"),
    `/usr/lib/${triplet}/libretro`,
    "/usr/lib/libretro",
    "/usr/lib64/libretro",
    "/usr/local/lib/libretro",
    "/usr/local/lib64/libretro",
    "/app/lib/libretro",
  ];
  return [...new Set([...statedFolders("libretro_directory", environment), ...usual])];
}

/** The file of the named core, or of the system's first core that is installed. */
export function coreFileOf(systemId: string, named: string | undefined, cores: Cores): string | undefined {
  if (named !== undefined)
    return isAbsolute(named) ? named : cores.get(named.replace(/_libretro(\.so)?$/, ""));
  return coreNamesOf(systemId)
    .map((name) => cores.get(name))
    .find((file) => file !== undefined);
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Most of the usual folders do not exist.
    return [];
  }
}

/** The variables of the service. Only `HOME` and `XDG_CONFIG_HOME` are used. */
export type ServiceEnvironment = Readonly<Record<string, string | undefined>>;

/** RetroArch's folder of settings. */
export function settingsFolder({ HOME = homedir(), XDG_CONFIG_HOME }: ServiceEnvironment): string {
  return join(XDG_CONFIG_HOME ?? join(HOME, ".config"), "retroarch");
}

/** The folders for this key in RetroArch's settings of the user, and then of the machine. */
export function statedFolders(key: string, environment: ServiceEnvironment): readonly string[] {
  const home = environment.HOME ?? homedir();
  return [join(settingsFolder(environment), "retroarch.cfg"), "/etc/retroarch.cfg"].flatMap(
    (file) => statedFolder(file, key)?.replace(/^~(?=\/)/, home) ?? [],
  );
}

/** The folder that a settings file of RetroArch states, such as `libretro_directory = "/folder"`. */
export function statedFolder(file: string, key: string): string | undefined {
  // `\s` would match all empty lines after each line's start, and take minutes for a file of them.
  const line = new RegExp(`^[ \\t]*${key}[ \\t]*=[ \\t]*"([^"\\n]+)"`, "m");
  const [, folder] = line.exec(readStart(file, retroArchSettingsBytesMax) ?? "") ?? [];
  return folder === "default" ? undefined : folder;
}

/** The folders that may hold the `.info` file of a core. */
export function infoFolders(coreFile: string, environment: ServiceEnvironment): readonly string[] {
  const stated = statedFolders("libretro_info_path", environment);
  const beside = [dirname(coreFile), join(dirname(coreFile), "../info")];
  return [...stated, ...beside, "/usr/share/libretro/info", "/usr/share/libretro/core_info"];
}

export const coreNameOf = (coreFile: string) => basename(coreFile).replace(/_libretro\.so$/, "");

/** The text of a core's `.info` file (docs.libretro.com, "Core info files"); empty without one. */
export function coreInfo(core: string, folders: readonly string[]): string {
  for (const folder of folders) {
    const text = readStart(join(folder, `${core}${infoEnding}`), coreInfoBytesMax);
    if (text !== undefined) return text;
  }
  return "";
}

/** Whether the core takes a list of discs (`.m3u`), by its `.info` file: `supported_extensions = "cue|chd|m3u"`. */
export function takesDiscLists(coreFile: string, environment: ServiceEnvironment): boolean {
  const text = coreInfo(coreNameOf(coreFile), infoFolders(coreFile, environment));
  const [, listed = ""] = /^[ \t]*supported_extensions[ \t]*=[ \t]*"([^"\n]*)"/m.exec(text) ?? [];
  return listed.toLowerCase().split("|").includes("m3u");
}

/** The text of a plain file, up to this size; undefined without one. Players may write these files. */
export function readStart(path: string, bytesMax: number): string | undefined {
  try {
    // Without O_NONBLOCK, opening a FIFO waits for its writer.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = fstatSync(file);
      if (!found.isFile()) return undefined;
      const bytes = Buffer.alloc(Math.min(found.size, bytesMax));
      return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    // RetroArch has never run on this device, or has no such file.
    return undefined;
  }
}
