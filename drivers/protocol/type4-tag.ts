/**
 * Type 4 tags (NFC Forum Type 4 Tag 2.0 and 3.0; ISO/IEC 7816-4), without I/O: the commands, and the content of the
 * capability container.
 *
 *   command   CLA INS P1 P2 [Lc data] [Le]        answer   data SW1 SW2; 90 00 is success
 *
 *   container, big-endian:
 *   CCLEN(2)  version(1)  MLe(2)  MLc(2)  04 06 file(2) size(2) read write           (versions 2 and 3)
 *                                         06 08 file(2) size(4) read write           (version 3, extended)
 *
 *   file      NLEN(2), or (4) in an extended one, then the message
 */
import { ndefBytesMax } from "../../src/core/limits.ts";

export const ndefApplication: Uint8Array = Uint8Array.of(0xd2, 0x76, 0x00, 0x00, 0x85, 0x01, 0x01);
/** The list of payment applications of a payment card (EMV Book B, 3.3.2): 2PAY.SYS.DDF01. */
export const paymentList: Uint8Array = new TextEncoder().encode("2PAY.SYS.DDF01");
export const containerFile = 0xe103;
export const containerBytes = 15;
/** The additional bytes in the container if the file is an extended one. */
export const extendedBytes = 2;

export function selectApplication(name: Uint8Array): Uint8Array {
  return Uint8Array.of(0x00, 0xa4, 0x04, 0x00, name.length, ...name, 0x00);
}

export function selectFile(file: number): Uint8Array {
  return Uint8Array.of(0x00, 0xa4, 0x00, 0x0c, 0x02, file >> 8, file & 0xff);
}

/** Reads `bytes` bytes, 1..255, from `offset` on, up to 7FFF, as P1 and P2 hold it. */
export function readBinary(offset: number, bytes: number): Uint8Array {
  return Uint8Array.of(0x00, 0xb0, offset >> 8, offset & 0xff, bytes);
}

export function updateBinary(offset: number, bytes: Uint8Array): Uint8Array {
  return Uint8Array.of(0x00, 0xd6, offset >> 8, offset & 0xff, bytes.length, ...bytes);
}

/** The highest offset that P1 and P2 hold (ISO/IEC 7816-4, 11.3.3). */
const offsetMax = 0x7fff;

export type CardAnswer =
  | { readonly kind: "done"; readonly data: Uint8Array }
  /** SW1 and SW2 as one number, such as 6A82 for a file that does not exist. */
  | { readonly kind: "refused"; readonly status: number };

/** Parses an answer; undefined without a status. */
export function parseAnswer(answer: Uint8Array): CardAnswer | undefined {
  if (answer.length < 2) return undefined;
  const status = (answer.at(-2) ?? 0) * 256 + (answer.at(-1) ?? 0);
  return status === 0x9000 ? { kind: "done", data: answer.subarray(0, -2) } : { kind: "refused", status };
}

const readBytesLeast = 15; // The least value of MLe is 000F (Type 4 Tag 2.0, 5.1).

export interface Type4Container {
  readonly file: number;
  /** The size of the file in bytes, with the length at its beginning. */
  readonly fileBytes: number;
  /** The number of bytes of the length that stands before the message. */
  readonly lengthBytes: 2 | 4;
  /** The most data of one answer, and of one command, in bytes. */
  readonly readBytesMax: number;
  readonly writeBytesMax: number;
  readonly isReadable: boolean;
  /** Whether the file can be written; "proprietary" means that the maker has a key or a password of its own for writing. */
  readonly writing: "free" | "locked" | "proprietary";
}

/** Parses the container; undefined if it has another version or is invalid. */
export function parseContainer(bytes: Uint8Array): Type4Container | undefined {
  const version = (bytes[2] ?? 0) >> 4;
  if (bytes.length < containerBytes || version < 2 || version > 3) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const hasLongSize = isExtended(bytes);
  if (!hasLongSize && (bytes[7] !== 0x04 || bytes[8] !== 0x06)) return undefined;
  if (hasLongSize && bytes.length < containerBytes + extendedBytes) return undefined;
  const accessAt = hasLongSize ? 15 : 13;
  const fileBytes = hasLongSize ? view.getUint32(11) : view.getUint16(11);
  const lengthBytes = hasLongSize ? 4 : 2;
  const readBytesMax = view.getUint16(3);
  const writeBytesMax = view.getUint16(5);
  if (fileBytes <= lengthBytes || readBytesMax < readBytesLeast || writeBytesMax < 1) return undefined;
  const write = bytes[accessAt + 1];
  return {
    file: view.getUint16(9),
    fileBytes: Math.min(fileBytes, ndefBytesMax, offsetMax),
    lengthBytes,
    readBytesMax,
    writeBytesMax,
    isReadable: bytes[accessAt] === 0x00,
    writing: write === 0x00 ? "free" : write === 0xff ? "locked" : "proprietary",
  };
}

export function isExtended(container: Uint8Array): boolean {
  return container[7] === 0x06 && container[8] === 0x08;
}

export function lengthIn(bytes: Uint8Array, lengthBytes: number): number {
  return bytes.subarray(0, lengthBytes).reduce((length, byte) => length * 256 + byte, 0);
}

export function encodeLength(length: number, lengthBytes: number): Uint8Array {
  return Uint8Array.from(
    { length: lengthBytes },
    (_, at) => (length >>> (8 * (lengthBytes - 1 - at))) & 0xff,
  );
}
