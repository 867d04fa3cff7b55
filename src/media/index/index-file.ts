/** The media index as the search reads it: the dictionary in memory, names and ready answers from the file. */
import { join } from "node:path";
import {
  type FilesIn,
  type MediaIndexFile,
  openMediaIndex,
  type StoredName,
  type StoredPlace,
} from "../../store/media-index-file.ts";
import type { ReadTitles } from "../titles/title-search.ts";
import { foldedName } from "./folded-name.ts";
import { type Answer, type Asked, createSearch, type SearchSource } from "./search.ts";

/** Where an index stands in the data folder; without a name, that of the media folders. */
export function indexPath(folder: string, name = "media.db"): string {
  return join(folder, name);
}

export interface MediaIndex {
  readonly count: number;
  /** Ids, by place. */
  readonly systemIds: readonly string[];
  /** Ids of those that have files. */
  readonly usedSystemIds: readonly string[];
  search(asked: Asked): Answer;
  places(files: readonly number[]): readonly StoredPlace[];
  /** The paths below their bases of at most `most` folders, from the one with this number on. */
  folders(first: number, most: number): readonly StoredName[];
  /** The files of a system that are in one of these folders, by their numbers. */
  filesIn(system: number, folders: readonly number[]): FilesIn;
  /** Of a system by its place. */
  readonly titles: ReadTitles;
  close(): void;
}

/**
 * Opens the index, a piece of at most 256 KiB a step, so that the caller can do something else in between. Undefined
 * where there is none; throws `IndexDamage` where it is to be made anew.
 */
export function* openIndex(path: string): Generator<void, MediaIndex | undefined, void> {
  const file = openMediaIndex(path);
  if (file === undefined) return undefined;
  let index: MediaIndex | undefined;
  try {
    index = yield* read(file);
    return index;
  } finally {
    // A fault, or a reader that went away in the middle.
    if (index === undefined) file.close();
  }
}

function* read(file: MediaIndexFile): Generator<void, MediaIndex, void> {
  const words = yield* file.piece("words");
  const starts = numbers(yield* file.piece("starts"));
  const files = { bytes: yield* file.piece("lists"), starts: numbers(yield* file.piece("list-starts")) };
  const systems = {
    bytes: yield* file.piece("systems"),
    starts: numbers(yield* file.piece("system-starts")),
  };
  const systemIds = file.systems.map(({ id }) => id);
  const source: SearchSource = {
    count: file.count,
    words,
    starts,
    files,
    systems,
    name: (number) => foldedName(file.name(number)),
    shortcut: (key) => file.shortcut(key),
  };
  return {
    count: file.count,
    systemIds,
    usedSystemIds: systemIds.filter((_, at) => (systems.starts[at + 1] ?? 0) > (systems.starts[at] ?? 0)),
    search: createSearch(source),
    places: (numbers) => file.places(numbers),
    folders: (first, most) => file.folderPaths(first, most),
    filesIn: (system, folders) => file.filesIn(system, folders),
    titles: file.titles,
    close: () => file.close(),
  };
}

function numbers(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}
