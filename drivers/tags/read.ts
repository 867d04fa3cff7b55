/** From a selected target to a sighting: which family it is, and what its memory says, as far as it can be read. */
import { toHex } from "../../src/core/hex.ts";
import type { Sighting, TagType } from "../../src/core/token.ts";
import type { TagChannel, Target } from "./channel.ts";
import { readType2 } from "./type2-read.ts";

type TypeA = Extract<Target, { kind: "type-a" }>;

const readTriesMax = 3;

/**
 * What the target is; undefined where it left before it could be read. A tag that lies there and cannot be read is
 * told by its UID. Rejects with `reader-gone` where the reader fails.
 */
export async function readTag(channel: TagChannel, signal: AbortSignal): Promise<Sighting | undefined> {
  const { target } = channel;
  if (target.kind === "felica") return byUid(target, "FeliCa");
  if (target.sak !== 0x00) return byUid(target, typeBySak(target));
  for (let tries = 1; ; tries++) {
    const sighting = await readType2(channel, target.uid, signal);
    if (sighting !== undefined) return sighting;
    if (!(await channel.reselect(signal))) return undefined;
    if (tries === readTriesMax) return byUid(target, "Unknown");
  }
}

function byUid(target: Target, type: TagType): Sighting {
  const uid = target.kind === "felica" ? target.idm : target.uid;
  return { type, uid: toHex(uid), text: "", data: "" };
}

/** NXP AN10833, section 3: SAK bit 20 is ISO/IEC 14443-4, bit 08 a MIFARE Classic memory. */
function typeBySak({ sak, atqa }: TypeA): TagType {
  if ((sak & 0x20) !== 0) return atqa === 0x0344 ? "DESFire" : "ISO14443-4";
  return (sak & 0x09) !== 0 || sak === 0x18 ? "MIFARE" : "Unknown";
}
