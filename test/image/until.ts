import { newestLines } from "../helpers/processes.ts";

/** The time to wait for emulated boards, which are slow on a busy machine. */
export const patienceMs = 420_000;

/** Resolves with the first value of `holds` that is neither undefined nor false; rejects after seven minutes. */
export async function until<Value>(
  what: string,
  holds: () => Promise<Value | undefined | false> | Value | undefined | false,
): Promise<Value> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const value = await holds();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`in vain it was waited for ${what}${newestLines()}`);
    await Bun.sleep(25);
  }
}
