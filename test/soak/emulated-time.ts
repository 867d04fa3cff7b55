/**
 * Time that passes only when everything in this process waits for it. A day of taps takes minutes, and no time-out comes
 * early, however busy the machine is.
 */
import type { LineTime } from "../emulators/emulated-line.ts";

export interface EmulatedTime extends LineTime {
  /** Lets `ms` pass. */
  pass(ms: number): Promise<void>;
  /** Lets time pass until the condition holds. Returns the milliseconds, or undefined if it does not hold within `msMax`. */
  until(holds: () => boolean, msMax: number): Promise<number | undefined>;
  /** The number of waiting timers. */
  readonly timers: number;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

// The largest number of turns of the event loop that one exchange takes.
const quietTurns = 3;

export function createEmulatedTime(startMs = 1_800_000_000_000): EmulatedTime {
  let nowMs = startMs;
  let order = 0;
  const timers = new Set<Timer>();

  /**
   * Resolves once nothing more can happen without the passing of time. Every step arms a timer, ends one, or asks for a
   * turn.
   */
  const settle = async () => {
    for (let quiet = 0; quiet < quietTurns; ) {
      const [before, count] = [order, timers.size];
      await turn();
      quiet = before === order && count === timers.size ? quiet + 1 : 0;
    }
  };
  const next = (): Timer | undefined => {
    let first: Timer | undefined;
    for (const timer of timers)
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer;
    return first;
  };
  const until = async (holds: () => boolean, msMax: number) => {
    const beganMs = nowMs;
    const endMs = nowMs + msMax;
    for (;;) {
      await settle();
      if (holds()) return nowMs - beganMs;
      const timer = next();
      if (timer === undefined || timer.at > endMs) {
        nowMs = endMs;
        return undefined;
      }
      timers.delete(timer);
      nowMs = Math.max(nowMs, timer.at);
      timer.run();
    }
  };
  return {
    now: () => nowMs,
    after(ms, run) {
      order += 1;
      const timer = { at: nowMs + Math.max(0, ms), order, run };
      timers.add(timer);
      return { [Symbol.dispose]: () => void timers.delete(timer) };
    },
    turn() {
      order += 1;
      return turn();
    },
    until,
    async pass(ms) {
      await until(() => false, ms);
    },
    get timers() {
      return timers.size;
    },
  };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
