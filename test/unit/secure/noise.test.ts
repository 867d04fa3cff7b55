/** The primitives and the handshake of the secure layer, against published vectors and Node's own hash. */
import { expect, test } from "bun:test";
import { createHash, createHmac, hkdfSync } from "node:crypto";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import fc from "fast-check";
import {
  createCipherState,
  createHandshake,
  type HandshakePattern,
  type HandshakeToken,
  nnPsk0,
} from "../../../src/secure/noise.ts";
import { hashOf, loadPrimitives, noiseHkdf, type Primitives } from "../../../src/secure/primitives.ts";
import vectorFile from "../../vectors/noise-nn-25519-chachapoly-sha256.json";

const primitives = await loadPrimitives();
const bytes = (hex: string) => Uint8Array.fromHex(hex);
const text = (ascii: string) => new TextEncoder().encode(ascii);

test("SHA-256 gives the examples of FIPS 180-4", () => {
  expect(hashOf(sha256, text("abc")).toHex()).toBe(
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
  expect(hashOf(sha256, text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")).toHex()).toBe(
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  );
  expect(hashOf(sha256, new Uint8Array(1_000_000).fill(0x61)).toHex()).toBe(
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
  );
});

test("SHA-256 of every length up to four blocks is that of Node, in one part or two", () => {
  const data = crypto.getRandomValues(new Uint8Array(257));
  for (let length = 0; length < data.length; length++) {
    const part = data.subarray(0, length);
    const expected = createHash("sha256").update(part).digest("hex");
    expect(hashOf(sha256, part).toHex()).toBe(expected);
    const half = length >> 1;
    expect(hashOf(sha256, part.subarray(0, half), part.subarray(half)).toHex()).toBe(expected);
  }
});

test("HMAC and HKDF are those of Node for any key and data", () => {
  const data = fc.uint8Array({ maxLength: 200 });
  const key = fc.uint8Array({ minLength: 32, maxLength: 64 });
  fc.assert(
    fc.property(key, data, (chainingKey, input) => {
      expect(hmac(sha256, chainingKey, input).toHex()).toBe(
        createHmac("sha256", chainingKey).update(input).digest("hex"),
      );
      const expected = new Uint8Array(hkdfSync("sha256", input, chainingKey, new Uint8Array(0), 96)).toHex();
      expect(
        noiseHkdf(chainingKey, input)
          .map((part) => part.toHex())
          .join(""),
      ).toBe(expected);
    }),
  );
});

test("X25519 gives the example of RFC 7748, section 6.1", () => {
  const alicesKey = bytes("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
  const bobsKey = bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  expect(primitives.publicKeyOf(alicesKey).toHex()).toBe(
    "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
  );
  expect(primitives.sharedSecret(alicesKey, bobsKey)?.toHex()).toBe(
    "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
  );
});

test("a public key of small order has no shared secret", () => {
  const weak = [new Uint8Array(32), Uint8Array.of(1, ...new Uint8Array(31))];
  for (const key of weak) expect(primitives.sharedSecret(primitives.randomBytes(32), key)).toBeUndefined();
});

test("ChaCha20-Poly1305 gives the example of RFC 8439, section 2.8.2, and opens nothing else", () => {
  const key = bytes("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
  const nonce = bytes("070000004041424344454647");
  const ad = bytes("50515253c0c1c2c3c4c5c6c7");
  const plaintext = text(
    "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.",
  );
  const ciphertext = primitives.encrypt(key, nonce, ad, plaintext);
  expect(ciphertext.toHex()).toEndWith("61161ae10b594f09e26a7e902ecbd0600691");
  expect(primitives.decrypt(key, nonce, ad, ciphertext)?.toHex()).toBe(plaintext.toHex());
  expect(primitives.decrypt(key, nonce, ad.slice(1), ciphertext)).toBeUndefined();
  expect(primitives.decrypt(key, nonce, ad, ciphertext.subarray(0, 15))).toBeUndefined();
});

interface Vector {
  readonly source: string;
  readonly protocol_name: string;
  readonly init_prologue: string;
  readonly resp_prologue: string;
  readonly init_psks?: readonly string[];
  readonly init_ephemeral: string;
  readonly resp_ephemeral: string;
  readonly handshake_hash?: string;
  readonly messages: readonly { readonly payload: string; readonly ciphertext: string }[];
}
const vectors: readonly Vector[] = vectorFile.vectors;

/** NN with its modifiers: psk0 comes before the first message's tokens, psk2 after the second's (revision 34, 9.3). */
function patternOf(protocolName: string): HandshakePattern {
  const modifiers = protocolName.split("_")[1]?.slice(2) ?? "";
  const psk = (name: string): HandshakeToken[] => (modifiers.split("+").includes(name) ? ["psk"] : []);
  return {
    protocolName,
    messages: [
      [...psk("psk0"), "e"],
      ["e", "ee", ...psk("psk2")],
    ],
  };
}

function party(role: "initiator" | "responder", vector: Vector, pattern: HandshakePattern) {
  const isFirst = role === "initiator";
  return createHandshake(primitives, {
    pattern,
    role,
    prologue: bytes(isFirst ? vector.init_prologue : vector.resp_prologue),
    psks: (vector.init_psks ?? []).map(bytes),
    ephemeral: bytes(isFirst ? vector.init_ephemeral : vector.resp_ephemeral),
  });
}

test("there are vectors, and one is of the pattern that we speak", () => {
  expect(vectors.length).toBe(5);
  const ours = vectors.filter((vector) => vector.protocol_name === nnPsk0.protocolName);
  expect(ours.map((vector) => patternOf(vector.protocol_name))).toEqual([nnPsk0]);
});

for (const vector of vectors) {
  test(`the vector of ${vector.source} for ${vector.protocol_name} comes out to the byte`, () => {
    const pattern = patternOf(vector.protocol_name);
    const initiator = party("initiator", vector, pattern);
    const responder = party("responder", vector, pattern);
    const [first, second, ...transport] = vector.messages;
    const shake = (message: typeof first, from: typeof initiator, to: typeof initiator) => {
      const wire = from.write(bytes(message?.payload ?? ""));
      expect(wire?.toHex()).toBe(message?.ciphertext ?? "");
      expect(to.read(wire ?? new Uint8Array())?.toHex()).toBe(message?.payload ?? "");
    };
    shake(first, initiator, responder);
    shake(second, responder, initiator);
    const ends = [initiator.split(), responder.split()];
    for (const end of ends) expect(end.hash.toHex()).toBe(vector.handshake_hash ?? end.hash.toHex());
    expect(ends[0]?.hash.toHex()).toBe(ends[1]?.hash.toHex() ?? "");
    const none = new Uint8Array(0);
    transport.forEach((message, index) => {
      const [from, to] = [ends[index % 2], ends[(index + 1) % 2]];
      const wire = from?.send.encrypt(none, bytes(message.payload));
      expect(wire?.toHex()).toBe(message.ciphertext);
      expect(to?.receive.decrypt(none, bytes(message.ciphertext))?.toHex()).toBe(message.payload);
    });
    expect(transport.length).toBeGreaterThan(0);
  });
}

test("the counter runs to 2^64 - 2 and never to the reserved 2^64 - 1", () => {
  const none = new Uint8Array(0);
  const state = () => createCipherState(primitives, new Uint8Array(32).fill(7), 2n ** 64n - 2n);
  const [from, to] = [state(), state()];
  const wire = from.encrypt(none, text("the last"));
  expect(wire).toBeDefined();
  expect(from.encrypt(none, none)).toBeUndefined();
  expect(to.decrypt(none, wire ?? none)).toEqual(text("the last"));
  expect(to.decrypt(none, wire ?? none)).toBeUndefined();
});

test("a message that does not open uses no nonce", () => {
  const none = new Uint8Array(0);
  const [from, to] = [1, 2].map(() => createCipherState(primitives, new Uint8Array(32).fill(7)));
  const wire = from?.encrypt(none, text("hello")) ?? none;
  expect(to?.decrypt(none, wire.with(0, (wire[0] ?? 0) ^ 1))).toBeUndefined();
  expect(to?.decrypt(none, wire)).toEqual(text("hello"));
});

test("secrets, private keys, shared secrets and the keys of a handshake are zeros once it is over", () => {
  const seen: Uint8Array[] = [];
  const keep = <T extends Uint8Array | undefined>(key: T): T => {
    if (key !== undefined) seen.push(key);
    return key;
  };
  const watched: Primitives = {
    ...primitives,
    sharedSecret: (ours, theirs) => keep(primitives.sharedSecret(keep(ours), theirs)),
    encrypt: (key, ...rest) => primitives.encrypt(keep(key), ...rest),
    decrypt: (key, ...rest) => primitives.decrypt(keep(key), ...rest),
  };
  const ends = (["initiator", "responder"] as const).map((role) =>
    createHandshake(watched, {
      pattern: nnPsk0,
      role,
      prologue: text("x"),
      psks: [keep(new Uint8Array(32).fill(9))],
      ephemeral: keep(primitives.randomBytes(32)),
    }),
  );
  const none = new Uint8Array(0);
  const [initiator, responder] = ends;
  responder?.read(initiator?.write(none) ?? none);
  initiator?.read(responder?.write(none) ?? none);
  const states = ends.map((end) => end.split());
  // Each of the two ends has used six keys: the secret, the private key twice, the shared secret, and the keys of two messages.
  expect(seen.length).toBe(12);
  expect(seen.filter((key) => key.some((byte) => byte !== 0))).toEqual([]);
  for (const { send, receive } of states) {
    send.encrypt(none, none);
    send.wipe();
    receive.wipe();
    expect(send.encrypt(none, none)).toBeUndefined();
  }
  expect(seen.length).toBe(14);
  expect(seen.filter((key) => key.some((byte) => byte !== 0))).toEqual([]);
});

/** A side of a handshake whose pattern is `messages`. */
function side(
  role: "initiator" | "responder",
  messages: HandshakePattern["messages"],
  psks: Uint8Array[] = [],
) {
  const pattern = { protocolName: nnPsk0.protocolName, messages };
  const ephemeral = primitives.randomBytes(32);
  return createHandshake(primitives, { pattern, role, prologue: text("x"), psks, ephemeral });
}

test("a message that is shorter than its public key is refused, and one of exactly that length is read", () => {
  const pattern = [["e"]] as const;
  const message = side("initiator", pattern).write(new Uint8Array(0)) ?? new Uint8Array(0);
  expect(message).toHaveLength(32);
  expect(side("responder", pattern).read(message)).toEqual(new Uint8Array(0));
  expect(side("responder", pattern).read(message.subarray(0, 31))).toBeUndefined();
  expect(side("responder", pattern).read(new Uint8Array(0))).toBeUndefined();
});

test("a second public key in a message is read behind the first one", () => {
  const pattern = [["e", "e"]] as const;
  const message = side("initiator", pattern).write(text("payload")) ?? new Uint8Array(0);
  expect(side("responder", pattern).read(message)).toEqual(text("payload"));
  expect(side("responder", pattern).read(message.subarray(0, 63))).toBeUndefined();
});

test("a handshake without the pre-shared key or the public key of its pattern ends, on both sides", () => {
  for (const tokens of [["psk", "e"], ["ee"]] as const) {
    expect(side("initiator", [tokens]).write(text("payload"))).toBeUndefined();
    expect(side("responder", [tokens]).read(new Uint8Array(48))).toBeUndefined();
  }
});

test("a public key of small order ends the handshake", () => {
  const responder = side(
    "responder",
    nnPsk0.messages.map((tokens) => tokens.filter((token) => token !== "psk")),
  );
  expect(responder.read(new Uint8Array(32))).toEqual(new Uint8Array(0));
  expect(responder.write(text("payload"))).toBeUndefined();
});
