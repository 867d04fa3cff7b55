/**
 * The texts of the secure layer: its JSON frames, base64, and the text of a payload (docs/SECURE.md, "A session").
 * Unknown members are ignored. Base64 is that of RFC 4648, 4, with padding, without white space and with unused bits 0.
 * Two different texts therefore never decode to the same bytes.
 */
import { limitReached } from "../core/errors.ts";
import {
  handshakeCharsMax,
  messageBytesMax,
  sealedClientIdCharsMax,
  sealedFrameCharsMax,
} from "../core/limits.ts";
import { isRecord, parseJson } from "../core/text.ts";
import { secureVersion } from "./failure.ts";
import { keyBytes, tagBytes } from "./primitives.ts";

/** A handshake message: a public key, and the tag of the empty payload. */
const handshakeMessageBytes = keyBytes + tagBytes;

export type Hello =
  | { readonly kind: "hello"; readonly clientId: string; readonly message: Uint8Array }
  /** A handshake of another version. */
  | { readonly kind: "other-version" }
  /** A handshake of this version that has a wrong member. */
  | { readonly kind: "malformed" }
  /** No frame of the secure layer. */
  | { readonly kind: "cleartext" };

/** Reads the first text of a connection. A text beyond `handshakeCharsMax` counts as cleartext. */
export function readHello(text: string): Hello {
  const frame = readObject(text, handshakeCharsMax);
  if (frame === undefined || (frame.v === undefined && frame.e === undefined)) return { kind: "cleartext" };
  if (frame.v === undefined) return { kind: "malformed" };
  if (frame.v !== secureVersion) return { kind: "other-version" };
  const message = readBytes(frame.e);
  if (!isClientId(frame.t) || message?.length !== handshakeMessageBytes) return { kind: "malformed" };
  return { kind: "hello", clientId: frame.t, message };
}

export function helloText(clientId: string, message: Uint8Array): string {
  return JSON.stringify({ v: secureVersion, t: clientId, e: toBase64(message) });
}

/** The Noise message 2; undefined for any other text. */
export function readReply(text: string): Uint8Array | undefined {
  const frame = readObject(text, handshakeCharsMax);
  if (frame?.v !== secureVersion) return undefined;
  const message = readBytes(frame.e);
  return message?.length === handshakeMessageBytes ? message : undefined;
}

export function replyText(message: Uint8Array): string {
  return JSON.stringify({ v: secureVersion, e: toBase64(message) });
}

/** The transport messages, one after the other; undefined for any other text, such as a handshake. */
export function readSealed(text: string): Uint8Array | undefined {
  const frame = readObject(text, sealedFrameCharsMax);
  return frame === undefined || frame.v !== undefined ? undefined : readBytes(frame.e);
}

export function sealedText(messages: Uint8Array): string {
  return `{"e":"${toBase64(messages)}"}`;
}

/**
 * True for texts of 1 to `sealedClientIdCharsMax` printable characters of ASCII. The limit exists because the id is part
 * of the prologue.
 */
export function isClientId(value: unknown): value is string {
  return typeof value === "string" && value.length <= sealedClientIdCharsMax && /^[\x21-\x7e]+$/.test(value);
}

/** The members of a JSON object; undefined for a longer text and for any other JSON. */
export function readObject(text: string, charsMax: number): Readonly<Record<string, unknown>> | undefined {
  if (text.length > charsMax) return undefined;
  const value = parseJson(text);
  return isRecord(value) ? value : undefined;
}

/** The bytes of a member in base64; undefined for any other value. */
export function readBytes(value: unknown): Uint8Array | undefined {
  return typeof value === "string" ? fromBase64(value) : undefined;
}

// The number of arguments that a call takes in every browser.
const pieceBytes = 0x8000;

/** The bytes in base64. Browsers before 2025 and Node before 25 have no `toBase64`. */
export function toBase64(bytes: Uint8Array): string {
  if (typeof bytes.toBase64 === "function") return bytes.toBase64();
  let text = "";
  for (let at = 0; at < bytes.length; at += pieceBytes)
    text += String.fromCharCode(...bytes.subarray(at, at + pieceBytes));
  return btoa(text);
}

/** The bytes of a text in base64; undefined for a text that `toBase64` does not write. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    if (typeof Uint8Array.fromBase64 !== "function") return fromBase64ByAtob(text);
    const bytes = Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
    // The decoder skips white space. A text that is longer than its bytes need has some.
    return text.length === Math.ceil(bytes.length / 3) * 4 ? bytes : undefined;
  } catch {
    // The text is not base64.
    return undefined;
  }
}

/** The same as `fromBase64`, for older browsers. Throws if `atob` does. */
export function fromBase64ByAtob(text: string): Uint8Array | undefined {
  const binary = atob(text);
  // `atob` accepts white space, missing padding and stray bits, which `btoa` never writes.
  return btoa(binary) === text ? Uint8Array.from(binary, (char) => char.charCodeAt(0)) : undefined;
}

/** The bytes of a payload to seal. Throws `busy` beyond `messageBytesMax`. */
export function payloadBytes(text: string): Uint8Array {
  // No text has fewer bytes than UTF-16 units: a longer one needs no encoding to be refused.
  const bytes = text.length > messageBytesMax ? undefined : new TextEncoder().encode(text);
  if (bytes !== undefined && bytes.length <= messageBytesMax) return bytes;
  throw limitReached("messageBytesMax", `a sealed payload may have ${messageBytesMax} bytes`);
}

/** The text of an opened payload; undefined if it is not UTF-8. A byte order mark stays. */
export function payloadText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // The bytes are not UTF-8.
    return undefined;
  }
}
