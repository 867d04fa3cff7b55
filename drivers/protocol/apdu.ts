/**
 * Commands that a contactless reader runs itself, in the form of APDUs, without I/O. Sources: PC/SC part 3, 3.2.2; ACR122U
 * Application Programming Interface 2.04, sections 4 to 6.
 *
 *   FF CA 00 00 00             UID                       FF CA 01 00 00   historical bytes
 *   FF B0 hi lo 10             16 bytes from a block     FF D6 hi lo Lc data   write a block
 *   FF 82 00 slot 06 key       store a key               FF 86 00 00 05 01 hi lo kind slot   authenticate
 *
 *   of the ACR122U alone
 *   FF 00 48 00 00             firmware, as text without status bytes
 *   FF 00 51 flags 00          what it polls for         FF 00 52 00|FF 00   buzzer when a card comes
 *   FF 00 40 P2 04 T1 T2 times link    lights and buzzer; answer 90 and the lights, once all blinking is over
 *   FF 00 00 00 Lc D4 ...      to the PN532 in it; answer D5 ... 90 00
 *   FF C0 00 00 Le             the rest of an answer that an old one announced with 61 Le
 */

export const getUid: Uint8Array = Uint8Array.of(0xff, 0xca, 0x00, 0x00, 0x00);

export function pcscReadBinary(block: number, bytes: number): Uint8Array {
  return Uint8Array.of(0xff, 0xb0, block >> 8, block & 0xff, bytes);
}

export function pcscUpdateBinary(block: number, data: Uint8Array): Uint8Array {
  return Uint8Array.of(0xff, 0xd6, block >> 8, block & 0xff, data.length, ...data);
}

/** Stores a key of six bytes in slot 0 of the reader's volatile memory. */
export function loadKey(key: Uint8Array): Uint8Array {
  return Uint8Array.of(0xff, 0x82, 0x00, 0x00, key.length, ...key);
}

/** Authenticates the sector that `block` is in, with the key of slot 0. */
export function generalAuthenticate(block: number, kind: "A" | "B"): Uint8Array {
  const type = kind === "A" ? 0x60 : 0x61;
  return Uint8Array.of(0xff, 0x86, 0x00, 0x00, 0x05, 0x01, block >> 8, block & 0xff, type, 0x00);
}

export const acrFirmware: Uint8Array = Uint8Array.of(0xff, 0x00, 0x48, 0x00, 0x00);

/**
 * The bits of the kinds of tags that the reader looks for. The value 80 polls by itself, 40 activates 14443-4, 20 polls
 * each 250 ms, 10 and 08 are FeliCa at 424 and 212, 04 Topaz, 02 type B, and 01 type A.
 */
export const pollFlags = {
  auto: 0x80,
  iso14443Part4: 0x40,
  quarterSecond: 0x20,
  felica424: 0x10,
  felica212: 0x08,
  typeA: 0x01,
} as const;

export function acrPolling(flags: number): Uint8Array {
  return Uint8Array.of(0xff, 0x00, 0x51, flags, 0x00);
}

export function acrBuzzer(sounds: boolean): Uint8Array {
  return Uint8Array.of(0xff, 0x00, 0x52, sounds ? 0xff : 0x00, 0x00);
}

/**
 * The times on and off in tenths of a second, the number of blinks, and whether the buzzer sounds with each. The reader
 * takes no command for 400 ms.
 */
const acrBlinks = { failed: [3, 1, 1, 1], written: [1, 1, 2, 1] } as const;

/**
 * Blinks red or green with the buzzer. Then the light is green, as it is while a card is present (API 2.04, section 6.2).
 *
 *   P2    low half   the lights in the end: red 01, green 02; which of them are set: red 04, green 08
 *         high half  the lights at first: red 10, green 20; which of them blink: red 40, green 80
 */
export function acrSignal(kind: "failed" | "written"): Uint8Array {
  const blinking = kind === "failed" ? 0x10 | 0x40 : 0x20 | 0x80;
  return Uint8Array.of(0xff, 0x00, 0x40, blinking | 0x02 | 0x04 | 0x08, 0x04, ...acrBlinks[kind]);
}

/** The longest command for the PN532 that fits into one APDU, in bytes. */
export const directBytesMax = 255;

export function directTransmit(command: Uint8Array): Uint8Array {
  return Uint8Array.of(0xff, 0x00, 0x00, 0x00, command.length, ...command);
}

export function getResponse(bytes: number): Uint8Array {
  return Uint8Array.of(0xff, 0xc0, 0x00, 0x00, bytes);
}

/** An answer: data, and the two status bytes after it as one number. */
interface ApduAnswer {
  readonly data: Uint8Array;
  readonly status: number;
}

export const apduDone = 0x9000;

/** The parts of an answer; undefined if there are no status bytes. */
export function parseApdu(bytes: Uint8Array): ApduAnswer | undefined {
  const [high, low] = bytes.subarray(-2);
  if (high === undefined || low === undefined) return undefined;
  return { data: bytes.subarray(0, -2), status: high * 256 + low };
}

/** The number of bytes that wait to be fetched by `getResponse`; undefined if none do. */
export function waitingBytes({ status }: ApduAnswer): number | undefined {
  return status >> 8 === 0x61 ? status & 0xff : undefined;
}

/** The card of a contactless reader, from its answer to reset (PC/SC part 3, 3.1.3.2.3). */
type CardKind =
  /** `card` is the name in the supplement to part 3: 0001 Classic 1K, 0002 Classic 4K, 0003 Ultralight, 0026 Mini. */
  | { readonly kind: "storage"; readonly card: number }
  | { readonly kind: "processor"; readonly historicalBytes: Uint8Array };

const rid = [0xa0, 0x00, 0x00, 0x03, 0x06];

/**
 *   3B 8n 80 01  then n historical bytes and a sum; those of a storage card are
 *   80 4F 0C  A0 00 00 03 06  SS  NN NN  0 0 0 0     the kind of bytes, a tag with its length, an application's name
 */
export function cardKindOf(atr: Uint8Array): CardKind | undefined {
  const [start, format = 0] = atr;
  if (start !== 0x3b || atr.length < 5 || format >> 4 !== 0x8) return undefined;
  const historicalBytes = atr.slice(4, 4 + (format & 0x0f));
  const isStorage =
    historicalBytes[0] === 0x80 &&
    historicalBytes[1] === 0x4f &&
    rid.every((byte, index) => historicalBytes[3 + index] === byte);
  if (!isStorage) return { kind: "processor", historicalBytes };
  return { kind: "storage", card: (historicalBytes[9] ?? 0) * 256 + (historicalBytes[10] ?? 0) };
}

/**
 * The SAK of a storage card by its name, for cards whose memory is known (AN10833, section 3). For other cards, readers of
 * ACS have the name FF with the SAK after it (ACR1281U, PICC interface, 1.1). Undefined for a card that is neither, and for
 * a SAK of 14443-4, whose card is no storage card.
 */
export function sakOfCard(card: number): number | undefined {
  const sak = card & 0xff;
  return sakByCard.get(card) ?? (card >> 8 === 0xff && (sak & 0x20) === 0 ? sak : undefined);
}

const sakByCard: ReadonlyMap<number, number> = new Map([
  [0x0001, 0x08],
  [0x0002, 0x18],
  [0x0003, 0x00],
  [0x0026, 0x09],
  [0x003a, 0x00], // The name of Ultralight C.
  [0x003d, 0x00], // The name of Ultralight EV1.
]);
