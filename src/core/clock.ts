/** Time as an argument: the service passes the system's clock, and tests pass one that they advance. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00Z. */
  now(): number;
  /** Calls `run` once after `ms` milliseconds, unless disposed before. */
  after(ms: number, run: () => void): Disposable;
}

/** The system's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    if (ms > timeoutMsMax) return afterDays(ms, run);
    const timer = setTimeout(run, ms);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

const timeoutMsMax = 2 ** 31 - 1; // A longer time has no place in the 32 bits of setTimeout, which then takes 1 ms.

function afterDays(ms: number, run: () => void): Disposable {
  let timer = systemClock.after(timeoutMsMax, () => {
    timer = systemClock.after(ms - timeoutMsMax, run);
  });
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}

/** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer[Symbol.dispose]();
      reject(signal?.reason);
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

const lateMs = 5; // A timer that is later by this much shows that the process had no CPU time.
const secondLooks = 2;

/**
 * As `clock.after`, for time-outs of a device. If the timer is late, the process had no CPU time, so unread data may have
 * arrived. In that case it waits for `ms` again, at most twice.
 */
export function afterSilence(clock: Clock, ms: number, run: () => void): Disposable {
  let looks = 0;
  const wait = () => {
    const dueMs = clock.now() + ms;
    return clock.after(ms, () => {
      if (clock.now() - dueMs <= lateMs || looks++ === secondLooks) run();
      else timer = wait();
    });
  };
  let timer = wait();
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}

/** RFC 3339 in UTC with milliseconds, the form of every time on the wire. */
export function rfc3339(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
