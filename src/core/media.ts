/** Media: what is playing, systems, files of the index, and media folders. Shapes are those of docs/API.md. */
import type { AudioTags, Media } from "./shapes.ts";

export type { ActiveMedia, AudioTags, IndexStatus, Media, MediaTag, System } from "./shapes.ts";

/** The data to start media again. */
export interface StartedMedia {
  /** An absolute path; empty if a system was started without a file. */
  readonly path: string;
  readonly systemId: string;
  readonly launcherId: string;
}

/** The kinds of pictures of media, in the order of preference. */
export const pictureTypes = [
  "image",
  "thumbnail",
  "boxart",
  "boxart3d",
  "screenshot",
  "wheel",
  "titleshot",
  "map",
  "marquee",
  "fanart",
] as const;
export type PictureType = (typeof pictureTypes)[number];

/** A folder with media of one system, outside the root folders. */
export interface SystemFolder {
  /** The id of the system, or another of its names. */
  readonly system: string;
  /** An absolute path. */
  readonly folder: string;
}

/** Files and folders of the service itself, which are never played or indexed. */
export interface ClosedPlaces {
  /** Absolute paths; everything below them is also closed. */
  readonly folders: readonly string[];
  /** Absolute paths. */
  readonly files: readonly string[];
  /** The one folder with media below `folders` that is not closed. A link at the closed path is closed as well. */
  readonly open: string;
}

/** The folders in which media are looked up. */
export interface MediaFolders {
  /** Absolute folders with one folder for each system, in order of preference. */
  readonly roots: readonly string[];
  /** Folders that are searched after the roots, in this order. */
  readonly own: readonly SystemFolder[];
  /** Folders in which USB sticks appear; absent for none. */
  readonly removable?: readonly string[];
  /** The folders of the plugged-in sticks: searched after the roots, with the same layout. */
  readonly sticks?: readonly string[];
  /** Places that are closed besides the kernel's folders. */
  readonly closed?: ClosedPlaces;
}

/** A search in the media index. */
export interface MediaQuery {
  readonly query: string;
  /** Exact ids of systems; empty means all. */
  readonly systems: readonly string[];
  /** `systems` may be ids, names or folders, in any spelling. */
  readonly anySpelling?: boolean;
  /** The number of best results to leave out; 0 if absent. */
  readonly skip?: number;
  readonly maxResults: number;
}

export interface MediaAnswer {
  readonly results: readonly Media[];
  readonly total: number;
}

/** A page of a folder of the media index. */
export interface BrowseQuery {
  /** `<system id>/<folder>` as in an entry; empty for the systems. */
  readonly path: string;
  /** Exact ids of systems; empty means all. */
  readonly systems: readonly string[];
  readonly maxResults: number;
  readonly cursor: string | undefined;
  /** Conditions on the tags of files: `region:usa`, `-status:beta`, `~lang:en`. */
  readonly tags: readonly string[];
  /** The start of names, `0-9`, or `#` for names with neither a letter nor a digit at the start. */
  readonly letter: string | undefined;
  readonly isDescending: boolean;
}

/** The order of preference among several files of one title. */
export interface TitlePreferences {
  /** Regions as they occur in file names, the best first: `USA`, `Europe`. */
  readonly regions: readonly string[];
  /** Languages as they occur in file names, the best first: `En`, `Fr`. */
  readonly languages: readonly string[];
}

/** A hidden folder in a media folder, with the files of unfinished uploads. */
export const uploadsFolder = ".tapdeck-uploads";

/** A file name without folders and extension, for people. */
export function mediaNameOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}

/** The title in an audio file, or otherwise the name of the file, for people. */
export function audioTitleOf(name: string, audio: AudioTags | undefined): string {
  return audio?.title ?? name;
}

/** The artist and the album of an audio file, if they are known. */
export function performerOf({ artist, album }: AudioTags = {}): string {
  return [artist, album].filter((part) => part !== undefined).join(" · ");
}

/** A length of time: `3:07`, or `1:03:07`. */
export function lengthText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const two = (value: number) => String(value).padStart(2, "0");
  const last = `:${two(seconds % 60)}`;
  return hours === 0 ? `${minutes}${last}` : `${hours}:${two(minutes)}${last}`;
}

/** A path as a launch script, with the special characters of docs/SCRIPT.md escaped. */
export function scriptOf(path: string): string {
  return path.replace(/\^|\?|\|\||\|$|\[\[|\s$/g, (mark) => [...mark].map((char) => `^${char}`).join(""));
}

/** The extension in lower case with its dot, or an empty string: `.mp3`. */
export function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(dot).toLowerCase() : "";
}
