/**
 * The card on a reader that reports less than a tag reader: one card at a time. The card stays until it is removed or
 * replaced, or for a moment if the reader does not report removal.
 */
import type { Clock } from "../src/core/clock.ts";
import { readerTapsPerSecondMax } from "../src/core/limits.ts";
import type { Sighting } from "../src/core/token.ts";
import type { ReaderSession, Report } from "../src/readers/driver.ts";
import type { ByteLink } from "./io/links.ts";

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

interface OneCardReader {
  readonly info: string;
  readonly link: Pick<ByteLink, "onGone" | "close">;
  readonly clock: Clock;
  /**
   * If the same card is reported again within this time after a fault, this is no new tap. The time is below a second.
   * Absent means no time.
   */
  readonly firstMs?: number;
}

/** The session of a reader of one card. `hear` starts to listen, and reports cards until its signal aborts. */
export function createOneCardSession(
  { info, link, clock, firstMs = 0 }: OneCardReader,
  hear: (present: OneCard, over: AbortSignal) => void,
): ReaderSession {
  const closing = new AbortController();
  const { gone, tell } = createGone();
  link.onGone(tell);
  return {
    info,
    async watch(report, signal) {
      const ending = AbortSignal.any([signal, closing.signal]);
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
    },
    close() {
      closing.abort(new Error("the reader was closed"));
      return link.close();
    },
  };
}

/** A promise that never resolves, and that `tell` rejects. It needs no listener. */
export function createGone(): { readonly gone: Promise<never>; readonly tell: (reason: Error) => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  // The rejection is handled here, because there may be no watch yet. A watch, present or later, also gets it.
  promise.catch(() => {});
  return { gone: promise, tell: reject };
}
