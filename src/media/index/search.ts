/**
 * Search in the index. A name matches if it contains every word of the query. The best matches are first: the whole name,
 * then a start of the name, then each word of the query at the start of a word, then all others. A number at the end of
 * the query matches only a whole number at the start of a name: `mega 1` is no start of `mega 10`. Equal matches are in
 * natural order. Files are numbered in that order, so names with the same start are neighbours.
 */
import { lineFeed } from "./columns.ts";
import { type Dictionary, shortKeyOf } from "./dictionary.ts";
import { endsWord } from "./fold.ts";
import { bitmapBytes, countOf, orList } from "./lists.ts";
import { naturalKey } from "./natural-order.ts";

/** The data of an index that a search reads. */
export interface SearchSource extends Omit<Dictionary, "shortcuts"> {
  readonly count: number;
  /** The folded name of a file. */
  name(file: number): string;
  /** The stored answer of a `shortKeyOf`; undefined if there is none. */
  shortcut(key: number): { readonly anywhere: Uint8Array; readonly atStart: Uint8Array } | undefined;
}

export interface IndexQuery {
  /** The words as `foldedWords` returns them. An empty list matches all files. */
  readonly words: readonly string[];
  /** The places of the systems; undefined for all systems. */
  readonly systems: readonly number[] | undefined;
  /** The number of best results to leave out; 0 if absent. */
  readonly skip?: number;
  readonly maxResults: number;
}

export interface SearchHits {
  /** The numbers of files after the skipped ones, the best first; at most `maxResults`. */
  readonly files: readonly number[];
  readonly total: number;
}

/** A set of files as bits, seen as words and as bytes. */
interface Bits {
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
}

/** Makes the search of an index. It reuses its sets, because as garbage they would soon outweigh the index. */
export function createSearch(source: SearchSource): (asked: IndexQuery) => SearchHits {
  const found = newBits(source.count);
  const atStarts = newBits(source.count);
  const one: Matches = { anywhere: newBits(source.count), atStart: newBits(source.count) };
  return ({ words, systems, skip = 0, maxResults }) => {
    fillWith(found, source, systems);
    atStarts.words.set(found.words);
    // The longest words are the rarest: if one matches nothing, the search ends.
    for (const word of words.toSorted((a, b) => b.length - a.length)) {
      findMatches(source, word, one);
      if (!narrow(found, one.anywhere)) return { files: [], total: 0 };
      narrow(atStarts, one.atStart);
    }
    const total = countOf(found.words);
    const taken: Taken = { files: [], skip, most: maxResults };
    takeBest(source, words.join(" "), found, atStarts, taken);
    return { files: taken.files, total };
  };
}

/** The results of a search that are taken so far. */
interface Taken {
  readonly files: number[];
  /** The number of results that are still to be skipped. */
  skip: number;
  readonly most: number;
}

/** Takes files of `found`, the best first. */
function takeBest(source: SearchSource, phrase: string, found: Bits, atStarts: Bits, taken: Taken): void {
  const start = naturalKey(encoder.encode(phrase));
  const first = firstFrom(source, start);
  // No key has the byte 0xff. This byte after a start therefore sorts after each continuation of the start.
  const last = phrase === "" ? source.count : firstFrom(source, Buffer.concat([start, Uint8Array.of(0xff)]));
  takeFrom(taken, found, first, last);
  for (const set of [atStarts, found]) {
    takeFrom(taken, set, 0, first);
    takeFrom(taken, set, last, source.count);
    // No file is taken twice.
    for (let at = 0; at < found.words.length; at++)
      found.words[at] = (found.words[at] ?? 0) & ~(set.words[at] ?? 0);
  }
}

function takeFrom(taken: Taken, { bytes }: Bits, from: number, to: number): void {
  const { files, most } = taken;
  for (let file = from; file < to && files.length < most; file++) {
    const byte = bytes[file >>> 3] ?? 0;
    // Skips eight absent files in one step.
    if (byte === 0 && file % 8 === 0) file += 7;
    else if ((byte & (1 << (file & 7))) === 0) continue;
    else if (taken.skip > 0) taken.skip -= 1;
    else files.push(file);
  }
}

/** The first file whose `naturalKey` is equal to this key, or sorts after it. */
export function firstFrom(source: Pick<SearchSource, "count" | "name">, key: Uint8Array): number {
  let low = 0;
  let high = source.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Buffer.compare(naturalKey(encoder.encode(source.name(middle))), key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The files with a word anywhere, and those with it at the start of a word. */
interface Matches {
  readonly anywhere: Bits;
  readonly atStart: Bits;
}

function findMatches(source: SearchSource, word: string, { anywhere, atStart }: Matches): void {
  const sought = encoder.encode(word);
  anywhere.words.fill(0);
  atStart.words.fill(0);
  const ready = sought.length <= 2 ? source.shortcut(shortKeyOf(sought[0] ?? 0, sought[1])) : undefined;
  if (ready !== undefined) {
    orList(anywhere.bytes, ready.anywhere);
    orList(atStart.bytes, ready.atStart);
    return;
  }
  const text = Buffer.from(source.words.buffer, source.words.byteOffset, source.words.byteLength);
  const { starts, files } = source;
  let place = 0;
  for (let at = text.indexOf(sought); at >= 0; ) {
    place = wordAt(starts, at, place);
    const list = files.bytes.subarray(files.starts[place], files.starts[place + 1]);
    orList(anywhere.bytes, list);
    const end = starts[place + 1] ?? text.length;
    let starting = false;
    for (; at >= 0 && at < end; at = text.indexOf(sought, at + 1)) {
      const before = text[at - 1] ?? lineFeed;
      starting ||= endsWord(before);
    }
    if (starting) orList(atStart.bytes, list);
  }
}

/** The first word from `place` on that has this byte at `at`. */
function wordAt(starts: Uint32Array, at: number, place: number): number {
  // A few steps find a near word; bisection finds a far one.
  let word = place;
  for (let step = 0; step < 8; step++) {
    if ((starts[word + 1] ?? Infinity) > at) return word;
    word++;
  }
  let low = word;
  let high = starts.length - 1;
  while (low + 1 < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle;
  }
  return low;
}

function fillWith(bits: Bits, source: SearchSource, systems: readonly number[] | undefined): void {
  bits.words.fill(0);
  if (systems === undefined) {
    bits.words.fill(0xffffffff, 0, source.count >>> 5);
    if (source.count % 32 !== 0) bits.words[source.count >>> 5] = 2 ** (source.count % 32) - 1;
    return;
  }
  const { starts, bytes } = source.systems;
  for (const system of systems) orList(bits.bytes, bytes.subarray(starts[system], starts[system + 1]));
}

/** Intersects `bits` with `other`, and returns false if the result is empty. */
function narrow(bits: Bits, other: Bits): boolean {
  let any = 0;
  for (let at = 0; at < bits.words.length; at++) {
    const both = (bits.words[at] ?? 0) & (other.words[at] ?? 0);
    bits.words[at] = both;
    any |= both;
  }
  return any !== 0;
}

function newBits(files: number): Bits {
  const words = new Uint32Array(bitmapBytes(files) / 4);
  return { words, bytes: new Uint8Array(words.buffer) };
}

const encoder = new TextEncoder();
