/**
 * A selected tag as the code in this folder uses it: its answers at selection, its exchanges, and the sighting that a
 * reader reports. A driver makes one channel for each target. All code for tag memory uses the channel, so it exists
 * once for all drivers.
 */
import { toHex } from "../../src/core/hex.ts";
import type { Sighting, TagProblem, TagType } from "../../src/core/token.ts";
import { parseMessage, textOfRecords } from "../protocol/ndef.ts";

export type Target =
  | {
      readonly kind: "type-a";
      /** The UID of 4, 7 or 10 bytes. */
      readonly uid: Uint8Array;
      /** The SENS_RES, big-endian as data sheets print it; absent if the reader does not report it. */
      readonly atqa?: number;
      readonly sak: number;
      /** The historical bytes of the answer to select; absent if it has none (ISO/IEC 14443-4, 5.2). */
      readonly historicalBytes?: Uint8Array;
    }
  | {
      readonly kind: "felica";
      /** The IDm of 8 bytes (JIS X 6319-4). */
      readonly idm: Uint8Array;
      readonly pmm: Uint8Array;
      readonly systemCode?: number;
    };

export interface ClassicKey {
  readonly kind: "A" | "B";
  /** The key of 6 bytes. */
  readonly bytes: Uint8Array;
}

/**
 * Every exchange resolves to `undefined` or `false` if the tag did not answer, sent a broken answer, or refused. The
 * tag may then be silent until it is selected again. Rejects with `reader-gone` only if the reader failed.
 */
export interface TagChannel {
  readonly target: Target;
  /** The longest answer that the reader can take, in bytes; absent if that is more than any command here asks for. */
  readonly answerBytesMax?: number;
  /**
   * Sends the bytes unchanged, and returns the answer. The chip adds and checks the CRC. The method is absent if the
   * reader cannot send plain bytes, like a plain reader of PC/SC part 3. Such a reader has only `read` and `write`.
   */
  readonly transceive?: (bytes: Uint8Array, signal: AbortSignal) => Promise<Uint8Array | undefined>;
  /** Reads 16 bytes: four pages from page `block` on, or a block of a MIFARE Classic sector that was authenticated. */
  read(block: number, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Writes a page (4 bytes) or a block (16 bytes). */
  write(block: number, bytes: Uint8Array, signal: AbortSignal): Promise<boolean>;
  /** Authenticates the sector of a MIFARE Classic in which `block` is. */
  authenticate(block: number, key: ClassicKey, signal: AbortSignal): Promise<boolean>;
  /** Sends a command APDU to an ISO/IEC 14443-4 target. The answer ends with its two status bytes. */
  apdu(command: Uint8Array, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Selects the target again. Resolves with false if the target left, or another one lies on the reader. */
  reselect(signal: AbortSignal): Promise<boolean>;
}

/** The tag of a channel during one reading or writing, which ends when the signal aborts. */
export type Tag = ReturnType<typeof tagOn>;

export function tagOn(channel: TagChannel, signal: AbortSignal) {
  const { target, transceive, answerBytesMax = Number.POSITIVE_INFINITY } = channel;
  return {
    target,
    answerBytesMax,
    transceive: transceive && ((bytes: Uint8Array) => transceive(bytes, signal)),
    read: (block: number) => channel.read(block, signal),
    write: (block: number, bytes: Uint8Array) => channel.write(block, bytes, signal),
    authenticate: (block: number, key: ClassicKey) => channel.authenticate(block, key, signal),
    apdu: (command: Uint8Array) => channel.apdu(command, signal),
    reselect: () => channel.reselect(signal),
  };
}

/**
 * The time-out of an APDU, in milliseconds. A card that computes, and a phone that starts an app, ask for more time (ISO/IEC
 * 14443-4, 7.3), which the chip of the reader grants. After a longer time the card is selected again.
 */
export const cardAnswerMs = 1500;

export type TypeATarget = Extract<Target, { kind: "type-a" }>;
export type FelicaTarget = Extract<Target, { kind: "felica" }>;

/** True for the SAK bit 20: the tag speaks ISO/IEC 14443-4. */
export function isIsoDep({ sak }: TypeATarget): boolean {
  return (sak & 0x20) !== 0;
}

/**
 * True for a SAK of 08 (1K), 09 (Mini), 18 (4K), 01 and 19. Other makers also set the bit 0x80. A MIFARE Plus also has
 * one of these values.
 */
export function isClassic({ sak }: TypeATarget): boolean {
  return (sak & 0x09) !== 0 || sak === 0x18;
}

const desfireAtqa = 0x0344;
const desfireHistorical = 0x80; // The only historical byte of a DESFire's ATS (MF3ICDx, 9.4).

export function isoDepType({ uid, atqa, historicalBytes }: TypeATarget): TagType {
  // Other cards with seven bytes of UID also have this ATQA, so the historical byte must agree.
  const isDesfire =
    historicalBytes?.length === 1 &&
    historicalBytes[0] === desfireHistorical &&
    (atqa === undefined || atqa === desfireAtqa || uid.length === 4);
  return isDesfire ? "DESFire" : "ISO14443-4";
}

/** The identity of a tag: its UID, or its IDm (JIS X 6319-4). */
export function uidOf(target: Target): Uint8Array {
  return target.kind === "felica" ? target.idm : target.uid;
}

/**
 * True if both are the same tag. Phones and some cards make up a new UID each time: four bytes, the first 08 (ISO/IEC
 * 14443-3, 6.5.4). Two of them in a row count as one tag.
 */
export function isSameTarget(a: Target, b: Target): boolean {
  return toHex(uidOf(a)) === toHex(uidOf(b)) || (isRandomUid(a) && isRandomUid(b));
}

function isRandomUid(target: Target): boolean {
  return target.kind === "type-a" && target.uid.length === 4 && target.uid[0] === 0x08;
}

const nothing = new Uint8Array();

/** A tag that carries this message; `data` is the memory up to its end, as `Sighting.data` describes it. */
export function sightingOfMessage(
  target: Target,
  type: TagType,
  message: Uint8Array,
  data: Uint8Array,
): Sighting {
  const parsed = parseMessage(message);
  if (parsed.kind === "broken") return sightingWithout(target, type, "half-written", data);
  const text = textOfRecords(parsed.records);
  if (text !== undefined && text.trim() !== "")
    return { type, uid: toHex(uidOf(target)), text, data: toHex(data) };
  // Phones format a tag with an empty record.
  const isEmpty = text !== undefined || parsed.records.every(({ tnf }) => tnf === 0);
  return sightingWithout(target, type, isEmpty ? "blank" : "other-message", data);
}

export function sightingWithout(
  target: Target,
  type: TagType,
  problem?: TagProblem,
  data: Uint8Array = nothing,
): Sighting {
  const sighting = { type, uid: toHex(uidOf(target)), text: "", data: toHex(data) };
  return problem === undefined ? sighting : { ...sighting, problem };
}
