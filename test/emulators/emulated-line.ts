/**
 * The chip's end of a serial line. A byte takes ten bits at the current rate. The two directions are independent, and
 * one frame follows another. Deadlines are points of monotonic time, so late timers do not add up. Tests switch faults
 * of the line on one by one.
 */
import { type Clock, systemClock } from "../../src/core/clock.ts";

interface LineOptions {
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** The rate in baud; Infinity for a line that takes no time. */
  readonly baudRate: () => number;
  readonly faults: FaultyLine;
  /** True to busy-wait through the last millisecond before a deadline. */
  readonly precise: boolean;
  /** The time of the line; this machine's if absent. */
  readonly time?: LineTime | undefined;
}

/** The time that a line takes, on a clock that a test may control. */
export interface LineTime extends Clock {
  /** Resolves once the earlier bytes have been read. */
  turn(): Promise<void>;
}

export interface Line {
  /** Records bytes of the host that have arrived just now, after their time on the line. */
  received(bytes: number): void;
  /** Sends bytes that are no answer, such as an ACK, as soon as the line is free. */
  send(bytes: Uint8Array): void;
  /**
   * Sends an answer `afterMs` after the host's last byte, and calls `sent` when the kernel has the last byte of the
   * answer.
   */
  answer(bytes: Uint8Array, afterMs: number, sent: () => void): void;
  /** Calls `run` `afterMs` after the host's last byte, unless cancelled before. */
  after(afterMs: number, run: () => void): void;
  cancel(): void;
}

// Timers fire up to a millisecond late. A precise line busy-waits for this long.
const timerSlackMs = 1.5;
const mergeWaitMs = 5;
const timerMsMax = 2 ** 31 - 1; // The longest timer of the runtime; a longer wait counts as endless.

const machineTime: LineTime = {
  now: () => performance.now(),
  after: systemClock.after,
  turn: () => Bun.sleep(0),
};

export function createLine({ write, baudRate, faults, precise, time = machineTime }: LineOptions): Line {
  let heardAtMs = 0;
  let freeAtMs = 0;
  let generation = 0;
  let held: Uint8Array = new Uint8Array();
  let unwritten = 0;
  let writing: Promise<void> = Promise.resolve();

  const lineMs = (bytes: number) => (bytes * 10_000) / baudRate();
  const put = (bytes: Uint8Array, sent: () => void) => {
    const pieces = faults.readsOf(bytes);
    const run = async () => {
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) await time.turn();
        // An unplugged line drops the bytes.
        await write(piece).catch(() => {});
      }
      unwritten -= 1;
      sent();
    };
    unwritten += 1;
    // The first bytes are sent at once.
    writing = unwritten === 1 ? run() : writing.then(run);
  };
  const release = (bytes: Uint8Array, sent: () => void) => {
    held = Uint8Array.of(...held, ...bytes);
    const flush = () => {
      const all = held;
      held = new Uint8Array();
      put(all, sent);
    };
    if (held.length >= faults.mergeBytes) flush();
    else time.after(mergeWaitMs, () => held.length > 0 && flush());
  };
  const at = (dueMs: number, run: () => void) => {
    const born = generation;
    const attempt = () => {
      if (born !== generation) return;
      const leftMs = dueMs - time.now();
      if (leftMs <= 0) run();
      else if (leftMs > timerMsMax) return;
      else if (precise && leftMs < timerSlackMs) setImmediate(attempt);
      else time.after(precise ? leftMs - timerSlackMs : Math.ceil(leftMs), attempt);
    };
    attempt();
  };
  const transmit = (bytes: Uint8Array, readyMs: number, isAnswer: boolean, sent: () => void) => {
    if (readyMs === Number.POSITIVE_INFINITY) return;
    const spoiled = faults.spoil(bytes, isAnswer);
    freeAtMs = Math.max(freeAtMs, readyMs) + lineMs(spoiled.length);
    at(freeAtMs, () => (faults.mergeBytes > 0 ? release : put)(spoiled, sent));
  };
  const now = () => Math.max(heardAtMs, time.now());

  return {
    received(bytes) {
      heardAtMs = now() + lineMs(bytes);
    },
    send: (bytes) => transmit(bytes, now(), false, () => {}),
    answer: (bytes, afterMs, sent) => transmit(bytes, now() + afterMs + faults.delayMs, true, sent),
    after: (afterMs, run) => at(now() + afterMs, run),
    cancel() {
      generation += 1;
      freeAtMs = 0;
    },
  };
}

export interface Faults {
  /**
   * Sends 1 to 8 random bytes before about `rate` (0..1) of the outgoing frames. The same seed gives the same bytes. A
   * rate of 0 ends the fault.
   */
  noise(seed: number, rate: number): void;
  /** Loses the next `count` outgoing bytes. */
  loseBytes(count: number): void;
  /** Alters one bit of the next answer. */
  corruptNext(): void;
  /**
   * Makes every frame arrive in several reads, with turns of the event loop between them. The frame is cut at these
   * offsets, or into single bytes by "every-byte". `undefined` ends the fault.
   */
  splitReads(cuts: readonly number[] | "every-byte" | undefined): void;
  /** Splits each frame by this function, which may also alter or drop bytes. */
  split: ((bytes: Uint8Array) => readonly Uint8Array[]) | undefined;
  /**
   * Holds bytes back until `bytes` of them have gathered or 5 ms have passed, so a read has several frames. 0 ends the
   * fault.
   */
  mergeReads(bytes: number): void;
  /** Delays every answer by this many milliseconds. */
  delayAnswers(ms: number): void;
  /**
   * Makes the next exchanges with a tag fail with these statuses of the chip, one each. Those exchanges do not reach the
   * tag; undefined lets an exchange pass. 01 time-out, 02 CRC, 0A field gone, 13 wrong format, 14 authentication, 27
   * wrong context (UM0701-02, 7.1).
   */
  failExchanges(statuses: readonly (number | undefined)[]): void;
}

interface FaultyLine {
  spoil(bytes: Uint8Array, isAnswer: boolean): Uint8Array;
  readsOf(bytes: Uint8Array): readonly Uint8Array[];
  readonly mergeBytes: number;
  readonly delayMs: number;
}

interface FaultyChip {
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
        // This is the last byte that the checksum covers.
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

/** A generator of random numbers (Mulberry32), which is small and good enough for noise. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
