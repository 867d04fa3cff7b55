/**
 * Reports of the LEGO Dimensions Toy Pad, without I/O. The protocol comes from public reverse engineering.
 *
 *   32 bytes each way, padded with zeros:
 *   offset 0       1        2...             2 + length
 *          magic   length   length bytes     sum of all bytes before it, modulo 256
 *
 *   55 from us      command, number, parameters
 *   55 to us        number of the command that it answers, data
 *   56 to us        zone, kind, index, 00 came or 01 went, UID (7)
 *
 *   zone   1 the round one in the middle, 2 left, 3 right        index   0..6, a place that a tag keeps while it lies there
 */
export const reportBytes = 32;
export const zones = [1, 2, 3] as const;
export type Zone = (typeof zones)[number];
export const indexMax = 6;

const commandMagic = 0x55;
const eventMagic = 0x56;
const eventBytes = 11;
const uidBytes = 7;

export const padCommands = {
  /** Its parameter is the text `(c) LEGO 2014`. The pad sends nothing before this command. */
  wake: 0xb0,
  /** Its parameters are zone, red, green and blue. */
  colour: 0xc0,
  /** The answer has two bytes for each tag: zone in the high half and index in the low half, and the kind. */
  list: 0xd0,
  /** Its parameters are index and page. The answer has an error (0 is none) and 16 bytes. */
  read: 0xd2,
  /** Its parameters are index, page and 4 bytes. The answer has an error. */
  write: 0xd3,
} as const;

export const wakeWord: Uint8Array = new TextEncoder().encode("(c) LEGO 2014");

export type PadReport =
  | { readonly kind: "answer"; readonly number: number; readonly data: Uint8Array }
  | {
      readonly kind: "tag";
      readonly zone: Zone;
      readonly index: number;
      readonly isThere: boolean;
      readonly uid: Uint8Array;
    }
  | { readonly kind: "noise"; readonly why: "length" | "sum" | "magic" | "values" };

/** The report of a command. `number` is 1..255 and comes back with the answer. */
export function encodeCommand(command: number, number: number, parameters: Uint8Array): Uint8Array {
  return encodeReport(commandMagic, Uint8Array.of(command, number, ...parameters));
}

/** Parses a report of the pad. Never throws. */
export function parsePadReport(report: Uint8Array): PadReport {
  const length = report[1] ?? 0;
  if (report.length !== reportBytes || length < 1 || length > reportBytes - 3) return noise("length");
  if (sumOf(report.subarray(0, 2 + length)) !== report[2 + length]) return noise("sum");
  const body = report.slice(2, 2 + length);
  if (report[0] === commandMagic) return { kind: "answer", number: body[0] ?? 0, data: body.subarray(1) };
  if (report[0] !== eventMagic) return noise("magic");
  const [zone, , index = 0, gone = 0] = body;
  if (length !== eventBytes || !isZone(zone) || index > indexMax || gone > 1) return noise("values");
  return { kind: "tag", zone, index, isThere: gone === 0, uid: body.subarray(4, 4 + uidBytes) };
}

interface ListedTag {
  readonly zone: Zone;
  readonly index: number;
}

/** The tags in an answer to `list`; undefined if the answer is malformed. */
export function parseList(data: Uint8Array): readonly ListedTag[] | undefined {
  if (data.length % 2 !== 0) return undefined;
  const tags: ListedTag[] = [];
  for (let at = 0; at < data.length; at += 2) {
    const zone = (data[at] ?? 0) >> 4;
    const index = (data[at] ?? 0) & 0x0f;
    if (!isZone(zone) || index > indexMax) return undefined;
    tags.push({ zone, index });
  }
  return tags;
}

/** The 16 bytes of a read; undefined if the pad reports an error. */
export function parsePadRead(data: Uint8Array): Uint8Array | undefined {
  return data.length === 17 && data[0] === 0 ? data.subarray(1) : undefined;
}

/** The UID in pages 0 and 1: three bytes, a check byte, four bytes (ISO/IEC 14443-3, 6.5.4); undefined if the check fails. */
export function uidOfPages(pages: Uint8Array): Uint8Array | undefined {
  const [a = 0, b = 0, c = 0, check] = pages;
  if ((0x88 ^ a ^ b ^ c) !== check || pages.length < 8) return undefined;
  return Uint8Array.of(a, b, c, ...pages.subarray(4, 8));
}

/** Any report, for an emulated pad. */
export function encodeReport(magic: number, body: Uint8Array): Uint8Array {
  const report = new Uint8Array(reportBytes);
  report.set([magic, body.length, ...body]);
  report[2 + body.length] = sumOf(report);
  return report;
}

function sumOf(bytes: Uint8Array): number {
  return bytes.reduce((sum, byte) => (sum + byte) & 0xff, 0);
}

function isZone(value: number | undefined): value is Zone {
  return value === 1 || value === 2 || value === 3;
}

function noise(why: Extract<PadReport, { kind: "noise" }>["why"]): PadReport {
  return { kind: "noise", why };
}
