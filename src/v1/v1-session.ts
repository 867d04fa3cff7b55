/**
 * A session of the secure layer's version 1, the service's side, from its first frame on.
 *
 *   first    {"v":1,"t":"<token>","s":"<base64 of 16 bytes of salt>","e":"<base64 of a sealed payload>"}   the client's
 *   sealed   {"e":"<base64 of a sealed payload>"}                                                       either side's
 *
 * A payload is sealed by AES-256-GCM (NIST SP 800-38D) and followed by its tag. The nonce is a base of 12 bytes whose last
 * 8 are XORed with a counter, big-endian, from 0 in each direction. The additional data is `<token>:ws`.
 *
 * Keys and nonces come from HKDF (RFC 5869) with SHA-256: ikm is the pairing key, salt are the client's 16 bytes. The
 * service adds nothing to them, so a recorded session would open again. The service therefore remembers each salt.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import { clean } from "@noble/hashes/utils.js";
import { assert } from "../core/errors.ts";
import { fromHex } from "../core/hex.ts";
import {
  messageBytesMax,
  sealedFrameCharsMax,
  v1FirstFrameCharsMax,
  v1TokenCharsMax,
} from "../core/limits.ts";
import { SecureFailure } from "../secure/failure.ts";
import { payloadBytes, payloadText, readBytes, readObject } from "../secure/frames.ts";
import type { Opened, SecureSession } from "../secure/secure-session.ts";
import { resultForV1 } from "./v1-shapes.ts";

const saltBytes = 16;
const tagBytes = 16;
const algorithm = "aes-256-gcm";

export interface FirstFrame {
  readonly token: string;
  readonly salt: Uint8Array;
  readonly sealed: Uint8Array;
}

/** Reads the first frame; undefined for a text without `"v":1`, and `malformed` if a member of the frame is wrong. */
export function readFirstFrame(text: string): FirstFrame | "malformed" | undefined {
  const frame = readObject(text, v1FirstFrameCharsMax);
  if (frame?.v !== 1) return undefined;
  const salt = readBytes(frame.s);
  const sealed = readBytes(frame.e);
  const isToken = typeof frame.t === "string" && frame.t !== "" && frame.t.length <= v1TokenCharsMax;
  if (!isToken || salt?.length !== saltBytes || sealed === undefined) return "malformed";
  return { token: String(frame.t), salt, sealed };
}

interface V1SessionParts {
  readonly clientId: string;
  readonly token: string;
  /** The pairing key of 32 bytes. */
  readonly pairingKey: Uint8Array;
  readonly salt: Uint8Array;
}

/** Makes a session. The client is proved after `openFirst` has returned a payload. */
export function createV1Session({ clientId, token, pairingKey, salt }: V1SessionParts) {
  const { toService, toClient } = sessionSecrets(pairingKey, salt);
  const ad = new TextEncoder().encode(`${token}:ws`);
  let received = 0n;
  let sent = 0n;
  let isOpen = true;
  let isProved = false;
  const close = () => {
    isOpen = false;
    clean(toService.key, toService.nonce, toClient.key, toClient.nonce);
  };
  const fail = (): never => {
    close();
    throw new SecureFailure();
  };
  const openBytes = (sealed: Uint8Array | undefined): string => {
    if (!isOpen || sealed === undefined) return fail();
    const plaintext = openAesGcm(toService.key, nonceOf(toService.nonce, received), ad, sealed);
    received += 1n;
    if (plaintext === undefined || plaintext.length > messageBytesMax) return fail();
    isProved = true;
    return payloadText(plaintext) ?? fail();
  };
  return {
    clientId,
    get peerIsProved() {
      return isProved;
    },
    seal(text: string) {
      if (!isOpen) throw new SecureFailure();
      const sealed = sealAesGcm(toClient.key, nonceOf(toClient.nonce, sent), ad, payloadBytes(text));
      sent += 1n;
      return `{"e":"${sealed.toBase64()}"}`;
    },
    open(text: string): Opened {
      const frame = readObject(text, sealedFrameCharsMax);
      const isSealed = frame !== undefined && frame.v === undefined;
      return { kind: "payload", text: openBytes(isSealed ? readBytes(frame.e) : undefined) };
    },
    /** The payload of the first frame. Throws `SecureFailure` and ends the session if it does not open. */
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

function sessionSecrets(pairing: Uint8Array, salt: Uint8Array) {
  const bytes = (info: string, length: number) =>
    new Uint8Array(hkdfSync("sha256", pairing, salt, info, length));
  return {
    toService: { key: bytes("zaparoo-c2s-v1", 32), nonce: bytes("zaparoo-c2s-nonce-v1", 12) },
    toClient: { key: bytes("zaparoo-s2c-v1", 32), nonce: bytes("zaparoo-s2c-nonce-v1", 12) },
  };
}

/** The ciphertext and its tag of 16 bytes. */
export function sealAesGcm(
  key: Uint8Array,
  nonce: Uint8Array,
  ad: Uint8Array,
  plaintext: Uint8Array,
): Buffer {
  const cipher = createCipheriv(algorithm, key, nonce);
  cipher.setAAD(ad);
  return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** The plaintext; undefined if the tag does not match. */
function openAesGcm(
  key: Uint8Array,
  nonce: Uint8Array,
  ad: Uint8Array,
  sealed: Uint8Array,
): Uint8Array | undefined {
  if (sealed.length < tagBytes) return undefined;
  const decipher = createDecipheriv(algorithm, key, nonce);
  decipher.setAAD(ad);
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, sealed.length - tagBytes)), decipher.final()]);
  } catch {
    // The tag does not match.
    return undefined;
  }
}

interface FirstFrameParts {
  /** Finds the client with its pairing key, 64 hex characters. */
  readonly find: (token: string) => { readonly id: string; readonly key: string } | undefined;
  /**
   * Stores the salt durably before the session opens. Resolves with false if the salt is known, or if there is no room for it.
   */
  readonly remember: (clientId: string, salt: Uint8Array) => Promise<boolean>;
  readonly randomBytes: (count: number) => Uint8Array;
}

/** A session that is open. Its first frame proved the client and brought a payload. */
export interface AcceptedV1 {
  readonly kind: "accepted-v1";
  readonly session: SecureSession;
  readonly payload: string;
  readonly resultFor: typeof resultForV1;
}

/**
 * Opens a session with its first frame. Throws `SecureFailure` for an unknown client, a wrong key and a recorded session
 * alike. An unknown client is checked against a random key, so the work is the same.
 */
export async function acceptFirstFrame(
  frame: FirstFrame | "malformed",
  parts: FirstFrameParts,
): Promise<AcceptedV1> {
  if (frame === "malformed") throw new SecureFailure();
  const { token, salt, sealed } = frame;
  const client = parts.find(token);
  const random = parts.randomBytes(32);
  const pairingKey = client === undefined ? random : fromHex(client.key);
  assert(pairingKey?.length === 32, "a client is stored with a key of 64 hex characters");
  const session = createV1Session({ clientId: client?.id ?? "", token, pairingKey, salt });
  clean(pairingKey, random);
  const payload = session.openFirst(sealed);
  if (client !== undefined && (await parts.remember(client.id, salt)))
    return { kind: "accepted-v1", session, payload, resultFor: resultForV1 };
  session.close();
  throw new SecureFailure();
}
