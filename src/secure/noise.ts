/**
 * The handshake of the Noise Protocol Framework (revision 34, 5.3 and 9), for patterns without static keys.
 *
 * A message is, in the order of its pattern's tokens: for `e` a public key of 32 bytes in the clear, for `ee` and `psk`
 * nothing; then the payload, with a tag of 16 bytes as soon as there is a key.
 */
import { assert } from "../core/errors.ts";
import type { CipherState } from "./cipher-state.ts";
import { keyBytes, type Primitives } from "./primitives.ts";
import { createSymmetricState, type SymmetricState } from "./symmetric-state.ts";
import { wipe } from "./wipe.ts";

export type HandshakeToken = "e" | "ee" | "psk";

export interface HandshakePattern {
  readonly protocolName: string;
  /** The tokens of each message; the initiator writes the first, then the two take turns. */
  readonly messages: readonly (readonly HandshakeToken[])[];
}

/** What Tapdeck speaks: two strangers' keys, held together by a secret that both know beforehand. */
export const nnPsk0: HandshakePattern = {
  protocolName: "Noise_NNpsk0_25519_ChaChaPoly_SHA256",
  messages: [
    ["psk", "e"],
    ["e", "ee"],
  ],
};

export interface HandshakeOptions {
  readonly pattern: HandshakePattern;
  readonly role: "initiator" | "responder";
  readonly prologue: Uint8Array;
  /** One of 32 bytes for each `psk` of the pattern. Taken over: wiped by the handshake. */
  readonly psks: readonly Uint8Array[];
  /** A fresh private key of 32 random bytes. Taken over: wiped by the handshake. */
  readonly ephemeral: Uint8Array;
}

export interface Handshake {
  /** The next message; undefined where the other side's key is weak. */
  write(payload: Uint8Array): Uint8Array | undefined;
  /** The payload of the other side's message; undefined where it does not open. Then only `wipe` is left to do. */
  read(message: Uint8Array): Uint8Array | undefined;
  /** After the last message: what this side sends and receives with. Wipes all else. */
  split(): { readonly send: CipherState; readonly receive: CipherState; readonly hash: Uint8Array };
  wipe(): void;
}

export function createHandshake(primitives: Primitives, options: HandshakeOptions): Handshake {
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
    wipe(ephemeral, ...psks);
    state.wipe();
  };
  return {
    write(payload) {
      const parts: Uint8Array[] = [];
      for (const token of nextTokens()) {
        if (token === "e") parts.push(writeKey(primitives, state, keys));
        else if (!mix(token, primitives, state, keys)) return undefined;
      }
      const sealed = state.encryptAndHash(payload);
      return sealed === undefined ? undefined : joined([...parts, sealed]);
    },
    read(message) {
      let at = 0;
      for (const token of nextTokens()) {
        if (token === "e") {
          if (message.length < at + keyBytes) return undefined;
          readKey(message.slice(at, at + keyBytes), state, keys);
          at += keyBytes;
        } else if (!mix(token, primitives, state, keys)) return undefined;
      }
      return state.decryptAndHash(message.subarray(at));
    },
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
  /** Those not mixed in yet. */
  readonly psks: Uint8Array[];
  readonly hasPsk: boolean;
  theirs: Uint8Array | undefined;
}

function writeKey(primitives: Primitives, state: SymmetricState, keys: Keys): Uint8Array {
  const publicKey = primitives.publicKeyOf(keys.ephemeral);
  mixPublicKey(publicKey, state, keys);
  return publicKey;
}

function readKey(publicKey: Uint8Array, state: SymmetricState, keys: Keys): void {
  keys.theirs = publicKey;
  mixPublicKey(publicKey, state, keys);
}

/** With a pre-shared key, a public key is mixed into the key as well, so that no nonce repeats (9.2). */
function mixPublicKey(publicKey: Uint8Array, state: SymmetricState, keys: Keys): void {
  state.mixHash(publicKey);
  if (keys.hasPsk) state.mixKey(publicKey);
}

/** False where there is nothing fit to mix in. */
function mix(token: "ee" | "psk", primitives: Primitives, state: SymmetricState, keys: Keys): boolean {
  switch (token) {
    case "psk": {
      const psk = keys.psks.shift();
      if (psk === undefined) return false;
      state.mixKeyAndHash(psk);
      wipe(psk);
      return true;
    }
    case "ee": {
      if (keys.theirs === undefined) return false;
      const shared = primitives.sharedSecret(keys.ephemeral, keys.theirs);
      wipe(keys.ephemeral);
      if (shared === undefined) return false;
      state.mixKey(shared);
      wipe(shared);
      return true;
    }
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
