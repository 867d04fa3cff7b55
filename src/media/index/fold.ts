/** Folding of names for a search: without capitals, accents and width, so `pokemon` finds `Pokémon`. */
import { mediaNameOf } from "../../core/media.ts";
import { type FileName, readable } from "../file-names.ts";
import type { NameColumn } from "./columns.ts";

/** Letters without a decomposition (UnicodeData, field 5), and the letters that people type for them. */
const plain: Readonly<Record<string, string>> = {
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ı: "i",
  ς: "σ",
};

const asciiOnly = /^[\x20-\x7e]*$/;

/**
 * The text decomposed (NFKD), folded by way of upper case (`ß` is `ss`), and without marks; its space is collapsed and
 * trimmed. A second call changes nothing.
 */
export function fold(text: string): string {
  if (asciiOnly.test(text)) return narrow(text.toLowerCase());
  const bare = text
    .normalize("NFKD")
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .replace(/[æœøłđðþıς]/g, (letter) => plain[letter] ?? letter);
  return narrow(bare);
}

/** The folded words of a query, each once, in order. */
export function foldedWords(query: string): readonly string[] {
  return [...new Set(fold(query).split(" "))].filter((word) => word !== "");
}

/** True if a word may begin after this byte of a folded UTF-8 text: after a space, or after ASCII punctuation. */
export function endsWord(byte: number): boolean {
  const isDigit = byte >= 0x30 && byte <= 0x39;
  const isLetter = byte >= 0x61 && byte <= 0x7a;
  return !(isDigit || isLetter || byte >= 0x80);
}

function narrow(text: string): string {
  return /^ | $|[^\S ]| {2}/.test(text) ? text.replace(/\s+/g, " ").trim() : text;
}

const space = 0x20;
const dot = 0x2e;

/** The searched part of a file's name: all but its extension, folded. */
export function foldedName(name: FileName): string {
  return fold(mediaNameOf(readable(name)));
}

/** Adds the `foldedName` of the name at `place`. An ASCII name needs no strings, and most names are ASCII. */
export function addFolded(folded: NameColumn, names: NameColumn, place: number): void {
  const bytes = names.chunkOf(place);
  const start = names.startOf(place);
  const end = endOfStem(bytes, start, names.endOf(place));
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0x80 || length === scratch.length) {
      folded.add(foldedName(names.name(place)));
      return;
    }
    // Collapses white space (ECMA-262, WhiteSpace and LineTerminator), and drops it at the start.
    const isSpace = byte === space || (byte >= 0x09 && byte <= 0x0d);
    if (isSpace && (length === 0 || scratch[length - 1] === space)) continue;
    const isCapital = byte >= 0x41 && byte <= 0x5a;
    scratch[length++] = isSpace ? space : isCapital ? byte | 0x20 : byte;
  }
  folded.addBytes(scratch, 0, length > 0 && scratch[length - 1] === space ? length - 1 : length);
}

/** The extension begins at the last dot, unless that is the first character. */
function endOfStem(bytes: Uint8Array, start: number, end: number): number {
  for (let at = end - 1; at > start; at--) if (bytes[at] === dot) return at;
  return end;
}

const scratch = new Uint8Array(1024);
