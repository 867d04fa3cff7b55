/**
 * The TLV blocks that carry a message on Type 2 tags and on MIFARE Classic, without I/O (NFC Forum Type 2 Tag 1.1, 2.3; NXP
 * AN1304, 2.4). They give the place of a message, the place for a new one, and the order of the writes.
 *
 *   00 null, 01 lock control, 02 memory control, 03 NDEF message, FD proprietary, FE end
 *   length in one byte, or FF and two bytes big-endian; null and end have none
 */
type FoundMessage =
  /** The search needs this many bytes of the area. */
  | { readonly kind: "need"; readonly bytes: number }
  /** The message is area[start..end). */
  | { readonly kind: "message"; readonly start: number; readonly end: number }
  | { readonly kind: "none"; readonly why: "no-message" | "cut-short" };

/** The first NDEF message of a data area of `areaBytes` bytes. `area` holds the bytes of it that were read so far. */
export function findMessage(area: Uint8Array, areaBytes: number): FoundMessage {
  for (let at = 0; at < areaBytes; ) {
    const found = blockAt(area, at, areaBytes);
    if (found.kind === "need") return found;
    if (found.kind === "cut-short") return { kind: "none", why: "cut-short" };
    if (found.tag === tlvTag.end) break;
    if (found.tag === tlvTag.ndef) {
      if (found.end > area.length) return { kind: "need", bytes: found.end };
      if (found.end === found.start) break;
      return { kind: "message", start: found.start, end: found.end };
    }
    at = found.end;
  }
  return { kind: "none", why: "no-message" };
}

type Block =
  | { readonly kind: "need"; readonly bytes: number }
  | { readonly kind: "cut-short" }
  | { readonly kind: "block"; readonly tag: number; readonly start: number; readonly end: number };

function blockAt(area: Uint8Array, at: number, areaBytes: number): Block {
  const [tag, short, high, low] = area.subarray(at, at + 4);
  if (tag === undefined) return { kind: "need", bytes: at + 1 };
  if (tag === tlvTag.null || tag === tlvTag.end) return { kind: "block", tag, start: at + 1, end: at + 1 };
  const headerBytes = short === 0xff ? 4 : 2;
  if (at + headerBytes > areaBytes) return { kind: "cut-short" };
  if (short === undefined) return { kind: "need", bytes: at + 2 };
  if (short === 0xff && (high === undefined || low === undefined)) return { kind: "need", bytes: at + 4 };
  const length = short === 0xff ? (high ?? 0) * 256 + (low ?? 0) : short;
  const start = at + headerBytes;
  if (start + length > areaBytes) return { kind: "cut-short" };
  return { kind: "block", tag, start, end: start + length };
}

export const tlvTag = {
  null: 0x00,
  lockControl: 0x01,
  memoryControl: 0x02,
  ndef: 0x03,
  own: 0xfd,
  end: 0xfe,
} as const;

/**
 * The offset in the area of the message's block, or of the place for a new block. The area begins at byte `areaAt` of the
 * memory. The result is "other-data" if the blocks are malformed, and "reserved-bytes" if they reserve bytes within the area.
 */
export function placeOfMessage(area: Uint8Array, areaAt = 0): number | "other-data" | "reserved-bytes" {
  const zerosFrom = area.findLastIndex((byte) => byte !== 0) + 1;
  for (let at = 0; at < area.length; ) {
    const [tag = 0, short = 0, high = 0, low = 0] = area.subarray(at, at + 4);
    if (tag === tlvTag.ndef || tag === tlvTag.end) return at;
    if (tag === tlvTag.null) {
      // From here on there are only null blocks.
      if (at >= zerosFrom) return at;
      at += 1;
      continue;
    }
    const isControl = tag === tlvTag.lockControl || tag === tlvTag.memoryControl;
    if (!isControl && tag !== tlvTag.own) return "other-data";
    const start = at + (short === 0xff ? 4 : 2);
    const end = start + (short === 0xff ? high * 256 + low : short);
    if (end > area.length || (isControl && end - start !== 3)) return "other-data";
    if (isControl && reserves(tag, area.subarray(start, end), areaAt, area.length)) return "reserved-bytes";
    at = end;
  }
  return area.length;
}

/**
 * True if a control block reserves bytes inside the data area (Type 2 Tag 1.1, 2.3.2 and 2.3.3):
 *
 *   position: page address (high 4 bits), byte offset    size: bits of lock control, bytes of memory control; 0 is 256
 *   page control: low 4 bits n, for pages of 2^n bytes
 */
function reserves(
  tag: number,
  [position = 0, size = 0, control = 0]: Uint8Array,
  areaAt: number,
  areaBytes: number,
): boolean {
  const from = (position >> 4) * 2 ** (control & 0x0f) + (position & 0x0f);
  const units = size === 0 ? 256 : size;
  const to = from + (tag === tlvTag.lockControl ? Math.ceil(units / 8) : units);
  return from < areaAt + areaBytes && to > areaAt;
}

export interface UnitWrite {
  /** The offset of the unit, counted in units from the beginning of the area. */
  readonly unit: number;
  readonly bytes: Uint8Array;
}

type AreaPlan =
  | {
      readonly kind: "plan";
      readonly draft: readonly UnitWrite[];
      /** The write of the switch; absent if the area has this message already. */
      readonly last?: UnitWrite;
      /** The area after the draft, and after `last`. */
      readonly drafted: Uint8Array;
      readonly written: Uint8Array;
    }
  | { readonly kind: "refused"; readonly why: "other-data" | "reserved-bytes" }
  | { readonly kind: "too-small"; readonly bytesMissing: number };

const shortBlockBytesMax = 254; // FF announces a length of two more bytes (Type 2 Tag 1.1, 2.3).

/** The NDEF block that carries `message`, without an end block. */
export function ndefBlock(message: Uint8Array): Uint8Array {
  const { length } = message;
  const lengthBytes = length > shortBlockBytesMax ? [0xff, length >> 8, length & 0xff] : [length];
  return Uint8Array.of(tlvTag.ndef, ...lengthBytes, ...message);
}

/**
 * The writes that put `message` into `area`, or the reason why the message cannot be put into it. `force` replaces data
 * that is no NDEF.
 */
export function planAreaWrite(
  area: Uint8Array,
  unitBytes: number,
  message: Uint8Array,
  force: boolean,
): AreaPlan {
  const place = placeOfMessage(area);
  if (place === "reserved-bytes" || (place === "other-data" && !force))
    return { kind: "refused", why: place };
  const at = place === "other-data" ? 0 : place;
  const ndef = ndefBlock(message);
  const blockEnd = at + ndef.length;
  if (blockEnd > area.length) return { kind: "too-small", bytesMissing: blockEnd - area.length };
  const written = area.slice();
  written.set(ndef, at);
  if (blockEnd < area.length) written[blockEnd] = tlvTag.end;

  const { draft, current, setByte, putRange, lastOf } = draftOf(area, unitBytes, (unit, bytes) => ({
    unit,
    bytes,
  }));
  if (written.every((byte, index) => byte === area[index]))
    return { kind: "plan", draft, drafted: area, written };
  // While invalid blocks are overwritten, the blocks that are left could be taken for a message.
  if (place === "other-data") setByte(0, tlvTag.end);
  setByte(at + 1, 0);
  putRange(written, at, blockEnd + 1, at + 1);
  return { kind: "plan", draft, last: lastOf(written, at + 1), drafted: current, written };
}

/** Collects the writes that change `memory`, each of one whole unit; `current` is the memory after them. */
export function draftOf<Write>(
  memory: Uint8Array,
  unitBytes: number,
  writeOf: (unit: number, bytes: Uint8Array) => Write,
) {
  const current = memory.slice();
  const draft: Write[] = [];
  const unitIn = (bytes: Uint8Array, unit: number) => bytes.slice(unit * unitBytes, (unit + 1) * unitBytes);
  const put = (unit: number, alter: (bytes: Uint8Array) => void) => {
    const bytes = unitIn(current, unit);
    alter(bytes);
    if (bytes.every((byte, index) => byte === current[unit * unitBytes + index])) return;
    current.set(bytes, unit * unitBytes);
    draft.push(writeOf(unit, bytes));
  };
  return {
    draft,
    current,
    put,
    setByte(index: number, value: number) {
      put(Math.floor(index / unitBytes), (bytes) => {
        bytes[index % unitBytes] = value;
      });
    },
    /** Puts the units of `wanted` that hold the bytes `from`..`end` - 1, with 00 at `switchAt`. */
    putRange(wanted: Uint8Array, from: number, end: number, switchAt: number) {
      for (let unit = Math.floor(from / unitBytes); unit * unitBytes < Math.min(end, wanted.length); unit++) {
        put(unit, (bytes) => {
          bytes.set(unitIn(wanted, unit));
          const inUnit = switchAt - unit * unitBytes;
          if (inUnit >= 0 && inUnit < unitBytes) bytes[inUnit] = 0;
        });
      }
    },
    /** The write that sets the switch to its value. */
    lastOf(wanted: Uint8Array, switchAt: number): Write {
      const unit = Math.floor(switchAt / unitBytes);
      return writeOf(unit, unitIn(wanted, unit));
    },
  };
}
