/**
 * The launch guard: while media play, a card that would switch them has to be tapped twice. Only the last launch waits for
 * its confirmation, and for a short time.
 */
import type { Clock } from "../../core/clock.ts";

// Enough time to read the notice and to tap the card again.
export const confirmMs = 10_000;

export interface SwitchGuard<Waiting extends { readonly card: string }> {
  /** False if this card waits already, which confirms it; otherwise it waits from now on, and replaces any other. */
  holds(waiting: Waiting): boolean;
  /** Removes and returns the waiting launch. */
  take(): Waiting | undefined;
  /** Removes the waiting launch if `isMeant` accepts it. */
  drop(isMeant: (waiting: Waiting) => boolean): void;
}

export function createSwitchGuard<Waiting extends { readonly card: string }>(
  clock: Clock,
): SwitchGuard<Waiting> {
  let held: { readonly waiting: Waiting; readonly timer: Disposable } | undefined;
  const take = () => {
    const waiting = held?.waiting;
    held?.timer[Symbol.dispose]();
    held = undefined;
    return waiting;
  };
  return {
    holds(waiting) {
      if (take()?.card === waiting.card) return false;
      held = { waiting, timer: clock.after(confirmMs, take) };
      return true;
    },
    take,
    drop(isMeant) {
      if (held !== undefined && isMeant(held.waiting)) take();
    },
  };
}
