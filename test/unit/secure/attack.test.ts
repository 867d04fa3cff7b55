/**
 * Sessions under attack: every place of every text is tried, and each time the session ends.
 * Covers: src/secure/secure-session.ts, src/secure/handshake.ts.
 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { ServiceError } from "../../../src/core/errors.ts";
import { messageBytesMax, sealedFrameCharsMax, sealedMessageBytesMax } from "../../../src/core/limits.ts";
import { SecureFailure } from "../../../src/secure/failure.ts";
import { accept, start } from "../../../src/secure/handshake.ts";
import { createCipherState } from "../../../src/secure/noise.ts";
import type { Primitives } from "../../../src/secure/primitives.ts";
import { createSession, type SecureSession } from "../../../src/secure/secure-session.ts";
import {
  acceptHello,
  changes,
  clientId,
  lookup,
  makePair,
  primitives,
  secret,
  startClient,
} from "../../helpers/secure-pair.ts";

function refusalOf(hello: string, find = lookup): ServiceError {
  const accepted = accept(primitives, hello, find);
  if (accepted.kind === "accepted") throw new Error(`was accepted: ${hello}`);
  return accepted.error;
}

/** The text is refused, and so are all later ones. */
function expectEnd(session: SecureSession, text: string, what: string, good?: string): void {
  let opened: unknown;
  try {
    opened = session.open(text);
  } catch (error) {
    // Only this error is a refusal; any other is our own fault.
    if (!(error instanceof SecureFailure)) throw error;
    opened = "refused";
  }
  if (opened !== "refused") throw new Error(`was opened: ${what}`);
  expect(() => session.open(good ?? text)).toThrow(SecureFailure);
  expect(() => session.seal("anyone?")).toThrow(SecureFailure);
}

/** Frames with one message each, by keys that the test holds. */
function pairWithKeys() {
  const keys = () => createCipherState(primitives, new Uint8Array(32).fill(3));
  const unused = createCipherState(primitives, new Uint8Array(32).fill(4));
  const sender = keys();
  const session = createSession({ clientId, send: unused, receive: keys(), peerIsProved: false });
  const message = (plaintext: Uint8Array) =>
    sender.encrypt(new Uint8Array(0), plaintext) ?? new Uint8Array(0);
  return { session, message };
}

const frameOf = (bytes: Uint8Array) => JSON.stringify({ e: bytes.toBase64() });

/** Changes a fresh text at every place in every way, and returns the number of ways. */
function walk(fresh: () => string, attack: (changed: string, whole: string, what: string) => void): number {
  const length = fresh().length;
  let tried = 0;
  for (let at = 0; at < length; at++) {
    for (const [name, change] of Object.entries(changes)) {
      const whole = fresh();
      const changed = change(whole, at);
      if (changed === whole) continue;
      attack(changed, whole, `${name} at ${at}: ${changed}`);
      tried += 1;
    }
  }
  return tried;
}

test("a hello that is altered in any place is refused", () => {
  const codes = new Set<string>();
  const { hello } = startClient();
  const tried = walk(
    () => hello,
    (changed) => codes.add(refusalOf(changed).code),
  );
  expect(tried).toBeGreaterThan(700);
  expect([...codes].sort()).toEqual(["encryption-required", "secure-failure", "unsupported-secure-version"]);
});

test("a reply that is altered in any place ends the client's handshake", () => {
  let started = startClient();
  const fresh = () => {
    started = startClient();
    return acceptHello(started.hello).reply;
  };
  const tried = walk(fresh, (changed, whole, what) => {
    expect(() => started.finish(changed), what).toThrow(SecureFailure);
    expect(() => started.finish(whole)).toThrow(SecureFailure);
  });
  expect(tried).toBeGreaterThan(450);
});

for (const sender of ["client", "service"] as const) {
  test(`a frame of the ${sender}'s that is altered in any place ends the session`, () => {
    const receiver = sender === "client" ? "service" : "client";
    let pair = makePair();
    const fresh = () => {
      pair = makePair();
      return pair[sender].seal('{"jsonrpc":"2.0","id":1,"method":"tokens"}');
    };
    const tried = walk(fresh, (changed, whole, what) => expectEnd(pair[receiver], changed, what, whole));
    expect(tried).toBeGreaterThan(500);
  });
}

test("of a long payload, every message altered, cut, dropped, doubled or swapped ends the session", () => {
  const text = "0123456789".repeat(20_000);
  const size = sealedMessageBytesMax;
  const cuts = [0, 1, 2, 3].map((index) => index * size);
  const without = (bytes: Uint8Array, at: number, count: number) =>
    joined(bytes.subarray(0, at), bytes.subarray(at + count));
  const edits: ((bytes: Uint8Array) => Uint8Array)[] = cuts.flatMap((at) => [
    (bytes: Uint8Array) => bytes.with(at, (bytes[at] ?? 0) ^ 1),
    (bytes: Uint8Array) => {
      const end = Math.min(at + size, bytes.length) - 1;
      return bytes.with(end, (bytes[end] ?? 0) ^ 0x80);
    },
    (bytes: Uint8Array) => bytes.slice(0, at + 10),
    // Without its end a payload is partial, as the next test shows.
    (bytes: Uint8Array) => (at < 3 * size ? without(bytes, at, size) : bytes),
    (bytes: Uint8Array) => joined(bytes.subarray(0, at + size), bytes.subarray(at)),
    (bytes: Uint8Array) =>
      joined(bytes.subarray(0, at), bytes.subarray(at + size), bytes.subarray(at, at + size)),
  ]);
  let tried = 0;
  for (const edit of edits) {
    const { client, service } = makePair();
    const whole = Uint8Array.fromBase64(JSON.parse(client.seal(text)).e);
    const edited = edit(whole);
    if (edited.toHex() === whole.toHex()) continue;
    expectEnd(service, frameOf(edited), "an edited payload", frameOf(whole));
    tried += 1;
  }
  expect(tried).toBeGreaterThan(20);
});

test("cutting a payload between two messages leaves it partial, and nothing else may follow", () => {
  const { client, service } = makePair();
  const whole = Uint8Array.fromBase64(JSON.parse(client.seal("0123456789".repeat(20_000))).e);
  expect(service.open(frameOf(whole.subarray(0, sealedMessageBytesMax)))).toEqual({ kind: "partial" });
  expectEnd(service, client.seal("the next payload"), "a payload whose end was withheld");
});

test("a session that is replayed, from its hello on, is refused with its first frame", () => {
  const { client, service, hello } = makePair();
  const frames = ["one", "two"].map((text) => client.seal(text));
  for (const frame of frames) service.open(frame);
  for (const frame of frames) {
    const { session } = acceptHello(hello);
    expectEnd(session, frame, "a replayed frame");
    expect(session.peerIsProved).toBe(false);
  }
});

test("a repeated, dropped, reordered or reflected frame ends the session, at whichever frame of it", () => {
  const count = 5;
  for (let at = 0; at < count; at++) {
    const upTo = () => {
      const pair = makePair();
      const frames = Array.from({ length: count + 1 }, (_, index) => pair.client.seal(`frame ${index}`));
      for (const frame of frames.slice(0, at)) pair.service.open(frame);
      return { ...pair, frames, next: frames[at] ?? "", afterNext: frames[at + 1] ?? "" };
    };
    for (let before = 0; before < at; before++) {
      const { service, frames, next } = upTo();
      expectEnd(service, frames[before] ?? "", "a repeated frame", next);
    }
    const dropped = upTo();
    expectEnd(dropped.service, dropped.afterNext, "a frame without the one before it", dropped.next);
    const reflected = upTo();
    expectEnd(reflected.service, reflected.service.seal("frame"), "its own frame", reflected.next);
    const back = upTo();
    expectEnd(back.client, back.next, "the client's own frame");
  }
});

test("a text of another session of the same client ends this one, at each step", () => {
  const [one, other] = [makePair(), makePair()];
  const [started, otherStarted] = [startClient(), startClient()];
  const foreignReply = acceptHello(otherStarted.hello).reply;
  expect(() => started.finish(foreignReply)).toThrow(SecureFailure);
  expectEnd(one.service, other.client.seal("spliced"), "a frame of another session");
  expectEnd(one.client, other.service.seal("spliced"), "a frame of another session");
});

test("every byte of a frame that is taken from another session ends the session", () => {
  const length = Uint8Array.fromBase64(JSON.parse(makePair().client.seal("one")).e).length;
  let tried = 0;
  for (let at = 0; at < length; at++) {
    const [one, other] = [makePair(), makePair()];
    const [ours, theirs] = [one, other].map(({ client }) =>
      Uint8Array.fromBase64(JSON.parse(client.seal("one")).e),
    );
    if (ours === undefined || theirs === undefined || ours[at] === theirs[at]) continue;
    expectEnd(one.service, frameOf(joined(ours.subarray(0, at), theirs.subarray(at))), `spliced at ${at}`);
    tried += 1;
  }
  expect(tried).toBeGreaterThan(15);
});

test("a second handshake on a session ends it, on either side", () => {
  const { client, service, hello, reply } = makePair();
  expectEnd(service, startClient().hello, "a second hello", client.seal("good"));
  expectEnd(client, reply, "a second reply");
  const again = makePair();
  expectEnd(again.service, hello, "the first hello again");
});

test("an unknown client and a wrong secret look the same, byte by byte, and cost the same work", () => {
  const texts = new Set<string>();
  const works = new Set<string>();
  const looks = (error: ServiceError) =>
    JSON.stringify([error.name, error.code, error.message, error.data ?? null]);
  const strangers = [startClient(clientId, "77".repeat(32)), startClient("nobody", secret)];
  for (const { hello } of strangers) {
    const { counting, work } = countedPrimitives();
    const accepted = accept(counting, hello, lookup);
    if (accepted.kind === "accepted") throw new Error("was accepted");
    texts.add(looks(accepted.error));
    works.add(work.join(" "));
  }
  expect([...texts]).toEqual([
    '["ServiceError","secure-failure","this does not open: connect again, with the id and secret of a client of this device",null]',
  ]);
  expect([...works]).toEqual(["random random decrypt"]);
});

test("keys of a refused handshake and of a closed session are zeros", () => {
  const { counting, keys } = countedPrimitives();
  const refused = accept(counting, startClient(clientId, "77".repeat(32)).hello, lookup);
  expect(refused.kind).toBe("refused");
  const started = startClient();
  const accepted = accept(counting, started.hello, lookup);
  if (accepted.kind === "refused") throw accepted.error;
  const client = started.finish(accepted.reply);
  accepted.session.open(client.seal("one"));
  accepted.session.seal("two");
  accepted.session.close();
  expect(keys.length).toBeGreaterThan(6);
  expect(keys.filter((key) => key.some((byte) => byte !== 0))).toEqual([]);
});

test("another version is refused with the one that is spoken here, whatever else the text says", () => {
  const { hello } = startClient();
  for (const version of ["1", "3", "20", '"2"', "null", "[2]", "2.5", "{}"]) {
    const refusal = refusalOf(hello.replace('"v":2', `"v":${version}`));
    expect(refusal.code).toBe("unsupported-secure-version");
    expect(refusal.data).toEqual({ supported: [2] });
  }
});

test("a text that is none of the secure layer needs encryption; a frame before the handshake does not open", () => {
  const cleartext = [
    '{"jsonrpc":"2.0","id":1,"method":"version"}',
    "[]",
    "hello",
    "",
    "null",
    "7",
    `"${"x".repeat(2000)}"`,
  ];
  for (const text of cleartext) expect(refusalOf(text).code).toBe("encryption-required");
  expect(refusalOf(makePair().client.seal("early")).code).toBe("secure-failure");
  expect(refusalOf('{"e":7}').code).toBe("secure-failure");
});

test("a hello with a payload, an odd id or a weak key is refused", () => {
  const { e } = JSON.parse(startClient().hello);
  const hello = (t: unknown, message: unknown) => JSON.stringify({ v: 2, t, e: message });
  const asked: string[] = [];
  const find = (id: string) => {
    asked.push(id);
    return undefined;
  };
  for (const id of ["", "x".repeat(65), "küche", "a b", "a\nb", 7, null, undefined, [clientId]])
    expect(refusalOf(hello(id, e), find).code).toBe("secure-failure");
  for (const size of [0, 31, 32, 47, 49, 64])
    expect(refusalOf(hello(clientId, new Uint8Array(size).toBase64()), find).code).toBe("secure-failure");
  // None of these texts reached the store.
  expect(asked).toEqual([]);
  expect(refusalOf(weakHello()).code).toBe("secure-failure");
});

test("flags other than 0 and 1, messages without any, and messages behind the last are refused", () => {
  const plaintexts = [[2], [0xff, 1], []];
  for (const plaintext of plaintexts) {
    const { session, message } = pairWithKeys();
    expectEnd(session, frameOf(message(Uint8Array.from(plaintext))), "an unknown flag");
  }
  const { session, message } = pairWithKeys();
  const last = message(new Uint8Array(sealedMessageBytesMax - 16));
  expectEnd(session, frameOf(joined(last, message(Uint8Array.of(0, 0x78)))), "two payloads in a frame");
  expectEnd(pairWithKeys().session, '{"e":""}', "a frame without a message");
});

test("a payload that grows beyond 1 MiB, or that is not UTF-8, is refused", () => {
  const { session, message } = pairWithKeys();
  const piece = new Uint8Array(sealedMessageBytesMax - 16).fill(0x61).with(0, 1);
  let bytes = 0;
  for (; bytes + piece.length - 1 <= messageBytesMax; bytes += piece.length - 1)
    expect(session.open(frameOf(message(piece))).kind).toBe("partial");
  expectEnd(session, frameOf(message(piece)), "1 MiB and more");
  const invalid = pairWithKeys();
  expectEnd(invalid.session, frameOf(invalid.message(Uint8Array.of(0, 0xc3, 0x28))), "broken UTF-8");
});

test("base64 has one spelling: white space, other alphabets, missing padding and idle bits are refused", () => {
  const spellings: ((e: string) => string)[] = [
    (e) => `${e} `,
    (e) => ` ${e}`,
    (e) => `${e.slice(0, 8)}\n${e.slice(8)}`,
    (e) => e.replace(/=+$/, ""),
    (e) => `${e}=`,
    (e) => `${e}====`,
    (e) => e.replace(/.(=+)$/, (_, padding) => `B${padding}`),
    (e) => `-_${e.slice(2)}`,
  ];
  for (const spell of spellings) {
    const { client, service } = makePair();
    const { e } = JSON.parse(client.seal("ab"));
    expect(e).toEndWith("=");
    expectEnd(service, `{"e":"${spell(e)}"}`, "another spelling");
  }
});

test("junk of any kind is refused as such, before and after the handshake, and nothing else is thrown", () => {
  const base64 = fc.uint8Array({ maxLength: 200 }).map((bytes) => bytes.toBase64());
  const member = fc.oneof(base64, fc.string(), fc.jsonValue());
  const framed = fc.record(
    { v: fc.oneof(fc.constant(2), fc.jsonValue()), t: member, e: member },
    { requiredKeys: [] },
  );
  const junk = fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.json(),
    framed.map((frame) => JSON.stringify(frame)),
    base64.map((e) => JSON.stringify({ e })),
  );
  fc.assert(
    fc.property(junk, (text) => {
      refusalOf(text);
      const { session } = pairWithKeys();
      expectEnd(session, text, text);
      expect(() => startClient().finish(text)).toThrow(SecureFailure);
    }),
    { numRuns: 1000 },
  );
  const huge = [
    "[".repeat(1_000_000),
    `{"e":${"[".repeat(1_000_000)}`,
    `{"e":"${"A".repeat(sealedFrameCharsMax)}"}`,
  ];
  for (const text of huge) {
    expect(refusalOf(text).code).toBe("encryption-required");
    expectEnd(pairWithKeys().session, text, "a giant");
  }
});

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Primitives that record each call, and every key that they received. */
function countedPrimitives() {
  const work: string[] = [];
  const keys: Uint8Array[] = [];
  const seen = <T extends Uint8Array | undefined>(name: string, key: T): T => {
    work.push(name);
    if (key !== undefined) keys.push(key);
    return key;
  };
  const counting: Primitives = {
    publicKeyOf: (key) => primitives.publicKeyOf(seen("public-key", key)),
    sharedSecret: (ours, theirs) => primitives.sharedSecret(seen("shared-secret", ours), theirs),
    encrypt: (key, ...rest) => primitives.encrypt(seen("encrypt", key), ...rest),
    decrypt: (key, ...rest) => primitives.decrypt(seen("decrypt", key), ...rest),
    randomBytes: (count) => {
      work.push("random");
      return primitives.randomBytes(count);
    },
    sha256: primitives.sha256,
  };
  return { counting, work, keys };
}

/** A hello of a client that knows the secret, with a public key of small order. */
function weakHello(): string {
  const weak: Primitives = { ...primitives, publicKeyOf: () => new Uint8Array(32) };
  return start(weak, clientId, secret).hello;
}
