/** How often an address may ask: an allowance that fills with time and that a burst may empty (a token bucket). */
import type { Clock } from "../../core/clock.ts";
import { ratedAddressesMax, requestBurstMax, requestsPerMinuteMax } from "../../core/limits.ts";

export interface RateLimit {
  /** Takes one from the address's allowance; false where there is none left. */
  take(address: string): boolean;
}

export interface Allowance {
  readonly perMinute: number;
  readonly burst: number;
}

const ofAnAddress: Allowance = { perMinute: requestsPerMinuteMax, burst: requestBurstMax };

export function createRateLimit(clock: Clock, { perMinute, burst }: Allowance = ofAnAddress): RateLimit {
  const refillMs = 60_000 / perMinute;
  /** When each address's allowance is full again, in the order in which they asked last. */
  const fullAt = new Map<string, number>();
  return {
    take(address) {
      const nowMs = clock.now();
      const emptyMs = nowMs + burst * refillMs;
      const lastMs = fullAt.get(address) ?? 0;
      // A clock that was set back must not shut anybody out.
      const next = (lastMs > emptyMs ? nowMs : Math.max(lastMs, nowMs)) + refillMs;
      if (next > emptyMs) return false;
      fullAt.delete(address);
      fullAt.set(address, next);
      if (fullAt.size > ratedAddressesMax) forgetSome(fullAt, nowMs);
      return true;
    },
  };
}

/** Drops the addresses whose allowance is full, and the one that asked longest ago. */
function forgetSome(fullAt: Map<string, number>, nowMs: number): void {
  for (const [address, atMs] of fullAt) if (atMs <= nowMs) fullAt.delete(address);
  const [oldest] = fullAt.keys();
  if (fullAt.size >= ratedAddressesMax && oldest !== undefined) fullAt.delete(oldest);
}
