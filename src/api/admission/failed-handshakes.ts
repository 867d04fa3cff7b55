/**
 * Addresses whose handshakes fail again and again are turned away for a while, longer each time. A secret of 32 bytes cannot
 * be guessed; this keeps those who try from costing work.
 */
import type { Clock } from "../../core/clock.ts";
import {
  handshakeBlockMsMax,
  handshakeBlockMsMin,
  handshakeFailuresMax,
  ratedAddressesMax,
} from "../../core/limits.ts";

export interface Failures {
  note(address: string): void;
  /** Milliseconds until the address may try again; 0 where it may now. */
  blockedMs(address: string): number;
}

interface Record {
  failures: number;
  untilMs: number;
  lastMs: number;
}

export function createFailures(clock: Clock): Failures {
  /** In the order in which they failed last. */
  const records = new Map<string, Record>();
  return {
    note(address) {
      const nowMs = clock.now();
      const known = records.get(address);
      // Half an hour without a fault, or a clock that was set back: it is forgotten.
      const isFresh = known === undefined || Math.abs(nowMs - known.lastMs) > handshakeBlockMsMax;
      const failures = isFresh ? 1 : known.failures + 1;
      const rounds = failures - handshakeFailuresMax;
      const blockMs = rounds < 0 ? 0 : Math.min(handshakeBlockMsMax, handshakeBlockMsMin * 2 ** rounds);
      records.delete(address);
      records.set(address, { failures, untilMs: nowMs + blockMs, lastMs: nowMs });
      const [oldest] = records.keys();
      if (records.size > ratedAddressesMax && oldest !== undefined) records.delete(oldest);
    },
    blockedMs(address) {
      const known = records.get(address);
      if (known === undefined || known.lastMs > clock.now()) return 0;
      return Math.max(0, known.untilMs - clock.now());
    },
  };
}
