/** The launch guard: a card must be put on twice before it ends the current media and starts other media. */
import type { Clock } from "../core/clock.ts";

// Enough time to read the notice and to tap the card again.
export const confirmMs = 10_000;

/** While media play, it holds back a card that would switch them, until a second tap. It holds the last one. */
export function createLaunchGuard<Waiting extends { readonly card: string }>(clock: Clock) {
  let held: { readonly waiting: Waiting; readonly timer: Disposable } | undefined;
  const take = (): Waiting | undefined => {
    const waiting = held?.waiting;
    held?.timer[Symbol.dispose]();
    held = undefined;
    return waiting;
  };
  return {
    /** False if this card waits already, which confirms it; otherwise it waits from now on, and replaces any other. */
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
