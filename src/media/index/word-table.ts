/** Words by their bytes, each once: an open-addressed table, for a million strings would be slow to make and to drop. */
import { NumberColumn } from "./columns.ts";

export const lineFeed = 0x0a;

export class WordTable {
  #words = new Uint8Array(64 * 1024);
  #used = 0;
  readonly #starts = new NumberColumn();
  readonly #hashes = new NumberColumn();
  /** Places plus one; 0 where nothing stands. Its length is a power of two. */
  #slots = new Uint32Array(4096);

  constructor() {
    this.#starts.add(0);
  }

  get count(): number {
    return this.#hashes.length;
  }

  /** The place of the word that these bytes are; a new one where it is new. */
  place(bytes: Uint8Array, start: number, end: number): number {
    const hash = hashOf(bytes, start, end);
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const place = (this.#slots[slot] ?? 0) - 1;
      if (place < 0) return this.#add(bytes, start, end, hash, slot);
      if (this.#hashes.at(place) === hash && this.#isSame(place, bytes, start, end)) return place;
    }
  }

  /** All words in the order of their places, a line each, and where each begins; one more start than words. */
  done(): { readonly words: Uint8Array; readonly starts: Uint32Array } {
    return { words: this.#words.slice(0, this.#used), starts: this.#starts.toArray() };
  }

  #add(bytes: Uint8Array, start: number, end: number, hash: number, slot: number): number {
    const needed = this.#used + end - start + 1;
    if (needed > this.#words.length) {
      const wider = new Uint8Array(Math.max(needed, Math.ceil(this.#words.length * 1.5)));
      wider.set(this.#words);
      this.#words = wider;
    }
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

/** FNV-1a, 32 bits, with its bits mixed once more: the table takes the low ones. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
