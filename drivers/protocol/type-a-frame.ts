/**
 * Frames of ISO/IEC 14443 type A, without I/O, for a chip that leaves them to the host: the CRC, the parts of a UID,
 * and the blocks of ISO/IEC 14443-4.
 *
 *   short frame   7 bits: 26 REQA, 52 WUPA (14443-3, 6.4.1)
 *   selection     SEL 93, 95 or 97, NVB, the known bits of this part of the UID (14443-3, 6.4.2 and 6.4.3)
 *   standard      bytes, then CRC_A, low byte first
 *   four bits     A is an ACK, all others refuse (NTAG21x, 9.3; MF1S50YYX, 9.3)
 */
import { fifoBytesMax } from "../../src/core/limits.ts";

export const wupa = 0x52;
export const shortFrameBits = 7;
/** The SEL codes of the three parts that a UID may have. */
export const selectCodes: readonly number[] = [0x93, 0x95, 0x97];
/** The NVB with all 40 bits known, which makes the command a SELECT. */
export const allBitsKnown = 0x70;
export const ack = 0x0a;

const cascadeTag = 0x88;
/** The SAK bit 04: another part of the UID follows (14443-3, table 9). */
const uidNotComplete = 0x04;
const checkBytes = 2;

/** The CRC_A (14443-3, annex B): x^16 + x^12 + x^5 + 1, lowest bit first, start 6363. */
function checkOf(bytes: Uint8Array): Uint8Array {
  let check = 0x6363;
  for (const byte of bytes) {
    check ^= byte;
    for (let bit = 0; bit < 8; bit++) check = (check & 1) === 0 ? check >> 1 : (check >> 1) ^ 0x8408;
  }
  return Uint8Array.of(check & 0xff, check >> 8);
}

export function withCheck(...bytes: readonly number[]): Uint8Array {
  return Uint8Array.of(...bytes, ...checkOf(Uint8Array.from(bytes)));
}

/** The bytes without their CRC; undefined if the CRC is wrong or missing. */
export function checkedBytes(frame: Uint8Array): Uint8Array | undefined {
  if (frame.length <= checkBytes) return undefined;
  const bytes = frame.subarray(0, -checkBytes);
  return checkOf(bytes).every((byte, index) => byte === frame[bytes.length + index]) ? bytes : undefined;
}

/** A part of a UID with its check byte: four bytes, of which the first is 88 if more parts follow. */
export const partBytes = 5;

/** True if the fifth byte is the exclusive or of the others (14443-3, 6.4.3.3). */
export function isWholePart(part: Uint8Array): boolean {
  return part.length === partBytes && part.reduce((sum, byte) => sum ^ byte, 0) === 0;
}

/** The parts of a UID of 4, 7 or 10 bytes, each with its check byte. */
export function uidPartsOf(uid: Uint8Array): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < uid.length; ) {
    const isLast = uid.length - at <= 4;
    const part = isLast ? uid.slice(at) : Uint8Array.of(cascadeTag, ...uid.subarray(at, at + 3));
    parts.push(
      Uint8Array.of(
        ...part,
        part.reduce((sum, byte) => sum ^ byte, 0),
      ),
    );
    at += isLast ? 4 : 3;
  }
  return parts;
}

/** The bytes of the UID in a part whose SELECT was answered with this SAK, and whether the part is the last. */
export function uidIn(part: Uint8Array, sak: number) {
  const isLast = (sak & uidNotComplete) === 0;
  return { bytes: isLast ? part.slice(0, 4) : part.slice(1, 4), isLast };
}

/** The bits of bytes, the lowest first, in the order of their transmission. */
export function bitsOf(bytes: Uint8Array, count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => ((bytes[at >> 3] ?? 0) >> (at & 7)) & 1);
}

export function bytesOfBits(bits: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  for (const [at, bit] of bits.entries()) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (bit << (at & 7));
  return bytes;
}

/** The request for an answer to select, for frames of up to 64 bytes and the card number 0 (14443-4, 5.1). */
export const ratsBytes: readonly number[] = [0xe0, 0x50];

export interface AnswerToSelect {
  /** The longest frame that the card takes, with its head and its CRC. */
  readonly frameBytesMax: number;
  /** The longest time that the card may take for an answer. */
  readonly waitMs: number;
  /** The time that the card needs before its first command. */
  readonly guardMs: number;
  readonly historicalBytes: Uint8Array;
}

const frameSizes: readonly number[] = [16, 24, 32, 40, 48, 64, 96, 128, 256];
const unitMs = (256 * 16) / 13_560;
const codeMax = 14; // The code 15 is not used. The value 0 counts as 14 for a wait, and as none for a guard time.
const waitCodeDefault = 4;

/**
 * ATS (14443-4, 5.2): TL, T0, and TA, TB and TC if the bits 10, 20 and 40 of T0 announce them, then the historical
 * bytes. TB has the frame waiting time in its upper half, 256 * 16 / fc * 2^FWI, and the guard time in its lower half,
 * where 0 is none. The result is undefined for other bytes.
 */
export function parseAts(answer: Uint8Array): AnswerToSelect | undefined {
  const [length = 0, format] = answer;
  if (length < 1 || length !== answer.length) return undefined;
  const announced = [0x10, 0x20, 0x40].map((bit) => format !== undefined && (format & bit) !== 0);
  const historicalAt = 2 + announced.filter(Boolean).length;
  const waitAt = announced[0] ? 3 : 2;
  const times = announced[1] ? (answer[waitAt] ?? 0) : waitCodeDefault << 4;
  const guardCode = times & 0x0f;
  return {
    frameBytesMax: Math.min(fifoBytesMax, frameSizes[(format ?? 2) & 0x0f] ?? fifoBytesMax),
    waitMs: unitMs * 2 ** Math.min(times >> 4, codeMax),
    guardMs: guardCode === 0 || guardCode > codeMax ? 0 : unitMs * 2 ** guardCode,
    historicalBytes: answer.slice(historicalAt),
  };
}

/** The first byte of a block (14443-4, 7.1.1.1). The lowest bit of I and R is the block's number. */
export const blockCode = {
  i: 0x02,
  more: 0x10,
  ack: 0xa2,
  nak: 0xb2,
  deselect: 0xc2,
  moreTime: 0xf2,
} as const;

export type IsoBlock =
  | { readonly kind: "i"; readonly number: number; readonly hasMore: boolean; readonly data: Uint8Array }
  | { readonly kind: "ack"; readonly number: number }
  /** The card needs `factor` times its waiting time. */
  | { readonly kind: "more-time"; readonly factor: number };

/** Parses a block; undefined for a block that this side never asked for. */
export function parseIsoBlock(bytes: Uint8Array): IsoBlock | undefined {
  const [code = 0, factor = 0] = bytes;
  const number = code & 1;
  if ((code & 0xee) === blockCode.i) {
    return { kind: "i", number, hasMore: (code & blockCode.more) !== 0, data: bytes.subarray(1) };
  }
  if ((code & 0xfe) === blockCode.ack) return { kind: "ack", number };
  const isFactor = (factor & 0x3f) >= 1 && (factor & 0x3f) <= 59;
  return code === blockCode.moreTime && isFactor ? { kind: "more-time", factor: factor & 0x3f } : undefined;
}
