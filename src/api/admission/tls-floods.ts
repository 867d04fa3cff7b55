/**
 * Addresses that go on asking over TLS after they were turned away: the kernel refuses them for a while, before a handshake
 * costs anything, and nobody else is kept out. Where there are more of them than the kernel can be told, the gate shuts the
 * door to all (`overload-guard.ts`).
 */
import type { Clock } from "../../core/clock.ts";
import {
  ratedAddressesMax,
  refusedInKernelMax,
  refusedInKernelMs,
  turnedAwayBeforeRefusalMax,
} from "../../core/limits.ts";

export interface Flooders extends Disposable {
  /** This address was turned away. True where that is all that there is to do: what it has under way is little and its last. */
  note(address: string): boolean;
  /** Tells the kernel again: the port has another socket. */
  apply(): void;
}

const windowMs = 1000;

/** `refuse` has the kernel refuse these addresses and no others; false where it cannot. */
export function createFlooders(clock: Clock, refuse: (addresses: readonly string[]) => boolean): Flooders {
  /** Refused, since when. */
  const refused = new Map<string, { readonly sinceMs: number; readonly timer: Disposable }>();
  let counts = new Map<string, number>();
  let windowSinceMs = clock.now();
  const apply = () => refuse([...refused.keys()]);

  return {
    note(address) {
      const nowMs = clock.now();
      const known = refused.get(address);
      // Connections that waited to be accepted are over in a second; what still comes then comes around the kernel.
      if (known !== undefined) return Math.abs(nowMs - known.sinceMs) < windowMs;
      if (Math.abs(nowMs - windowSinceMs) >= windowMs || counts.size >= ratedAddressesMax) {
        counts = new Map();
        windowSinceMs = nowMs;
      }
      const count = (counts.get(address) ?? 0) + 1;
      counts.set(address, count);
      if (count < turnedAwayBeforeRefusalMax || refused.size >= refusedInKernelMax) return false;
      const timer = clock.after(refusedInKernelMs, () => {
        refused.delete(address);
        apply();
      });
      refused.set(address, { sinceMs: nowMs, timer });
      return apply();
    },
    apply() {
      if (refused.size > 0) apply();
    },
    [Symbol.dispose]() {
      for (const { timer } of refused.values()) timer[Symbol.dispose]();
    },
  };
}
