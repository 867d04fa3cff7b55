/** What a write does where the air fails: it tries again on a tag that is selected anew, and says when it was taken off. */
import { writeFailed } from "../../src/readers/driver.ts";
import type { TagChannel } from "./tag-channel.ts";

const triesMax = 3;

/** Tries what may fail in the air; undefined where the tag lies there and refused each time. Throws `gone` where it left. */
export async function patiently<T>(
  channel: TagChannel,
  run: () => Promise<T | undefined>,
  signal: AbortSignal,
): Promise<T | undefined> {
  for (let tries = 1; ; tries++) {
    const result = await run();
    if (result !== undefined) return result;
    if (!(await channel.reselect(signal))) throw taken();
    if (tries === triesMax) return undefined;
  }
}

export function taken(): Error {
  return writeFailed(
    "gone",
    "the tag was taken off before it was written. Lay it on again, and keep it there",
  );
}

export function mismatch(): Error {
  return writeFailed(
    "mismatch",
    "the tag does not tell what was written to it: it is worn out. Use another one",
  );
}
