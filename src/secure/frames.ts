/**
 * The JSON around what the secure layer sends, and base64 (decisions, "The secure layer, version 2"):
 *
 *   hello   {"v":2,"t":"<client id>","e":"<base64 of Noise message 1>"}   the client's
 *   reply   {"v":2,"e":"<base64 of Noise message 2>"}                     the service's
 *   sealed  {"e":"<base64 of one or more transport messages>"}            of either, after these two
 *
 * Unknown members are ignored. Base64 has one spelling only (`base64.ts`), so that no text can be altered without altering
 * its bytes.
 */
import { handshakeCharsMax, sealedClientIdCharsMax, sealedFrameCharsMax } from "../core/limits.ts";
import { fromBase64, toBase64 } from "./base64.ts";
import { secureVersion } from "./failure.ts";
import { keyBytes, tagBytes } from "./primitives.ts";

/** A handshake message of ours: a public key, and the tag of the empty payload. */
export const handshakeMessageBytes = keyBytes + tagBytes;

export type Hello =
  | { readonly kind: "hello"; readonly clientId: string; readonly message: Uint8Array }
  /** A handshake of another version. */
  | { readonly kind: "other-version" }
  /** Meant for the secure layer, and wrong. */
  | { readonly kind: "malformed" }
  /** Nothing of the secure layer's. */
  | { readonly kind: "cleartext" };

/** The first text of a connection. Texts beyond `handshakeCharsMax` are not looked into: cleartext. */
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

/** Noise message 2; undefined where the text is anything else. */
export function readReply(text: string): Uint8Array | undefined {
  const frame = readObject(text, handshakeCharsMax);
  if (frame?.v !== secureVersion) return undefined;
  const message = readBytes(frame.e);
  return message?.length === handshakeMessageBytes ? message : undefined;
}

export function replyText(message: Uint8Array): string {
  return JSON.stringify({ v: secureVersion, e: toBase64(message) });
}

/** The transport messages, one behind the other; undefined where the text is anything else, such as a handshake. */
export function readSealed(text: string): Uint8Array | undefined {
  const frame = readObject(text, sealedFrameCharsMax);
  return frame === undefined || frame.v !== undefined ? undefined : readBytes(frame.e);
}

export function sealedText(messages: Uint8Array): string {
  return `{"e":"${toBase64(messages)}"}`;
}

/** 1 to `sealedClientIdCharsMax` characters of ASCII that are seen: it stands in the prologue byte by byte. */
export function isClientId(value: unknown): value is string {
  return typeof value === "string" && value.length <= sealedClientIdCharsMax && /^[\x21-\x7e]+$/.test(value);
}

interface Frame {
  readonly v?: unknown;
  readonly t?: unknown;
  readonly e?: unknown;
}

function readObject(text: string, charsMax: number): Frame | undefined {
  if (text.length > charsMax) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // Not JSON, or nested too deep for the parser: both are no frame.
    return undefined;
  }
}

function readBytes(value: unknown): Uint8Array | undefined {
  return typeof value === "string" ? fromBase64(value) : undefined;
}
