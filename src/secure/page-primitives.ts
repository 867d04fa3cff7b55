/**
 * The primitives of `@noble`, for the device's page: 9 KB, compressed, instead of libsodium's 155 KB, and no WebAssembly. X25519 computes
 * with BigInts, so its time depends a little on the values. The page uses each private key for one connection only.
 */

import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { pow } from "@noble/curves/abstract/modular.js";
import { montgomery } from "@noble/curves/abstract/montgomery.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { keyBytes, type Primitives, tagBytes, unlessThrown } from "./primitives.ts";

const prime = 2n ** 255n - 19n;

/** The whole module of curve25519 would add its signatures. */
const x25519 = montgomery({
  P: prime,
  type: "x25519",
  powPminus2: (x) => pow(x, prime - 2n, prime),
  /** Makes a scalar by the rule of RFC 7748, 5: a multiple of 8 with the bit 254 set. */
  adjustScalarBytes(bytes: Uint8Array) {
    bytes[0] = (bytes[0] ?? 0) & 248;
    bytes[keyBytes - 1] = ((bytes[keyBytes - 1] ?? 0) & 127) | 64;
    return bytes;
  },
});

function fromNoble(): Primitives {
  return {
    publicKeyOf: (privateKey) => x25519.getPublicKey(privateKey),
    sharedSecret: (privateKey, publicKey) => unlessThrown(() => x25519.scalarMult(privateKey, publicKey)),
    encrypt: (key, nonce, ad, plaintext) => chacha20poly1305(key, nonce, ad).encrypt(plaintext),
    decrypt: (key, nonce, ad, ciphertext) =>
      ciphertext.length < tagBytes
        ? undefined
        : unlessThrown(() => chacha20poly1305(key, nonce, ad).decrypt(ciphertext)),
    randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
    sha256: () => sha256.create(),
  };
}

/** Both files of the import `#primitives` (package.json) export this name. */
export { fromNoble as createPrimitives };
