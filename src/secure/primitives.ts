/**
 * The cryptography of two libraries. libsodium does X25519 (RFC 7748), ChaCha20-Poly1305 (RFC 8439) and random bytes. It is
 * loaded with the first handshake, because it takes 460 KB. `@noble/hashes` does the hashes. The libsodium that is small
 * enough for a page has no SHA-256, and a page that came over plain HTTP has no `crypto.subtle`.
 */
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type CHash, clean } from "@noble/hashes/utils.js";

export const keyBytes = 32;
export const tagBytes = 16;

export type Primitives = Awaited<ReturnType<typeof load>>;

let loading: Promise<Primitives> | undefined;

/** Loads libsodium at the first call; later calls share it. */
export function loadPrimitives(): Promise<Primitives> {
  loading ??= load().catch((error: unknown) => {
    // A page may have lost its network meanwhile: the next call tries again.
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load() {
  const { default: sodium } = await import("libsodium-wrappers");
  await sodium.ready;
  return {
    /** The public key of 32 bytes that belongs to a private one. */
    publicKeyOf: (privateKey: Uint8Array): Uint8Array => sodium.crypto_scalarmult_base(privateKey),
    /** 32 bytes; undefined for a public key of small order, with which the result would not depend on the private one. */
    sharedSecret: (privateKey: Uint8Array, publicKey: Uint8Array): Uint8Array | undefined => {
      const shared = unlessThrown(() => sodium.crypto_scalarmult(privateKey, publicKey));
      if (shared?.every((byte) => byte === 0) !== true) return shared;
      clean(shared);
      return undefined;
    },
    /** The ciphertext and its tag of 16 bytes. The nonce has 12 bytes. */
    encrypt: (key: Uint8Array, nonce: Uint8Array, ad: Uint8Array, plaintext: Uint8Array): Uint8Array =>
      sodium.crypto_aead_chacha20poly1305_ietf_encrypt(plaintext, ad, null, nonce, key),
    /** Undefined if the tag does not fit. */
    decrypt: (key: Uint8Array, nonce: Uint8Array, ad: Uint8Array, ciphertext: Uint8Array) =>
      ciphertext.length < tagBytes
        ? undefined
        : unlessThrown(() =>
            sodium.crypto_aead_chacha20poly1305_ietf_decrypt(null, ciphertext, ad, nonce, key),
          ),
    /** Fit for keys. */
    randomBytes: (count: number): Uint8Array => sodium.randombytes_buf(count),
  };
}

function unlessThrown(run: () => Uint8Array): Uint8Array | undefined {
  try {
    return run();
  } catch {
    // libsodium throws for a weak key and for a wrong tag; callers treat both alike.
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
  const [first, second] = [keys.slice(0, keyBytes), keys.slice(keyBytes, 2 * keyBytes)];
  const third = keys.slice(2 * keyBytes);
  clean(keys);
  return [first, second, third];
}
