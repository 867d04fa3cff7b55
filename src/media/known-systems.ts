/**
 * The known systems: consoles, computers, arcade boards and kinds of media, found by id, name, folder or extension.
 *
 * `systems.jsonl` holds one `KnownSystem` a line. The table is parsed at the first use, so the start does not wait for it.
 */
import type { System } from "../core/media.ts";
import { didYouMean } from "../core/text.ts";
import lines from "./systems.jsonl" with { type: "text" };

export interface KnownSystem extends System {
  /** The id on cards and in players: letters and digits. It never changes. */
  readonly id: string;
  readonly category: "Console" | "Handheld" | "Computer" | "Arcade" | "Media" | "Other";
  /** The manufacturer of the first model; absent if there is none or it is not certain. */
  readonly manufacturer?: string;
  /** Further names, as `systemKeyOf` writes them. */
  readonly aliases: readonly string[];
  /**
   * The folders of the system in MiSTer, Batocera, RetroPie, ES-DE and others, the most common first, as `systemKeyOf`
   * writes them.
   */
  readonly folders: readonly string[];
  /**
   * Extensions in lower case, with their dot. Several systems may share one. For CDs these are the extensions of sheets
   * and images, and not those of tracks.
   */
  readonly extensions: readonly string[];
  /** Ids of systems whose folders also hold files of this system (`systemOfFile`). */
  readonly livesWith?: readonly string[];
}

/** All systems; sound, films and pictures first. */
export const knownSystems: () => readonly KnownSystem[] = lazy(() => {
  // The tests check each line.
  const others: readonly KnownSystem[] = JSON.parse(`[${lines.trimEnd().replaceAll("\n", ",")}]`);
  return [...kinds, ...others];
});

/** The system with exactly this id. */
export function systemById(id: string): KnownSystem | undefined {
  const system = byFolder().get(id.toLowerCase());
  return system?.id === id ? system : undefined;
}

/** The system by its id, name, folder or alias, in any spelling (`systemKeyOf`). */
export function systemByName(name: string): KnownSystem | undefined {
  const key = systemKeyOf(name);
  return byFolder().get(key) ?? byAlias().get(key) ?? byFullName().get(key);
}

/**
 * The system by the name of a folder below a media folder. That name is the id, the name, or one of `folders`, in any spelling.
 */
export function systemByFolder(folder: string): KnownSystem | undefined {
  const key = systemKeyOf(folder);
  return byFolder().get(key) ?? byFullName().get(key);
}

/**
 * The system of a file, by its folder and its extension in lower case with its dot. Some firmware keeps the files of
 * several systems in one folder, such as `.gbc` beside `.gb`. The result is undefined if the folder is of no system, or
 * holds no files with this extension.
 */
export function systemOfFile(folder: string, extension: string): KnownSystem | undefined {
  const host = systemByFolder(folder);
  if (host === undefined || host.extensions.includes(extension)) return host;
  return guests()
    .get(host.id)
    ?.map(([, guest]) => guest)
    .find(({ extensions }) => extensions.includes(extension));
}

/** The system with this id, and the systems with files in the same folder; none without an id. */
export function withGuests(host: string | undefined): readonly string[] {
  if (host === undefined) return [];
  return [host, ...(guests().get(host) ?? []).map(([, { id }]) => id)];
}

/** Names with equal keys are the same: capitals, accents, spaces, dashes and underscores do not count. */
export function systemKeyOf(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/[\s_\-\u0300-\u036f]/g, "")
    .toLowerCase();
}

const byFolder = lazy(() => new Map(keyed(({ id, folders }) => [id.toLowerCase(), ...folders])));
const byAlias = lazy(() => new Map(keyed(({ aliases }) => aliases)));
/** The names with and without the manufacturer, because some firmware names its folders by both. */
const byFullName = lazy(
  () =>
    new Map(keyed(({ name, manufacturer = "" }) => [systemKeyOf(name), systemKeyOf(manufacturer + name)])),
);

const guests = lazy(() =>
  Map.groupBy(
    keyed(({ livesWith = [] }) => livesWith),
    ([host]) => host,
  ),
);

/** Each system with each of its keys. */
function keyed(keysOf: (system: KnownSystem) => readonly string[]) {
  return knownSystems().flatMap((system) => keysOf(system).map((key) => [key, system] as const));
}

function lazy<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/**
 * Systems for files that play without a system of their own: sound, films and pictures. They are not in `systems.jsonl`,
 * because players need them at the start, before the table is parsed.
 */
export const kinds: readonly KnownSystem[] = [
  {
    id: "Audio",
    name: "Audio",
    category: "Media",
    aliases: ["sound"],
    folders: ["audio"],
    extensions: [".mp3", ".flac", ".ogg", ".opus", ".wav", ".m4a", ".aac", ".wma", ".aiff", ".mka"],
  },
  {
    id: "Video",
    name: "Video",
    category: "Media",
    aliases: [],
    folders: ["video", "videos", "recordings"],
    extensions: [".mp4", ".mkv", ".webm", ".avi", ".mov", ".m4v", ".mpg", ".mpeg", ".ogv", ".wmv"],
  },
  {
    id: "Image",
    name: "Image",
    category: "Media",
    aliases: ["picture", "photo"],
    folders: ["images", "pictures", "photos", "imageviewer", "screenshots"],
    extensions: [".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".avif"],
  },
];

const kindByExtension = new Map(
  kinds.flatMap(({ id, name, category, extensions }) =>
    extensions.map((extension) => [extension, { id, name, category }] as const),
  ),
);

/** The kind of an extension, in lower case with its dot; undefined for other files. */
export function kindOf(extension: string): System | undefined {
  return kindByExtension.get(extension);
}

/** True for an extension, in lower case with its dot, of sound and books. */
export function isAudio(extension: string): boolean {
  return extension === ".m4b" || kindOf(extension)?.id === "Audio";
}

/** The extensions of all kinds. */
export const mediaExtensions: readonly string[] = [...kindByExtension.keys()];

/**
 * A sentence if a name is of no system; undefined for a name of a known system in any spelling, and for the names in
 * `configured`, which are systems of the config.
 */
export function systemFault(name: string, configured: readonly string[]): string | undefined {
  const isConfigured = configured.some((one) => one.toLowerCase() === name.toLowerCase());
  if (isConfigured || systemByName(name) !== undefined) return undefined;
  return noSystemNamed(name, configured);
}

// This is longer than each name of a system.
const shownCharsMax = 64;

/** The sentence for a name of no system, with the nearest name. */
export function noSystemNamed(name: string, configured: readonly string[] = []): string {
  const shown = name.slice(0, shownCharsMax);
  return `there is no system ${shown}${didYouMean(shown, [...configured, ...knownSystems().map(({ id }) => id)])}`;
}
