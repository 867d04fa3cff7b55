/**
 * What two spellings of a title have in common: no accents, capitals, punctuation, spaces or leading article; `&` is `and`,
 * and a Roman numeral is its number. The index keeps this key of each file, so it is made of bytes where they are ASCII.
 */
import type { NameColumn } from "../index/columns.ts";
import { fold } from "../index/fold.ts";

/** Of a key, in UTF-8: as long as a file name (limits.h, NAME_MAX); what is longer is cut. */
export const keyBytesMax = 255;

/** The key of a title, or of a name with tags, which do not count; empty where it has neither letters nor digits. */
export function titleKey(name: string): string {
  return numbered(titleWords(fold(name))).join("");
}

/** As `titleKey`, with Roman numerals as the letters that they are: the same for `megamanx` and `Mega Man X`. */
export function plainTitleKey(name: string): string {
  return titleWords(fold(name)).join("");
}

/**
 * What tells a title from its sequels and sister games, and so is never a slip: its numbers, Roman ones as digits, and a
 * letter that stands alone at its end, as in `Pokémon X`.
 */
export function marksOf(name: string): string {
  const words = numbered(titleWords(fold(name)));
  const last = words.at(-1) ?? "";
  const letter = words.length > 1 && /^\p{L}$/u.test(last) ? [last] : [];
  return [...words.flatMap((word) => word.match(/\p{N}+/gu) ?? []), ...letter].join(" ");
}

function titleWords(folded: string): readonly string[] {
  const cut = folded.search(/ *[([]/);
  const title = cut > 0 ? folded.slice(0, cut) : folded;
  const turned = title.replaceAll("&", " and ").replace(/^(.+), (the|a|an)\b(.*)$/, "$2 $1$3");
  const words = turned
    .replace(/['’`]/g, "")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  return words.length > 1 && articles.includes(words[0] ?? "") ? words.slice(1) : words;
}

const articles = ["the", "a", "an"];

/** A letter that opens a title is one: `X-Men`, `V-Rally`. */
function numbered(words: readonly string[]): readonly string[] {
  return words.map((word, at) => (at === 0 && word.length === 1 ? word : (numerals.get(word) ?? word)));
}

/** `i` to `xxxix`: what is longer numbers no titles, and more letters would make numbers of words. */
const numerals: ReadonlyMap<string, string> = new Map(
  Array.from({ length: 39 }, (_, at) => {
    const ones = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"][(at + 1) % 10] ?? "";
    return ["x".repeat(Math.floor((at + 1) / 10)) + ones, String(at + 1)];
  }),
);

/** Keys of a name of the index, in UTF-8: bytes that hold until the next call. */
export interface NameKeys {
  readonly key: Uint8Array;
  /** That of `plainTitleKey`, where it is another. */
  readonly plain: Uint8Array | undefined;
}

/** The keys of a folded name, most of which are ASCII: these take no strings. */
export function keysOf(folded: NameColumn, place: number): NameKeys {
  const chunk = folded.chunkOf(place);
  const [start, end] = [folded.startOf(place), folded.endOf(place)];
  const from = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return asciiKeys(from, start, endOfTitle(from, start, end)) ?? textKeys(from.toString("utf8", start, end));
}

function textKeys(name: string): NameKeys {
  const [key, plain] = [titleKey(name), plainTitleKey(name)];
  return { key: keyBytes(key), plain: plain === key ? undefined : keyBytes(plain) };
}

export function keyBytes(key: string): Uint8Array {
  return encoder.encode(key).subarray(0, keyBytesMax);
}

const encoder = new TextEncoder();

/** At the first bracket; what has nothing before it is all title. */
function endOfTitle(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] !== 0x28 && bytes[at] !== 0x5b) at++;
  return at === start ? end : at;
}

const [keyScratch, plainScratch] = [new Uint8Array(1024), new Uint8Array(1024)];
const wordEnds = new Uint16Array(1024);
/** In a title: `and`. */
const ampersand = 0x26;

/** Undefined where it holds what is not ASCII, or a comma, behind which an article may stand. */
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

/** Lays the words side by side; returns how many they are, or -1 for a name that is not to be taken so. */
function splitAscii(bytes: Uint8Array, start: number, end: number): number {
  let [length, words, wordStart] = [0, 0, 0];
  for (let at = start; at <= end; at++) {
    const byte = at < end ? (bytes[at] ?? 0) : 0x20;
    if (byte >= 0x80 || byte === 0x2c) return -1;
    if ((byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39)) plainScratch[length++] = byte;
    // Apostrophes end no word.
    else if (byte !== 0x27 && byte !== 0x60) {
      if (length > wordStart) wordEnds[words++] = wordStart = length;
      if (byte !== ampersand) continue;
      length = putAnd(length);
      wordEnds[words++] = wordStart = length;
    }
  }
  return words;
}

function putAnd(at: number): number {
  plainScratch.set(andBytes, at);
  return at + andBytes.length;
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
