/** The launch guard: a card must be tapped twice before it ends the current media and starts other media. */
import type { Clock } from "../core/clock.ts";

// This is enough time to read the notice and to tap the card again.
export const confirmMs = 10_000;

/**
 * While media play, the guard holds back a card that would start other media, until that card is tapped again. Only the
 * last card is held back.
 */
export function createLaunchGuard<Waiting extends { readonly card: string }>(clock: Clock) {
  let held: { readonly waiting: Waiting; readonly timer: Disposable } | undefined;
  const take = (): Waiting | undefined => {
    const waiting = held?.waiting;
    held?.timer[Symbol.dispose]();
    held = undefined;
    return waiting;
  };
  return {
    /**
     * False if this card is already held back, because this tap confirms it. Otherwise this card is held back from now
     * on, and replaces any other card.
     */
    holds(waiting: Waiting): boolean {
      if (take()?.card === waiting.card) return false;
      held = { waiting, timer: clock.after(confirmMs, take) };
      return true;
    },
    take,
    drop(isMeant: (waiting: Waiting) => boolean): void {
      if (held !== undefined && isMeant(held.waiting)) take();
    },
  };
}
