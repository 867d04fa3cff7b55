/**
 * Ready answers for what stands in very many words: a letter, or two. To join the files of all those words would take
 * longer than a search may.
 */
import type { Dictionary } from "./dictionary.ts";
import { endsWord } from "./fold.ts";
import { bitmapBytes, orList, packMap } from "./lists.ts";

export interface Shortcut {
  /** `keyOf` the one or two bytes of text. */
  readonly key: number;
  /** Packed lists: files that have it anywhere, and those that have it where a word starts. */
  readonly anywhere: Uint8Array;
  readonly atStart: Uint8Array;
}

type Words = Pick<Dictionary, "words" | "starts" | "files">;

const keys = 0x1_0000;
/** What it costs to come by one word, counted in bytes of lists (measured: 40 ns a word, 3 ns a byte). */
const wordCost = 12;
/** Some 0.5 ms: below this, joining is fast enough. */
const joinCostMin = 128 * 1024;

/** One or two bytes as a number: the first byte low. File names hold no byte 0. */
export function keyOf(first: number, second = 0): number {
  return first | (second << 8);
}

/** The answers worth keeping, in ascending order of their keys. */
export function* findShortcuts(dictionary: Words, files: number): Generator<Shortcut> {
  const costs = new Float64Array(keys);
  const count = new Uint32Array(keys + 1);
  eachKey(dictionary, (key, word) => {
    costs[key] = (costs[key] ?? 0) + wordCost + listBytes(dictionary, word);
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

function join(dictionary: Words, files: number, key: number, entries: Uint32Array): Shortcut {
  const anywhere = new Uint8Array(bitmapBytes(files));
  const atStart = new Uint8Array(bitmapBytes(files));
  for (const entry of entries) {
    const list = listOf(dictionary, entry >>> 1);
    orList(anywhere, list);
    if (entry % 2 === 1) orList(atStart, list);
  }
  return { key, anywhere: packMap(anywhere, files), atStart: packMap(atStart, files) };
}

/** Calls `visit` once for each key of each word; `atStart` where the key stands at the start of a word in it. */
function eachKey(
  { words, starts }: Words,
  visit: (key: number, word: number, atStart: boolean) => void,
): void {
  // The word that each key was seen in last, plus one, and whether it was at a start of a word there.
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
      meet(keyOf(byte), word, atStart);
      if (at + 1 < end) meet(keyOf(byte, words[at + 1]), word, atStart);
    }
    for (const key of met) visit(key, word, seenAtStart[key] === 1);
    met.length = 0;
  }
}

function listBytes({ files: { starts } }: Words, word: number): number {
  return (starts[word + 1] ?? 0) - (starts[word] ?? 0);
}

function listOf({ files: { starts, bytes } }: Words, word: number): Uint8Array {
  return bytes.subarray(starts[word], starts[word + 1]);
}
