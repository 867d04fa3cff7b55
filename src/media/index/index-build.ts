/** Builds the index on the disk from the result of a scan: files in order, titles, and the search structure. */
import { type AudioTags, extensionOf } from "../../core/media.ts";
import {
  type StoredFile,
  type StoredTitles,
  uint32Bytes,
  writeMediaIndex,
} from "../../store/media-index-write.ts";
import { openTags } from "../../store/tag-file.ts";
import { byReadable, joinNames, readable } from "../file-names.ts";
import { isAudio } from "../known-systems.ts";
import { noSystem, type ScanResult } from "../scan/scan-result.ts";
import { keyBytesMax, keysOf, signatureOf } from "../titles/title-key.ts";
import { groupMembers, NameColumn, NumberColumn } from "./columns.ts";
import { buildDictionary, type Dictionary } from "./dictionary.ts";
import { addFolded, fold } from "./fold.ts";
import { addNaturalKey, naturalKey } from "./natural-order.ts";

/** Writes the index by rename, and returns the number of files. Empties `found`. */
export function buildMediaIndex(path: string, found: ScanResult): number {
  const folded = foldAll(found);
  const order = sortedFiles(found, folded);
  const tagWords = foldTags(path, found);
  writeMediaIndex(path, {
    systems: found.systems,
    bases: found.bases,
    folders: found.folders,
    files: inOrder(found, order),
    titles: () => buildTitles(folded, order, (file) => found.systemOf.at(order[file] ?? 0)),
    search: () => {
      // The names are written by now, so their memory can be freed, and the next step needs the most memory.
      found.names.drop();
      Bun.gc(true);
      const systemOf = Uint16Array.from(order, (file) => found.systemOf.at(file));
      return pieced(buildDictionary(folded, tagWords, order, systemOf, found.systems.length));
    },
  });
  return order.length;
}

function foldAll({ names }: ScanResult): NameColumn {
  const folded = new NameColumn();
  for (let file = 0; file < names.length; file++) addFolded(folded, names, file);
  return folded;
}

/** The folded words in the tags of each file, at the place of the file; undefined if no tags are known. */
function foldTags(path: string, { names, folderOf, folders }: ScanResult): NameColumn | undefined {
  const tags = openTags(path);
  if (tags === undefined) return undefined;
  const folded = new NameColumn();
  for (let file = 0; file < names.length; file++) {
    const folder = folders[folderOf.at(file)];
    const isSong = folder !== undefined && isAudio(extensionOf(names.text(file)));
    const known = isSong
      ? tags.of(joinNames(joinNames(folder.base, folder.path), names.name(file)))
      : undefined;
    folded.add(known === undefined ? "" : fold(wordsOf(known)));
  }
  tags.close();
  return folded;
}

/** The words by which a search finds an audio file beside its name. */
export function wordsOf({ title = "", artist = "", album = "" }: AudioTags = {}): string {
  return `${title} ${artist} ${album}`;
}

/**
 * Sorts in natural order, then by folded name, name, system, and folder in natural order. Of two files with one name in
 * the API, the one in the first root stays.
 */
function sortedFiles(found: ScanResult, folded: NameColumn): Uint32Array {
  const keys = new NameColumn();
  for (let file = 0; file < folded.length; file++) addNaturalKey(keys, folded, file);
  const heads = Float64Array.from({ length: keys.length }, (_, file) => keys.head(file));
  const compareNames = namesComparer(found);
  const counting: number[] = [];
  for (let file = 0; file < folded.length; file++) {
    if (found.systemOf.at(file) !== noSystem) counting.push(file);
  }
  counting.sort(
    (a, b) =>
      (heads[a] ?? 0) - (heads[b] ?? 0) ||
      keys.compare(a, b) ||
      folded.compare(a, b) ||
      compareNames(a, b) ||
      found.folderOf.at(a) - found.folderOf.at(b),
  );
  const isFirst = (file: number, at: number) => at === 0 || compareNames(counting[at - 1] ?? 0, file) !== 0;
  return Uint32Array.from(counting.filter(isFirst));
}

/** Compares two files; zero means that they have the same name in the API. */
function namesComparer({ names, systemOf, folderOf, systems, folders }: ScanResult) {
  const ids = systems.map(({ id }) => id);
  const places = placesOf(folders.map(({ path }) => readable(path)));
  const place = (file: number) => places[folderOf.at(file)] ?? 0;
  return (a: number, b: number): number =>
    names.compare(a, b) ||
    byReadable(ids[systemOf.at(a)] ?? "", ids[systemOf.at(b)] ?? "") ||
    place(a) - place(b);
}

/** The place of each path in the natural order of all paths. Equal paths have one place. */
function placesOf(paths: readonly string[]): readonly number[] {
  const keyed = [...new Set(paths)].map((path) => ({ path, key: naturalKey(Buffer.from(fold(path))) }));
  keyed.sort((a, b) => Buffer.compare(a.key, b.key) || byReadable(a.path, b.path));
  const placeOf = new Map(keyed.map(({ path }, place) => [path, place]));
  return paths.map((path) => placeOf.get(path) ?? 0);
}

function* inOrder(found: ScanResult, order: Uint32Array): Generator<StoredFile> {
  for (const file of order) {
    yield { system: found.systemOf.at(file), folder: found.folderOf.at(file), name: found.names.name(file) };
  }
}

function pieced({ words, starts, files, systems, shortcuts }: Dictionary) {
  const pieces = {
    words,
    starts: uint32Bytes(starts),
    lists: files.bytes,
    "list-starts": uint32Bytes(files.starts),
    systems: systems.bytes,
    "system-starts": uint32Bytes(systems.starts),
  };
  return { pieces, shortcuts };
}

/** The number of titles in one piece of the table, which is one step of a title search. */
export const titlesPerPiece = 256;

const lengths = keyBytesMax + 1;

/**
 * The titles, ordered by system and by the length of their keys. Keys of one length are stored side by side without
 * separators. `order` holds the places of the names in the column, by number of file; `systemOf` returns the system of a
 * file.
 */
function* buildTitles(
  folded: NameColumn,
  order: Uint32Array,
  systemOf: (file: number) => number,
): Generator<StoredTitles> {
  const keys = new NameColumn();
  const groupOf = new NumberColumn();
  const fileOf = new NumberColumn();
  let groups = 0;
  const add = (key: Uint8Array, file: number, isPlain: boolean) => {
    if (key.length === 0) return;
    const group = (systemOf(file) * 2 + (isPlain ? 1 : 0)) * lengths + key.length;
    groups = Math.max(groups, group + 1);
    keys.addBytes(key, 0, key.length);
    groupOf.add(group);
    fileOf.add(file);
  };
  for (let file = 0; file < order.length; file++) {
    const { key, plain } = keysOf(folded, order[file] ?? 0);
    add(key, file, false);
    if (plain !== undefined) add(plain, file, true);
  }
  const { members, starts } = groupMembers(groupOf, groups);
  for (let group = 0; group < groups; group++) {
    const end = starts[group + 1] ?? 0;
    for (let at = starts[group] ?? 0; at < end; at += titlesPerPiece) {
      const piece = members.subarray(at, Math.min(end, at + titlesPerPiece));
      yield packed(group, piece, keys, fileOf);
    }
  }
}

function packed(group: number, members: Uint32Array, keys: NameColumn, fileOf: NumberColumn): StoredTitles {
  const length = group % lengths;
  const system = Math.floor(group / lengths / 2);
  const isPlain = Math.floor(group / lengths) % 2 === 1;
  const text = new Uint8Array(members.length * length);
  const files = new Uint32Array(members.length);
  const signatures = new Uint32Array(members.length);
  for (const [at, member] of members.entries()) {
    const chunk = keys.chunkOf(member);
    const start = keys.startOf(member);
    for (let byte = 0; byte < length; byte++) text[at * length + byte] = chunk[start + byte] ?? 0;
    files[at] = fileOf.at(member);
    signatures[at] = signatureOf(text, at * length, (at + 1) * length);
  }
  return { system, isPlain, length, keys: text, files, signatures };
}
