/**
 * The systems that we know: consoles, computers, arcade boards and kinds of media, by the ids that cards carry, by the
 * names that people give them, and by the folders and extensions of their files.
 *
 * The facts stand in `systems.jsonl`, one `KnownSystem` a line. They are read when the first of them is asked for, so
 * that the start does not wait for them, and in the form that takes the least time then: that may be in a tap's way.
 */
import type { System } from "../core/media.ts";
import { kinds } from "./kinds.ts";
import lines from "./systems.jsonl" with { type: "text" };

export type Category = "Console" | "Handheld" | "Computer" | "Arcade" | "Media" | "Other";

export interface KnownSystem extends System {
  /** What cards and players write: letters and digits. It never changes. */
  readonly id: string;
  readonly category: Category;
  /** Of the first model; absent where nobody made it, or where it is not known for sure. */
  readonly manufacturer?: string;
  /** When it was first sold, wherever that was. */
  readonly releaseYear?: number;
  /** Names beside the id, the name and the folders, as `keyOf` writes them. */
  readonly aliases: readonly string[];
  /**
   * What its folder below a media folder is called by MiSTer, Batocera, RetroPie, ES-DE and others, the commonest
   * first, as `keyOf` writes it; empty where none is in use.
   */
  readonly folders: readonly string[];
  /**
   * Lower case, with their dot; empty for systems without files. Of a CD, those of the sheet or image that stands for
   * the whole, not of its tracks. Several systems may share one.
   */
  readonly extensions: readonly string[];
  /** Ids of systems whose folder holds its files too: see `systemOfFile`. */
  readonly livesWith?: readonly string[];
}

/** All of them; sound, films and pictures first. */
export const knownSystems: () => readonly KnownSystem[] = lazy(() => {
  // Our own data, whose every line the tests check.
  const others: readonly KnownSystem[] = JSON.parse(`[${lines.trimEnd().replaceAll("\n", ",")}]`);
  return [...kinds, ...others];
});

/** By its id, spelt exactly. */
export function systemById(id: string): KnownSystem | undefined {
  const system = byFolder().get(id.toLowerCase());
  return system?.id === id ? system : undefined;
}

/** By its id, name, folder or another name, however they are spelt (`keyOf`): what a card or a person says. */
export function systemByName(name: string): KnownSystem | undefined {
  const key = keyOf(name);
  return byFolder().get(key) ?? byAlias().get(key) ?? byFullName().get(key);
}

/** By the name of a folder below a media folder: its id, its name, or one of `folders`, however they are spelt. */
export function systemByFolder(folder: string): KnownSystem | undefined {
  const key = keyOf(folder);
  return byFolder().get(key) ?? byFullName().get(key);
}

/** The systems whose files may have this extension, given in lower case with its dot. */
export function systemsByExtension(extension: string): readonly KnownSystem[] {
  return byExtension().get(extension) ?? [];
}

/**
 * The system of a file by its folder and its extension, in lower case with its dot: some firmware keeps the files of
 * several systems in one folder, such as `.gbc` beside `.gb`. Undefined where the folder is none of a system, or the
 * extension is none that belongs there.
 */
export function systemOfFile(folder: string, extension: string): KnownSystem | undefined {
  const host = systemByFolder(folder);
  if (host === undefined || host.extensions.includes(extension)) return host;
  return guests()
    .get(host.id)
    ?.find(({ extensions }) => extensions.includes(extension));
}

/** How names are compared: capitals, accents, spaces, dashes and underscores tell no systems apart. */
export function keyOf(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/[\s_\-\u0300-\u036f]/g, "")
    .toLowerCase();
}

const byFolder = lazy(() => listed(({ id, folders }) => [id.toLowerCase(), ...folders]));
const byAlias = lazy(() => listed(({ aliases }) => aliases));
/** Also behind the name of the maker, as some firmware has its folders. */
const byFullName = lazy(() =>
  listed(({ name, manufacturer = "" }) => [keyOf(name), keyOf(manufacturer + name)]),
);
const byExtension = lazy(() => grouped(({ extensions }) => extensions));
const guests = lazy(() => grouped(({ livesWith = [] }) => livesWith));

/** Systems by keys of which each belongs to one system. */
function listed(keysOf: (system: KnownSystem) => readonly string[]): ReadonlyMap<string, KnownSystem> {
  const map = new Map<string, KnownSystem>();
  for (const system of knownSystems()) for (const key of keysOf(system)) map.set(key, system);
  return map;
}

/** Systems by keys that they share. */
function grouped(
  keysOf: (system: KnownSystem) => readonly string[],
): ReadonlyMap<string, readonly KnownSystem[]> {
  const map = new Map<string, KnownSystem[]>();
  for (const system of knownSystems()) {
    for (const key of keysOf(system)) {
      const group = map.get(key);
      if (group === undefined) map.set(key, [system]);
      else group.push(system);
    }
  }
  return map;
}

function lazy<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
