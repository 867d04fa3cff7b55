/**
 * What sets the Type 2 tags of one maker apart, from their data sheets: MF0ICU1 rev 3.9 (Ultralight), MF0ULx1 rev 3.3
 * (Ultralight EV1), MF0ICU2 rev 3.2 (Ultralight C) and NTAG213/215/216 rev 3.2.
 */
export interface DynamicLock {
  readonly page: number;
  /** Pages from 16 on that each bit locks. */
  readonly pagesPerBit: number;
  /** The bits in order; absent where they follow one another from 0 on. */
  readonly bits?: readonly number[];
}

export interface Type2Sheet {
  readonly pages: number;
  /** Bytes of user memory from page 4 on that the capability container tells. */
  readonly areaBytes: number;
  /** True where it leaves the factory as a Type 2 tag with an empty message. */
  readonly comesFormatted: boolean;
  /** Blocks that stand before the message. */
  readonly leadingBlocks: readonly number[];
  /** Answer to GET_VERSION; absent where neither that nor FAST_READ is known. */
  readonly version?: readonly number[];
  readonly dynamicLock?: DynamicLock;
  /** CFG0; CFG1, PWD and PACK follow. */
  readonly configPage?: number;
  /** AUTH0 is the first byte of this page, AUTH1 of the next (1: for writing only); the keys can never be read. */
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
    // Bits 0 and 4 keep the others as they are (MF0ICU2, 7.5.3).
    dynamicLock: { page: 0x28, pagesPerBit: 4, bits: [1, 2, 3, 5, 6, 7] },
    keyGuard: { page: 0x2a, readablePages: 44 },
    counters: [],
  },
  ntag213: {
    pages: 45,
    areaBytes: 144,
    comesFormatted: true,
    leadingBlocks: [0x01, 0x03, 0xa0, 0x0c, 0x34], // Where the dynamic lock bits stand (NTAG21x 8.5.6).
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
  "ntag213",
  "ntag215",
  "ntag216",
];
