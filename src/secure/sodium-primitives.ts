/** The primitives of libsodium, for the service, the command line and the client package: fast, and 460 KB. */
import { sha256 } from "@noble/hashes/sha2.js";
import { clean } from "@noble/hashes/utils.js";
import { type Primitives, tagBytes, unlessThrown } from "./primitives.ts";

async function fromSodium(): Promise<Primitives> {
  const { default: sodium } = await import("libsodium-wrappers");
  await sodium.ready;
  return {
    publicKeyOf: (privateKey) => sodium.crypto_scalarmult_base(privateKey),
    sharedSecret(privateKey, publicKey) {
      const shared = unlessThrown(() => sodium.crypto_scalarmult(privateKey, publicKey));
      if (shared?.every((byte) => byte === 0) !== true) return shared;
      clean(shared);
      return undefined;
    },
    encrypt: (key, nonce, ad, plaintext) =>
      sodium.crypto_aead_chacha20poly1305_ietf_encrypt(plaintext, ad, null, nonce, key),
    decrypt: (key, nonce, ad, ciphertext) =>
      ciphertext.length < tagBytes
        ? undefined
        : unlessThrown(() =>
            sodium.crypto_aead_chacha20poly1305_ietf_decrypt(null, ciphertext, ad, nonce, key),
          ),
    randomBytes: (count) => sodium.randombytes_buf(count),
    // The runtime's own SHA-256 takes an eighth of the time of libsodium's. Browsers and Node before 22.3 lack this
    // function.
    sha256: () =>
      globalThis.process?.getBuiltinModule?.("node:crypto").createHash("sha256") ?? sha256.create(),
  };
}

/** Both files of the import `#primitives` (package.json) export this name. */
export { fromSodium as createPrimitives };
