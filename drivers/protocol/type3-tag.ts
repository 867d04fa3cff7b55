/**
 * Type 3 tags, FeliCa Lite-S among them (NFC Forum Type 3 Tag 1.1; JIS X 6319-4; FeliCa Lite-S user's manual), without I/O.
 * A frame's first byte is its length, itself included.
 *
 *   00  system code(2) request code, time slots     01  IDm(8) PMm(8) [system code(2)]
 *   06  IDm(8) services, codes(2 each, low byte first) blocks, block list
 *   07  IDm(8) status(2) blocks, 16 bytes each
 *   08  as 06, and 16 bytes a block                 09  IDm(8) status(2)
 *
 *   block 0, big-endian:
 *   version(1) Nbr(1) Nbw(1) blocks(2) -(4) WriteF(1) RWFlag(1) length(3) sum of the bytes before(2)
 */
import { ndefBytesMax } from "../../src/core/limits.ts";

export const type3BlockBytes = 16;
/** The system code of NFC Forum tags. */
export const ndefSystem = 0x12fc;

const readService = 0x000b;
const writeService = 0x0009;

/** Asks for one tag with this system code, and for that code in the answer. */
export function polling(systemCode: number): Uint8Array {
  return framed(0x00, systemCode >> 8, systemCode & 0xff, 0x01, 0x00);
}

/** A FeliCa: its identifier, its parameters and the system code that it reported. */
export interface PolledFelica {
  readonly idm: Uint8Array;
  readonly pmm: Uint8Array;
  readonly systemCode?: number;
}

/** The answer to a polling: its length, which counts itself, 01, IDm, PMm and, if it was asked for, the system code. */
export function parsePolled(answer: Uint8Array): PolledFelica | undefined {
  if ((answer.length !== 18 && answer.length !== 20) || answer[0] !== answer.length || answer[1] !== 0x01)
    return undefined;
  const polled = { idm: answer.slice(2, 10), pmm: answer.slice(10, 18) };
  return answer.length === 18
    ? polled
    : { ...polled, systemCode: (answer[18] ?? 0) * 256 + (answer[19] ?? 0) };
}

/** Reads `blocks` blocks from `from` on, with numbers up to 255. */
export function readBlocks(idm: Uint8Array, from: number, blocks: number): Uint8Array {
  return framed(0x06, ...idm, 1, readService & 0xff, readService >> 8, blocks, ...blockList(from, blocks));
}

/** The bytes of this many blocks; undefined if the tag refused, or if the frame has another form. */
export function parseRead(answer: Uint8Array, blocks: number): Uint8Array | undefined {
  const bytes = 13 + blocks * type3BlockBytes;
  const isWhole = answer.length === bytes && answer[0] === bytes && answer[1] === 0x07;
  return isWhole && answer[10] === 0 && answer[12] === blocks ? answer.slice(13) : undefined;
}

export function writeBlock(idm: Uint8Array, block: number, bytes: Uint8Array): Uint8Array {
  return framed(0x08, ...idm, 1, writeService & 0xff, writeService >> 8, 1, ...blockList(block, 1), ...bytes);
}

export function isWritten(answer: Uint8Array): boolean {
  return answer.length >= 12 && answer[1] === 0x09 && answer[10] === 0;
}

function blockList(from: number, blocks: number): readonly number[] {
  return Array.from({ length: blocks }, (_, index) => [0x80, from + index]).flat();
}

function framed(...bytes: readonly number[]): Uint8Array {
  return Uint8Array.of(bytes.length + 1, ...bytes);
}

export interface Attributes {
  readonly bytes: Uint8Array;
  readonly readBlocksMax: number;
  /** The number of blocks after this one that may hold a message. */
  readonly blocks: number;
  readonly isBeingWritten: boolean;
  readonly isWritable: boolean;
  readonly messageBytes: number;
}

/** Parses the attributes; undefined if the sum does not match, or the version is another. */
export function parseAttributes(bytes: Uint8Array): Attributes | undefined {
  if (bytes.length !== type3BlockBytes || (bytes[0] ?? 0) >> 4 !== 1) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (sumOf(bytes) !== view.getUint16(14)) return undefined;
  const blocks = Math.min(view.getUint16(3), Math.floor(ndefBytesMax / type3BlockBytes), 0xff);
  const readBlocksMax = view.getUint8(1);
  if (readBlocksMax === 0) return undefined;
  return {
    bytes,
    readBlocksMax,
    blocks,
    isBeingWritten: bytes[9] !== 0x00,
    isWritable: bytes[10] === 0x01,
    messageBytes: view.getUint8(11) * 0x10000 + view.getUint16(12),
  };
}

export function withMessage(
  { bytes }: Attributes,
  state: { readonly isBeingWritten: boolean; readonly messageBytes: number },
): Uint8Array {
  const changed = bytes.slice();
  const { messageBytes } = state;
  changed[9] = state.isBeingWritten ? 0x0f : 0x00;
  changed.set([messageBytes >> 16, (messageBytes >> 8) & 0xff, messageBytes & 0xff], 11);
  return withSum(changed);
}

/** The attributes of a new tag: version 1.0, with this number of blocks, and the numbers that are read and written at once. */
export function freshAttributes(blocks: number, readBlocksMax: number): Uint8Array {
  const bytes = new Uint8Array(type3BlockBytes);
  bytes.set([0x10, readBlocksMax, 1, blocks >> 8, blocks & 0xff]);
  bytes[10] = 1;
  return withSum(bytes);
}

/** The system code of FeliCa Lite and Lite-S. */
export const liteSystem = 0x88b4;
/** The number of S_PADs, S_PAD0 to S_PAD13. The first one holds the attributes. */
export const liteBlocks = 14;
/** The block MC, which is the memory's configuration. */
export const liteConfigurationBlock = 0x88;
const liteReadBlocksMax = 4;
const everyPad = 0x3fff;

/**
 * MC of a FeliCa Lite-S (user's manual, memory configuration), 16 bytes, a bit for each S_PAD, the low byte first:
 *
 *   0..1 may be written   2 FF if the configuration may be   3 01 if it answers to the NFC Forum's system code
 *   6..7 reading needs a key   8..9 writing needs a key   10..11 writing needs a MAC by that key
 */
export interface LiteConfiguration {
  readonly bytes: Uint8Array;
  /** True if all blocks may be read and written without a key. */
  readonly isOpen: boolean;
  readonly isChangeable: boolean;
  readonly answersNdef: boolean;
}

export function parseLiteConfiguration(bytes: Uint8Array): LiteConfiguration | undefined {
  if (bytes.length !== type3BlockBytes) return undefined;
  const writable = ((bytes[0] ?? 0) | ((bytes[1] ?? 0) << 8)) & everyPad;
  return {
    bytes,
    isOpen: writable === everyPad && bytes.subarray(6, 12).every((byte) => byte === 0),
    isChangeable: bytes[2] === 0xff,
    answersNdef: ((bytes[3] ?? 0) & 0x01) !== 0,
  };
}

/** The same configuration, in which the tag also answers to the NFC Forum's system code. */
export function withNdefAnswers({ bytes }: LiteConfiguration): Uint8Array {
  const changed = bytes.slice();
  changed[3] = 0x01;
  return changed;
}

/** The attributes of a FeliCa Lite without a message. */
export function attributesOfLite(): Uint8Array {
  return freshAttributes(liteBlocks - 1, liteReadBlocksMax);
}

/** True for S_PADs with zeros, as they leave the factory, and for a torn write of `attributesOfLite`. */
export function isAsNew(memory: Uint8Array): boolean {
  const attributes = attributesOfLite();
  return memory.every((byte, at) => byte === 0 || byte === attributes[at]);
}

/** Sets the sum of the attributes in place. */
export function withSum(bytes: Uint8Array): Uint8Array {
  const sum = sumOf(bytes);
  bytes.set([sum >> 8, sum & 0xff], 14);
  return bytes;
}

function sumOf(bytes: Uint8Array): number {
  return bytes.subarray(0, 14).reduce((sum, byte) => sum + byte, 0);
}
