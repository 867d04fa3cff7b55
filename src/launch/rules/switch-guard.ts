/**
 * The launch guard: while something plays, a card that would switch to something else is asked for twice. What waits to be
 * confirmed is one launch, the last, and not for long.
 */
import type { Clock } from "../../core/clock.ts";

// Long enough to read what the screen or the log says and to lift the card and lay it down again; short enough that
// a tap of an hour ago confirms nothing.
export const confirmMs = 10_000;

export interface Guard<Waiting extends { readonly card: string }> {
  /** False where this card waits already, and so is confirmed; else it waits from now on, in the place of any other. */
  holds(waiting: Waiting): boolean;
  /** What waits, which then waits no more. */
  take(): Waiting | undefined;
  /** Forgets what waits, where it is meant. */
  drop(isMeant: (waiting: Waiting) => boolean): void;
}

export function createGuard<Waiting extends { readonly card: string }>(clock: Clock): Guard<Waiting> {
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
