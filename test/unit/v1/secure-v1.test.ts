/**
 * The secure layer's version 1: its curve against the runtime's, its vectors, and sessions under attack.
 * Covers: src/v1.
 */
import { expect, test } from "bun:test";
import { createECDH, createHash, hkdfSync, randomBytes } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import fc from "fast-check";
import { v1ExchangeMsMax, v1ExchangesMax, v1PinMsMax } from "../../../src/core/limits.ts";
import { SecureFailure } from "../../../src/secure/failure.ts";
import { constantU, constantV, pointOf, scalarOf } from "../../../src/v1/pake.ts";
import { confirmation, createV1Pairing, pairingKeys } from "../../../src/v1/v1-pairing.ts";
import { acceptFirstFrame, createV1Session, readFirstFrame, sealAesGcm } from "../../../src/v1/v1-session.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { changes } from "../../helpers/secure-pair.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const numberOf = (hex: Uint8Array) => BigInt(`0x${hex.toHex()}`);
const hex32 = (number: bigint) => number.toString(16).padStart(64, "0");
type Point = NonNullable<ReturnType<typeof pointOf>>;
const some = (point: Point | undefined): Point => {
  if (point === undefined) throw new Error("no point of the curve");
  return point;
};
const generator = p256.Point.BASE;
const order = p256.Point.Fn.ORDER;
const isOnCurve = ({ x, y }: { readonly x: bigint; readonly y: bigint }) => pointOf(x, y) !== undefined;

test("multiples of the generator, and of any point, are those of the runtime's own curve", () => {
  for (let n = 0; n < 20; n++) {
    const [ours, theirs] = [createECDH("prime256v1"), createECDH("prime256v1")];
    theirs.generateKeys();
    const scalar = scalarOf(randomBytes(48));
    ours.setPrivateKey(Buffer.from(hex32(scalar), "hex"));
    const { x, y } = generator.multiply(scalar);
    expect(`04${hex32(x)}${hex32(y)}`).toBe(ours.getPublicKey("hex"));
    const other = theirs.getPublicKey();
    const point = { x: numberOf(other.subarray(1, 33)), y: numberOf(other.subarray(33)) };
    expect(isOnCurve(point)).toBe(true);
    expect(hex32(some(pointOf(point.x, point.y)).multiply(scalar).x)).toBe(
      ours.computeSecret(other, undefined, "hex"),
    );
  }
});

test("sums and multiples agree, at the ends of the group too", () => {
  const scalar = fc.bigInt({ min: 1n, max: order - 1n });
  fc.assert(
    fc.property(scalar, scalar, (one, other) => {
      const sum = generator.multiply(one).add(generator.multiply(other));
      expect(sum.equals(generator.multiplyUnsafe((one + other) % order))).toBe(true);
    }),
    { numRuns: 15 },
  );
  expect(
    generator
      .multiply(order - 1n)
      .add(generator)
      .is0(),
  ).toBe(true);
  expect(generator.multiply(order - 1n).equals(generator.negate())).toBe(true);
  expect(generator.add(generator.negate()).is0()).toBe(true);
  expect(generator.add(generator).equals(generator.multiply(2n))).toBe(true);
});

test("the constants are on the curve, and a point off it, or with a coordinate beyond the prime, is none", () => {
  expect([constantU, constantV, generator].map(isOnCurve)).toEqual([true, true, true]);
  expect(isOnCurve({ x: generator.x, y: generator.y + 1n })).toBe(false);
  expect(isOnCurve({ x: 0n, y: 0n })).toBe(false);
  const p = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
  expect(isOnCurve({ x: generator.x + p, y: generator.y })).toBe(false);
});

test("the confirmations are those of the known vector", () => {
  const key = bytes("0123456789abcdef0123456789abcdef");
  const transcript = { name: "vectors", toService: bytes("AAAA"), toClient: bytes("BBBBBBBB") };
  expect(confirmation(key, "client", transcript).toHex()).toBe(
    "8115121a13e707846e9957bfbb556dead52fd0952911a9c437a19a98e9b4a24d",
  );
  expect(confirmation(key, "server", transcript).toHex()).toBe(
    "20a62cf030b6de31ccbd094dc9bb03fbeb1e7f028a37e0206c2885bd594252c3",
  );
});

test("pairing keys are those of the runtime's HKDF, with a salt longer than a block too", () => {
  for (const length of [4, 64, 65, 900]) {
    const [toService, toClient] = [randomBytes(length), randomBytes(length)];
    const exchanged = randomBytes(32);
    const salt = Buffer.concat([toService, toClient]);
    const wanted = hkdfSync("sha256", exchanged, salt, "zaparoo-pairing-v1", 32);
    expect(pairingKeys(exchanged, toService, toClient).pairing.toHex()).toBe(new Uint8Array(wanted).toHex());
  }
});

// The client's side of an exchange, only as far as the tests need it.
function clientOf(pin: string) {
  const pw = numberOf(bytes(pin));
  const a = scalarOf(randomBytes(48));
  const X = constantU.multiply(pw).add(generator.multiply(a));
  const message = bytes(JSON.stringify({ role: 0, xx: String(X.x), xy: String(X.y), yx: "0", yy: "0" }));
  const short = (number: bigint) => Uint8Array.fromHex(number.toString(16).replace(/^(.(..)*)$/, "0$1"));
  return {
    message,
    confirm(answer: Uint8Array, name: string) {
      const { yx, yy } = JSON.parse(new TextDecoder().decode(answer));
      const Y = some(pointOf(BigInt(yx), BigInt(yy)));
      const Z = Y.subtract(constantV.multiply(pw)).multiply(a);
      const hash = createHash("sha256");
      for (const number of [pw, X.x, X.y, Y.x, Y.y, Z.x, Z.y]) hash.update(short(number));
      const exchanged = hash.digest();
      const keys = pairingKeys(exchanged, message, answer);
      return {
        key: keys.pairing.toHex(),
        mac: confirmation(keys.clientConfirm, "client", { name, toService: message, toClient: answer }),
      };
    },
  };
}

function makePairing() {
  const clock = createManualClock();
  const steady = createManualClock();
  const kept: { name: string; token: string; key: string }[] = [];
  let wrong = 0;
  const pairing = createV1Pairing({
    now: clock.now,
    elapsedMs: steady.now,
    randomBytes,
    newId: () => crypto.randomUUID(),
    full: () => undefined,
    keep(client) {
      kept.push(client);
      return "id";
    },
  });
  const begin = (pin: string, name = "phone") => {
    const client = clientOf(pin);
    const started = pairing.start(name, client.message);
    if (started.kind === "refused") return started;
    const { mac, key } = client.confirm(started.message, name);
    const finish = () => {
      const answer = pairing.finish(started.session, mac);
      if (answer.kind === "refused" && answer.status === 401) wrong += 1;
      return answer;
    };
    return { kind: "begun" as const, key, finish };
  };
  const tryPin = (pin: string) => {
    const begun = begin(pin);
    return begun.kind === "begun" ? begun.finish() : begun;
  };
  return { pairing, clock, steady, kept, begin, tryPin, wrongTries: () => wrong };
}

test("both sides of a pairing come to the same key, which the service keeps and never says", () => {
  const { pairing, begin, kept } = makePairing();
  const { pin } = pairing.open();
  expect(pin).toMatch(/^\d{6}$/);
  const begun = begin(pin);
  if (begun.kind !== "begun") throw new Error(begun.error);
  const done = begun.finish();
  expect(kept).toEqual([{ name: "phone", token: expect.any(String), key: begun.key }]);
  expect(JSON.stringify(done)).not.toContain(begun.key);
});

test("exchanges that run side by side are one guess each, and the third wrong one ends all of them", () => {
  const { pairing, begin, tryPin, wrongTries, kept } = makePairing();
  const { pin } = pairing.open();
  const good = begin(pin);
  for (let n = 0; n < 3; n++)
    expect(tryPin("x")).toEqual({ kind: "refused", status: 401, error: "wrong PIN" });
  if (good.kind !== "begun") throw new Error(good.error);
  expect(good.finish()).toMatchObject({ status: 403 });
  expect([wrongTries(), kept.length, begin(pin).kind]).toEqual([3, 0, "refused"]);
});

test("an exchange is finished once, in time, and only so many are begun", async () => {
  const { pairing, steady, begin } = makePairing();
  const { pin } = pairing.open();
  const late = begin(pin);
  await steady.advance(v1ExchangeMsMax);
  if (late.kind !== "begun") throw new Error(late.error);
  expect(late.finish()).toMatchObject({ status: 410 });
  expect(late.finish()).toMatchObject({ status: 404 });
  for (let n = 1; n < v1ExchangesMax; n++) expect(begin(pin).kind).toBe("begun");
  expect(begin(pin)).toMatchObject({ status: 403 });
  await steady.advance(v1PinMsMax);
  expect(begin(pin)).toMatchObject({ status: 410 });
  expect(begin(pin)).toMatchObject({ status: 400 });
});

test("a clock that is set on or back neither ends a PIN nor keeps it open", () => {
  const { pairing, clock, steady, kept, begin, tryPin } = makePairing();
  const early = begin(pairing.open().pin);
  clock.jump(v1PinMsMax);
  if (early.kind !== "begun") throw new Error(early.error);
  expect(early.finish().kind).toBe("answer");
  const { pin, endsMs } = pairing.open();
  expect(endsMs).toBe(clock.now() + v1PinMsMax);
  clock.jump(-v1PinMsMax);
  steady.advance(v1PinMsMax);
  expect(tryPin(pin)).toMatchObject({ status: 410 });
  expect(kept.length).toBe(1);
});

test("messages that are none are refused in words, and cost no guess", () => {
  const { pairing, tryPin, wrongTries } = makePairing();
  pairing.open();
  const text = (value: unknown) => bytes(JSON.stringify(value));
  const { x, y } = generator;
  const messages = [
    bytes("no json"),
    text(null),
    text({ role: 1, xx: String(x), xy: String(y) }),
    text({ role: 0, xx: Number(x), xy: Number(y) }),
    text({ role: 0, xx: "0", xy: "0" }),
    text({ role: 0, xx: `-${x}`, xy: String(y) }),
    text({ role: 0, xx: "9".repeat(79), xy: "1" }),
    text({ role: 0, xx: String(x), xy: String(y + 1n) }),
  ];
  for (const message of messages)
    expect(pairing.start("phone", message)).toMatchObject({ status: 400, error: "invalid PAKE message" });
  expect(pairing.start("", clientOf("1").message)).toMatchObject({ error: "client name required" });
  expect(pairing.start("ü".repeat(65), clientOf("1").message)).toMatchObject({
    error: "client name too long",
  });
  // None of these refused starts was a try, so three wrong PINs are still checked.
  for (let n = 0; n < 3; n++) expect(tryPin("x")).toMatchObject({ status: 401, error: "wrong PIN" });
  expect(wrongTries()).toBe(3);
});

const pairingKey = new Uint8Array(32).fill(7);
const token = "6c0e3f0e-0000-4000-8000-000000000001";

/**
 * A client's frames, sealed by the service's own code with the keys of the client's side. The tests with the Python
 * client check that code.
 */
function clientFrames(salt: Uint8Array, payloads: readonly string[]): readonly string[] {
  const secrets = (info: string, size: number) =>
    new Uint8Array(hkdfSync("sha256", pairingKey, salt, info, size));
  const [key, base] = [secrets("zaparoo-c2s-v1", 32), secrets("zaparoo-c2s-nonce-v1", 12)];
  return payloads.map((payload, counter) => {
    const nonce = base.slice();
    const low = new DataView(nonce.buffer);
    low.setBigUint64(4, low.getBigUint64(4) ^ BigInt(counter));
    const e = new Uint8Array(sealAesGcm(key, nonce, bytes(`${token}:ws`), bytes(payload))).toBase64();
    return JSON.stringify(counter === 0 ? { v: 1, e, t: token, s: salt.toBase64() } : { e });
  });
}

const serviceOf = async (first: string, seen = new Set<string>()) => {
  const frame = readFirstFrame(first);
  if (frame === undefined) throw new Error("no frame of version 1");
  return acceptFirstFrame(frame, {
    randomBytes,
    find: (name) => (name === token ? { id: "id", key: pairingKey.toHex() } : undefined),
    async remember(_, salt) {
      const isNew = !seen.has(salt.toHex());
      seen.add(salt.toHex());
      return isNew;
    },
  });
};

test("frames open in their order, and whatever is replayed, dropped, swapped or reflected ends the session", async () => {
  const frames = clientFrames(randomBytes(16), ["one", "two", "three"]);
  const { session, payload } = await serviceOf(frames[0] ?? "");
  expect([payload, session.open(frames[1] ?? ""), session.open(frames[2] ?? "")]).toEqual([
    "one",
    { kind: "payload", text: "two" },
    { kind: "payload", text: "three" },
  ]);
  for (const at of [0, 2]) {
    const fresh = clientFrames(randomBytes(16), ["one", "two", "three"]);
    const { session: disturbed } = await serviceOf(fresh[0] ?? "");
    expect(() => disturbed.open(fresh[at] ?? "")).toThrow(SecureFailure);
    expect(() => disturbed.open(fresh[1] ?? "")).toThrow(SecureFailure);
    expect(() => disturbed.seal("anyone?")).toThrow(SecureFailure);
  }
  const again = clientFrames(randomBytes(16), ["one", "two"]);
  const { session: mirror } = await serviceOf(again[0] ?? "");
  expect(() => mirror.open(mirror.seal("two"))).toThrow(SecureFailure);
});

test("a session whose salt was seen does not open again", async () => {
  const [first = ""] = clientFrames(randomBytes(16), ["one"]);
  const seen = new Set<string>();
  expect((await serviceOf(first, seen)).payload).toBe("one");
  expect(await serviceOf(first, seen).catch((error) => error)).toBeInstanceOf(SecureFailure);
});

test("a first or a later frame that is altered in any place, in any way, is refused", async () => {
  const salt = randomBytes(16);
  const [first = "", second = ""] = clientFrames(salt, ['{"id":1}', '{"id":2}']);
  let tried = 0;
  for (let at = 0; at < first.length; at++) {
    for (const change of Object.values(changes)) {
      const changed = change(first, at);
      if (changed === first || readFirstFrame(changed) === undefined) continue;
      expect(await serviceOf(changed).catch((error) => error), changed).toBeInstanceOf(SecureFailure);
      tried += 1;
    }
  }
  for (let at = 0; at < second.length; at++) {
    for (const change of Object.values(changes)) {
      const changed = change(second, at);
      if (changed === second) continue;
      const { session } = await serviceOf(first);
      expect(() => session.open(changed), changed).toThrow(SecureFailure);
      tried += 1;
    }
  }
  expect(tried).toBeGreaterThan(600);
});

test("answers are sealed on keys of their own direction, with a counter that never repeats a nonce", () => {
  const session = createV1Session({ clientId: "id", token, pairingKey, salt: new Uint8Array(16) });
  const texts = Array.from({ length: 50 }, () => session.seal("the same"));
  expect(new Set(texts).size).toBe(50);
});
