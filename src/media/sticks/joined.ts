/** Several media libraries as one: that of the media folders first, then one for each USB stick. */

import { basename } from "node:path";
import type {
  IndexStatus,
  Media,
  MediaAnswer,
  MediaQuery,
  System,
  TitlePreferences,
} from "../../core/media.ts";
import type { FoundTitle, MediaSource } from "../index/answers.ts";
import { endsWord, foldedWords } from "../index/fold.ts";
import {
  compareKeys,
  type FolderContent,
  type FolderQuery,
  type FoundFolder,
  foldedKey,
  keyOfMedia,
} from "../index/folder.ts";
import { naturalKey } from "../index/natural-order.ts";
import type { MediaLibrary } from "../media-library.ts";
import { chooseTitle } from "../titles/titles.ts";

type Libraries = readonly MediaLibrary[];

/** The status of all libraries. Counts are sums, and the step is that of the first running library. */
export function joinedStatus(libraries: Libraries): IndexStatus {
  const all = libraries.map((library) => library.status());
  const sum = (key: "totalFiles" | "totalMedia" | "tagsRead" | "tagsTotal") => {
    const known = all.flatMap((status) => status[key] ?? []);
    return known.length === 0 ? {} : { [key]: known.reduce((total, one) => total + one, 0) };
  };
  return {
    ...all.find(({ indexing }) => indexing),
    exists: all.some(({ exists }) => exists),
    indexing: all.some(({ indexing }) => indexing),
    optimizing: all.some(({ optimizing }) => optimizing),
    ...sum("totalFiles"),
    ...sum("totalMedia"),
    ...sum("tagsRead"),
    ...sum("tagsTotal"),
  };
}

export function joinedSystems(libraries: Libraries): readonly System[] {
  const byId = new Map(libraries.flatMap((library) => library.systems()).map((one) => [one.id, one]));
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * The results of all libraries, in the order of `search.ts`. Of two files with one path only the first library's is in
 * the results, but the total counts both.
 */
export function joinedSearch(libraries: Libraries, query: MediaQuery): MediaAnswer {
  const whole = fromTheFirst(query);
  return merged(
    libraries.map((library) => library.search(whole)),
    query,
  );
}

export async function joinedFilteredSearch(
  libraries: Libraries,
  query: MediaQuery,
  keeps: (name: string) => boolean,
): Promise<MediaAnswer> {
  const whole = fromTheFirst(query);
  return merged(await Promise.all(libraries.map((library) => library.filteredSearch(whole, keeps))), query);
}

function fromTheFirst({ skip = 0, maxResults, ...query }: MediaQuery): MediaQuery {
  return { ...query, skip: 0, maxResults: skip + maxResults };
}

/** The page that the query asks for, from answers that begin at the first result. */
function merged(answers: readonly MediaAnswer[], query: MediaQuery): MediaAnswer {
  const { skip = 0, maxResults } = query;
  const total = answers.reduce((sum, answer) => sum + answer.total, 0);
  const filled = answers.filter(({ results }) => results.length > 0);
  if (filled.length <= 1) return { results: filled[0]?.results.slice(skip) ?? [], total };
  const words = foldedWords(query.query).map((word) => new TextEncoder().encode(word));
  const phrase = naturalKey(Buffer.from(foldedWords(query.query).join(" ")));
  const byPath = new Map<string, ReturnType<typeof placed>>();
  for (const media of filled.flatMap(({ results }) => results))
    if (!byPath.has(media.path)) byPath.set(media.path, placed(media, phrase, words));
  const inOrder = [...byPath.values()].sort((a, b) => a.rank - b.rank || compareKeys(a.key, b.key));
  return { results: inOrder.slice(skip, skip + maxResults).map(({ media }) => media), total };
}

/** The media with the key of its name and its rank; the lowest rank is the best. */
function placed(media: Media, phrase: Uint8Array, words: readonly Uint8Array[]) {
  const key = foldedKey(keyOfMedia(media));
  const isStart = Buffer.compare(key.natural.subarray(0, phrase.length), phrase) === 0;
  const rank = isStart ? 0 : words.every((word) => startsWordIn(key.folded, word)) ? 1 : 2;
  return { media, key, rank };
}

function startsWordIn(folded: Uint8Array, word: Uint8Array): boolean {
  const name = Buffer.from(folded.buffer, folded.byteOffset, folded.byteLength);
  for (let at = name.indexOf(word); at >= 0; at = name.indexOf(word, at + 1)) {
    const before = name[at - 1];
    if (before === undefined || endsWord(before)) return true;
  }
  return false;
}

/** The best title of all libraries, as `chooseTitle` chooses it; among equally good ones, that of the first library. */
export async function joinedTitle(
  libraries: Libraries,
  system: string | undefined,
  title: string,
  prefer: TitlePreferences,
): Promise<FoundTitle | undefined> {
  const answers = await Promise.all(libraries.map((library) => library.findTitle(system, title)));
  const found = answers.filter((one) => one !== undefined);
  const names = found.map(({ media }) => media.name);
  return found[chooseTitle(title, names, prefer)?.place ?? 0];
}

/** A random file, with the same probability for each file of all libraries. */
export async function joinedAny(
  libraries: Libraries,
  sources: readonly MediaSource[],
  random: () => number,
): Promise<Media | undefined> {
  const counts = await Promise.all(libraries.map((library) => library.count(sources)));
  let left = random() * counts.reduce((sum, count) => sum + count, 0);
  const chosen = libraries.find((_, at) => {
    const count = counts[at] ?? 0;
    left -= count;
    return count > 0 && left < 0;
  });
  // If there are no files, the first library throws or returns undefined.
  return (chosen ?? libraries[0])?.any(sources, random);
}

/**
 * Folders in the natural order of their names, then of their paths. The folders of one path count as one. The result is
 * undefined if no library has an index.
 */
export async function joinedFolders(
  libraries: readonly Pick<MediaLibrary, "foldersNamed">[],
  query: string,
): Promise<readonly FoundFolder[] | undefined> {
  const answers = await Promise.all(libraries.map((library) => library.foldersNamed(query)));
  const found = answers.filter((answer) => answer !== undefined);
  if (found.length === 0) return undefined;
  const byPath = new Map<string, FoundFolder>();
  for (const one of found.flat()) {
    const path = `${one.systemId}/${one.path}`;
    byPath.set(path, { ...one, files: one.files + (byPath.get(path)?.files ?? 0) });
  }
  const keyed = [...byPath].map(([path, one]) => ({
    one,
    path,
    key: foldedKey({ name: basename(path), tie: "" }),
  }));
  const pathKey = (path: string) => foldedKey({ name: path, tie: path });
  return keyed
    .sort((a, b) => compareKeys(a.key, b.key) || compareKeys(pathKey(a.path), pathKey(b.path)))
    .map(({ one }) => one);
}

/**
 * The entries of a folder of all libraries, in the order of their names. Of two files with one path only the first
 * library's is listed, but the total counts both.
 */
export async function joinedFolder(
  libraries: readonly Pick<MediaLibrary, "folder">[],
  query: FolderQuery,
): Promise<FolderContent | undefined> {
  const contents = (await Promise.all(libraries.map((library) => library.folder(query)))).filter(
    (one) => one !== undefined,
  );
  if (contents.length <= 1) return contents[0];
  const files = contents.flatMap((content) => content.files);
  const byPath = new Map(files.toReversed().map((media) => [media.path, media]));
  const inOrder = [...byPath.values()]
    .map((media) => ({ media, key: foldedKey(keyOfMedia(media)) }))
    .sort((a, b) => query.way * compareKeys(a.key, b.key))
    .map(({ media }) => media);
  return {
    isThere: contents.some(({ isThere }) => isThere),
    folders: addedUp(contents.map(({ folders }) => folders)),
    files: inOrder.slice(0, query.most),
    total: contents.reduce((sum, { total }) => sum + total, 0),
    durationMs: contents.reduce((sum, { durationMs }) => sum + durationMs, 0),
  };
}

/** Adds up counts by key; undefined if all of them are undefined. */
export async function joinedCounts(
  counts: readonly Promise<ReadonlyMap<string, number> | undefined>[],
): Promise<ReadonlyMap<string, number> | undefined> {
  const known = (await Promise.all(counts)).filter((one) => one !== undefined);
  return known.length <= 1 ? known[0] : addedUp(known);
}

function addedUp(counts: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [key, count] of counts.flatMap((one) => [...one])) sums.set(key, (sums.get(key) ?? 0) + count);
  return sums;
}
