/** The content of one folder of the index, and the tags of all names. Both work in steps of about a millisecond. */
import { tagsPerSystemMax } from "../../core/limits.ts";
import { type Media, mediaNameOf } from "../../core/media.ts";
import type { Holding } from "../../store/media-index-file.ts";
import { joinNames, readable } from "../file-names.ts";
import { splitTitle } from "../titles/titles.ts";
import { mediaOf } from "./answers.ts";
import { fold } from "./fold.ts";
import type { LoadedIndex } from "./index-file.ts";
import { naturalKey } from "./natural-order.ts";

/** The place of a file or folder in the natural order of names. */
export interface NameKey {
  /** The shown name. */
  readonly name: string;
  /** The name on the disk, which decides the order of equal folded names. */
  readonly tie: string;
}

export interface FolderQuery {
  /** The exact id of the system. */
  readonly system: string;
  /** The path below the folder of the system; empty for that folder itself. */
  readonly path: string;
  /** The direction of the list; -1 lists from the last name to the first. */
  readonly way: 1 | -1;
  /** The file before the first one of the page; undefined for the first page. */
  readonly after: NameKey | undefined;
  readonly most: number;
  /** Accepts a name without its extension. If undefined, all files are accepted. */
  readonly keeps: ((name: string) => boolean) | undefined;
}

export interface FolderContent {
  /** False if the index has no such folder. */
  readonly isThere: boolean;
  /** The folders in this folder, with the number of files in and below each. */
  readonly folders: ReadonlyMap<string, number>;
  readonly files: readonly Media[];
  /** The number of files directly in this folder that `keeps` accepts. */
  readonly total: number;
  /** The length of the audio files in and below this folder, on the first page; 0 if it is not known. */
  readonly durationMs: number;
}

export interface FoldedKey extends NameKey {
  readonly folded: Uint8Array;
  readonly natural: Uint8Array;
}

/** The key for comparisons. Each name of a list is folded only once, because folding takes microseconds. */
export function foldedKey(key: NameKey): FoldedKey {
  const folded = Buffer.from(fold(key.name));
  return { ...key, folded, natural: naturalKey(folded) };
}

export function compareKeys(a: FoldedKey, b: FoldedKey): number {
  return (
    Buffer.compare(a.natural, b.natural) ||
    Buffer.compare(a.folded, b.folded) ||
    (a.tie === b.tie ? 0 : Buffer.compare(Buffer.from(a.tie), Buffer.from(b.tie)))
  );
}

export function keyOfMedia({ name, path }: Pick<Media, "name" | "path">): NameKey {
  return { name, tie: path.slice(path.lastIndexOf("/") + 1) };
}

const holdingsAStep = 250;
const filesAStep = 250;
const namesAStep = 500;

export function* folderContent(index: LoadedIndex, query: FolderQuery): Generator<void, FolderContent, void> {
  const system = index.systemIds.indexOf(query.system);
  const start = query.path === "" ? "" : `${query.path}/`;
  const folders = new Map<string, number>();
  const here: Holding[] = [];
  /** Absolute paths of the folder. Each media folder may have one. */
  const places = new Set<string>();
  for (let after = -1, isMore = true; isMore; ) {
    const some = index.holdings(system, after, holdingsAStep);
    for (const one of some) {
      const path = readable(one.path);
      if (path === query.path || path.startsWith(start))
        places.add(readable(joinNames(one.base, query.path)));
      if (path === query.path) here.push(one);
      else if (path.startsWith(start)) {
        const end = path.indexOf("/", start.length);
        const name = path.slice(start.length, end < 0 ? undefined : end);
        folders.set(name, (folders.get(name) ?? 0) + one.files);
      }
      after = one.folder;
    }
    isMore = some.length === holdingsAStep;
    yield;
  }
  const found: { readonly id: number; readonly media: Media }[] = [];
  let total = 0;
  // There are several if more than one media folder has a folder of this path.
  for (const holding of here) {
    const listed = yield* listFiles(index, { ...holding, system }, query);
    total += listed.total;
    for (const { id, name } of listed.files)
      found.push({ id, media: mediaOf(index, { ...holding, system, name }) });
  }
  found.sort((a, b) => query.way * (a.id - b.id));
  const files = found.slice(0, query.most).map(({ media }) => media);
  const isFirstPage = query.path !== "" && query.after === undefined;
  const lengths = isFirstPage ? [...places].map((place) => index.tags?.length(place) ?? 0) : [];
  const durationMs = lengths.reduce((sum, one) => sum + one, 0);
  return { isThere: here.length + folders.size > 0, folders, files, total, durationMs };
}

function* listFiles(index: LoadedIndex, at: Holding & { readonly system: number }, query: FolderQuery) {
  const { way, after, most, keeps } = query;
  const files: ReturnType<LoadedIndex["listed"]> = [];
  let total = keeps === undefined ? at.files : 0;
  let from = 0;
  let to = index.count;
  // A filter counts all files. Without a filter, the listing begins near the file that it follows.
  const last = after && foldedKey(after);
  if (last !== undefined && keeps === undefined) {
    if (way > 0) from = index.firstFrom(last.natural);
    else to = index.firstFrom(Buffer.concat([last.natural, Uint8Array.of(0)]));
  }
  const isNext = (name: string) =>
    last === undefined || way * compareKeys(foldedKey({ name: mediaNameOf(name), tie: name }), last) > 0;
  for (let isMore = true; isMore; ) {
    const some = index.listed(at, from, to, filesAStep, way);
    for (const one of some) {
      const name = readable(one.name);
      if (keeps !== undefined && !keeps(mediaNameOf(name))) continue;
      if (keeps !== undefined) total++;
      if (files.length < most && isNext(name)) files.push(one);
    }
    const end = some.at(-1)?.id ?? 0;
    if (way > 0) from = end + 1;
    else to = end;
    isMore = some.length === filesAStep && (keeps !== undefined || files.length < most);
    yield;
  }
  return { files, total };
}

export interface FoundFolder {
  readonly systemId: string;
  /** The path below the folder of the system. */
  readonly path: string;
  /** The number of files in and below the folder. */
  readonly files: number;
}

/** The folders whose own name has each of the folded words. They are in no order. */
export function* foldersNamed(
  index: LoadedIndex,
  words: readonly string[],
): Generator<void, readonly FoundFolder[], void> {
  const found = new Map<string, FoundFolder>();
  for (const [system, systemId] of index.systemIds.entries()) {
    for (let after = -1, isMore = true; isMore; ) {
      const some = index.holdings(system, after, holdingsAStep);
      for (const { path: stored, files, folder } of some) {
        after = folder;
        const names = readable(stored).split("/");
        for (const [at, name] of names.entries()) {
          const folded = fold(name);
          if (name === "" || !words.every((word) => folded.includes(word))) continue;
          const path = names.slice(0, at + 1).join("/");
          const key = `${systemId}/${path}`;
          found.set(key, { systemId, path, files: files + (found.get(key)?.files ?? 0) });
        }
      }
      isMore = some.length === holdingsAStep;
      yield;
    }
  }
  return [...found.values()];
}

/** The number of files of each system that has some. */
export function* filesOfSystems(index: LoadedIndex): Generator<void, ReadonlyMap<string, number>, void> {
  const files = new Map<string, number>();
  for (const id of index.usedSystemIds) {
    files.set(id, index.held(index.systemIds.indexOf(id)));
    yield;
  }
  return files;
}

type TagCounts = ReadonlyMap<string, number>;

/** The counts of tags by system; they are counted once for each index. */
const counted = new WeakMap<LoadedIndex, readonly TagCounts[]>();

/** The number of files of these systems, or of all, that have each tag in their names. */
export function* tagsOfNames(
  index: LoadedIndex,
  systems: readonly string[],
): Generator<void, TagCounts, void> {
  const bySystem = counted.get(index) ?? (yield* countTags(index));
  counted.set(index, bySystem);
  const all = new Map<string, number>();
  for (const [at, counts] of bySystem.entries()) {
    if (systems.length > 0 && !systems.includes(index.systemIds[at] ?? "")) continue;
    for (const [tag, count] of counts) all.set(tag, (all.get(tag) ?? 0) + count);
    yield;
  }
  return all;
}

function* countTags(index: LoadedIndex): Generator<void, readonly TagCounts[], void> {
  const bySystem = index.systemIds.map(() => new Map<string, number>());
  for (let first = 0; first < index.count; first += namesAStep) {
    for (const { system, name } of index.names(first, namesAStep)) {
      const counts = bySystem[system];
      for (const tag of splitTitle(mediaNameOf(readable(name))).tags) {
        const count = counts?.get(tag);
        if (count !== undefined || (counts?.size ?? 0) < tagsPerSystemMax) counts?.set(tag, (count ?? 0) + 1);
      }
    }
    yield;
  }
  return bySystem;
}
