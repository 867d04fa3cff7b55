/**
 * Packed sets of file numbers: the postings of the index. A list has the shorter of two forms:
 *
 *   varints   the differences of ascending numbers, 7 bits a byte, low bits first, the top bit set on all but the last
 *   bitmap    one bit a number, the lowest bit of the first byte for number 0; exactly `bitmapBytes` long
 *
 * Varints are never as long as the bitmap, so the length of a list gives its form.
 */
import { grown } from "./columns.ts";

/** The bytes of a bitmap for `files` numbers. Bitmaps are whole 32-bit words, so sets are joined word by word. */
export function bitmapBytes(files: number): number {
  return Math.ceil(files / 32) * 4;
}

/** Packs many lists, one after the other. Numbers of a list are added in ascending order, each once. */
export class ListWriter {
  readonly #files: number;
  readonly #starts: number[] = [0];
  #bytes = new Uint8Array(64 * 1024);
  #length = 0;
  #previous = 0;
  #count = 0;

  constructor(files: number) {
    this.#files = files;
  }

  add(number: number): void {
    if (this.#length + 5 > this.#bytes.length) this.#bytes = grown(this.#bytes, this.#length + 5);
    let rest = this.#count === 0 ? number : number - this.#previous;
    while (rest > 0x7f) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
    this.#previous = number;
    this.#count++;
  }

  /** Ends the list. The next number begins another one. */
  end(): void {
    const start = this.#starts.at(-1) ?? 0;
    const mapBytes = bitmapBytes(this.#files);
    if (this.#length - start >= mapBytes && this.#count > 0) {
      const map = new Uint8Array(mapBytes);
      orList(map, this.#bytes.subarray(start, this.#length), true);
      this.#bytes.set(map, start);
      this.#length = start + mapBytes;
    }
    this.#starts.push(this.#length);
    this.#previous = 0;
    this.#count = 0;
  }

  /** The bytes of all lists, and the start of each, followed by the end of the last one. */
  done(): PackedLists {
    return { bytes: this.#bytes.slice(0, this.#length), starts: Uint32Array.from(this.#starts) };
  }
}

export interface PackedLists {
  readonly bytes: Uint8Array;
  readonly starts: Uint32Array;
}

/** Adds a packed list to a bitmap. `isVarints` overrides the form that the length of the list gives. */
export function orList(map: Uint8Array, list: Uint8Array, isVarints = list.length !== map.length): void {
  if (isVarints) orVarints(map, list);
  else for (let at = 0; at < list.length; at++) map[at] = (map[at] ?? 0) | (list[at] ?? 0);
}

function orVarints(map: Uint8Array, list: Uint8Array): void {
  let number = 0;
  for (let at = 0; at < list.length; ) {
    let byte = list[at++] ?? 0;
    let step = byte & 0x7f;
    for (let shift = 7; byte > 0x7f && shift < 32; shift += 7) {
      byte = list[at++] ?? 0;
      step |= (byte & 0x7f) << shift;
    }
    number += step;
    // A number beyond the map, possible only after damage, sets nothing.
    map[number >>> 3] = (map[number >>> 3] ?? 0) | (1 << (number & 7));
  }
}

/** The packed list of a bitmap. */
export function packMap(map: Uint8Array, files: number): Uint8Array {
  const writer = new ListWriter(files);
  for (let at = 0; at < map.length; at++) {
    for (let bits = map[at] ?? 0; bits !== 0; bits &= bits - 1)
      writer.add(at * 8 + 31 - Math.clz32(bits & -bits));
  }
  writer.end();
  return writer.done().bytes;
}

/** The number of members of the map. */
export function countOf(map: Uint32Array): number {
  let total = 0;
  for (let at = 0; at < map.length; at++) total += setBits(map[at] ?? 0);
  return total;
}

/** The number of bits of a 32-bit word that are 1. */
export function setBits(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
