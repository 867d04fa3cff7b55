/**
 * What lies on readers that tell less than a tag reader does: one card at a time, until it is taken off, until another
 * comes, or, where the reader cannot tell, for a moment.
 */
import type { Clock } from "../src/core/clock.ts";
import { readerTapsPerSecondMax } from "../src/core/limits.ts";
import type { Sighting } from "../src/core/token.ts";
import type { Report } from "../src/readers/driver.ts";

/** How long a tap lies there where the reader cannot tell when it goes; seen again meanwhile, it is the same tap. */
export const tapMs = 500;

export interface Lying {
  /**
   * This lies there now: for `ms` milliseconds from now on, or until something else does. False where cards came too fast
   * for a hand: then this one is passed over.
   */
  lay(sighting: Sighting, ms?: number): boolean;
  /** Nothing lies there any more. */
  lift(): void;
  /** What lies there; undefined where nothing does. */
  current(): Sighting | undefined;
}

/**
 * Reports that nothing lies there, as soon as `firstMs` have passed without a card, and each change from then on, until
 * `signal` aborts.
 */
function createLying(clock: Clock, report: Report, signal: AbortSignal, firstMs: number): Lying {
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
    // A clock that was set back begins anew, too.
    if (ageMs < 0 || ageMs >= 1000) taps = { sinceMs: clock.now(), count: 0 };
    taps.count += 1;
    return taps.count > readerTapsPerSecondMax;
  };
  signal.addEventListener("abort", stay, { once: true });
  if (firstMs === 0) report([]);
  else leaving = clock.after(firstMs, lift);
  return {
    lay(sighting, ms) {
      if (signal.aborted) return false;
      if (!isSameCard(current, sighting) && isTooFast()) return false;
      stay();
      current = sighting;
      if (ms !== undefined) leaving = clock.after(ms, lift);
      report([sighting]);
      return true;
    },
    lift,
    current: () => current,
  };
}

export function isSameCard(a: Sighting | undefined, b: Sighting): boolean {
  return a?.uid === b.uid && a.text === b.text;
}

interface LyingWatch {
  readonly clock: Clock;
  readonly report: Report;
  /** Aborts when the watch is to end in peace. */
  readonly ending: AbortSignal;
  /** Rejects when the device fails. */
  readonly gone: Promise<never>;
  /** How long a card that lay there before a fault may take to be told again, less than a second; absent means no time. */
  readonly firstMs?: number;
}

/** The watch of such a reader: `hear` begins to listen, and lays down what it hears until the signal it gets aborts. */
export async function watchLying(
  { clock, report, ending, gone, firstMs = 0 }: LyingWatch,
  hear: (lying: Lying, over: AbortSignal) => void,
): Promise<void> {
  const over = new AbortController();
  const aborted = Promise.withResolvers<void>();
  const end = () => {
    over.abort(ending.reason);
    aborted.resolve();
  };
  if (ending.aborted) return;
  ending.addEventListener("abort", end, { once: true });
  try {
    hear(createLying(clock, report, over.signal, firstMs), over.signal);
    await Promise.race([aborted.promise, gone]);
  } finally {
    ending.removeEventListener("abort", end);
    // A reader that failed takes nothing away.
    over.abort(new Error("the watch has ended"));
  }
}

/** A promise that is only ever rejected, by `tell`, and that nobody need listen to. */
export function createGone(): { readonly gone: Promise<never>; readonly tell: (reason: Error) => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  // Whoever watches hears of it; where nobody does yet, the watch to come will.
  promise.catch(() => {});
  return { gone: promise, tell: reject };
}
