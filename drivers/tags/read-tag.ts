/** From a selected target to a sighting: which family it is, and what its memory says, as far as it can be read. */
import type { Sighting } from "../../src/core/token.ts";
import { readClassic } from "./classic-read.ts";
import { sightingWithout } from "./sighting.ts";
import type { TagChannel } from "./tag-channel.ts";
import { isClassic, isIsoDep } from "./tag-type.ts";
import { readType2 } from "./type2-read.ts";
import { readType3 } from "./type3.ts";
import { readType4 } from "./type4-read.ts";

/**
 * What the target is; undefined where it left before it could be read. A tag that lies there and cannot be read is
 * told by its UID. Rejects with `reader-gone` where the reader fails.
 *
 * `data` is the memory that holds the message, from where messages may stand on such a tag to the message's end, in the
 * order in which it is read: page 4 on (Type 2), the data blocks of the NDEF sectors (MIFARE Classic), block 1 on
 * (Type 3), the NDEF file with its length (Type 4). Without a message it is the first 16 bytes of that, or nothing; of a
 * toy, the part that says which figure it is (drivers/protocol/toys.ts). It never depends on the reader.
 */
export async function readTag(channel: TagChannel, signal: AbortSignal): Promise<Sighting | undefined> {
  const { target } = channel;
  if (target.kind === "felica") return readType3(channel, target, signal);
  if (target.sak === 0x00) return readType2(channel, target, signal);
  if (isIsoDep(target)) return readType4(channel, target, signal);
  if (isClassic(target)) return readClassic(channel, target, signal);
  return sightingWithout(target, "Unknown");
}
