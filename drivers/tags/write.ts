/** Writing a message to a selected target, by what kind it is. */
import { type WriteOrder, writeFailed } from "../../src/readers/contract.ts";
import { encodeTextMessage } from "../protocol/ndef.ts";
import type { TagChannel, Target } from "./channel.ts";
import { writeType2 } from "./type2-write.ts";

/**
 * Writes `text` as a message of one Text record, and resolves once it was read back equal. Rejects with `write-failed`,
 * and with `reader-gone` where the reader fails. `force` as in the driver contract.
 */
export async function writeTag(
  channel: TagChannel,
  { text, force }: Pick<WriteOrder, "text" | "force">,
  signal: AbortSignal,
): Promise<void> {
  const { target } = channel;
  if (target.kind !== "type-a" || target.sak !== 0x00) throw unwritable(target, force);
  await writeType2(channel, encodeTextMessage(text), force, signal);
}

function unwritable(target: Target, force: boolean): Error {
  // ISO/IEC 14443-4 (AN10833, section 3).
  if (target.kind === "type-a" && (target.sak & 0x20) !== 0 && !force)
    return writeFailed("foreign", "this is a payment or transit card, or a phone, and it is left as it is");
  return writeFailed("unsupported", "tags of this kind cannot be written: use an NTAG or an Ultralight");
}
