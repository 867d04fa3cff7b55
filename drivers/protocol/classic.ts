/**
 * MIFARE Classic memory (NXP MF1S50YYX, MF1S70YYX) and the parts that make it an NDEF tag (NXP AN1304 and AN10787),
 * without I/O.
 *
 *   sector 0..31   4 blocks of 16 bytes; sector 32..39 (4K) 16 blocks; the last block of each is its trailer
 *   trailer        key A (6)  access bits (3)  general purpose byte  key B (6)
 *   block 0        UID and the maker's data, for reading only
 *
 * Each group of blocks has three access bits, C1 C2 C3. Groups 0..2 are one data block each, or five in a large sector;
 * group 3 is the trailer. A half byte has one bit of each group, group 0 lowest:
 *
 *   byte 6   inverted C2 (high four bits), inverted C1      byte 7   C1, inverted C3      byte 8   C3, C2
 */
export const classicCommands = { authenticateA: 0x60, authenticateB: 0x61 } as const;
export const blockBytes = 16;

/** Keys that everybody knows (AN1304, 3.2; AN10787, 3.2), and the key of a new tag. */
export const publicKeys = {
  directory: Uint8Array.of(0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5),
  ndef: Uint8Array.of(0xd3, 0xf7, 0xd3, 0xf7, 0xd3, 0xf7),
  transport: Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
} as const;

const smallSectors = 32;
const smallSectorBlocks = 4;
const largeSectorBlocks = 16;

/** The number of sectors, by SAK without the bit that some makers set (AN10833, table 6). */
export function sectorsOf(sak: number): number {
  const sizes: Readonly<Record<number, number>> = { 9: 5, 24: 40, 25: 32 };
  return sizes[sak & 0x1f] ?? 16;
}

export function firstBlockOf(sector: number): number {
  if (sector <= smallSectors) return sector * smallSectorBlocks;
  return smallSectors * smallSectorBlocks + (sector - smallSectors) * largeSectorBlocks;
}

export function trailerOf(sector: number): number {
  return firstBlockOf(sector + 1) - 1;
}

export function sectorOf(block: number): number {
  const smallBlocks = smallSectors * smallSectorBlocks;
  if (block < smallBlocks) return Math.floor(block / smallSectorBlocks);
  return smallSectors + Math.floor((block - smallBlocks) / largeSectorBlocks);
}

/** The blocks of these sectors that hold data, in order; block 0 is not among them. */
export function dataBlocksOf(sectors: readonly number[]): readonly number[] {
  return sectors.flatMap((sector) => {
    const first = Math.max(1, firstBlockOf(sector));
    return Array.from({ length: trailerOf(sector) - first }, (_, index) => first + index);
  });
}

/** Sectors that may hold data; those of the two directories are left out. */
export function applicationSectors(sectors: number): readonly number[] {
  return Array.from({ length: sectors }, (_, sector) => sector).filter(
    (sector) => sector !== 0 && sector !== secondDirectorySector,
  );
}

/** True if sector 16 holds a second directory, for the sectors after it. */
export function hasSecondDirectory(sectors: number): boolean {
  return sectors > secondDirectorySector;
}

export const secondDirectorySector = 16;
const ndefApplication: readonly number[] = [0x03, 0xe1]; // The id E103, low byte first (AN1304, 3.1).
const freeApplication: readonly number[] = [0x00, 0x00];

/**
 * A directory (AN10787, 3.3 to 3.6): the two blocks 1 and 2 for sectors 1..15, the three of sector 16 for 17..39.
 *
 *   offset 0     1                  2..
 *          CRC   publisher sector   application ids, two bytes a sector, low byte first
 *
 *   CRC over everything after it
 */
export interface Directory {
  /** The sectors of the NDEF application, in order. */
  readonly ndefSectors: readonly number[];
  readonly otherSectors: readonly number[];
}

/** Parses a directory; undefined if the sum does not match: it is no directory, or a half-written one. */
export function parseDirectory(bytes: Uint8Array, firstSector: number): Directory | undefined {
  if (bytes.length < blockBytes || crc8(bytes.subarray(1)) !== bytes[0]) return undefined;
  const ndefSectors: number[] = [];
  const otherSectors: number[] = [];
  for (let at = 2; at + 1 < bytes.length; at += 2) {
    const sector = firstSector + at / 2 - 1;
    if (bytes[at] === ndefApplication[0] && bytes[at + 1] === ndefApplication[1]) ndefSectors.push(sector);
    else if (bytes[at] !== freeApplication[0] || bytes[at + 1] !== freeApplication[1])
      otherSectors.push(sector);
  }
  return { ndefSectors, otherSectors };
}

/** A directory in which every sector from `firstSector` to `lastSector` is the NDEF application's. */
export function encodeDirectory(blocks: number, firstSector: number, lastSector: number): Uint8Array {
  const bytes = new Uint8Array(blocks * blockBytes);
  for (let sector = firstSector; sector <= lastSector; sector++)
    bytes.set(ndefApplication, 2 + (sector - firstSector) * 2);
  bytes[0] = crc8(bytes.subarray(1));
  return bytes;
}

/** The sum of a directory: polynomial x^8 + x^4 + x^3 + x^2 + 1, start C7 (AN10787, 3.7). */
function crc8(bytes: Uint8Array): number {
  let crc = 0xc7;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x80) !== 0 ? ((crc << 1) ^ 0x1d) & 0xff : crc << 1;
  }
  return crc;
}

/**
 * The general purpose byte of sector 0. Bit 0x80 means that the tag has a directory, and bit 0x40 that the tag is for
 * several applications. The low two bits are the version of the directory.
 */
export const directoryByte = { first: 0xc1, second: 0xc2 } as const;
const ndefByte = 0x40; // The general purpose byte of an NDEF sector: mapping version 1.0, free to read and write (AN1304, 3.3).

const directoryAccess: readonly number[] = [0x78, 0x77, 0x88]; // Access bits of a directory: blocks are read by key A or B, and written by key B.
const ndefAccess: readonly number[] = [0x7f, 0x07, 0x88]; // Access bits of an NDEF sector: blocks are read and written by key A or B, and the trailer is written by key B.

/** The trailer of a directory's sector, with the transport key as key B. */
export function directoryTrailer(sectors: number): Uint8Array {
  const version = hasSecondDirectory(sectors) ? directoryByte.second : directoryByte.first;
  return Uint8Array.of(...publicKeys.directory, ...directoryAccess, version, ...publicKeys.transport);
}

export function ndefTrailer(): Uint8Array {
  return Uint8Array.of(...publicKeys.ndef, ...ndefAccess, ndefByte, ...publicKeys.transport);
}

/** The access bits of a group: C1 C2 C3 as a number of three bits; undefined if the two copies differ. */
export function accessOf(bytes: Uint8Array, group: number): number | undefined {
  const [six = 0, seven = 0, eight = 0] = bytes.subarray(6, 9);
  const bit = (byte: number, at: number) => (byte >> at) & 1;
  const c1 = bit(seven, 4 + group);
  const c2 = bit(eight, group);
  const c3 = bit(eight, 4 + group);
  const not1 = bit(six, group);
  const not2 = bit(six, 4 + group);
  const not3 = bit(seven, group);
  if (c1 === not1 || c2 === not2 || c3 === not3) return undefined;
  return c1 * 4 + c2 * 2 + c3;
}

/** The group that a block belongs to: 3 is the trailer. */
export function groupOf(block: number): number {
  const sector = sectorOf(block);
  if (block === trailerOf(sector)) return 3;
  const at = block - firstBlockOf(sector);
  return sector < smallSectors ? at : Math.floor(at / 5);
}
