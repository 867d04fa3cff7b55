/** What is searched of a file's name: all but its extension, folded. */
import { mediaNameOf } from "../../core/media.ts";
import { type FileName, readable } from "../names.ts";
import type { NameColumn } from "./columns.ts";
import { fold } from "./fold.ts";

const [space, dot] = [0x20, 0x2e];

export function foldedName(name: FileName): string {
  return fold(mediaNameOf(readable(name)));
}

/** Adds the same, of the name at `place` of `names`. Most names are ASCII, which takes no strings. */
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
    // White space (ECMA-262, WhiteSpace and LineTerminator) becomes one space, and none at the start.
    const isSpace = byte === space || (byte >= 0x09 && byte <= 0x0d);
    if (isSpace && (length === 0 || scratch[length - 1] === space)) continue;
    const isCapital = byte >= 0x41 && byte <= 0x5a;
    scratch[length++] = isSpace ? space : isCapital ? byte | 0x20 : byte;
  }
  folded.addBytes(scratch, 0, length > 0 && scratch[length - 1] === space ? length - 1 : length);
}

/** Where the extension begins: at the last dot, unless that is the first character. */
function endOfStem(bytes: Uint8Array, start: number, end: number): number {
  for (let at = end - 1; at > start; at--) if (bytes[at] === dot) return at;
  return end;
}

const scratch = new Uint8Array(1024);
