/** Whether two targets are one tag. */
import { toHex } from "../../src/core/hex.ts";
import type { Target } from "./tag-channel.ts";

/** What a tag is told apart by: its UID, or its IDm (JIS X 6319-4). */
export function uidOf(target: Target): Uint8Array {
  return target.kind === "felica" ? target.idm : target.uid;
}

/**
 * True where both are the same tag. Phones and some cards make up a new UID each time: four bytes, the first 08
 * (ISO/IEC 14443-3, 6.5.4); one such follows another only where the tag stayed.
 */
export function isSameTarget(a: Target, b: Target): boolean {
  return toHex(uidOf(a)) === toHex(uidOf(b)) || (isRandomUid(a) && isRandomUid(b));
}

function isRandomUid(target: Target): boolean {
  return target.kind === "type-a" && target.uid.length === 4 && target.uid[0] === 0x08;
}
