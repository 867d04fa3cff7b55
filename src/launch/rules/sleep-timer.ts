/** Stops the media after a time that a card or a phone has set, so that somebody falls asleep to them. */
import { type Clock, rfc3339 } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";

interface SleepTimerParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the player as at its own end: positions and states are kept. */
  readonly stopMedia: (why: string) => void;
}

export type SleepTimer = ReturnType<typeof createSleepTimer>;

/** At most one time runs. It ends when it is disposed. */
export function createSleepTimer({ clock, log, stopMedia }: SleepTimerParts) {
  let running: { readonly ms: number; readonly endsMs: number; readonly timer: Disposable } | undefined;
  const cancel = () => {
    running?.timer[Symbol.dispose]();
    running = undefined;
  };
  const end = () => {
    running = undefined;
    stopMedia("the sleep timer has ended");
  };
  /** A new time takes the place of one that runs; 0 ends it. */
  const set = (ms: number) => {
    cancel();
    if (ms <= 0) return log.info("sleep", "no timer runs");
    running = { ms, endsMs: clock.now() + ms, timer: clock.after(ms, end) };
    log.info("sleep", "the media stop", { at: rfc3339(running.endsMs) });
  };
  return {
    set,
    /** As `set`, but the same time as before ends the timer: a second tap of a card takes the first one back. */
    toggle: (ms: number) => set(running?.ms === ms ? 0 : ms),
    /** RFC 3339; undefined if no time runs. */
    endsAt: () => (running === undefined ? undefined : rfc3339(running.endsMs)),
    [Symbol.dispose]: cancel,
  };
}
