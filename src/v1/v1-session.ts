/**
 * A session of the secure layer's version 1, the service's side.
 *
 *   first    {"v":1,"t":"<token>","s":"<base64 of 16 bytes of salt>","e":"<base64 of a sealed payload>"}   the client's
 *   sealed   {"e":"<base64 of a sealed payload>"}                                                       of either
 *
 * A payload is sealed whole by AES-256-GCM with its tag behind it. The nonce is a base of 12 bytes whose last 8 are
 * XORed with a counter, big-endian, from 0 in each direction; the additional data is `<token>:ws`.
 *
 * The service adds nothing of its own to the keys, so that a recorded session would open again: whoever accepts one must
 * have seen its salt never before.
 */
import {
  messageBytesMax,
  sealedFrameCharsMax,
  v1FirstFrameCharsMax,
  v1TokenCharsMax,
} from "../core/limits.ts";
import { fromBase64 } from "../secure/base64.ts";
import { SecureFailure } from "../secure/failure.ts";
import { tooLong, utf8Text } from "../secure/payload-text.ts";
import type { Session } from "../secure/secure-session.ts";
import { wipe } from "../secure/wipe.ts";
import { sessionSecrets } from "./v1-keys.ts";

/** AES-256-GCM (NIST SP 800-38D), which libsodium offers on some processors only. */
export interface AesGcm {
  /** The ciphertext, and its tag of 16 bytes. */
  seal(key: Uint8Array, nonce: Uint8Array, ad: Uint8Array, plaintext: Uint8Array): Uint8Array;
  /** Undefined where the tag does not fit. */
  open(key: Uint8Array, nonce: Uint8Array, ad: Uint8Array, sealed: Uint8Array): Uint8Array | undefined;
}

export const saltBytes = 16;

export interface FirstFrame {
  readonly token: string;
  readonly salt: Uint8Array;
  readonly sealed: Uint8Array;
}

/** Undefined where the text is no first frame of version 1; `malformed` where it says that it is one, and is not. */
export function readFirstFrame(text: string): FirstFrame | "malformed" | undefined {
  const frame = text.length <= v1FirstFrameCharsMax ? objectOf(text) : undefined;
  if (frame?.v !== 1) return undefined;
  const salt = bytesOf(frame.s);
  const sealed = bytesOf(frame.e);
  const isToken = typeof frame.t === "string" && frame.t !== "" && frame.t.length <= v1TokenCharsMax;
  if (!isToken || salt?.length !== saltBytes || sealed === undefined) return "malformed";
  return { token: String(frame.t), salt, sealed };
}

export interface V1SessionParts {
  readonly clientId: string;
  readonly token: string;
  /** 32 bytes. */
  readonly pairingKey: Uint8Array;
  readonly salt: Uint8Array;
  readonly aes: AesGcm;
}

/** The peer counts as proved only once `openFirst` has returned a payload. */
export interface V1Session extends Session {
  /** The payload of the first frame; throws `SecureFailure`, which ends the session. */
  openFirst(sealed: Uint8Array): string;
}

export function createV1Session({ clientId, token, pairingKey, salt, aes }: V1SessionParts): V1Session {
  const { toService, toClient } = sessionSecrets(pairingKey, salt);
  const ad = new TextEncoder().encode(`${token}:ws`);
  let [received, sent] = [0n, 0n];
  let [isOpen, isProved] = [true, false];
  const close = () => {
    isOpen = false;
    wipe(toService.key, toService.nonce, toClient.key, toClient.nonce);
  };
  const fail = (): never => {
    close();
    throw new SecureFailure();
  };
  const openBytes = (sealed: Uint8Array | undefined): string => {
    if (!isOpen || sealed === undefined) return fail();
    const plaintext = aes.open(toService.key, nonceOf(toService.nonce, received), ad, sealed);
    received += 1n;
    if (plaintext === undefined || plaintext.length > messageBytesMax) return fail();
    isProved = true;
    return utf8Text(plaintext) ?? fail();
  };
  return {
    clientId,
    get peerIsProved() {
      return isProved;
    },
    seal(text) {
      if (!isOpen) throw new SecureFailure();
      const plaintext = text.length > messageBytesMax ? undefined : new TextEncoder().encode(text);
      if (plaintext === undefined || plaintext.length > messageBytesMax) throw tooLong();
      const sealed = aes.seal(toClient.key, nonceOf(toClient.nonce, sent), ad, plaintext);
      sent += 1n;
      return `{"e":"${sealed.toBase64()}"}`;
    },
    open(text) {
      const frame = text.length <= sealedFrameCharsMax ? objectOf(text) : undefined;
      const isSealed = frame !== undefined && frame.v === undefined;
      return { kind: "payload", text: openBytes(isSealed ? bytesOf(frame.e) : undefined) };
    },
    openFirst: openBytes,
    close,
  };
}

function nonceOf(base: Uint8Array, counter: bigint): Uint8Array {
  const nonce = base.slice();
  const view = new DataView(nonce.buffer);
  view.setBigUint64(4, view.getBigUint64(4) ^ counter);
  return nonce;
}

interface Frame {
  readonly v?: unknown;
  readonly t?: unknown;
  readonly s?: unknown;
  readonly e?: unknown;
}

function objectOf(text: string): Frame | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // Not JSON, or nested too deep for the parser: both are no frame.
    return undefined;
  }
}

function bytesOf(value: unknown): Uint8Array | undefined {
  return typeof value === "string" ? fromBase64(value) : undefined;
}
