/**
 * The order of names in lists: runs of digits count as numbers, so `Track 2` comes before `Track 10`. A folded name gets a
 * key of bytes, and keys are compared by bytes.
 */
import type { NameColumn } from "./columns.ts";

const zero = 0x30;
const nine = 0x39;
/** One byte holds the number of digits if it is at most this number. Longer numbers have a second byte for it. */
const shortDigits = 9;
/** The highest number of digits. The value is below 0xff, which sorts after each continuation of a key. */
const longDigitsMax = 0xfe;

/** The key of a folded name in UTF-8. Names with equal keys differ only in zeros at the start of numbers. */
export function naturalKey(folded: Uint8Array): Uint8Array {
  // The longest key has two bytes for each digit of a name of single digits and other characters.
  const key = new Uint8Array(folded.length * 2 + 2);
  return key.subarray(0, writeKey(key, folded, 0, folded.length));
}

/** Adds the key of the folded name at `place`. */
export function addNaturalKey(keys: NameColumn, folded: NameColumn, place: number): void {
  const start = folded.startOf(place);
  const end = folded.endOf(place);
  const room = (end - start) * 2 + 2;
  if (scratch.length < room) scratch = new Uint8Array(room);
  keys.addBytes(scratch, 0, writeKey(scratch, folded.chunkOf(place), start, end));
}

let scratch = new Uint8Array(1024);

/** Writes a number as the count of its digits and the digits, and all other bytes as they are. Returns the length. */
function writeKey(key: Uint8Array, bytes: Uint8Array, start: number, end: number): number {
  let length = 0;
  for (let at = start; at < end; ) {
    const byte = bytes[at] ?? 0;
    if (!isDigit(byte)) {
      key[length++] = byte;
      at++;
      continue;
    }
    while (bytes[at] === zero && at + 1 < end && isDigit(bytes[at + 1] ?? 0)) at++;
    let after = at + 1;
    while (after < end && isDigit(bytes[after] ?? 0)) after++;
    const digits = after - at;
    // Counts are digits themselves, so numbers keep their place among letters and punctuation.
    key[length++] = digits > shortDigits ? nine : zero + digits - 1;
    if (digits > shortDigits) key[length++] = Math.min(digits - shortDigits, longDigitsMax);
    while (at < after) key[length++] = bytes[at++] ?? 0;
  }
  return length;
}

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= nine;
}
