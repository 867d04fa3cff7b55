/**
 * The commands of an active Type 2 tag (NTAG21x section 10, MF0ULx1 section 10, MF0ICU1 section 7.6), and the differences
 * of the kinds. Sources: MF0ICU1 rev 3.9 (Ultralight), MF0ULx1 rev 3.3 (EV1), MF0ICU2 rev 3.2 (C), NTAG213/215/216 rev 3.2.
 *
 *   30 page             16 bytes, from the first page on again after the last
 *   3A from to          the pages from..to
 *   A2 page d0..d3      four bits: A done, 0 refused
 *   A0 page, then 16    as A2 with the first four of them
 *   60                  version         1B pwd   PACK        39 n   counter        3C 00   signature
 *
 * A refused or unknown command returns the tag to the state that it was woken from. NTAG and EV1 answer with four bits; a
 * plain Ultralight does not answer a command that it does not know.
 */
import { type DynamicLock, pageBytes, tagCommands } from "../../drivers/protocol/type2-tag.ts";
import type { TagAnswer, Understood } from "./type-a.ts";

const passwordAuth = 0x1b;
const readCounter = 0x39;
const readSignature = 0x3c;
const writeMs = 4.1; // The time of programming one page (NTAG21x, table 4: typical EEPROM write time).
const signatureBytes = 32;
const counterEnabled = 0x10; // A bit of ACCESS (NTAG21x, table 11).
const protectsReading = 0x80;

export function createType2Commands(sheet: Type2Sheet, memory: Uint8Array) {
  let isAuthenticated = false;
  /** The target page of a compatibility write, whose 16 bytes follow in the next frame. */
  let compatibilityPage: number | undefined;
  let tornBytes: number | undefined;

  const readable = () => (isAuthenticated ? sheet.pages : firstUnreadablePage(sheet, memory));
  const write = (page: number, data: Uint8Array): Understood => {
    if (!isAuthenticated && page >= firstProtectedPage(sheet, memory)) return refused;
    if (tornBytes !== undefined) {
      const old = memory.slice(page * pageBytes, (page + 1) * pageBytes);
      writeMemory(
        sheet,
        memory,
        page,
        Uint8Array.of(...data.subarray(0, tornBytes), ...old.subarray(tornBytes)),
      );
      tornBytes = undefined;
      return silent;
    }
    return writeMemory(sheet, memory, page, data) ? done : refused;
  };
  const authenticate = (password: Uint8Array): Understood => {
    const { configPage } = sheet;
    if (configPage === undefined) return silent;
    const config = memory.subarray(configPage * pageBytes);
    isAuthenticated = password.length === 4 && password.every((byte, index) => byte === config[8 + index]);
    return isAuthenticated ? data(config.slice(12, 14)) : refused;
  };
  const count = (address: number): Understood => {
    if (!sheet.counters.includes(address)) return sheet.counters.length === 0 ? silent : refused;
    const access = memory[((sheet.configPage ?? 0) + 1) * pageBytes] ?? 0;
    const counts = sheet.counters.length > 1 || (access & counterEnabled) !== 0;
    return counts ? data(new Uint8Array(3)) : refused;
  };

  return {
    tearNextWrite(bytes: number) {
      tornBytes = bytes;
    },
    forget() {
      isAuthenticated = false;
      compatibilityPage = undefined;
    },
    understand(command: Uint8Array): Understood {
      const [code, first = 0, second = 0] = command;
      if (compatibilityPage !== undefined) {
        const page = compatibilityPage;
        compatibilityPage = undefined;
        return command.length === 16 ? write(page, command.subarray(0, pageBytes)) : refused;
      }
      switch (code) {
        case tagCommands.read:
          return first < readable() ? data(readRolling(sheet, memory, first, readable())) : refused;
        case tagCommands.write:
          return write(first, command.subarray(2));
        case tagCommands.compatibilityWrite:
          if (first < 2 || first >= sheet.pages) return refused;
          compatibilityPage = first;
          return { ...done, answer: fourBits(0xa) };
      }
      if (sheet.version === undefined) return silent;
      switch (code) {
        case tagCommands.getVersion:
          return data(Uint8Array.from(sheet.version));
        case tagCommands.fastRead:
          if (sheet.knowsFastRead === false) return refused;
          if (first > second || second >= readable()) return refused;
          return data(masked(sheet, memory).slice(first * pageBytes, (second + 1) * pageBytes));
        case passwordAuth:
          return authenticate(command.subarray(1));
        case readCounter:
          return count(first);
        case readSignature:
          // A real signature is made with the maker's key; this one is zeros.
          return data(new Uint8Array(signatureBytes));
        default:
          return refused;
      }
    },
  };
}

const silent: Understood = { answer: undefined, fall: true };
const refused: Understood = { answer: fourBits(0x0), fall: true };
const done: Understood = { answer: fourBits(0xa, writeMs), fall: false };

function fourBits(value: number, workMs = 0): TagAnswer {
  return { kind: "four-bits", value, workMs };
}

function data(bytes: Uint8Array): Understood {
  return { answer: { kind: "frame", bytes, hasCrc: true }, fall: false };
}

/** Reads 16 bytes. The page after the last readable one is the first one. */
function readRolling(sheet: Type2Sheet, memory: Uint8Array, page: number, pages: number): Uint8Array {
  const shown = masked(sheet, memory);
  const at = (index: number) => (page * pageBytes + index) % (pages * pageBytes);
  return Uint8Array.from({ length: 16 }, (_, index) => shown[at(index)] ?? 0);
}

/** The memory in which the password and PACK read as zeros. */
function masked({ configPage }: Type2Sheet, memory: Uint8Array): Uint8Array {
  return configPage === undefined ? memory : memory.slice().fill(0, (configPage + 2) * pageBytes);
}

/** AUTH0, which is the first page that needs the password or the key. */
function firstProtectedPage({ configPage, keyGuard, pages }: Type2Sheet, memory: Uint8Array): number {
  if (keyGuard !== undefined) return Math.min(pages, memory[keyGuard.page * pageBytes] ?? pages);
  return configPage === undefined ? pages : Math.min(pages, memory[configPage * pageBytes + 3] ?? pages);
}

function firstUnreadablePage(sheet: Type2Sheet, memory: Uint8Array): number {
  if (sheet.keyGuard !== undefined) {
    const { page, readablePages } = sheet.keyGuard;
    const isForWriting = ((memory[(page + 1) * pageBytes] ?? 0) & 1) === 1;
    return isForWriting ? readablePages : Math.min(readablePages, firstProtectedPage(sheet, memory));
  }
  const access = memory[((sheet.configPage ?? 0) + 1) * pageBytes] ?? 0;
  const guards = sheet.configPage !== undefined && (access & protectsReading) !== 0;
  return guards ? firstProtectedPage(sheet, memory) : sheet.pages;
}

/**
 * Writes a page. Returns false if the page belongs to the maker, is locked, or does not exist. Lock bits and one-time bits
 * can only be set.
 */
function writeMemory(sheet: Type2Sheet, memory: Uint8Array, page: number, bytes: Uint8Array): boolean {
  if (page < 2 || page >= sheet.pages || bytes.length !== pageBytes) return false;
  if (isLocked(sheet, memory, page)) return false;
  const target = memory.subarray(page * pageBytes, (page + 1) * pageBytes);
  const old = target.slice();
  if (page === 2) target.set(setStaticLocks(old, bytes));
  else if (page === 3) target.set(old.map((byte, index) => byte | (bytes[index] ?? 0)));
  else if (page === sheet.dynamicLock?.page)
    target.set((sheet.keyGuard === undefined ? setDynamicLocks : setPlainLocks)(old, bytes));
  else target.set(bytes);
  return true;
}

/**
 * Static lock bytes (page 2, bytes 2 and 3), as sixteen bits with byte 2 low: bit n locks page n from 3 on. Bit 0 freezes
 * bit 3, bit 1 those of pages 4 to 9, bit 2 those of pages 10 to 15 (NTAG21x 8.5.2, MF0ICU1 7.5.2).
 */
function setStaticLocks(old: Uint8Array, bytes: Uint8Array): Uint8Array {
  const bits = (old[2] ?? 0) | ((old[3] ?? 0) << 8);
  const wanted = (bytes[2] ?? 0) | ((bytes[3] ?? 0) << 8);
  const frozen = (bits & 1 ? 0x0008 : 0) | (bits & 2 ? 0x03f0 : 0) | (bits & 4 ? 0xfc00 : 0);
  const next = bits | (wanted & ~frozen);
  return Uint8Array.of(old[0] ?? 0, old[1] ?? 0, next & 0xff, next >> 8);
}

/** The new lock bits. Bits that are set stay set. The freezing bits of an Ultralight C are not emulated. */
function setPlainLocks(old: Uint8Array, bytes: Uint8Array): Uint8Array {
  return old.map((byte, index) => byte | (bytes[index] ?? 0));
}

/** Dynamic lock bytes 0 and 1; each bit of byte 2 freezes two of their bits; byte 3 is fixed (NTAG21x 8.5.3). */
function setDynamicLocks(old: Uint8Array, bytes: Uint8Array): Uint8Array {
  const bits = (old[0] ?? 0) | ((old[1] ?? 0) << 8);
  let wanted = (bytes[0] ?? 0) | ((bytes[1] ?? 0) << 8);
  for (let pair = 0; pair < 8; pair++) if (((old[2] ?? 0) >> pair) & 1) wanted &= ~(3 << (2 * pair));
  const next = bits | wanted;
  return Uint8Array.of(next & 0xff, next >> 8, (old[2] ?? 0) | (bytes[2] ?? 0), old[3] ?? 0);
}

function isLocked({ dynamicLock }: Type2Sheet, memory: Uint8Array, page: number): boolean {
  if (page < 3) return false;
  if (page < 16) return ((((memory[10] ?? 0) | ((memory[11] ?? 0) << 8)) >> page) & 1) === 1;
  if (dynamicLock === undefined || page >= dynamicLock.page) return false;
  const at = dynamicLock.page * pageBytes;
  const group = Math.floor((page - 16) / dynamicLock.pagesPerBit);
  const bit = dynamicLock.bits === undefined ? group : (dynamicLock.bits[group] ?? 16);
  return ((((memory[at] ?? 0) | ((memory[at + 1] ?? 0) << 8)) >> bit) & 1) === 1;
}

export interface Type2Sheet {
  readonly pages: number;
  /** Bytes of user memory from page 4 on, as in the capability container. */
  readonly areaBytes: number;
  /** True if the tag leaves the factory as a Type 2 tag with an empty message. */
  readonly comesFormatted: boolean;
  /** Blocks that stand before the message. */
  readonly leadingBlocks: readonly number[];
  /** The answer to GET_VERSION; absent if neither that command nor FAST_READ is known. */
  readonly version?: readonly number[];
  /** False if the tag reports a version, and does not know FAST_READ. */
  readonly knowsFastRead?: false;
  readonly dynamicLock?: DynamicLock;
  /** The page of CFG0. CFG1, PWD and PACK follow it. */
  readonly configPage?: number;
  /**
   * AUTH0 is the first byte of this page, and AUTH1 that of the next one (1 means for writing only). The keys can never
   * be read.
   */
  readonly keyGuard?: { readonly page: number; readonly readablePages: number };
  /** Counters that READ_CNT reads, by address. */
  readonly counters: readonly number[];
}

export const type2Sheets = {
  ultralight: { pages: 16, areaBytes: 48, comesFormatted: false, leadingBlocks: [], counters: [] },
  "ultralight-ev1": {
    pages: 20,
    areaBytes: 48,
    comesFormatted: false,
    leadingBlocks: [],
    version: [0x00, 0x04, 0x03, 0x01, 0x01, 0x00, 0x0b, 0x03],
    configPage: 16,
    counters: [0, 1, 2],
  },
  "ultralight-ev1-128": {
    pages: 41,
    areaBytes: 128,
    comesFormatted: false,
    leadingBlocks: [],
    version: [0x00, 0x04, 0x03, 0x01, 0x01, 0x00, 0x0e, 0x03],
    dynamicLock: { page: 0x24, pagesPerBit: 2 },
    configPage: 0x25,
    counters: [0, 1, 2],
  },
  "ultralight-c": {
    pages: 48,
    areaBytes: 144,
    comesFormatted: false,
    leadingBlocks: [],
    // Bits 0 and 4 freeze the others (MF0ICU2, 7.5.3).
    dynamicLock: { page: 0x28, pagesPerBit: 4, bits: [1, 2, 3, 5, 6, 7] },
    keyGuard: { page: 0x2a, readablePages: 44 },
    counters: [],
  },
  // NT2L1001, rev 3.0: no dynamic lock bits and no configuration. That the chip refuses FAST_READ is an assumption.
  ntag210u: {
    pages: 16,
    areaBytes: 48,
    comesFormatted: true,
    leadingBlocks: [],
    version: [0x00, 0x04, 0x04, 0x01, 0x02, 0x00, 0x0b, 0x03],
    knowsFastRead: false,
    counters: [],
  },
  ntag213: {
    pages: 45,
    areaBytes: 144,
    comesFormatted: true,
    leadingBlocks: [0x01, 0x03, 0xa0, 0x0c, 0x34], // A lock control block, which gives the place of the dynamic lock bits (NTAG21x 8.5.6).
    version: [0x00, 0x04, 0x04, 0x02, 0x01, 0x00, 0x0f, 0x03],
    dynamicLock: { page: 0x28, pagesPerBit: 2 },
    configPage: 0x29,
    counters: [2],
  },
  ntag215: {
    pages: 135,
    areaBytes: 496,
    comesFormatted: true,
    leadingBlocks: [],
    version: [0x00, 0x04, 0x04, 0x02, 0x01, 0x00, 0x11, 0x03],
    dynamicLock: { page: 0x82, pagesPerBit: 16 },
    configPage: 0x83,
    counters: [2],
  },
  ntag216: {
    pages: 231,
    areaBytes: 872,
    comesFormatted: true,
    leadingBlocks: [],
    version: [0x00, 0x04, 0x04, 0x02, 0x01, 0x00, 0x13, 0x03],
    dynamicLock: { page: 0xe2, pagesPerBit: 16 },
    configPage: 0xe3,
    counters: [2],
  },
} as const satisfies Readonly<Record<string, Type2Sheet>>;

export type Type2Kind = keyof typeof type2Sheets;

export const type2Kinds: readonly Type2Kind[] = [
  "ultralight",
  "ultralight-ev1",
  "ultralight-ev1-128",
  "ultralight-c",
  "ntag210u",
  "ntag213",
  "ntag215",
  "ntag216",
];
