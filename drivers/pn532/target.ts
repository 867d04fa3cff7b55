/** The target that a PN532 listed: whether it still lies there, which is also how it is selected again. */
import { toHex } from "../../src/core/hex.ts";
import {
  type FelicaTarget,
  listOneFelica,
  listOneTypeA,
  parseFelicaTarget,
  parseTypeATarget,
  type TypeATarget,
} from "../protocol/pn532-commands.ts";
import type { Chip } from "./chip.ts";

export type ListedTarget = TypeATarget | FelicaTarget;

// Listing a target that is there takes some 10 ms; this one may have left.
const relistMs = 100;

/** Lists a target of the kind of `target`; undefined where there is none. */
export async function listLike(
  chip: Chip,
  target: ListedTarget,
  signal: AbortSignal,
): Promise<ListedTarget | undefined> {
  const { command, parse } = listingOf(target);
  const found = parse(await chip.call(command, signal));
  return typeof found === "object" ? found : undefined;
}

/** Selects the target again; false where it is gone or another lies there. */
export async function isStillThere(chip: Chip, target: ListedTarget, signal: AbortSignal): Promise<boolean> {
  const { command, parse } = listingOf(target);
  const answer = await chip.callFor(command, relistMs, signal);
  if (answer === undefined) {
    await chip.abort();
    return false;
  }
  const found = parse(answer);
  return typeof found === "object" && isSameTarget(found, target);
}

/** Lower-case hex. */
export function uidOf(target: ListedTarget): string {
  return toHex("idm" in target ? target.idm : target.uid);
}

/**
 * True where both are the same tag. Phones and some cards make up a new UID each time: four bytes, the first 08
 * (ISO/IEC 14443-3, 6.5.4); one such follows another only where the tag stayed.
 */
export function isSameTarget(a: ListedTarget, b: ListedTarget): boolean {
  return uidOf(a) === uidOf(b) || (isRandomUid(a) && isRandomUid(b));
}

function isRandomUid(target: ListedTarget): boolean {
  return !("idm" in target) && target.uid.length === 4 && target.uid[0] === 0x08;
}

function listingOf(target: ListedTarget) {
  return "idm" in target
    ? { command: listOneFelica, parse: parseFelicaTarget }
    : { command: listOneTypeA, parse: parseTypeATarget };
}
