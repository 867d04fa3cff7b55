/**
 * Keys of titles, equal for two spellings of a title: without accents, capitals, punctuation, spaces and a leading article.
 * `&` counts as `and`, and a Roman numeral counts as its number. Two keys are near if they differ by few slips, which are
 * edits of one character. The index stores the keys of each file, so ASCII names are handled as bytes.
 */
import type { NameColumn } from "../index/columns.ts";
import { fold } from "../index/fold.ts";
import { setBits } from "../index/lists.ts";

/** Bytes of a key in UTF-8, as in a file name (limits.h, NAME_MAX); a longer key is cut. */
export const keyBytesMax = 255;

/** The key of a title, or of a name without its tags; empty if it has neither letters nor digits. */
export function titleKey(name: string): string {
  return numbered(titleWords(fold(name))).join("");
}

/** Like `titleKey`, with Roman numerals as letters: equal for `megamanx` and `Mega Man X`. */
export function plainTitleKey(name: string): string {
  return titleWords(fold(name)).join("");
}

/** The marks of sequels, which must be equal: numbers, Roman ones as digits, and a single letter at the end (`Pokémon X`). */
export function marksOf(name: string): string {
  const words = numbered(titleWords(fold(name)));
  const last = words.at(-1) ?? "";
  const letter = words.length > 1 && /^\p{L}$/u.test(last) ? [last] : [];
  return [...words.flatMap((word) => word.match(/\p{N}+/gu) ?? []), ...letter].join(" ");
}

function titleWords(folded: string): readonly string[] {
  const cut = folded.search(/[([]/);
  const title = cut > 0 ? folded.slice(0, cut) : folded;
  const turned = title.replaceAll("&", " and ").replace(/^(.+), (the|a|an)\b(.*)$/, "$2 $1$3");
  const words = turned
    .replace(/['’`]/g, "")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  return words.length > 1 && articles.includes(words[0] ?? "") ? words.slice(1) : words;
}

const articles = ["the", "a", "an"];

/** A single letter at the start stays a letter: `X-Men`, `V-Rally`. */
function numbered(words: readonly string[]): readonly string[] {
  return words.map((word, at) => (at === 0 && word.length === 1 ? word : (numerals.get(word) ?? word)));
}

/** `i` to `xxxix`: titles have no higher numbers, and more letters would turn words into numbers. */
const numerals: ReadonlyMap<string, string> = new Map(
  Array.from({ length: 39 }, (_, at) => {
    const ones = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"][(at + 1) % 10] ?? "";
    return ["x".repeat(Math.floor((at + 1) / 10)) + ones, String(at + 1)];
  }),
);

/** The keys of a name of the index, in UTF-8. They are valid until the next call. */
interface NameKeys {
  readonly key: Uint8Array;
  /** The `plainTitleKey`, if it differs from the key. */
  readonly plain: Uint8Array | undefined;
}

/** The keys of a folded name. An ASCII name needs no strings, and most names are ASCII. */
export function keysOf(folded: NameColumn, place: number): NameKeys {
  const chunk = folded.chunkOf(place);
  const start = folded.startOf(place);
  const end = folded.endOf(place);
  const ascii = asciiKeys(chunk, start, endOfTitle(chunk, start, end));
  if (ascii !== undefined) return ascii;
  const name = chunk.toString("utf8", start, end);
  const key = titleKey(name);
  const plain = plainTitleKey(name);
  return { key: titleKeyBytes(key), plain: plain === key ? undefined : titleKeyBytes(plain) };
}

export function titleKeyBytes(key: string): Uint8Array {
  return encoder.encode(key).subarray(0, keyBytesMax);
}

const encoder = new TextEncoder();

/** The end of the title, which is the first bracket. A name that begins with a bracket is all title. */
function endOfTitle(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] !== 0x28 && bytes[at] !== 0x5b) at++;
  return at === start ? end : at;
}

const keyScratch = new Uint8Array(1024);
const plainScratch = new Uint8Array(1024);
const wordEnds = new Uint16Array(1024);
const ampersand = 0x26;

/** The keys of an ASCII title; undefined if the title is not ASCII, or has a comma, because an article may follow it. */
function asciiKeys(bytes: Uint8Array, start: number, end: number): NameKeys | undefined {
  const words = end - start > keyBytesMax ? -1 : splitAscii(bytes, start, end);
  if (words < 0) return undefined;
  const isArticle = words > 1 && startsWithArticle(wordEnds[0] ?? 0);
  const first = isArticle ? 1 : 0;
  const from = isArticle ? (wordEnds[0] ?? 0) : 0;
  const to = words === 0 ? 0 : (wordEnds[words - 1] ?? 0);
  let length = 0;
  let isPlain = true;
  for (let word = first, at = from; word < words; word++) {
    const wordEnd = wordEnds[word] ?? 0;
    const number = word === first && wordEnd - at === 1 ? undefined : numberOf(at, wordEnd);
    if (number === undefined) {
      for (; at < wordEnd; at++) keyScratch[length++] = plainScratch[at] ?? 0;
    } else {
      isPlain = false;
      for (let digit = 0; digit < number.length; digit++) keyScratch[length++] = number.charCodeAt(digit);
      at = wordEnd;
    }
  }
  const key = keyScratch.subarray(0, Math.min(length, keyBytesMax));
  return { key, plain: isPlain ? undefined : plainScratch.subarray(from, Math.min(to, from + keyBytesMax)) };
}

/** Copies the words side by side; returns their number, or -1 for a name that `asciiKeys` does not handle. */
function splitAscii(bytes: Uint8Array, start: number, end: number): number {
  let length = 0;
  let words = 0;
  let wordStart = 0;
  for (let at = start; at <= end; at++) {
    const byte = at < end ? (bytes[at] ?? 0) : 0x20;
    if (byte >= 0x80 || byte === 0x2c) return -1;
    if ((byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39)) plainScratch[length++] = byte;
    // Apostrophes do not end a word.
    else if (byte !== 0x27 && byte !== 0x60) {
      if (length > wordStart) wordEnds[words++] = wordStart = length;
      if (byte !== ampersand) continue;
      plainScratch.set(andBytes, length);
      length += andBytes.length;
      wordEnds[words++] = wordStart = length;
    }
  }
  return words;
}

const andBytes = encoder.encode("and");

function startsWithArticle(end: number): boolean {
  const first = plainScratch[0];
  return end <= 3 && (first === 0x61 || first === 0x74) && articles.includes(asciiWord(0, end));
}

function numberOf(start: number, end: number): string | undefined {
  const first = plainScratch[start] ?? 0;
  if (end - start > 7 || (first !== 0x69 && first !== 0x76 && first !== 0x78)) return undefined;
  return numerals.get(asciiWord(start, end));
}

function asciiWord(start: number, end: number): string {
  return String.fromCharCode(...plainScratch.subarray(start, end));
}

/** Slips allowed in a title: one in five characters, and at most four. */
export function slipsMax(characters: number): number {
  return Math.min(4, Math.floor(characters / 5));
}

/**
 * A filter before `slipsBetween`. Bits 0 to 25 are the letters of the key, with a byte beyond ASCII counted as one of them.
 * Bits 26 to 31 are a sum over the digits in order.
 */
export function signatureOf(key: Uint8Array, start: number, end: number): number {
  let letters = 0;
  let digits = 0;
  for (let at = start; at < end; at++) {
    const byte = key[at] ?? 0;
    if (byte >= 0x30 && byte <= 0x39) digits = (digits * 11 + byte - 0x2f) & 0x3f;
    else letters |= 1 << (byte >= 0x80 ? byte % 26 : (byte - 0x61 + 26) % 26);
  }
  return (letters | (digits << 26)) >>> 0;
}

/** False if two keys of these signatures differ by more than `most` bytes, or in their numbers. */
export function mayBeNear(a: number, b: number, most: number): boolean {
  if ((a ^ b) >>> 26 !== 0) return false;
  return setBits(a & ~b) <= most && setBits(b & ~a) <= most;
}

const rows = [new Uint16Array(512), new Uint16Array(512)] as const;

/** The Levenshtein distance; `most + 1` if it is more than `most`. The lists have at most 511 elements. */
export function slipsBetween(a: ArrayLike<unknown>, b: ArrayLike<unknown>, most: number): number {
  const far = most + 1;
  if (Math.abs(a.length - b.length) > most || b.length >= rows[0].length) return far;
  let [before, row] = rows;
  for (let j = 0; j <= b.length; j++) before[j] = Math.min(j, far);
  for (let i = 1; i <= a.length; i++) {
    // Outside this band the distance is more than `most`.
    const from = Math.max(1, i - most);
    const to = Math.min(b.length, i + most);
    row[from - 1] = from === 1 ? Math.min(i, far) : far;
    let least = far;
    for (let j = from; j <= to; j++) {
      const change = (before[j - 1] ?? far) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const cell = Math.min(change, (before[j] ?? far) + 1, (row[j - 1] ?? far) + 1, far);
      row[j] = cell;
      least = Math.min(least, cell);
    }
    row[to + 1] = far;
    if (least > most && i - most > 0) return far;
    [before, row] = [row, before];
  }
  return Math.min(before[b.length] ?? far, far);
}
