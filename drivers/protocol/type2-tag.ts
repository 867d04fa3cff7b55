/**
 * Memory of Type 2 tags (NFC Forum Type 2 Tag 1.1; NXP NTAG213/215/216 and MF0ICU1 data sheets), purely: what to read
 * next, and what has been read.
 *
 *   page 0..2  UID, check bytes, lock bytes (4 bytes a page)
 *   page 3     capability container: E1, version, data bytes / 8, access
 *   page 4...  TLV blocks
 */
import { ndefBytesMax } from "../../src/core/limits.ts";
import { findMessage } from "./tlv.ts";

export const tagCommands = {
  read: 0x30,
  fastRead: 0x3a,
  getVersion: 0x60,
  /** A page number, an ACK, then 16 bytes of which four are kept: the write of MIFARE Classic readers. */
  compatibilityWrite: 0xa0,
  write: 0xa2,
} as const;

export const pageBytes = 4;
/** Reading starts at the capability container. */
export const firstPage = 3;

/** What GET_VERSION tells (NTAG21x section 10.1, MF0ULx1 section 10.1). */
export interface TagVersion {
  readonly family: "NTAG" | "Ultralight";
  /** All pages of the tag, configuration included. */
  readonly pages: number;
}

/** Pages by the storage size byte. */
const pagesBySize: ReadonlyMap<number, number> = new Map([
  [0x0b, 20], // NTAG210, MF0UL11
  [0x0e, 41], // NTAG212, MF0UL21
  [0x0f, 45], // NTAG213
  [0x11, 135], // NTAG215
  [0x13, 231], // NTAG216
]);

/** Eight bytes: 00, vendor, product (03 Ultralight, 04 NTAG), subtype, major, minor, storage size, protocol. */
export function parseVersion(answer: Uint8Array): TagVersion | undefined {
  const pages = pagesBySize.get(answer[6] ?? 0);
  if (answer.length !== 8 || pages === undefined) return undefined;
  if (answer[2] !== 0x03 && answer[2] !== 0x04) return undefined;
  return { family: answer[2] === 0x04 ? "NTAG" : "Ultralight", pages };
}

export type TagContent =
  /** `bytes` from page 3 on must be read before more can be told. */
  | { readonly kind: "need"; readonly bytes: number }
  /** `data` is the memory from page 4 to the end of the message. */
  | { readonly kind: "message"; readonly message: Uint8Array; readonly data: Uint8Array }
  /** `data` is the first 16 bytes from page 4. */
  | {
      readonly kind: "none";
      readonly why: "not-formatted" | "no-message" | "cut-short";
      readonly data: Uint8Array;
    };

const containerBytes = 4;
const dataBytesWithoutMessage = 16;

/** Looks at memory from page 3 on: `read` holds what is known of it. */
export function contentOf(read: Uint8Array): TagContent {
  const enough = containerBytes + dataBytesWithoutMessage;
  if (read.length < enough) return { kind: "need", bytes: enough };
  const area = read.subarray(containerBytes);
  const none = (why: "not-formatted" | "no-message" | "cut-short"): TagContent => ({
    kind: "none",
    why,
    data: area.slice(0, dataBytesWithoutMessage),
  });
  if (read[0] !== 0xe1) return none("not-formatted");
  const found = findMessage(area, Math.min((read[2] ?? 0) * 8, ndefBytesMax));
  if (found.kind === "need") return { kind: "need", bytes: containerBytes + found.bytes };
  if (found.kind === "none") return none(found.why);
  const { start, end } = found;
  return { kind: "message", message: area.slice(start, end), data: area.slice(0, end) };
}

/** The NDEF block that carries `message`, with the end block behind it. */
export function wrapMessage(message: Uint8Array): Uint8Array {
  const { length } = message;
  const header = length < 255 ? [0x03, length] : [0x03, 0xff, length >> 8, length & 0xff];
  return Uint8Array.of(...header, ...message, 0xfe);
}
