/**
 * The handshake of the Noise Protocol Framework (revision 34, 5 and 9), for patterns without static keys.
 *
 * A message follows the tokens of its pattern: for `e` a public key of 32 bytes in cleartext, for `ee` and `psk` nothing.
 * Then comes the payload, with a tag of 16 bytes once there is a key.
 *
 * The nonce of a message has 12 bytes: 4 zeros, then the counter as 64 bits, little-endian (12.3).
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { clean, concatBytes } from "@noble/hashes/utils.js";
import { assert } from "../core/errors.ts";
import { hashOf, keyBytes, noiseHkdf, type Primitives } from "./primitives.ts";

export type HandshakeToken = "e" | "ee" | "psk";

export interface HandshakePattern {
  readonly protocolName: string;
  /** The tokens of each message. The initiator writes the first, then the two take turns. */
  readonly messages: readonly (readonly HandshakeToken[])[];
}

/** The pattern of Tapdeck: two fresh keys, and a secret that both sides know beforehand. */
export const nnPsk0: HandshakePattern = {
  protocolName: "Noise_NNpsk0_25519_ChaChaPoly_SHA256",
  messages: [
    ["psk", "e"],
    ["e", "ee"],
  ],
};

interface HandshakeOptions {
  readonly pattern: HandshakePattern;
  readonly role: "initiator" | "responder";
  readonly prologue: Uint8Array;
  /** A secret of 32 bytes for each `psk` of the pattern. The handshake wipes them. */
  readonly psks: readonly Uint8Array[];
  /** A fresh private key of 32 random bytes. The handshake wipes it. */
  readonly ephemeral: Uint8Array;
}

export type Handshake = ReturnType<typeof createHandshake>;

export function createHandshake(primitives: Primitives, options: HandshakeOptions) {
  const { pattern, role, psks, ephemeral } = options;
  const state = createSymmetricState(primitives, pattern.protocolName);
  state.mixHash(options.prologue);
  const keys: Keys = { ephemeral, psks: [...psks], hasPsk: psks.length > 0, theirs: undefined };
  const messages = [...pattern.messages];

  const nextTokens = () => {
    const tokens = messages.shift();
    assert(tokens !== undefined, "a handshake has no more messages than its pattern");
    return tokens;
  };
  const wipeAll = () => {
    clean(ephemeral, ...psks);
    state.wipe();
  };
  return {
    /** The next message; undefined if the other side's key is weak. */
    write(payload: Uint8Array): Uint8Array | undefined {
      const parts: Uint8Array[] = [];
      for (const token of nextTokens()) {
        if (token === "e") {
          const publicKey = primitives.publicKeyOf(ephemeral);
          mixPublicKey(publicKey, state, keys);
          parts.push(publicKey);
        } else if (!mix(token, primitives, state, keys)) return undefined;
      }
      const sealed = state.encryptAndHash(payload);
      return sealed === undefined ? undefined : concatBytes(...parts, sealed);
    },
    /** The payload of the other side's message; undefined if it does not open. The caller then calls `wipe`. */
    read(message: Uint8Array): Uint8Array | undefined {
      let at = 0;
      for (const token of nextTokens()) {
        if (token === "e") {
          if (message.length < at + keyBytes) return undefined;
          keys.theirs = message.slice(at, at + keyBytes);
          mixPublicKey(keys.theirs, state, keys);
          at += keyBytes;
        } else if (!mix(token, primitives, state, keys)) return undefined;
      }
      return state.decryptAndHash(message.subarray(at));
    },
    /** Returns the states to send and receive with, after the last message. Wipes everything else. */
    split() {
      const hash = state.handshakeHash();
      const [initiator, responder] = state.split();
      wipeAll();
      return role === "initiator"
        ? { send: initiator, receive: responder, hash }
        : { send: responder, receive: initiator, hash };
    },
    wipe: wipeAll,
  };
}

interface Keys {
  readonly ephemeral: Uint8Array;
  /** The secrets that are not mixed in yet. */
  readonly psks: Uint8Array[];
  readonly hasPsk: boolean;
  theirs: Uint8Array | undefined;
}

/** With a pre-shared key, a public key is also mixed into the key, so no nonce repeats (9.2). */
function mixPublicKey(publicKey: Uint8Array, state: SymmetricState, keys: Keys): void {
  state.mixHash(publicKey);
  if (keys.hasPsk) state.mixKey(publicKey);
}

/** Mixes a token into the state. Returns false if the secret is missing or the other side's key is weak. */
function mix(token: "ee" | "psk", primitives: Primitives, state: SymmetricState, keys: Keys): boolean {
  switch (token) {
    case "psk": {
      const psk = keys.psks.shift();
      if (psk === undefined) return false;
      state.mixKeyAndHash(psk);
      clean(psk);
      return true;
    }
    case "ee": {
      if (keys.theirs === undefined) return false;
      const shared = primitives.sharedSecret(keys.ephemeral, keys.theirs);
      clean(keys.ephemeral);
      if (shared === undefined) return false;
      state.mixKey(shared);
      clean(shared);
      return true;
    }
  }
}

type SymmetricState = ReturnType<typeof createSymmetricState>;

/** The keys and the hash of a handshake in progress (5.2). */
function createSymmetricState(primitives: Primitives, protocolName: string) {
  let hash: Uint8Array = nameHash(protocolName);
  let chainingKey: Uint8Array = hash.slice();
  let cipher: CipherState | undefined;

  const mixHash = (data: Uint8Array) => {
    hash = hashOf(sha256, hash, data);
  };
  const chain = (next: Uint8Array) => {
    clean(chainingKey);
    chainingKey = next;
  };
  const useKey = (key: Uint8Array) => {
    cipher?.wipe();
    cipher = createCipherState(primitives, key);
  };
  const wipeAll = () => {
    clean(chainingKey);
    cipher?.wipe();
  };

  return {
    mixHash,
    mixKey(input: Uint8Array): void {
      const [next, key, unused] = noiseHkdf(chainingKey, input);
      clean(unused);
      chain(next);
      useKey(key);
    },
    mixKeyAndHash(input: Uint8Array): void {
      const [next, hashed, key] = noiseHkdf(chainingKey, input);
      chain(next);
      mixHash(hashed);
      clean(hashed);
      useKey(key);
    },
    /** The payload as it goes over the wire: in the clear until there is a key. */
    encryptAndHash(plaintext: Uint8Array): Uint8Array | undefined {
      const ciphertext = cipher === undefined ? plaintext : cipher.encrypt(hash, plaintext);
      if (ciphertext !== undefined) mixHash(ciphertext);
      return ciphertext;
    },
    /** The opened payload; undefined if it does not open. */
    decryptAndHash(ciphertext: Uint8Array): Uint8Array | undefined {
      const plaintext = cipher === undefined ? ciphertext : cipher.decrypt(hash, ciphertext);
      if (plaintext !== undefined) mixHash(ciphertext);
      return plaintext;
    },
    /** The initiator's and the responder's sending states. Wipes this state. */
    split(): readonly [CipherState, CipherState] {
      const [first, second, unused] = noiseHkdf(chainingKey, new Uint8Array(0));
      clean(unused);
      wipeAll();
      return [createCipherState(primitives, first), createCipherState(primitives, second)];
    },
    /** A value of 32 bytes that both sides share and that names the session. It is not secret. */
    handshakeHash: () => hash.slice(),
    wipe: wipeAll,
  };
}

/** A name of up to 32 bytes is padded with zeros; a longer name is hashed (5.2). */
function nameHash(protocolName: string): Uint8Array {
  const name = new TextEncoder().encode(protocolName);
  if (name.length > sha256.outputLen) return sha256(name);
  return concatBytes(name, new Uint8Array(sha256.outputLen - name.length));
}

const reservedNonce = 2n ** 64n - 1n;

export type CipherState = ReturnType<typeof createCipherState>;

/**
 * The key and the counter of one direction (5.1). The state owns the key from now on. Only tests of the last nonce give
 * a `firstNonce`.
 */
export function createCipherState(primitives: Primitives, key: Uint8Array, firstNonce = 0n) {
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
    /** The ciphertext with its tag; undefined after the last nonce. */
    encrypt: (ad: Uint8Array, plaintext: Uint8Array) =>
      once(() => primitives.encrypt(key, nonceBytes, ad, plaintext)),
    /**
     * The plaintext; undefined if the message does not open, or after the last nonce. A message that does not open uses
     * no nonce.
     */
    decrypt: (ad: Uint8Array, ciphertext: Uint8Array) =>
      once(() => primitives.decrypt(key, nonceBytes, ad, ciphertext)),
    /** Wipes the key; later calls return undefined. */
    wipe(): void {
      isWiped = true;
      clean(key);
    },
  };
}
