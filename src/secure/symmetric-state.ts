/** The keys and the hash of a handshake under way: Noise's SymmetricState (Noise revision 34, 5.2). */
import { type CipherState, createCipherState } from "./cipher-state.ts";
import type { Primitives } from "./primitives.ts";
import { hashBytes, hkdf, sha256 } from "./sha256.ts";
import { wipe } from "./wipe.ts";

export interface SymmetricState {
  mixHash(data: Uint8Array): void;
  mixKey(input: Uint8Array): void;
  mixKeyAndHash(input: Uint8Array): void;
  /** The payload as it goes over the wire: as it is until there is a key. */
  encryptAndHash(plaintext: Uint8Array): Uint8Array | undefined;
  /** Undefined where it does not open. */
  decryptAndHash(ciphertext: Uint8Array): Uint8Array | undefined;
  /** The initiator's and the responder's sending states. Wipes this one. */
  split(): readonly [CipherState, CipherState];
  /** 32 bytes that both sides share and that name the session; not secret. */
  handshakeHash(): Uint8Array;
  wipe(): void;
}

export function createSymmetricState(primitives: Primitives, protocolName: string): SymmetricState {
  let hash: Uint8Array = nameHash(protocolName);
  let chainingKey: Uint8Array = hash.slice();
  let cipher: CipherState | undefined;

  const mixHash = (data: Uint8Array) => {
    hash = sha256(hash, data);
  };
  const chain = (next: Uint8Array) => {
    wipe(chainingKey);
    chainingKey = next;
  };
  const useKey = (key: Uint8Array) => {
    cipher?.wipe();
    cipher = createCipherState(primitives, key);
  };
  const wipeAll = () => {
    wipe(chainingKey);
    cipher?.wipe();
  };

  return {
    mixHash,
    mixKey(input) {
      const [next, key, unused] = hkdf(chainingKey, input);
      wipe(unused);
      chain(next);
      useKey(key);
    },
    mixKeyAndHash(input) {
      const [next, hashed, key] = hkdf(chainingKey, input);
      chain(next);
      mixHash(hashed);
      wipe(hashed);
      useKey(key);
    },
    encryptAndHash(plaintext) {
      const ciphertext = cipher === undefined ? plaintext : cipher.encrypt(hash, plaintext);
      if (ciphertext !== undefined) mixHash(ciphertext);
      return ciphertext;
    },
    decryptAndHash(ciphertext) {
      const plaintext = cipher === undefined ? ciphertext : cipher.decrypt(hash, ciphertext);
      if (plaintext !== undefined) mixHash(ciphertext);
      return plaintext;
    },
    split() {
      const [first, second, unused] = hkdf(chainingKey, new Uint8Array(0));
      wipe(unused);
      wipeAll();
      return [createCipherState(primitives, first), createCipherState(primitives, second)];
    },
    handshakeHash: () => hash.slice(),
    wipe: wipeAll,
  };
}

/** A name of up to 32 bytes is filled with zeros, a longer one is hashed. */
function nameHash(protocolName: string): Uint8Array {
  const name = new TextEncoder().encode(protocolName);
  if (name.length > hashBytes) return sha256(name);
  const filled = new Uint8Array(hashBytes);
  filled.set(name);
  return filled;
}
