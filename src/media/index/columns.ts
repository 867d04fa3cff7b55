/** Packed columns of numbers, names and words that grow. A million strings would need three times the memory. */
import { type FileName, fileName, readable } from "../file-names.ts";

const numbersPerChunk = 64 * 1024;

/** A column of whole numbers from 0 to 2^32 - 1. It grows by chunks, so no data is copied. */
export class NumberColumn {
  readonly #chunks: Uint32Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Appends a number, and returns its place. */
  add(value: number): number {
    if (this.#length === this.#chunks.length * numbersPerChunk)
      this.#chunks.push(new Uint32Array(numbersPerChunk));
    return this.#put(this.#length++, value);
  }

  at(place: number): number {
    return this.#chunks[place >>> 16]?.[place & 0xffff] ?? 0;
  }

  set(place: number, value: number): void {
    if (place < this.#length) this.#put(place, value);
  }

  toArray(): Uint32Array {
    const whole = new Uint32Array(this.#length);
    for (let place = 0; place < this.#length; place++) whole[place] = this.at(place);
    return whole;
  }

  #put(place: number, value: number): number {
    const chunk = this.#chunks[place >>> 16];
    if (chunk !== undefined) chunk[place & 0xffff] = value;
    return place;
  }
}

const chunkBytes = 1024 * 1024;
const chunksMax = 4096;
const nameBytesMax = 64 * 1024;

/** A column of names of at most 64 KiB each, 4 GiB together. A name that is added as text is returned as text. */
export class NameColumn {
  readonly #chunks: Buffer[] = [];
  readonly #starts = new NumberColumn();
  readonly #lengths = new NumberColumn();
  #used = chunkBytes;

  get length(): number {
    return this.#starts.length;
  }

  /** Appends a name, and returns its place. */
  add(name: FileName): number {
    if (typeof name !== "string") return this.addBytes(name, 0, name.length);
    const chunk = this.#room(name.length * 3);
    return this.#keep(chunk.write(name, this.#used));
  }

  addBytes(bytes: Uint8Array, start: number, end: number): number {
    const chunk = this.#room(end - start);
    for (let at = start, to = this.#used; at < end; at++, to++) chunk[to] = bytes[at] ?? 0;
    return this.#keep(end - start);
  }

  /** Frees the memory of all names. */
  drop(): void {
    this.#chunks.length = 0;
  }

  /** The bytes that hold the name between `startOf` and `endOf`. The caller must not change them. */
  chunkOf(place: number): Buffer {
    return this.#chunks[Math.floor(this.#starts.at(place) / chunkBytes)] ?? none;
  }

  startOf(place: number): number {
    return this.#starts.at(place) % chunkBytes;
  }

  endOf(place: number): number {
    return this.startOf(place) + this.#lengths.at(place);
  }

  name(place: number): FileName {
    const chunk = this.chunkOf(place);
    const start = this.startOf(place);
    const end = this.endOf(place);
    const text = chunk.toString("utf8", start, end);
    // U+FFFD may stand for bytes that are not UTF-8.
    return text.includes("\ufffd") ? fileName(chunk.subarray(start, end)) : text;
  }

  /** The name as text, with U+FFFD for bytes that are not UTF-8. */
  text(place: number): string {
    return readable(this.name(place));
  }

  /** The first six bytes as a number in the same order. A shorter name is padded with zeros. */
  head(place: number): number {
    const chunk = this.chunkOf(place);
    const start = this.startOf(place);
    const end = this.endOf(place);
    let head = 0;
    for (let at = start; at < start + 6; at++) head = head * 256 + (at < end ? (chunk[at] ?? 0) : 0);
    return head;
  }

  /** Compares two names by bytes. The result is negative, zero or positive. */
  compare(a: number, b: number): number {
    const chunkA = this.chunkOf(a);
    const chunkB = this.chunkOf(b);
    const startA = this.startOf(a);
    const startB = this.startOf(b);
    const lengthA = this.#lengths.at(a);
    const lengthB = this.#lengths.at(b);
    const length = Math.min(lengthA, lengthB);
    for (let at = 0; at < length; at++) {
      const difference = (chunkA[startA + at] ?? 0) - (chunkB[startB + at] ?? 0);
      if (difference !== 0) return difference;
    }
    return lengthA - lengthB;
  }

  /** The last chunk if it has room for this many bytes, otherwise a new one. */
  #room(bytes: number): Buffer {
    if (bytes > nameBytesMax) throw new Error("a name is too long");
    const last = this.#chunks.at(-1);
    if (last !== undefined && this.#used + bytes <= chunkBytes) return last;
    if (this.#chunks.length === chunksMax) throw new Error("there are too many names");
    const chunk = Buffer.alloc(chunkBytes);
    this.#chunks.push(chunk);
    this.#used = 0;
    return chunk;
  }

  #keep(bytes: number): number {
    const start = (this.#chunks.length - 1) * chunkBytes + this.#used;
    this.#lengths.add(bytes);
    this.#used += bytes;
    return this.#starts.add(start);
  }
}

const none = Buffer.alloc(0);

export const lineFeed = 0x0a;

/** A set of words by their bytes, in an open-addressed table. */
export class WordTable {
  #words = new Uint8Array(64 * 1024);
  #used = 0;
  readonly #starts = new NumberColumn();
  readonly #hashes = new NumberColumn();
  /** The slots of the table: places plus one, and 0 for a free slot. Their number is a power of two. */
  #slots = new Uint32Array(4096);

  constructor() {
    this.#starts.add(0);
  }

  get count(): number {
    return this.#hashes.length;
  }

  /** The place of the word of these bytes. A new word is added. */
  place(bytes: Uint8Array, start: number, end: number): number {
    const hash = hashOf(bytes, start, end);
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const place = (this.#slots[slot] ?? 0) - 1;
      if (place < 0) return this.#add(bytes, start, end, hash, slot);
      if (this.#hashes.at(place) === hash && this.#isSame(place, bytes, start, end)) return place;
    }
  }

  /** All words in order, a line each, and the start of each word, followed by the end of the last one. */
  done() {
    return { words: this.#words.slice(0, this.#used), starts: this.#starts.toArray() };
  }

  #add(bytes: Uint8Array, start: number, end: number, hash: number, slot: number): number {
    const needed = this.#used + end - start + 1;
    if (needed > this.#words.length) this.#words = grown(this.#words, needed);
    for (let at = start; at < end; at++) this.#words[this.#used++] = bytes[at] ?? 0;
    this.#words[this.#used++] = lineFeed;
    this.#starts.add(this.#used);
    const place = this.#hashes.add(hash);
    this.#slots[slot] = place + 1;
    if (this.count * 2 > this.#slots.length) this.#spread();
    return place;
  }

  #isSame(place: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = this.#starts.at(place);
    if (this.#starts.at(place + 1) - 1 - from !== end - start) return false;
    for (let at = start; at < end; at++) if (this.#words[from + at - start] !== bytes[at]) return false;
    return true;
  }

  #spread(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    const mask = this.#slots.length - 1;
    for (let place = 0; place < this.count; place++) {
      let slot = this.#hashes.at(place) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = place + 1;
    }
  }
}

/** A copy with room for at least `needed` bytes, and for more to come. */
export function grown(bytes: Uint8Array, needed: number): Uint8Array<ArrayBuffer> {
  const wider = new Uint8Array(Math.max(needed, Math.ceil(bytes.length * 1.5)));
  wider.set(bytes);
  return wider;
}

/** A hash of the bytes: FNV-1a with 32 bits, mixed once more because the table uses the low bits. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/**
 * The members of each group stand between the start of the group and the start of the next one. `memberOf` is called with
 * ascending places.
 */
export function groupMembers(
  groupOf: { readonly length: number; at(place: number): number | undefined },
  groups: number,
  memberOf: (place: number) => number = (place) => place,
) {
  const starts = new Uint32Array(groups + 1);
  for (let at = 0; at < groupOf.length; at++) {
    const after = (groupOf.at(at) ?? 0) + 1;
    starts[after] = (starts[after] ?? 0) + 1;
  }
  for (let group = 1; group <= groups; group++)
    starts[group] = (starts[group] ?? 0) + (starts[group - 1] ?? 0);
  const members = new Uint32Array(groupOf.length);
  const next = starts.slice();
  for (let at = 0; at < groupOf.length; at++) {
    const group = groupOf.at(at) ?? 0;
    const place = next[group] ?? 0;
    members[place] = memberOf(at);
    next[group] = place + 1;
  }
  return { members, starts };
}
