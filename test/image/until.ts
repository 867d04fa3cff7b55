/** Waiting for emulated boards, which take their time where the machine under them has other things to do. */
import { newestLines } from "../helpers/processes.ts";

export const patienceMs = 240_000;

/** Resolves as soon as `holds` gives something else than undefined or false; rejects after four minutes. */
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
