/**
 * The cryptography of libraries: X25519 (RFC 7748), ChaCha20-Poly1305 (RFC 8439) and random bytes of `#primitives`, which is
 * libsodium, and `@noble` in the device's page (`package.json`). It is loaded with the first handshake, because libsodium
 * takes 460 KB. `@noble/hashes` does the hashes, because a page that came over plain HTTP has no `crypto.subtle`.
 */
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type CHash, clean } from "@noble/hashes/utils.js";

export const keyBytes = 32;
export const tagBytes = 16;

export interface Primitives {
  /** The public key of 32 bytes that belongs to a private one. */
  publicKeyOf(privateKey: Uint8Array): Uint8Array;
  /**
   * A shared secret of 32 bytes; undefined for a public key of small order, with which the result would not depend on
   * the private one.
   */
  sharedSecret(privateKey: Uint8Array, publicKey: Uint8Array): Uint8Array | undefined;
  /** The ciphertext and its tag of 16 bytes. The nonce has 12 bytes. */
  encrypt(key: Uint8Array, nonce: Uint8Array, ad: Uint8Array, plaintext: Uint8Array): Uint8Array;
  /** The plaintext; undefined if the tag does not match. */
  decrypt(key: Uint8Array, nonce: Uint8Array, ad: Uint8Array, ciphertext: Uint8Array): Uint8Array | undefined;
  /** Random bytes that may be used as keys. */
  randomBytes(count: number): Uint8Array;
  /** A hash of many bytes, for uploads. */
  sha256(): { update(bytes: Uint8Array): unknown; digest(): Uint8Array };
}

let loading: Promise<Primitives> | undefined;

/** Loads the library at the first call; later calls share it. */
export function loadPrimitives(): Promise<Primitives> {
  loading ??= load().catch((error: unknown) => {
    // A page may have lost its network meanwhile. The next call tries again.
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load(): Promise<Primitives> {
  const { createPrimitives } = await import("#primitives");
  return createPrimitives();
}

/**
 * The result of `run`; undefined if the library throws. It throws for a weak key and for a wrong tag, and callers treat
 * both alike.
 */
export function unlessThrown(run: () => Uint8Array): Uint8Array | undefined {
  try {
    return run();
  } catch {
    // The result `undefined` reports the error.
    return undefined;
  }
}

/** The hash of the parts, one after the other. */
export function hashOf(hash: CHash, ...parts: readonly Uint8Array[]): Uint8Array {
  const open = hash.create();
  for (const part of parts) open.update(part);
  return open.digest();
}

/** Noise's HKDF (Noise revision 34, 4.3): three keys of 32 bytes. A caller that needs two wipes the third. */
export function noiseHkdf(
  chainingKey: Uint8Array,
  input: Uint8Array,
): readonly [Uint8Array, Uint8Array, Uint8Array] {
  const keys = hkdf(sha256, input, chainingKey, undefined, 3 * keyBytes);
  const first = keys.slice(0, keyBytes);
  const second = keys.slice(keyBytes, 2 * keyBytes);
  const third = keys.slice(2 * keyBytes);
  clean(keys);
  return [first, second, third];
}
