/** From a listed target to a sighting: which family it is, and what its memory says, as far as it can be read. */
import { toHex } from "../../src/core/hex.ts";
import type { Sighting, TagType } from "../../src/core/token.ts";
import { parseMessage, textOf } from "../protocol/ndef.ts";
import {
  communicateThru,
  dataExchange,
  type Exchange,
  listOneTypeA,
  parseExchange,
  parseTypeATarget,
  type TypeATarget,
} from "../protocol/pn532-commands.ts";
import {
  contentOf,
  firstPage,
  pageBytes,
  parseVersion,
  type TagVersion,
  tagCommands,
} from "../protocol/type2-tag.ts";
import type { Chip } from "./chip.ts";

// One read that covers most cards: 60 bytes from page 4 on, and an answer of 7 ms at 115200 baud.
const firstReadPages = 16;
// The chip's buffer for a target's answer holds 262 bytes (UM0701-02, 7.3.9); 48 pages are 192.
const fastReadPagesMax = 48;
const lastPage = 0xff;
const readTriesMax = 3;
// Listing a target that is there takes some 10 ms; this one may have left.
const relistMs = 100;

/** What the target is; undefined where it left before it could be read. */
export async function readTarget(
  chip: Chip,
  target: TypeATarget,
  signal: AbortSignal,
): Promise<Sighting | undefined> {
  if (target.sak !== 0x00) return sightingOf(target, typeBySak(target), new Uint8Array(), "");
  for (let tries = 1; ; tries++) {
    const sighting = await readType2(chip, target, signal);
    if (sighting !== undefined) return sighting;
    if (!(await isStillThere(chip, target, signal))) return undefined;
    if (tries === readTriesMax) return sightingOf(target, "Unknown", new Uint8Array(), "");
  }
}

/** The sighting of a Type 2 tag; undefined where an exchange failed. */
async function readType2(
  chip: Chip,
  target: TypeATarget,
  signal: AbortSignal,
): Promise<Sighting | undefined> {
  const version = await askVersion(chip, signal);
  // A tag that does not know the question stops listening, and must be selected again.
  if (version === undefined && !(await isStillThere(chip, target, signal))) return undefined;

  let read: Uint8Array = new Uint8Array();
  for (;;) {
    const content = contentOf(read);
    if (content.kind === "need") {
      const from = firstPage + read.length / pageBytes;
      const more = await readPages(
        chip,
        version,
        from,
        Math.ceil((content.bytes - read.length) / pageBytes),
        signal,
      );
      if (more === undefined) return undefined;
      read = Uint8Array.of(...read, ...more);
      continue;
    }
    const text = content.kind === "message" ? messageText(content.message) : "";
    return sightingOf(target, version?.family ?? "Ultralight", content.data, text);
  }
}

/** Undefined where it tells none; a tag that does not know the question must be selected again then. */
export async function askVersion(chip: Chip, signal: AbortSignal): Promise<TagVersion | undefined> {
  const answer = await exchange(chip, communicateThru(tagCommands.getVersion), signal);
  return answer.kind === "data" ? parseVersion(answer.data) : undefined;
}

/** At least one page from `from` on, of the `wanted` ones as many as one command gives; undefined where it failed. */
async function readPages(
  chip: Chip,
  version: TagVersion | undefined,
  from: number,
  wanted: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  // A page number is one byte; what a tag claims beyond needs another sector (Type 2 Tag 1.1, 5.4).
  if (from > lastPage) return undefined;
  if (version === undefined) {
    const answer = await exchange(chip, dataExchange(tagCommands.read, from), signal);
    return answer.kind === "data" && answer.data.length === 16 ? answer.data : undefined;
  }
  const pages = Math.min(Math.max(wanted, firstReadPages), fastReadPagesMax, version.pages - from);
  if (pages < 1) return undefined;
  const answer = await exchange(chip, communicateThru(tagCommands.fastRead, from, from + pages - 1), signal);
  return answer.kind === "data" && answer.data.length === pages * pageBytes ? answer.data : undefined;
}

export async function exchange(chip: Chip, command: Uint8Array, signal: AbortSignal): Promise<Exchange> {
  return parseExchange(await chip.call(command, signal));
}

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

function messageText(message: Uint8Array): string {
  const parsed = parseMessage(message);
  return parsed.kind === "message" ? (textOf(parsed.records) ?? "") : "";
}

function sightingOf(target: TypeATarget, type: TagType, data: Uint8Array, text: string): Sighting {
  return { type, uid: toHex(target.uid), text, data: toHex(data) };
}

/** NXP AN10833, section 3: SAK bit 20 is ISO/IEC 14443-4, bit 08 a MIFARE Classic memory. */
function typeBySak({ sak, atqa }: TypeATarget): TagType {
  if ((sak & 0x20) !== 0) return atqa === 0x0344 ? "DESFire" : "ISO14443-4";
  return (sak & 0x09) !== 0 || sak === 0x18 ? "MIFARE" : "Unknown";
}
