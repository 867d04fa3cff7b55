/**
 * The chip's end of a serial line: ten bits a byte at the current rate, each direction for itself, one frame after
 * another. Deadlines are points of monotonic time, so that late timers never add up.
 */
import { type Clock, systemClock } from "../../src/core/clock.ts";
import type { FaultyLine } from "./emulated-faults.ts";

export interface LineOptions {
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** Baud; Infinity for a line that costs nothing. */
  readonly baudRate: () => number;
  readonly faults: FaultyLine;
  /** Spins through the last millisecond before a deadline. */
  readonly precise: boolean;
  /** Absent for this machine's time. */
  readonly time?: LineTime | undefined;
}

/** The time that a line takes, which a test may make pass as it likes. */
export interface LineTime extends Clock {
  /** Resolves once what was written before was read. */
  turn(): Promise<void>;
}

export interface Line {
  /** The host's bytes that have just come: they took their time too. */
  received(bytes: number): void;
  /** Sends what is no answer, such as an ACK, as soon as the line is free. */
  send(bytes: Uint8Array): void;
  /** Sends an answer `afterMs` after the host's last byte; `sent` is called when the kernel has its last byte. */
  answer(bytes: Uint8Array, afterMs: number, sent: () => void): void;
  /** Calls `run` `afterMs` after the host's last byte, unless cancelled before. */
  after(afterMs: number, run: () => void): void;
  /** Forgets what has not left yet. */
  cancel(): void;
}

// Timers fire up to a millisecond late; whoever wants better spins for that long.
const timerSlackMs = 1.5;
const mergeWaitMs = 5;
const timerMsMax = 2 ** 31 - 1; // What a timer takes; more is for ever.

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
        // A line that was unplugged meanwhile takes nothing.
        await write(piece).catch(() => {});
      }
      unwritten -= 1;
      sent();
    };
    unwritten += 1;
    // What has nothing before it leaves at once.
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
