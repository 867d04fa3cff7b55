/**
 * NDEF messages and the records in them that hold text (NFC Forum: NDEF 1.0, Text RTD 1.0, URI RTD 1.0, Smart Poster RTD 1.1;
 * RFC 2046, 4.1.3), without I/O.
 *
 *   record:  flags  typeLength  payloadLength(1 or 4, big-endian)  [idLength]  type  [id]  payload
 *   flags:   80 MB first  40 ME last  20 CF chunk follows  10 SR one-byte length  08 IL id length present  07 TNF
 */
import { ndefBytesMax } from "../../src/core/limits.ts";

export interface NdefRecord {
  /** The type name format: 1 well-known, 2 media type, 3 URI, 4 external (NDEF 3.2.6). */
  readonly tnf: number;
  readonly type: string;
  readonly payload: Uint8Array;
}

type ParsedMessage =
  | { readonly kind: "message"; readonly records: readonly NdefRecord[] }
  | { readonly kind: "broken"; readonly why: "too-long" | "cut-short" | "chunk-without-end" };

interface Header {
  readonly flags: number;
  readonly type: string;
  readonly payload: Uint8Array;
  readonly end: number;
}

const flag = { last: 0x40, chunk: 0x20, short: 0x10, id: 0x08, tnf: 0x07 } as const;

/** The records of a message; chunks are joined. Bytes after the last record are ignored. */
export function parseMessage(bytes: Uint8Array): ParsedMessage {
  if (bytes.length > ndefBytesMax) return { kind: "broken", why: "too-long" };
  const records: NdefRecord[] = [];
  let open: { tnf: number; type: string; pieces: Uint8Array[] } | undefined;
  for (let at = 0; at < bytes.length; ) {
    const header = parseHeader(bytes, at);
    if (header === undefined) return { kind: "broken", why: "cut-short" };
    at = header.end;
    open ??= { tnf: header.flags & flag.tnf, type: header.type, pieces: [] };
    open.pieces.push(header.payload);
    if ((header.flags & flag.chunk) !== 0) continue;
    records.push({ tnf: open.tnf, type: open.type, payload: join(open.pieces) });
    open = undefined;
    if ((header.flags & flag.last) !== 0) break;
  }
  return open === undefined ? { kind: "message", records } : { kind: "broken", why: "chunk-without-end" };
}

function parseHeader(bytes: Uint8Array, from: number): Header | undefined {
  const [flags = 0, typeLength = 0] = bytes.subarray(from, from + 2);
  const lengthBytes = (flags & flag.short) !== 0 ? 1 : 4;
  const hasId = (flags & flag.id) !== 0;
  const typeAt = from + 2 + lengthBytes + (hasId ? 1 : 0);
  if (typeAt > bytes.length) return undefined;
  const payloadLength = bigEndian(bytes.subarray(from + 2, from + 2 + lengthBytes));
  const idLength = hasId ? (bytes[typeAt - 1] ?? 0) : 0;
  const payloadAt = typeAt + typeLength + idLength;
  const end = payloadAt + payloadLength;
  if (end > bytes.length) return undefined;
  const type = latin1(bytes.subarray(typeAt, typeAt + typeLength));
  return { flags, type, payload: bytes.subarray(payloadAt, end), end };
}

/**
 * The text of the first Text, URI, Smart Poster or `text/plain` record that begins with a command; without a command,
 * of the first that is not blank. The result is undefined if no text can be read.
 */
export function textOfRecords(records: readonly NdefRecord[]): string | undefined {
  let found: string | undefined;
  for (const record of records) {
    const text = isWellKnown(record, "Sp") ? posterUri(record.payload) : plainText(record);
    if (text?.startsWith("**")) return text;
    if (text !== undefined && (found === undefined || found.trim() === "")) found = text;
  }
  return found;
}

function plainText(record: NdefRecord): string | undefined {
  if (isWellKnown(record, "T")) return readText(record.payload);
  if (isWellKnown(record, "U")) return readUri(record.payload);
  return record.tnf === 2 && /^text\/plain *(?:;|$)/i.test(record.type)
    ? decode("utf-8", record.payload)
    : undefined;
}

/** The URI of a poster. Its payload is a message with one URI record and any titles. A poster inside a poster is ignored. */
function posterUri(payload: Uint8Array): string | undefined {
  const parsed = parseMessage(payload);
  if (parsed.kind === "broken") return undefined;
  const uri = parsed.records.find((record) => isWellKnown(record, "U"));
  return uri === undefined ? undefined : readUri(uri.payload);
}

function isWellKnown({ tnf, type }: NdefRecord, name: string): boolean {
  return tnf === 1 && type === name;
}

/**
 * The text of a Text record (Text RTD 3.2.1): status byte (80 UTF-16, low six bits the length of the language code),
 * language, text.
 */
function readText(payload: Uint8Array): string | undefined {
  const status = payload[0];
  if (status === undefined || payload.length < 1 + (status & 0x3f)) return undefined;
  const text = payload.subarray(1 + (status & 0x3f));
  if ((status & 0x80) === 0) return decode("utf-8", text);
  // Without a byte-order mark the text is big-endian (Text RTD 3.4).
  const littleEndian = text[0] === 0xff && text[1] === 0xfe;
  return decode(littleEndian ? "utf-16le" : "utf-16be", text);
}

/** The URI of a URI record (URI RTD 3.2.2): one byte for the beginning, and the rest in UTF-8. */
function readUri(payload: Uint8Array): string | undefined {
  const code = payload[0];
  if (code === undefined) return undefined;
  return (uriBeginnings[code] ?? "") + decode("utf-8", payload.subarray(1));
}

/** The beginnings of URIs by code (URI RTD, table 3). Reserved codes mean an empty beginning. */
export const uriBeginnings: readonly string[] = [
  "",
  "http://www.",
  "https://www.",
  "http://",
  "https://",
  "tel:",
  "mailto:",
  "ftp://anonymous:anonymous@",
  "ftp://ftp.",
  "ftps://",
  "sftp://",
  "smb://",
  "nfs://",
  "ftp://",
  "dav://",
  "news:",
  "telnet://",
  "imap:",
  "rtsp://",
  "urn:",
  "pop:",
  "sip:",
  "sips:",
  "tftp:",
  "btspp://",
  "btl2cap://",
  "btgoep://",
  "tcpobex://",
  "irdaobex://",
  "file://",
  "urn:epc:id:",
  "urn:epc:tag:",
  "urn:epc:pat:",
  "urn:epc:raw:",
  "urn:epc:",
  "urn:nfc:",
];

/** A message of one record, as a `WriteOrder` asks for it. */
export function encodeMessage({
  text,
  record = "text",
}: {
  readonly text: string;
  readonly record?: "text" | "uri" | undefined;
}): Uint8Array {
  return record === "uri" ? encodeUriMessage(text) : encodeTextMessage(text);
}

/** A message of one Text record in UTF-8. */
export function encodeTextMessage(text: string, language = "en"): Uint8Array {
  const payload = new TextEncoder().encode(`${language}${text}`);
  return encodeRecord("T", Uint8Array.of(language.length, ...payload));
}

/** A message of one URI record, with the longest beginning that fits. */
export function encodeUriMessage(uri: string): Uint8Array {
  const beginning = uriBeginnings.reduce(
    (best, next) => (uri.startsWith(next) && next.length > best.length ? next : best),
    "",
  );
  const rest = new TextEncoder().encode(uri.slice(beginning.length));
  return encodeRecord("U", Uint8Array.of(uriBeginnings.indexOf(beginning), ...rest));
}

function encodeRecord(type: string, payload: Uint8Array): Uint8Array {
  const { length } = payload;
  const lengthBytes = length < 256 ? [length] : [0, length >> 16, (length >> 8) & 0xff, length & 0xff];
  const flags = 0x80 | flag.last | (length < 256 ? flag.short : 0) | 1;
  return Uint8Array.of(flags, type.length, ...lengthBytes, type.charCodeAt(0), ...payload);
}

function decode(encoding: "utf-8" | "utf-16le" | "utf-16be", bytes: Uint8Array): string {
  // An odd byte at the end of UTF-16 is not a character.
  const whole = encoding === "utf-8" ? bytes : bytes.subarray(0, bytes.length & ~1);
  return new TextDecoder(encoding).decode(whole);
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

function bigEndian(bytes: Uint8Array): number {
  return bytes.reduce((value, byte) => value * 256 + byte, 0);
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only;
  return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
}
