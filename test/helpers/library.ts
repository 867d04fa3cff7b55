/**
 * Made-up libraries: folders of empty files, with names of the kinds that people and archivists use (regions, revisions,
 * discs, dates, episodes). The same seed gives the same library.
 */
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { seededRandom } from "../emulators/emulated-line.ts";

const stems =
  `the of and super world adventure star king dragon quest force racing battle space mega land city night legend
  of the in to hero ninja golf soccer tennis final fantasy street master power ultimate magic crystal island tower
  war zone shadow light dark moon sun fire ice storm wind black white red blue gold silver iron steel stone river
  mountain forest ocean sky heaven hell devil angel demon ghost monster robot cyber turbo speed road rally grand prix
  championship league cup pro baseball basketball football hockey boxing wrestling fight fighter fighting warrior
  knight samurai shogun empire kingdom castle dungeon maze puzzle block ball pinball card casino poker mahjong chess
  bomber tank plane flight air sea submarine attack defender invaders galaxy planet alien earth time machine memory
  dream story tale tales chronicle saga secret mystery treasure hunter detective escape return revenge rise fall lost
  last first second deluxe special edition collection gaiden plus`.split(/\s+/);

const syllables =
  `ka ri to mo na shi zu lo ber gan tor el an is mar ven dra phe qui os ul tra fen wick ham ster ley ron dal
  por ti ce lan gre mi ya su ko ra xa vi jo ne pu ke fa bri cho wen sal du ja hu ob ern ast`.split(/\s+/);

const accented = [
  "Pokémon",
  "Über",
  "Café",
  "Señor",
  "Éclair",
  "Ångström",
  "Façade",
  "Dvořák",
  "ドラゴン",
  "マリオ",
  "Ёлка",
];
const regions = [
  "USA",
  "Europe",
  "Japan",
  "USA, Europe",
  "World",
  "Germany",
  "France",
  "Korea",
  "Japan, USA",
  "Brazil",
];
const marks = [
  "",
  "",
  "",
  "",
  "",
  "(Rev 1)",
  "(Rev 2)",
  "(Beta)",
  "(Proto)",
  "(En,Fr,De)",
  "(Unl)",
  "[!]",
  "[b1]",
  "(Rev A)",
];

const gameFolders: readonly (readonly [string, string])[] = [
  ["SNES", "sfc"],
  ["Genesis", "md"],
  ["NES", "nes"],
  ["gb", "gb"],
  ["gba", "gba"],
  ["n64", "z64"],
  ["psx", "chd"],
  ["Amiga", "adf"],
  ["C64", "d64"],
  ["Saturn", "chd"],
];

/** Relative paths of `count` files, one after the other, without keeping them. */
export function* libraryPaths(count: number, seed = 1): Generator<string> {
  const random = seededRandom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]): T => {
    const one = list[below(list.length)];
    if (one === undefined) throw new Error("an empty list");
    return one;
  };
  // A few words are in most names, and most words are in few names. The squared random number gives this distribution.
  const word = () => {
    const chance = random();
    if (chance < 0.55) return capital(stems[Math.floor(random() ** 2 * stems.length)] ?? "");
    if (chance < 0.56) return pick(accented);
    const number = Math.floor(random() ** 3 * 60_000);
    return capital(madeUp(number));
  };
  const words = (most: number) => Array.from({ length: 1 + below(most) }, word).join(" ");
  const game = (number: number) => {
    const [folder, extension] = pick(gameFolders);
    const subtitle = random() < 0.25 ? ` - ${words(3)}` : "";
    const part = random() < 0.2 ? ` ${pick(["2", "3", "II", "III", "IV", "64", "'94", "'98", "2000"])}` : "";
    const disc = folder === "psx" && random() < 0.3 ? ` (Disc ${1 + below(3)})` : "";
    const mark = pick(marks);
    const name = `${words(4)}${part}${subtitle} (${pick(regions)})${disc}${mark === "" ? "" : ` ${mark}`}`;
    return `${folder}/${shelf(name, number)}/${name}.${extension}`;
  };
  // A record has about twelve songs, and a show about fifty episodes.
  const records: string[] = [];
  const shows: string[] = [];
  const sometimesNew = (list: string[], chance: number, make: () => string) => {
    if (list.length === 0 || random() < chance) list.push(make());
    return list.at(-1 - below(Math.min(list.length, 4))) ?? "";
  };
  const song = () => {
    const record = sometimesNew(records, 1 / 12, () => `${words(2)}/${words(3)}`);
    return `Audio/${record}/${String(1 + below(20)).padStart(2, "0")} - ${words(5)}.flac`;
  };
  const episode = () => {
    const show = sometimesNew(shows, 1 / 50, () => words(3));
    const season = 1 + below(5);
    const code = `S${String(season).padStart(2, "0")}E${String(1 + below(24)).padStart(2, "0")}`;
    return `Video/${show}/Season ${season}/${show} ${code} ${words(4)}.mkv`;
  };
  const photo = (number: number) => {
    const day = `20${10 + below(15)}${String(1 + below(12)).padStart(2, "0")}${String(1 + below(28)).padStart(2, "0")}`;
    return `Pictures/${day.slice(0, 4)}/${day.slice(4, 6)}/IMG_${day}_${String(number).padStart(6, "0")}.jpg`;
  };
  for (let number = 0; number < count; number++) {
    const chance = random();
    if (chance < 0.8) yield game(number);
    else if (chance < 0.9) yield song();
    else if (chance < 0.95) yield episode();
    else yield photo(number);
  }
}

/** Makes empty files below `root`, and returns their number. A repeated name is one file. */
export function makeLibrary(root: string, count: number, seed = 1): number {
  const folders = new Set<string>();
  let made = 0;
  for (const path of libraryPaths(count, seed)) {
    const folder = dirname(path);
    if (!folders.has(folder)) {
      mkdirSync(join(root, folder), { recursive: true });
      folders.add(folder);
    }
    try {
      closeSync(openSync(join(root, path), "wx"));
      made++;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
  return made;
}

/** Makes a small library of these relative paths. The files are empty, or have the given text. */
export function makeFiles(root: string, files: Readonly<Record<string, string>> | readonly string[]): void {
  const entries = Array.isArray(files) ? files.map((path) => [path, ""] as const) : Object.entries(files);
  for (const [path, text] of entries) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/** The path in deep folders of some hundred files each: by the first letter, and then by number. */
function shelf(name: string, number: number): string {
  const letter = /^[a-z]/i.test(name) ? (name[0] ?? "#").toUpperCase() : "#";
  return `${letter}/Set ${number % 37}`;
}

function madeUp(number: number): string {
  let word = "";
  for (let rest = number + 1; rest > 0; rest = Math.floor(rest / syllables.length))
    word += syllables[rest % syllables.length] ?? "";
  return word.length > 3 ? word : `${word}${syllables[number % 31] ?? ""}`;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
