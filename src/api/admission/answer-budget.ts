/**
 * Bytes that may be answered to callers from afar who have shown no secret, all of them together: an allowance that fills
 * with time. An answer costs memory and work before anybody knows whether it will be read.
 */
import type { Clock } from "../../core/clock.ts";
import { anonymousBytesBurst, anonymousBytesPerSecondMax } from "../../core/limits.ts";

export interface Allowance {
  spend(bytes: number): void;
  readonly isSpent: () => boolean;
}

export function createAllowance(clock: Clock): Allowance {
  let [left, lastMs] = [anonymousBytesBurst, clock.now()];
  const fill = () => {
    const nowMs = clock.now();
    // A clock that was set back gives nothing, and takes nothing.
    const grown = (Math.max(0, nowMs - lastMs) / 1000) * anonymousBytesPerSecondMax;
    [left, lastMs] = [Math.min(anonymousBytesBurst, left + grown), nowMs];
  };
  return {
    spend(bytes) {
      fill();
      left -= bytes;
    },
    isSpent() {
      fill();
      return left <= 0;
    },
  };
}
