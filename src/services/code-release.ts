/**
 * Releases the code that the service needs no more: after its start, and after each index run, because the new index is put to use by
 * code that a tap or a search does not run. Some time later it does so again. It does not do so at regular times, because the first tap
 * after a release takes 0.4 ms longer on a PC.
 */
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";

/** By this time after a start or an index run, an idle service has run all code that only that work needs. */
export const settledMs = 15_000;
/**
 * By this time after that, the runtime has compiled the functions that an idle service calls several times a second. Its compiler has
 * 10 MB of code.
 */
export const compiledMs = 120_000;

interface CodeReleaseParts {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Unmaps the code. The kernel maps each page again at its next use. */
  readonly releaseCode: () => Promise<unknown>;
}

/** Follows the index runs until disposed. */
export function followCode({ bus, clock, releaseCode }: CodeReleaseParts): Disposable {
  // The service can do without a release.
  const release = () => void releaseCode().catch(() => {});
  const releaseLater = () =>
    clock.after(settledMs, () => {
      release();
      timer = clock.after(compiledMs, release);
    });
  let timer = releaseLater();
  const listening = bus.on("media.indexing", ({ indexing }) => {
    timer[Symbol.dispose]();
    if (!indexing) timer = releaseLater();
  });
  return {
    [Symbol.dispose]() {
      listening[Symbol.dispose]();
      timer[Symbol.dispose]();
    },
  };
}
