/**
 * Emulated tags of ISO/IEC 14443 type A: with memory that can be read and written as the data sheets say (NXP
 * NTAG213/215/216 rev 3.2; MF0ICU1 rev 3.9), or by UID only.
 *
 * A tag is ACTIVE once it was selected. A command that it does not know makes it fall back to IDLE, where it hears
 * nothing but the next selection (MF0ICU1, figure 6; NTAG21x, figure 9).
 */
import { encodeTextMessage } from "../protocol/ndef.ts";
import { pageBytes, tagCommands, wrapMessage } from "../protocol/type2-tag.ts";

export interface EmulatedTag {
  readonly uid: Uint8Array;
  /** As the chip reports it: SENS_RES. */
  readonly atqa: number;
  readonly sak: number;
  /** Without its length byte; empty where the tag has none. */
  readonly ats: Uint8Array;
  /** All pages; empty for tags that are known by UID only. */
  readonly memory: Uint8Array;
  /** Selected by the reader: listens from now on. */
  select(): void;
  /** The answer to a command, "ack" or "nak" where it is one of these four-bit answers, undefined for silence. */
  receive(command: Uint8Array): Uint8Array | "ack" | "nak" | undefined;
}

export type Type2Kind = "ntag213" | "ntag215" | "ntag216" | "ultralight" | "ultralight-ev1";

interface Sheet {
  readonly pages: number;
  /** Data bytes / 8, in the capability container. */
  readonly size: number;
  /** Answer to GET_VERSION; absent where the tag does not know it. */
  readonly version?: readonly number[];
}

const sheets: Readonly<Record<Type2Kind, Sheet>> = {
  ntag213: { pages: 45, size: 0x12, version: [0, 4, 4, 2, 1, 0, 0x0f, 3] },
  ntag215: { pages: 135, size: 0x3e, version: [0, 4, 4, 2, 1, 0, 0x11, 3] },
  ntag216: { pages: 231, size: 0x6d, version: [0, 4, 4, 2, 1, 0, 0x13, 3] },
  ultralight: { pages: 16, size: 0x06 },
  "ultralight-ev1": { pages: 20, size: 0x06, version: [0, 4, 3, 1, 1, 0, 0x0b, 3] },
};

export interface Type2Options {
  /** 7 bytes; the first is the maker's, 04 for NXP. */
  readonly uid: Uint8Array;
  /** An NDEF message of one Text record. */
  readonly text?: string;
  /** An NDEF message as bytes, instead of `text`. */
  readonly message?: Uint8Array;
}

/** Bytes that a message may have on such a tag: the data area less its header and end block. */
export function messageBytesMax(kind: Type2Kind): number {
  const areaBytes = sheets[kind].size * 8;
  return areaBytes - (areaBytes > 255 ? 5 : 3);
}

export function createType2Tag(kind: Type2Kind, { uid, text, message }: Type2Options): EmulatedTag {
  const sheet = sheets[kind];
  const memory = freshMemory(sheet, uid);
  const content = message ?? (text === undefined ? undefined : encodeTextMessage(text));
  if (content !== undefined) memory.set(wrapMessage(content).subarray(0, sheet.size * 8), 4 * pageBytes);
  let active = false;
  /** The page that a compatibility write has named: its data comes next. */
  let pageToWrite: number | undefined;
  const fallBack = () => {
    active = false;
    return undefined;
  };
  const nak = () => {
    active = false;
    return "nak" as const;
  };

  return {
    uid,
    atqa: 0x0044,
    sak: 0x00,
    ats: new Uint8Array(),
    memory,
    select: () => {
      active = true;
    },
    receive(command) {
      if (!active) return undefined;
      const [code, first = 0, second = 0] = command;
      const named = pageToWrite;
      pageToWrite = undefined;
      if (named !== undefined)
        return write(memory, sheet, named, command.subarray(0, pageBytes)) ? "ack" : nak();
      switch (code) {
        case tagCommands.read:
          return first < sheet.pages ? readRolling(memory, first) : nak();
        case tagCommands.getVersion:
          return sheet.version === undefined ? fallBack() : Uint8Array.from(sheet.version);
        case tagCommands.fastRead:
          if (sheet.version === undefined) return fallBack();
          if (first > second || second >= sheet.pages) return nak();
          return memory.slice(first * pageBytes, (second + 1) * pageBytes);
        case tagCommands.compatibilityWrite:
          if (first >= sheet.pages) return nak();
          pageToWrite = first;
          return "ack";
        case tagCommands.write:
          return write(memory, sheet, first, command.subarray(2)) ? "ack" : nak();
        default:
          return fallBack();
      }
    },
  };
}

/** A tag without readable memory: a payment card, a phone, a MIFARE Classic to whoever has no key. */
export function createPlainTag(options: {
  readonly uid: Uint8Array;
  readonly atqa: number;
  readonly sak: number;
  readonly ats?: Uint8Array;
}): EmulatedTag {
  return {
    ...options,
    ats: options.ats ?? new Uint8Array(),
    memory: new Uint8Array(),
    select: () => {},
    receive: () => undefined,
  };
}

/**
 *   page 0  UID0..2, BCC0 = 88 ^ UID0..2      page 1  UID3..6
 *   page 2  BCC1 = UID3..6, internal, lock    page 3  E1 10 size 00
 */
function freshMemory({ pages, size }: Sheet, uid: Uint8Array): Uint8Array {
  const memory = new Uint8Array(pages * pageBytes);
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0] = uid;
  memory.set([a, b, c, 0x88 ^ a ^ b ^ c, d, e, f, g, d ^ e ^ f ^ g, 0x48, 0, 0, 0xe1, 0x10, size, 0x00]);
  memory.set([0x03, 0x00, 0xfe], 4 * pageBytes);
  return memory;
}

/** 16 bytes; behind the last page comes the first again (NTAG21x, 10.2). */
function readRolling(memory: Uint8Array, page: number): Uint8Array {
  return Uint8Array.from(
    { length: 16 },
    (_, index) => memory[(page * pageBytes + index) % memory.length] ?? 0,
  );
}

/** Lock bits (page 2) and one-time bits (page 3) can only be set; pages 0 and 1 cannot be written (NTAG21x, 8.5). */
function write(memory: Uint8Array, sheet: Sheet, page: number, data: Uint8Array): boolean {
  if (page < 2 || page >= sheet.pages || data.length !== pageBytes || isLocked(memory, page)) return false;
  for (const [index, byte] of data.entries()) {
    const at = page * pageBytes + index;
    const old = memory[at] ?? 0;
    if (page === 2) memory[at] = index < 2 ? old : old | byte;
    else memory[at] = page === 3 ? old | byte : byte;
  }
  return true;
}

/** Static lock bytes (page 2, bytes 2 and 3): one bit each for pages 3 to 15. */
function isLocked(memory: Uint8Array, page: number): boolean {
  if (page < 3 || page > 15) return false;
  const bits = (memory[10] ?? 0) | ((memory[11] ?? 0) << 8);
  return (bits & (1 << page)) !== 0;
}
