/** Emulated readers and tags, as the tests of the whole service use them. */
import { createPn532Device, type Pn532Device } from "../../drivers/emulator/pn532-device.ts";
import { createType2Tag, type EmulatedTag } from "../../drivers/emulator/tags.ts";
import { parseMessage, textOf } from "../../drivers/protocol/ndef.ts";
import { contentOf } from "../../drivers/protocol/type2-tag.ts";

/** A PN532 on a pty, closed when it is disposed. */
export function emulatedPn532(timing: "real" | "none"): Pn532Device & AsyncDisposable {
  const device = createPn532Device({ timing });
  return Object.assign(device, { [Symbol.asyncDispose]: device.close });
}

/** Blank without a text. */
export function ntag213(uidHex: string, text?: string): EmulatedTag {
  const uid = Uint8Array.fromHex(uidHex);
  return createType2Tag("ntag213", text === undefined ? { uid } : { uid, text });
}

/**
 * The text that a reader finds in the memory of a Type 2 tag; undefined where it finds none at all, `broken` where it finds
 * half of something.
 */
export function textIn(memory: Uint8Array): string | undefined {
  const content = contentOf(memory.subarray(12));
  if (content.kind === "need") throw new Error("the memory ends before the message");
  if (content.kind === "none") return undefined;
  const parsed = parseMessage(content.message);
  return parsed.kind === "message" ? textOf(parsed.records) : "broken";
}

export const textOn = ({ memory }: EmulatedTag) => textIn(memory);
