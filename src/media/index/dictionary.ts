/**
 * The words of all file names, each once, with the files of each: the data of a search. A word of a query has no white
 * space, so it is in a name only if it is in a word of that name. There are far fewer words than names. One or two
 * letters are in so many words that joining the lists of their files takes too long. The answers for them are therefore
 * stored.
 */
import type { StoredShortcut } from "../../store/media-index-write.ts";
import { groupMembers, type NameColumn, NumberColumn, WordTable } from "./columns.ts";
import { endsWord } from "./fold.ts";
import { bitmapBytes, ListWriter, orList, type PackedLists, packMap } from "./lists.ts";

export interface Dictionary {
  /** Folded words in UTF-8, a line each. */
  readonly words: Uint8Array;
  /** The start of each word, followed by the end of the last one. */
  readonly starts: Uint32Array;
  /** The files of each word. */
  readonly files: PackedLists;
  /** The files of each system. */
  readonly systems: PackedLists;
  readonly shortcuts: Iterable<StoredShortcut>;
}

const space = 0x20;

/**
 * Builds the dictionary. `order` holds the places of the names in the column, by number of file. `systemOf` holds the
 * system of each file, and `more` has further words at the same places.
 */
export function buildDictionary(
  folded: NameColumn,
  more: NameColumn | undefined,
  order: Uint32Array,
  systemOf: Uint16Array,
  systems: number,
): Dictionary {
  const { table, ends, wordOf } = splitNames(more === undefined ? [folded] : [folded, more], order);
  const { words, starts } = table.done();
  const parts = { words, starts, files: filesByWord(ends, wordOf, table.count) };
  return {
    ...parts,
    systems: packed(groupMembers(systemOf, systems), order.length),
    shortcuts: findShortcuts(parts, order.length),
  };
}

/** All words of the names in one list, `wordOf`, and the end of each name in that list. */
function splitNames(columns: readonly NameColumn[], order: Uint32Array) {
  const table = new WordTable();
  const ends = new Uint32Array(order.length);
  const wordOf = new NumberColumn();
  for (let file = 0; file < order.length; file++) {
    const place = order[file] ?? 0;
    const first = wordOf.length;
    for (const folded of columns) {
      const bytes = folded.chunkOf(place);
      const end = folded.endOf(place);
      for (let start = folded.startOf(place), at = start; at <= end; at++) {
        if (at < end && bytes[at] !== space) continue;
        if (at > start) addOnce(wordOf, first, table.place(bytes, start, at));
        start = at + 1;
      }
    }
    ends[file] = wordOf.length;
  }
  return { table, ends, wordOf };
}

function addOnce(list: NumberColumn, from: number, value: number): void {
  for (let at = from; at < list.length; at++) if (list.at(at) === value) return;
  list.add(value);
}

function filesByWord(ends: Uint32Array, wordOf: NumberColumn, words: number): PackedLists {
  let file = 0;
  const fileOf = (at: number) => {
    while (at >= (ends[file] ?? Infinity)) file++;
    return file;
  };
  return packed(groupMembers(wordOf, words, fileOf), ends.length);
}

function packed({ members, starts }: ReturnType<typeof groupMembers>, files: number): PackedLists {
  const writer = new ListWriter(files);
  for (let group = 0, at = 0; group + 1 < starts.length; group++) {
    for (const end = starts[group + 1] ?? 0; at < end; at++) writer.add(members[at] ?? 0);
    writer.end();
  }
  return writer.done();
}

type Words = Pick<Dictionary, "words" | "starts" | "files">;

const keys = 0x1_0000;
/** The cost of one word in bytes of lists (measured: 40 ns a word, 3 ns a byte). */
const wordCost = 12;
/** Joining fewer bytes than this takes less than about 0.5 ms, which is fast enough. */
const joinCostMin = 128 * 1024;

/** One or two bytes as a number: the first byte low. File names hold no byte 0. */
export function shortKeyOf(first: number, second = 0): number {
  return first | (second << 8);
}

/** The answers that cost too much to join, in ascending order of their keys. */
function* findShortcuts(dictionary: Words, files: number): Generator<StoredShortcut> {
  const lists = dictionary.files.starts;
  const costs = new Float64Array(keys);
  const count = new Uint32Array(keys + 1);
  eachKey(dictionary, (key, word) => {
    costs[key] = (costs[key] ?? 0) + wordCost + (lists[word + 1] ?? 0) - (lists[word] ?? 0);
    count[key + 1] = (count[key + 1] ?? 0) + 1;
  });
  const costMin = Math.max(joinCostMin, files / 4);
  const isCostly = (key: number) => (costs[key] ?? 0) > costMin;
  for (let key = 0; key < keys; key++)
    count[key + 1] = (count[key] ?? 0) + (isCostly(key) ? (count[key + 1] ?? 0) : 0);
  const starts = count.slice();
  const entries = new Uint32Array(count[keys] ?? 0);
  eachKey(dictionary, (key, word, atStart) => {
    const place = count[key] ?? 0;
    if (isCostly(key)) entries[place] = word * 2 + (atStart ? 1 : 0);
    count[key] = place + 1;
  });
  for (let key = 0; key < keys; key++) {
    if (isCostly(key)) yield join(dictionary, files, key, entries.subarray(starts[key], starts[key + 1]));
  }
}

function join(dictionary: Words, files: number, key: number, entries: Uint32Array): StoredShortcut {
  const { starts, bytes } = dictionary.files;
  const anywhere = new Uint8Array(bitmapBytes(files));
  const atStart = new Uint8Array(bitmapBytes(files));
  for (const entry of entries) {
    const word = entry >>> 1;
    const list = bytes.subarray(starts[word], starts[word + 1]);
    orList(anywhere, list);
    if (entry % 2 === 1) orList(atStart, list);
  }
  return { key, anywhere: packMap(anywhere, files), atStart: packMap(atStart, files) };
}

/** Calls `visit` once for each key of each word; `atStart` is true if the key begins the word, or follows punctuation in it. */
function eachKey(
  { words, starts }: Words,
  visit: (key: number, word: number, atStart: boolean) => void,
): void {
  // By key: the last word with the key, plus one, and whether the key was at the start of a word in it.
  const seenIn = new Uint32Array(keys);
  const seenAtStart = new Uint8Array(keys);
  const met: number[] = [];
  const meet = (key: number, word: number, atStart: boolean) => {
    if (seenIn[key] !== word + 1) {
      met.push(key);
      seenIn[key] = word + 1;
      seenAtStart[key] = 0;
    }
    if (atStart) seenAtStart[key] = 1;
  };
  for (let word = 0; word + 1 < starts.length; word++) {
    const start = starts[word] ?? 0;
    const end = (starts[word + 1] ?? 0) - 1;
    for (let at = start; at < end; at++) {
      const atStart = at === start || endsWord(words[at - 1] ?? 0);
      const byte = words[at] ?? 0;
      meet(shortKeyOf(byte), word, atStart);
      if (at + 1 < end) meet(shortKeyOf(byte, words[at + 1]), word, atStart);
    }
    for (const key of met) visit(key, word, seenAtStart[key] === 1);
    met.length = 0;
  }
}
