/** Looks for titles in the table of an index, piece by piece, so that whoever asks can do something else in between. */
import type { StoredTitles } from "../../store/media-index-file.ts";
import { keyBytes, plainTitleKey, titleKey } from "./title-key.ts";
import { mayBeNear, signatureOf, slipsBetween, slipsMax } from "./title-slips.ts";

/** The pieces of the table with keys of one length, or of those between two; the plain keys apart from the others. */
export type ReadTitles = (
  system: number,
  isPlain: boolean,
  lengthMin: number,
  lengthMax: number,
) => Iterable<StoredTitles>;

export type TitleSteps = Generator<void, readonly number[], void>;

/** The first `most` files, by number, whose title is the same but for its spelling. */
export function* sameTitles(read: ReadTitles, system: number, wanted: string, most: number): TitleSteps {
  const [key, plain] = [titleKey(wanted), plainTitleKey(wanted)];
  const found = new Set<number>();
  // A numeral may be written as a number, as letters, or as part of a word.
  const ways = new Map([
    [`0${key}`, { text: key, isPlain: false }],
    [`0${plain}`, { text: plain, isPlain: false }],
    [`1${plain}`, { text: plain, isPlain: true }],
  ]);
  for (const { text, isPlain } of ways.values()) {
    const sought = keyBytes(text);
    if (sought.length === 0) continue;
    for (const piece of read(system, isPlain, sought.length, sought.length)) {
      for (const file of equalIn(piece, sought)) if (found.size < most) found.add(file);
      yield;
      if (found.size >= most) break;
    }
  }
  return [...found].sort((a, b) => a - b);
}

function* equalIn({ keys, files, length }: StoredTitles, sought: Uint8Array): Generator<number> {
  const text = Buffer.from(keys.buffer, keys.byteOffset, keys.byteLength);
  for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + 1)) {
    const file = files[at / length];
    // Undefined where it begins in one key and ends in the next.
    if (file !== undefined) yield file;
  }
}

/** The `most` files that are nearest by their title, those of one distance by number; none where none is near. */
export function* nearTitles(read: ReadTitles, system: number, wanted: string, most: number): TitleSteps {
  const text = titleKey(wanted);
  const key = keyBytes(text);
  // A character beyond ASCII is up to three bytes, and so is a slip in it; `slipsBetween` characters has the last word.
  const slips = slipsMax(text.length) * (key.length > text.length ? 3 : 1);
  if (slips === 0) return [];
  const signature = signatureOf(key, 0, key.length);
  const near: { readonly file: number; readonly distance: number }[] = [];
  const sift = () => near.sort((a, b) => a.distance - b.distance || a.file - b.file).splice(most);
  for (const piece of read(system, false, Math.max(1, key.length - slips), key.length + slips)) {
    const { keys, files, signatures, length } = piece;
    for (let at = 0; at < files.length; at++) {
      if (!mayBeNear(signature, signatures[at] ?? 0, slips)) continue;
      const distance = slipsBetween(key, keys.subarray(at * length, (at + 1) * length), slips);
      if (distance <= slips) near.push({ file: files[at] ?? 0, distance });
    }
    if (near.length > most * 4) sift();
    yield;
  }
  sift();
  return near.map(({ file }) => file);
}
