/**
 * One direction's key and counter: Noise's CipherState (Noise revision 34, 5.1, with 12.3 for ChaChaPoly).
 *
 * Nonce, 12 bytes: 4 zeros, then the counter as 64 bits, little-endian. 2^64 - 1 is reserved and never used.
 */
import { assert } from "../core/errors.ts";
import { keyBytes, type Primitives } from "./primitives.ts";
import { wipe } from "./wipe.ts";

const reservedNonce = 2n ** 64n - 1n;

export interface CipherState {
  /** The ciphertext with its tag; undefined once the counter is used up. */
  encrypt(ad: Uint8Array, plaintext: Uint8Array): Uint8Array | undefined;
  /** Undefined where it does not open, or the counter is used up. A message that does not open uses no nonce. */
  decrypt(ad: Uint8Array, ciphertext: Uint8Array): Uint8Array | undefined;
  /** Forgets the key: nothing is encrypted or opened any more. */
  wipe(): void;
}

/** Takes the key over: it is wiped with the state. `firstNonce` is 0 but in tests of the counter's end. */
export function createCipherState(primitives: Primitives, key: Uint8Array, firstNonce = 0n): CipherState {
  assert(key.length === keyBytes, "a key has 32 bytes");
  const nonce = new DataView(new ArrayBuffer(12));
  const nonceBytes = new Uint8Array(nonce.buffer);
  let counter = firstNonce;
  let isWiped = false;

  function once(run: () => Uint8Array | undefined): Uint8Array | undefined {
    if (isWiped || counter >= reservedNonce) return undefined;
    nonce.setBigUint64(4, counter, true);
    const result = run();
    if (result !== undefined) counter += 1n;
    return result;
  }

  return {
    encrypt: (ad, plaintext) => once(() => primitives.encrypt(key, nonceBytes, ad, plaintext)),
    decrypt: (ad, ciphertext) => once(() => primitives.decrypt(key, nonceBytes, ad, ciphertext)),
    wipe() {
      isWiped = true;
      wipe(key);
    },
  };
}
