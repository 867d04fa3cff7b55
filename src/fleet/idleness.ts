/** Moments at which an update disturbs nobody. */
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { updateQuietMs } from "../core/console-limits.ts";

/** `now`; `silent`: nothing plays; `quiet`: nothing plays, and nothing played and nobody tapped for ten minutes. */
export type Moment = "now" | "silent" | "quiet";

export type Idleness = ReturnType<typeof followIdleness>;

/** Create it at the start of the service, when nothing plays. A device that was just switched on is not quiet. */
export function followIdleness(bus: Bus, clock: Clock) {
  let playing = false;
  let isQuiet = false;
  let timer: Disposable | undefined;
  let waiting: readonly (() => void)[] = [];
  const tellAll = () => {
    for (const look of waiting) look();
  };
  const restart = () => {
    isQuiet = false;
    timer?.[Symbol.dispose]();
    timer = clock.after(updateQuietMs, () => {
      isQuiet = true;
      tellAll();
    });
  };
  const is = (moment: Moment) => moment === "now" || (!playing && (moment === "silent" || isQuiet));
  const listening = [
    bus.on("tokens.added", restart),
    bus.on("media.started", () => {
      playing = true;
      restart();
    }),
    bus.on("media.stopped", () => {
      playing = false;
      restart();
      tellAll();
    }),
  ];
  restart();
  return {
    is,
    /** Resolves at such a moment; rejects with the signal's reason. */
    wait(moment: Moment, signal: AbortSignal): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const look = () => {
        if (is(moment)) resolve();
      };
      const abort = () => reject(signal.reason);
      if (signal.aborted) abort();
      else signal.addEventListener("abort", abort, { once: true });
      waiting = [...waiting, look];
      look();
      return promise.finally(() => {
        waiting = waiting.filter((other) => other !== look);
        signal.removeEventListener("abort", abort);
      });
    },
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]();
      for (const one of listening) one[Symbol.dispose]();
    },
  };
}
