/**
 * Counts wrong pairing codes over all openings and restarts. After the free wrong codes, each further one delays the next
 * proof (`core/limits.ts`, `pairingDelayMsMax`, has the arithmetic). A guess is stored on the disk before it is checked,
 * so neither a power cut nor many proofs at once give an additional guess.
 */
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import {
  pairingDelayMsMax,
  pairingDelayMsMin,
  pairingWrongCodesFree,
  pairingWrongCodesKeptMs,
} from "../core/limits.ts";
import type { PairingGuesses } from "../store/client-table.ts";

export function createGuesses(clock: Clock, store: PairingGuesses) {
  let wrong = 0;
  let untilMs = 0;
  // The wait is a timer. A timer does not follow the clock of a board, which may jump, and which a neighbour may set by
  // forging NTP answers.
  let waiting: Disposable | undefined;
  let keeping: Disposable | undefined;

  const delay = () => {
    waiting?.[Symbol.dispose]();
    keeping?.[Symbol.dispose]();
    const delayMs = delayAfter(wrong);
    untilMs = clock.now() + delayMs;
    waiting = delayMs === 0 ? undefined : clock.after(delayMs, () => (waiting = undefined));
    keeping = clock.after(pairingWrongCodesKeptMs, () => (wrong = 0));
  };

  const saved = store.read();
  if (saved !== undefined && clock.now() - saved.lastMs < pairingWrongCodesKeptMs) {
    wrong = saved.wrong;
    // A board may start with any time, so the whole delay starts again.
    if (wrong > 0) delay();
  }

  return {
    /** The wrong codes that are not forgotten yet. */
    get wrong() {
      return wrong;
    },
    /** Milliseconds until the next proof may be checked; 0 if it may be checked now. */
    waitMs() {
      if (waiting === undefined) return 0;
      return Math.min(Math.max(untilMs - clock.now(), 1), delayAfter(wrong));
    },
    /**
     * Counts a proof as wrong before it is checked. Throws `failed` if the disk refuses. If it throws, the proof must not
     * be checked.
     */
    count() {
      store.save({ wrong: wrong + 1, lastMs: clock.now() });
      wrong += 1;
      delay();
    },
    /** Sets the count back to `before`, because the proof was right. */
    forgive(before: number) {
      wrong = Math.min(wrong, before);
      waiting?.[Symbol.dispose]();
      waiting = undefined;
      try {
        store.save({ wrong, lastMs: clock.now() });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        // The higher count stays on the disk, which is safe.
      }
    },
    [Symbol.dispose]() {
      waiting?.[Symbol.dispose]();
      keeping?.[Symbol.dispose]();
    },
  };
}

function delayAfter(wrong: number): number {
  if (wrong < pairingWrongCodesFree) return 0;
  return Math.min(pairingDelayMsMax, pairingDelayMsMin * 2 ** (wrong - pairingWrongCodesFree));
}
