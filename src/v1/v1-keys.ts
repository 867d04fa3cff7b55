/**
 * What the secure layer's version 1 derives from its secrets: HKDF (RFC 5869) with SHA-256 throughout.
 *
 *   pairing   ikm: the key of the password exchange; salt: both messages, as they went over the wire
 *   session   ikm: the pairing key; salt: 16 bytes that the client drew
 */
import { assert } from "../core/errors.ts";
import { hmacSha256, sha256 } from "../secure/sha256.ts";
import { wipe } from "../secure/wipe.ts";

const blockBytes = 64;

export interface PairingKeys {
  readonly clientConfirm: Uint8Array;
  readonly serviceConfirm: Uint8Array;
  /** Kept by both, never sent. */
  readonly pairing: Uint8Array;
}

export function pairingKeys(exchanged: Uint8Array, toService: Uint8Array, toClient: Uint8Array): PairingKeys {
  const prk = hmac(joined(toService, toClient), exchanged);
  const keys = {
    clientConfirm: expand(prk, "zaparoo-confirm-A", 32),
    serviceConfirm: expand(prk, "zaparoo-confirm-B", 32),
    pairing: expand(prk, "zaparoo-pairing-v1", 32),
  };
  wipe(prk);
  return keys;
}

export interface Transcript {
  readonly name: string;
  readonly toService: Uint8Array;
  readonly toClient: Uint8Array;
}

/** Shows that one side knows its confirmation key: an HMAC of all that was said, each part behind its length. */
export function confirmation(
  key: Uint8Array,
  side: "client" | "server",
  { name, toService, toClient }: Transcript,
): Uint8Array {
  const texts = ["zaparoo-v1", "p256", side, name].map((text) => new TextEncoder().encode(text));
  return hmac(key, ...[...texts, toService, toClient].flatMap((part) => [lengthOf(part), part]));
}

export interface SessionSecrets {
  readonly toService: { readonly key: Uint8Array; readonly nonce: Uint8Array };
  readonly toClient: { readonly key: Uint8Array; readonly nonce: Uint8Array };
}

export function sessionSecrets(pairing: Uint8Array, salt: Uint8Array): SessionSecrets {
  const prk = hmac(salt, pairing);
  const secrets = {
    toService: { key: expand(prk, "zaparoo-c2s-v1", 32), nonce: expand(prk, "zaparoo-c2s-nonce-v1", 12) },
    toClient: { key: expand(prk, "zaparoo-s2c-v1", 32), nonce: expand(prk, "zaparoo-s2c-nonce-v1", 12) },
  };
  wipe(prk);
  return secrets;
}

/** HKDF-Expand of one block, which is all that anybody here asks for. */
function expand(prk: Uint8Array, info: string, bytes: number): Uint8Array {
  assert(bytes <= 32, "one block is enough");
  return hmac(prk, new TextEncoder().encode(info), Uint8Array.of(1)).slice(0, bytes);
}

/** A key that is longer than a block is hashed (RFC 2104, 2). */
function hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  return hmacSha256(key.length > blockBytes ? sha256(key) : key, ...parts);
}

/** 4 bytes, big-endian. */
function lengthOf(part: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, part.length);
  return bytes;
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const whole = new Uint8Array(one.length + other.length);
  whole.set(one);
  whole.set(other, one.length);
  return whole;
}
