/** Emulated readers and tags, for the tests of the whole service. */

import { parseMessage, textOfRecords } from "../../drivers/protocol/ndef.ts";
import { contentOf } from "../../drivers/protocol/type2-tag.ts";
import { createType2Tag, type EmulatedTag } from "../emulators/emulated-tags.ts";
import { createPn532Device, type Pn532Device } from "../emulators/pn532-device.ts";

/** A PN532 on a pty, closed when it is disposed. */
export function emulatedPn532(timing: "real" | "none"): Pn532Device & AsyncDisposable {
  const device = createPn532Device({ timing });
  return Object.assign(device, { [Symbol.asyncDispose]: device.close });
}

const lateMs = 30; // A driver waits for an acknowledgement for 30, 60 and 120 ms. A pause of the process can make each of these waits fail.
const triesMax = 8; // On two processors with a dozen busy processes, about every second try is delayed.

/**
 * Runs a test whose emulated chip is in this very process. A failed test is repeated if the process stood still for so
 * long that the driver was right to take the chip for dead.
 */
export async function unlessHeldUp(body: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    let [longestMs, lastMs] = [0, performance.now()];
    const look = () => {
      const nowMs = performance.now();
      longestMs = Math.max(longestMs, nowMs - lastMs);
      lastMs = nowMs;
    };
    const looking = setInterval(look, lateMs / 10);
    try {
      return await body();
    } catch (error) {
      look();
      if (longestMs < lateMs || tries === triesMax) throw error;
    } finally {
      clearInterval(looking);
    }
  }
}

/** An NTAG213 with this text, or a blank one if there is no text. */
export function ntag213(uidHex: string, text?: string): EmulatedTag {
  const uid = Uint8Array.fromHex(uidHex);
  return createType2Tag("ntag213", text === undefined ? { uid } : { uid, text });
}

/**
 * The text that a reader finds in the memory of a Type 2 tag; undefined without a message, and `broken` for an incomplete one.
 */
export function textIn(memory: Uint8Array): string | undefined {
  const content = contentOf(memory.subarray(12));
  if (content.kind === "need") throw new Error("the memory ends before the message");
  if (content.kind === "none") return undefined;
  const parsed = parseMessage(content.message);
  return parsed.kind === "message" ? textOfRecords(parsed.records) : "broken";
}

export const textOn = ({ memory }: EmulatedTag) => textIn(memory);
