/**
 * Ports that were opened and did not turn out to be a reader: when each may be tried again. A module may get its power or
 * its wires later than its port was found, and nothing tells of that; so a port is tried ever more seldom, but tried.
 *
 * Behind a converter that other people's devices have as well there may be a board that restarts whenever its port is
 * opened (an Arduino, on DTR), or a machine at work. It is tried four times in all, for a module that was slow, and then left
 * alone until it is plugged in anew: nobody's printer may be stopped every ten minutes, for as long as it runs. Whoever
 * has a reader there can name it in the config, and what is named is tried for ever.
 */
import type { Clock } from "../core/clock.ts";
import type { Candidate } from "./driver.ts";

/** Milliseconds from each refusal to the next try; the last one goes on. The first is for what was slow to wake. */
const waitsMs: readonly number[] = [1000, 10_000, 20_000, 40_000, 60_000];
/** The same of a shared port; after the last there is no try. */
const sharedWaitsMs: readonly number[] = [1000, 60_000, 600_000];

type Port = Pick<Candidate, "stamp" | "isShared">;

export interface Refusals {
  /** Whether the port may be opened now. */
  mayTry(key: string, port: Port): boolean;
  /** Whether it was refused before, and has not been plugged in anew since. */
  knows(key: string, port: Port): boolean;
  /** It was opened in vain. False where it is not tried again. */
  add(key: string, port: Port): boolean;
  /** It is a reader. */
  forget(key: string): void;
  /** Milliseconds until the next port may be tried; Infinity where there is none to come. */
  waitMs(): number;
}

interface Refusal {
  readonly stamp: string;
  readonly times: number;
  readonly atMs: number;
  /** Infinity for never. */
  readonly forMs: number;
}

/** By the keys of those who ask. Bounded by the ports that this machine has ever shown. */
export function createRefusals(clock: Pick<Clock, "now">): Refusals {
  const refusals = new Map<string, Refusal>();
  const leftMs = ({ atMs, forMs }: Refusal) => {
    const passedMs = clock.now() - atMs;
    // A clock that was set back would have it wait for hours.
    return passedMs < 0 && forMs !== Number.POSITIVE_INFINITY ? 0 : forMs - passedMs;
  };
  const known = (key: string, { stamp }: Port) => {
    const refusal = refusals.get(key);
    return refusal?.stamp === stamp ? refusal : undefined;
  };
  return {
    mayTry(key, port) {
      const refusal = known(key, port);
      return refusal === undefined || leftMs(refusal) <= 0;
    },
    knows: (key, port) => known(key, port) !== undefined,
    add(key, port) {
      const times = known(key, port)?.times ?? 0;
      const forMs = port.isShared
        ? (sharedWaitsMs[times] ?? Number.POSITIVE_INFINITY)
        : (waitsMs[Math.min(times, waitsMs.length - 1)] ?? 0);
      refusals.set(key, { stamp: port.stamp, times: times + 1, atMs: clock.now(), forMs });
      return forMs !== Number.POSITIVE_INFINITY;
    },
    forget: (key) => void refusals.delete(key),
    waitMs() {
      const waits = [...refusals.values()].map(leftMs).filter((ms) => ms > 0);
      return Math.min(...waits, Number.POSITIVE_INFINITY);
    },
  };
}
