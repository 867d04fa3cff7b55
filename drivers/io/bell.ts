/** A bell: each message of a device rings it, and one listener waits for it. A ring before the wait is not lost. */
import type { Clock } from "../../src/core/clock.ts";

export function createBell(clock: Clock) {
  let isRung = false;
  let wake = () => {};
  const take = () => {
    const was = isRung;
    isRung = false;
    return was;
  };
  return {
    ring() {
      isRung = true;
      wake();
    },
    /** True if the bell rang since the last call. */
    take,
    /**
     * Resolves with true as soon as the bell has rung, and with false when `ms` milliseconds have passed. Rejects as
     * soon as `signal` aborts.
     */
    async within(ms: number, signal: AbortSignal): Promise<boolean> {
      signal.throwIfAborted();
      if (take()) return true;
      const { promise, resolve } = Promise.withResolvers<void>();
      const stop = () => resolve();
      wake = stop;
      using _timer = clock.after(ms, stop);
      signal.addEventListener("abort", stop, { once: true });
      await promise;
      signal.removeEventListener("abort", stop);
      signal.throwIfAborted();
      return take();
    },
  };
}
