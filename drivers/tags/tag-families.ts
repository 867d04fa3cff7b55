/** Chooses the code that reads or writes a tag, by its family. */
import type { Sighting } from "../../src/core/token.ts";
import type { WriteOrder } from "../../src/readers/driver.ts";
import { encodeMessage } from "../protocol/ndef.ts";
import { readClassic } from "./classic-read.ts";
import { writeClassic } from "./classic-write.ts";
import { isClassic, isIsoDep, sightingWithout, type TagChannel, tagOn } from "./tag-channel.ts";
import { readType2 } from "./type2-read.ts";
import { writeType2 } from "./type2-write.ts";
import { readType3, writeType3 } from "./type3.ts";
import { readType4, writeType4 } from "./type4.ts";
import { refusals } from "./write-failures.ts";

/**
 * The sighting of a target; undefined if it left before it could be read. An unreadable tag is reported by its UID.
 * Rejects with `reader-gone` if the reader fails.
 *
 * `data` is the memory from the first place of a message to the message's end, in reading order. `data` begins at page 4
 * (Type 2), the data blocks of the NDEF sectors (Classic), block 1 (Type 3), or the NDEF file with its length (Type 4).
 * Without a message, `data` is the first 16 bytes of that place, or empty. For a toy, it is the bytes that identify the
 * figure (drivers/protocol/toys.ts). `data` never depends on the reader.
 */
export async function readTag(channel: TagChannel, signal: AbortSignal): Promise<Sighting | undefined> {
  const { target } = channel;
  const tag = tagOn(channel, signal);
  if (target.kind === "felica") return readType3(tag, target);
  if (target.sak === 0x00) return readType2(tag, target);
  if (isIsoDep(target)) return readType4(tag, target);
  if (isClassic(target)) return readClassic(tag, target);
  return sightingWithout(target, "Unknown");
}

/**
 * Writes `text` as a message of one record, and resolves once it was read back equal. Rejects with `write-failed`, and with
 * `reader-gone` if the reader fails. `force` as in `WriteOrder` (src/readers/driver.ts). However the write ends, the tag
 * holds its old message, the new one, or none.
 */
export async function writeTag(
  channel: TagChannel,
  { text, record, force }: Pick<WriteOrder, "text" | "record" | "force">,
  signal: AbortSignal,
): Promise<void> {
  const { target } = channel;
  const tag = tagOn(channel, signal);
  const message = encodeMessage({ text, record });
  if (target.kind === "felica") return writeType3(tag, message, force);
  if (target.sak === 0x00) return writeType2(tag, message, force);
  if (isIsoDep(target)) return writeType4(tag, target, message, force);
  if (isClassic(target)) return writeClassic(tag, target, message, force);
  throw refusals.kind();
}
