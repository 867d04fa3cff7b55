/** A clock that moves only when a test moves it. */
import type { Clock } from "../../src/core/clock.ts";

export interface ManualClock extends Clock {
  /** Moves time on by `ms`, and calls due timers in their order. */
  advance(ms: number): void;
  /** Sets the time on or back by `ms`, as a time server does. The timers do not follow. */
  jump(ms: number): void;
  /** The number of timers that are not due yet. */
  waiting(): number;
}

export function createManualClock(startMs = 1_800_000_000_000): ManualClock {
  let nowMs = startMs;
  let timers: { at: number; run: () => void }[] = [];
  const next = (untilMs: number) =>
    timers.filter((timer) => timer.at <= untilMs).sort((a, b) => a.at - b.at)[0];
  return {
    now: () => nowMs,
    waiting: () => timers.length,
    after(ms, run) {
      const timer = { at: nowMs + ms, run };
      timers.push(timer);
      return {
        [Symbol.dispose]: () => {
          timers = timers.filter((other) => other !== timer);
        },
      };
    },
    jump(ms) {
      nowMs += ms;
      timers = timers.map((timer) => Object.assign(timer, { at: timer.at + ms }));
    },
    advance(ms) {
      const untilMs = nowMs + ms;
      for (let timer = next(untilMs); timer !== undefined; timer = next(untilMs)) {
        const due = timer;
        timers = timers.filter((other) => other !== due);
        nowMs = due.at;
        due.run();
      }
      nowMs = untilMs;
    },
  };
}
