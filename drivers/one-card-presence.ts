/**
 * The card on a reader that reports less than a tag reader: one card at a time. The card stays until it is removed or
 * replaced, or for a moment if the reader does not report removal.
 */
import type { Clock } from "../src/core/clock.ts";
import { readerTapsPerSecondMax } from "../src/core/limits.ts";
import type { Sighting } from "../src/core/token.ts";
import type { Report } from "../src/readers/driver.ts";

/** The duration of a tap if the reader does not report removal. The same card within this time is the same tap. */
export const tapMs = 500;

export type OneCard = ReturnType<typeof createOneCard>;

/** Reports an empty reader after `firstMs` without a card, and then each change, until `signal` aborts. */
function createOneCard(clock: Clock, report: Report, signal: AbortSignal, firstMs: number) {
  let current: Sighting | undefined;
  let leaving: Disposable | undefined;
  let taps = { sinceMs: clock.now(), count: 0 };
  const stay = () => {
    leaving?.[Symbol.dispose]();
    leaving = undefined;
  };
  const lift = () => {
    stay();
    current = undefined;
    report([]);
  };
  const isTooFast = () => {
    const ageMs = clock.now() - taps.sinceMs;
    // A clock that was set back starts the interval again.
    if (ageMs < 0 || ageMs >= 1000) taps = { sinceMs: clock.now(), count: 0 };
    taps.count += 1;
    return taps.count > readerTapsPerSecondMax;
  };
  signal.addEventListener("abort", stay, { once: true });
  if (firstMs === 0) report([]);
  else leaving = clock.after(firstMs, lift);
  return {
    /**
     * Reports this card for `ms` milliseconds, or until the next change. Returns false if cards came too fast for a hand.
     * This card is then dropped.
     */
    lay(sighting: Sighting, ms?: number): boolean {
      if (signal.aborted) return false;
      if (!isSameCard(current, sighting) && isTooFast()) return false;
      stay();
      current = sighting;
      if (ms !== undefined) leaving = clock.after(ms, lift);
      report([sighting]);
      return true;
    },
    lift,
    /** The present card; undefined if there is none. */
    current: () => current,
  };
}

export function isSameCard(a: Sighting | undefined, b: Sighting): boolean {
  return a?.uid === b.uid && a.text === b.text;
}

interface OneCardWatch {
  readonly clock: Clock;
  readonly report: Report;
  /** Aborts when the watch is to end without an error. */
  readonly ending: AbortSignal;
  readonly gone: Promise<never>;
  /**
   * If the same card is reported again within this time after a fault, this is no new tap. The time is below a second.
   * Absent means no time.
   */
  readonly firstMs?: number;
}

/** Watches such a reader. `hear` starts to listen, and reports cards until its signal aborts. */
export async function watchOneCard(
  { clock, report, ending, gone, firstMs = 0 }: OneCardWatch,
  hear: (present: OneCard, over: AbortSignal) => void,
): Promise<void> {
  if (ending.aborted) return;
  const watch = new AbortController();
  const over = AbortSignal.any([ending, watch.signal]);
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  over.addEventListener("abort", () => resolve(), { once: true });
  try {
    hear(createOneCard(clock, report, over, firstMs), over);
    await Promise.race([aborted, gone]);
  } finally {
    // The failure of a reader does not remove its card.
    watch.abort(new Error("the watch has ended"));
  }
}

/** A promise that never resolves, and that `tell` rejects. It needs no listener. */
export function createGone(): { readonly gone: Promise<never>; readonly tell: (reason: Error) => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  // The rejection is handled here, because there may be no watch yet. A watch, present or later, also gets it.
  promise.catch(() => {});
  return { gone: promise, tell: reject };
}
