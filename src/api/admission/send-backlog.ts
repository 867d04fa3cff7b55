/**
 * What lies here for callers from afar who do not read it, counted over all of them: each may have a lot, but not all at the
 * same time. Where it gets too much, whoever has the most is dropped.
 */
import { unsentInAllBytesMax } from "../../core/limits.ts";

/** A caller that we send to. */
export interface Outlet {
  /** Bytes that it has not taken yet. */
  readonly unsentBytes: () => number;
  /** Ends it at once, and gives back what it had. */
  readonly drop: () => void;
}

export interface Unsent {
  /** Something was sent to it. */
  note(outlet: Outlet): void;
  forget(outlet: Outlet): void;
}

export function createUnsent(bytesMax: number = unsentInAllBytesMax): Unsent {
  /** Those that had something when they were looked at last. */
  const known = new Map<Outlet, number>();
  let total = 0;
  const set = (outlet: Outlet, bytes: number) => {
    total += bytes - (known.get(outlet) ?? 0);
    if (bytes === 0) known.delete(outlet);
    else known.set(outlet, bytes);
  };
  const largest = () => {
    let [found, most]: [Outlet | undefined, number] = [undefined, 0];
    for (const [outlet, bytes] of known) if (bytes > most) [found, most] = [outlet, bytes];
    return found;
  };
  return {
    note(outlet) {
      set(outlet, outlet.unsentBytes());
      if (total <= bytesMax) return;
      // They may have read since.
      for (const one of [...known.keys()]) set(one, one.unsentBytes());
      while (total > bytesMax) {
        const one = largest();
        if (one === undefined) return;
        set(one, 0);
        one.drop();
      }
    },
    forget: (outlet) => set(outlet, 0),
  };
}
