/**
 * The memory of Type 2 tags, without I/O (NFC Forum Type 2 Tag 1.1; NXP NTAG21x 8.5, MF0ULx1 8.5, MF0ICU1 7.5, MF0ICU2 7.5).
 * The functions find the bytes to read next, the message, the data area, the lock bits and the password.
 *
 *   page 0..2  UID, check bytes, lock bytes (4 bytes a page)
 *   page 3     capability container: E1, version, data bytes / 8, access
 *   page 4...  TLV blocks
 */
import { ndefBytesMax } from "../../src/core/limits.ts";
import { findMessage, ndefBlock, tlvTag } from "./tlv.ts";

export const tagCommands = {
  read: 0x30,
  fastRead: 0x3a,
  getVersion: 0x60,
  /** The write command of MIFARE Classic readers: a page number, an ACK, then 16 bytes, of which the tag stores four. */
  compatibilityWrite: 0xa0,
  write: 0xa2,
} as const;

export const pageBytes = 4;
/** Reading starts at the capability container. */
export const firstPage = 3;

/** The answer to GET_VERSION (NTAG21x section 10.1, MF0ULx1 section 10.1). */
export interface TagVersion {
  readonly family: "NTAG" | "Ultralight";
  /** The number of all pages of the tag, configuration included. */
  readonly pages: number;
  /** True if the tag does not know FAST_READ, or perhaps does not. */
  readonly lacksFastRead?: true;
}

/**
 * Parses the eight bytes of a version: 00, vendor, product (03 Ultralight, 04 NTAG), subtype, major, minor, storage
 * size, protocol.
 */
export function parseVersion(answer: Uint8Array): TagVersion | undefined {
  const [, , product = 0, , major = 0, , size = 0] = answer;
  if (answer.length !== 8 || (product !== 0x03 && product !== 0x04)) return undefined;
  const family = product === 0x04 ? "NTAG" : "Ultralight";
  if (size === smallSize && major === 0x02)
    return { family, pages: smallChips[family].pages, lacksFastRead: true };
  const pages = chips.get(size)?.pages;
  return pages === undefined ? undefined : { family, pages };
}

export type TagContent =
  /** The search needs this many bytes from page 3 on. */
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

/** Examines memory from page 3 on. `read` holds the known bytes. */
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

/** The NDEF block that carries `message`, with the end block after it. */
export function wrapMessage(message: Uint8Array): Uint8Array {
  return Uint8Array.of(...ndefBlock(message), tlvTag.end);
}

export interface DynamicLock {
  readonly page: number;
  /** The number of pages from 16 on that one bit locks. */
  readonly pagesPerBit: number;
  /** The bits in order; absent if they follow one another from 0 on. */
  readonly bits?: readonly number[];
}

export interface Type2Layout {
  /** The bytes of the data area in the capability container of a new tag; a multiple of 8. */
  readonly areaBytes: number;
  /** The bytes from page 4 on that are neither lock bits nor configuration. */
  readonly areaBytesMax: number;
  readonly dynamicLock?: DynamicLock;
  /** The page of AUTH0, and its byte in that page. */
  readonly configPage?: number;
  readonly auth0At?: number;
}

const firstAreaPage = 4;
const pageNumbers = 256; // A page number is one byte (Type 2 Tag 1.1, 5.4).

interface ChipLayout extends Omit<Type2Layout, "areaBytesMax"> {
  readonly pages: number;
}

/** The chips by the storage size byte of their answer to GET_VERSION. */
const chips: ReadonlyMap<number, ChipLayout> = new Map([
  [0x0b, { pages: 20, areaBytes: 48, configPage: 0x10 }], // NTAG210, MF0UL11
  [0x0e, { pages: 41, areaBytes: 128, dynamicLock: { page: 0x24, pagesPerBit: 2 }, configPage: 0x25 }], // NTAG212, MF0UL21
  [0x0f, { pages: 45, areaBytes: 144, dynamicLock: { page: 0x28, pagesPerBit: 2 }, configPage: 0x29 }], // NTAG213
  [0x11, { pages: 135, areaBytes: 496, dynamicLock: { page: 0x82, pagesPerBit: 16 }, configPage: 0x83 }], // NTAG215
  [0x13, { pages: 231, areaBytes: 872, dynamicLock: { page: 0xe2, pagesPerBit: 16 }, configPage: 0xe3 }], // NTAG216
]);
/**
 * The chips with the storage size of an NTAG210 and the major version 02 (NT2L1001, 9.5; MF0UN). They have no configuration,
 * and few READs read all of their memory, so FAST_READ is not needed.
 */
const smallSize = 0x0b;
const smallChips: Readonly<Record<TagVersion["family"], ChipLayout>> = {
  NTAG: { pages: 16, areaBytes: 48 }, // NTAG 210u
  Ultralight: { pages: 14, areaBytes: 40 }, // Ultralight Nano
};
/**
 * An Ultralight C and an NTAG203 report no version, so the size of their data area identifies them. The latter has no page
 * for AUTH0, and refuses to read it (MF0ICU2, 7.5; NTAG203, 8.5).
 */
const withoutVersion: ReadonlyMap<number, Omit<Type2Layout, "areaBytesMax">> = new Map([
  [
    144,
    {
      areaBytes: 144,
      dynamicLock: { page: 0x28, pagesPerBit: 4, bits: [1, 2, 3, 5, 6, 7] },
      configPage: 0x2a,
      auth0At: 0,
    },
  ],
]);
const smallestAreaBytes = 48; // The size of the data area of an Ultralight, which is the smallest of any Type 2 tag (Type 2 Tag 1.1, 2.1).

/** Without a version the container decides on the kind of tag. A tag without a container counts as an Ultralight. */
export function layoutOf(version: TagVersion | undefined, container: Uint8Array): Type2Layout {
  const known = [...chips.values(), ...Object.values(smallChips)].find(
    ({ pages }) => pages === version?.pages,
  );
  if (known !== undefined) {
    const { pages, ...layout } = known;
    const end = layout.dynamicLock?.page ?? layout.configPage ?? pages;
    return { ...layout, areaBytesMax: (end - firstAreaPage) * pageBytes };
  }
  const told = isFormatted(container) ? (container[2] ?? 0) * 8 : smallestAreaBytes;
  const larger = withoutVersion.get(told);
  if (larger !== undefined) return { ...larger, areaBytesMax: told };
  return { areaBytes: told, areaBytesMax: Math.min(told, (pageNumbers - firstAreaPage) * pageBytes) };
}

interface Container {
  /** False if the container must be written before the tag is an NDEF tag. */
  readonly isFormatted: boolean;
  /** The bytes of the data area from page 4 on, if the tag has them. */
  readonly areaBytes: number;
}

/** Parses a capability container: E1, version 1.x, data bytes / 8, access (Type 2 Tag 1.1, 6.1). */
export function containerOf(container: Uint8Array, layout: Type2Layout): Container {
  if (!isFormatted(container)) return { isFormatted: false, areaBytes: layout.areaBytes };
  return { isFormatted: true, areaBytes: Math.min((container[2] ?? 0) * 8, layout.areaBytesMax) };
}

function isFormatted([magic = 0, version = 0, size = 0]: Uint8Array): boolean {
  return magic === 0xe1 && version >> 4 === 1 && size > 0;
}

/** True if the low four bits of the access byte are not 0. Then the tag is read-only, or the access is proprietary. */
export function isReadOnly(container: Uint8Array): boolean {
  return ((container[3] ?? 0) & 0x0f) !== 0;
}

/**
 * True if no lock bit prevents a write. The static lock bits are bytes 2 and 3 of page 2, with byte 2 low: bit n locks
 * page n, from page 3 on. The dynamic lock bits are two bytes, low first: each bit locks several pages, from page 16 on.
 */
export function unlockedPage(
  page: number,
  memory: Uint8Array,
  { dynamicLock }: Type2Layout,
  dynamicLocks: Uint8Array | undefined,
): boolean {
  if (page < 16) return ((bitsAt(memory, 2 * pageBytes + 2) >> page) & 1) === 0;
  if (dynamicLock === undefined || dynamicLocks === undefined) return true;
  const group = Math.floor((page - 16) / dynamicLock.pagesPerBit);
  const bit = dynamicLock.bits === undefined ? group : (dynamicLock.bits[group] ?? 16);
  return ((bitsAt(dynamicLocks, 0) >> bit) & 1) === 0;
}

function bitsAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}
