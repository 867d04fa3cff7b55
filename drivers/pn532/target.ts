/** Whether the target that a PN532 listed still lies there, which is also how it is selected again. */
import { toHex } from "../../src/core/hex.ts";
import { listOneTypeA, parseTypeATarget, type TypeATarget } from "../protocol/pn532-commands.ts";
import type { Chip } from "./chip.ts";

// Listing a target that is there takes some 10 ms; this one may have left.
const relistMs = 100;

/** Selects the target again; false where it is gone or another lies there. */
export async function isStillThere(chip: Chip, target: TypeATarget, signal: AbortSignal): Promise<boolean> {
  const answer = await chip.callFor(listOneTypeA, relistMs, signal);
  if (answer === undefined) {
    await chip.abort();
    return false;
  }
  const found = parseTypeATarget(answer);
  return typeof found === "object" && isSameTarget(found, target);
}

/**
 * True where both are the same tag. Phones and some cards make up a new UID each time: four bytes, the first 08
 * (ISO/IEC 14443-3, 6.5.4); one such follows another only where the tag stayed.
 */
export function isSameTarget(a: TypeATarget, b: TypeATarget): boolean {
  return toHex(a.uid) === toHex(b.uid) || (isRandomUid(a.uid) && isRandomUid(b.uid));
}

function isRandomUid(uid: Uint8Array): boolean {
  return uid.length === 4 && uid[0] === 0x08;
}
