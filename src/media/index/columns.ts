/** Columns of numbers and of names that grow, packed: a million strings would cost three times the memory. */
import { type FileName, fileName, readable } from "../names.ts";

const numbersPerChunk = 64 * 1024;

/** Whole numbers from 0 to 2^32 - 1. It grows by chunks, so that it is never copied. */
export class NumberColumn {
  readonly #chunks: Uint32Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Returns its place. */
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

/** Names of at most 64 KiB each, 4 GiB together. Those that were added as text come back as text. */
export class NameColumn {
  readonly #chunks: Buffer[] = [];
  readonly #starts = new NumberColumn();
  readonly #lengths = new NumberColumn();
  #used = chunkBytes;

  get length(): number {
    return this.#starts.length;
  }

  /** Returns its place. */
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

  /** Forgets all names, where their memory is needed for something else. */
  drop(): void {
    this.#chunks.length = 0;
  }

  /** Where the name stands: between `startOf` and `endOf` of these bytes, which are not to be changed. */
  chunkOf(place: number): Uint8Array {
    return this.#chunks[Math.floor(this.#starts.at(place) / chunkBytes)] ?? none;
  }

  startOf(place: number): number {
    return this.#starts.at(place) % chunkBytes;
  }

  endOf(place: number): number {
    return this.startOf(place) + this.#lengths.at(place);
  }

  name(place: number): FileName {
    const chunk = this.#chunks[Math.floor(this.#starts.at(place) / chunkBytes)] ?? none;
    const [start, end] = [this.startOf(place), this.endOf(place)];
    const text = chunk.toString("utf8", start, end);
    // Where it holds a replacement, bytes may have been replaced.
    return text.includes("\ufffd") ? fileName(chunk.subarray(start, end)) : text;
  }

  /** Bytes that are not UTF-8 as U+FFFD. */
  text(place: number): string {
    return readable(this.name(place));
  }

  /** Its first six bytes as a number that sorts as they do; what is shorter sorts as if zeros followed. */
  head(place: number): number {
    const chunk = this.chunkOf(place);
    const [start, end] = [this.startOf(place), this.endOf(place)];
    let head = 0;
    for (let at = start; at < start + 6; at++) head = head * 256 + (at < end ? (chunk[at] ?? 0) : 0);
    return head;
  }

  /** Negative, zero or positive, by bytes. */
  compare(a: number, b: number): number {
    const [chunkA, chunkB] = [this.chunkOf(a), this.chunkOf(b)];
    const [startA, startB] = [this.startOf(a), this.startOf(b)];
    const [lengthA, lengthB] = [this.#lengths.at(a), this.#lengths.at(b)];
    const length = Math.min(lengthA, lengthB);
    for (let at = 0; at < length; at++) {
      const difference = (chunkA[startA + at] ?? 0) - (chunkB[startB + at] ?? 0);
      if (difference !== 0) return difference;
    }
    return lengthA - lengthB;
  }

  /** A chunk with room for so many bytes behind what is used of it. */
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
