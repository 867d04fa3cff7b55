/** What a bad line does to the bytes of an emulated chip. All are off at first; tests switch them on one by one. */
export interface Faults {
  /** Before about `rate` (0..1) of the frames that leave, 1 to 8 random bytes; the same seed gives the same. 0 ends it. */
  noise(seed: number, rate: number): void;
  /** The next `count` bytes that leave never arrive. */
  loseBytes(count: number): void;
  /** One bit of the next answer arrives altered. */
  corruptNext(): void;
  /**
   * Every frame arrives in several reads, with turns of the event loop between: cut at these offsets, or into single
   * bytes where none are given. `undefined` ends it.
   */
  splitReads(cuts: readonly number[] | "every-byte" | undefined): void;
  /** The same by a function, which may also alter or drop bytes; called as each frame leaves. */
  split: ((bytes: Uint8Array) => readonly Uint8Array[]) | undefined;
  /** Holds bytes back until `bytes` have gathered or 5 ms have passed: reads that hold several frames. 0 ends it. */
  mergeReads(bytes: number): void;
  /** Every answer comes so many milliseconds later. */
  delayAnswers(ms: number): void;
  /**
   * The next exchanges with a tag fail with these statuses of the chip, one each, and do not reach the tag; undefined
   * lets one pass. 01 time-out, 02 CRC, 0A field gone, 13 wrong format, 14 authentication, 27 wrong context (UM0701-02, 7.1).
   */
  failExchanges(statuses: readonly (number | undefined)[]): void;
}

/** The line's side of the same faults. */
export interface FaultyLine {
  /** The bytes that arrive of those that left. */
  spoil(bytes: Uint8Array, isAnswer: boolean): Uint8Array;
  /** The reads that they arrive in. */
  readsOf(bytes: Uint8Array): readonly Uint8Array[];
  readonly mergeBytes: number;
  readonly delayMs: number;
}

/** The chip's side of them. */
export interface FaultyChip {
  /** The status that this exchange fails with. */
  takeStatus(): number | undefined;
}

const noiseBytesMax = 8;

export function createFaults(): Faults & FaultyLine & FaultyChip {
  let random: () => number = () => 1;
  let noiseRate = 0;
  let lose = 0;
  let corrupt = 0;
  let mergeBytes = 0;
  let delayMs = 0;
  let statuses: readonly (number | undefined)[] = [];

  const noiseBytes = () => {
    if (noiseRate === 0 || random() >= noiseRate) return [];
    const count = 1 + Math.floor(random() * noiseBytesMax);
    return Array.from({ length: count }, () => Math.floor(random() * 256));
  };
  const faults: Faults & FaultyLine & FaultyChip = {
    noise(seed, rate) {
      random = seededRandom(seed);
      noiseRate = rate;
    },
    loseBytes: (count) => {
      lose = count;
    },
    corruptNext: () => {
      corrupt += 1;
    },
    split: undefined,
    splitReads(cuts) {
      faults.split = cuts && ((bytes) => cutAt(bytes, cuts));
    },
    mergeReads: (bytes) => {
      mergeBytes = bytes;
    },
    delayAnswers: (ms) => {
      delayMs = ms;
    },
    failExchanges: (next) => {
      statuses = next;
    },
    takeStatus() {
      const [status, ...rest] = statuses;
      statuses = rest;
      return status;
    },
    spoil(bytes, isAnswer) {
      const lost = Math.min(lose, bytes.length);
      lose -= lost;
      const kept = bytes.slice(lost);
      if (isAnswer && corrupt > 0 && lost === 0) {
        corrupt -= 1;
        // The last byte that its sum guards.
        kept[kept.length - 3] = (kept.at(-3) ?? 0) ^ 0x40;
      }
      return Uint8Array.of(...noiseBytes(), ...kept);
    },
    readsOf: (bytes) => faults.split?.(bytes) ?? [bytes],
    get mergeBytes() {
      return mergeBytes;
    },
    get delayMs() {
      return delayMs;
    },
  };
  return faults;
}

function cutAt(bytes: Uint8Array, cuts: readonly number[] | "every-byte"): readonly Uint8Array[] {
  const offsets = cuts === "every-byte" ? Array.from(bytes.keys()).slice(1) : cuts;
  const inside = offsets.filter((offset) => offset > 0 && offset < bytes.length);
  return [0, ...inside].map((from, index) => bytes.subarray(from, inside[index] ?? bytes.length));
}

/** Mulberry32: small, and good enough for noise. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
