/** Writing a message to a selected target, by what kind it is. */
import type { WriteOrder } from "../../src/readers/driver.ts";
import { encodeMessage } from "../protocol/ndef.ts";
import { writeClassic } from "./classic-write.ts";
import type { TagChannel } from "./tag-channel.ts";
import { refusals } from "./tag-errors.ts";
import { isClassic, isIsoDep } from "./tag-type.ts";
import { writeType2 } from "./type2-write.ts";
import { writeType3 } from "./type3.ts";
import { writeType4 } from "./type4-write.ts";

/**
 * Writes `text` as a message of one record, and resolves once it was read back equal. Rejects with `write-failed`,
 * and with `reader-gone` where the reader fails. `force` as in the driver contract. Whenever it ends, the tag holds its
 * old message, the new one, or plainly none.
 */
export async function writeTag(
  channel: TagChannel,
  { text, record, force }: Pick<WriteOrder, "text" | "record" | "force">,
  signal: AbortSignal,
): Promise<void> {
  const { target } = channel;
  const message = encodeMessage({ text, record });
  if (target.kind === "felica") return writeType3(channel, message, force, signal);
  if (target.sak === 0x00) return writeType2(channel, message, force, signal);
  if (isIsoDep(target)) return writeType4(channel, target, message, force, signal);
  if (isClassic(target)) return writeClassic(channel, target, message, force, signal);
  throw refusals.kind();
}
