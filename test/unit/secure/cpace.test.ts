/** CPace against the draft's own vectors, and SHA-512 against another implementation. */
import { expect, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { hmac } from "@noble/hashes/hmac.js";
import { sha512 } from "@noble/hashes/sha2.js";
import fc from "fast-check";
import {
  confirmationOf,
  elligator2,
  generatorOf,
  generatorString,
  lvCat,
  prependLength,
  sessionKey,
  shareOf,
} from "../../../src/secure/cpace.ts";
import { hashOf, loadPrimitives } from "../../../src/secure/primitives.ts";
import vectors from "../../vectors/cpace-x25519-sha512.json";

const hex = (text: string) => Uint8Array.fromHex(text);
const { run } = vectors;
const inputs = { prs: hex(run.PRS), ci: hex(run.CI), sid: hex(run.sid) };
const [ya, yb] = [hex(run.ya), hex(run.yb)];
const [a, b] = [
  { share: hex(run.Ya), data: hex(run.ADa) },
  { share: hex(run.Yb), data: hex(run.ADb) },
];
const primitives = await loadPrimitives();

test("lengths, generator string, hash and generator are those of the draft", () => {
  expect(prependLength(new TextEncoder().encode("1234")).toHex()).toBe("0431323334");
  expect(prependLength(new Uint8Array(127)).subarray(0, 2).toHex()).toBe("7f00");
  expect(prependLength(new Uint8Array(128)).subarray(0, 3).toHex()).toBe("800100");
  expect(lvCat(hex("313233"), hex("")).toHex()).toBe("0331323300");
  expect(generatorString(inputs).toHex()).toBe(vectors.generator_string);
  expect(hashOf(sha512, generatorString(inputs)).subarray(0, 32).toHex()).toBe(vectors.hash);
  expect(elligator2(hex(vectors.hash)).toHex()).toBe(run.g);
  expect(generatorOf(inputs).toHex()).toBe(run.g);
});

test("shares and the key of both sides are those of the draft", () => {
  expect(shareOf(primitives, generatorOf(inputs), ya)?.toHex()).toBe(run.Ya);
  expect(shareOf(primitives, generatorOf(inputs), yb)?.toHex()).toBe(run.Yb);
  expect(primitives.sharedSecret(ya, b.share)?.toHex()).toBe(run.K);
  for (const own of [
    { scalar: ya, theirs: b.share },
    { scalar: yb, theirs: a.share },
  ])
    expect(sessionKey(primitives, own, inputs, [a, b])?.toHex()).toBe(run.ISK_IR);
});

test("shares of low order end it, and others give what the draft says", () => {
  expect(vectors.points).toHaveLength(12);
  for (const { u, q } of vectors.points) {
    const isForged = /^0*$/.test(q);
    const own = { scalar: hex(vectors.scalar), theirs: hex(u) };
    expect(primitives.sharedSecret(own.scalar, own.theirs)?.toHex(), u).toBe(isForged ? undefined : q);
    const forged = { share: hex(u), data: a.data };
    expect(sessionKey(primitives, own, inputs, [forged, b]) === undefined, u).toBe(isForged);
  }
});

test("the confirmation is the draft's HMAC over the sender's own message", () => {
  const key = hex(run.ISK_IR);
  const macKey = createHash("sha512")
    .update(Buffer.concat([Buffer.from("CPaceMac"), inputs.sid, key]))
    .digest();
  const expected = createHmac("sha512", macKey).update(lvCat(a.share, a.data)).digest("hex");
  expect(confirmationOf(key, inputs.sid, a).toHex()).toBe(expected);
  expect(confirmationOf(key, inputs.sid, b).toHex()).not.toBe(expected);
});

test("SHA-512 and its HMAC agree with another implementation on any bytes", () => {
  const bytes = fc.uint8Array({ maxLength: 400 });
  fc.assert(
    fc.property(bytes, bytes, (first, second) => {
      const whole = Buffer.concat([first, second]);
      expect(hashOf(sha512, first, second).toHex()).toBe(createHash("sha512").update(whole).digest("hex"));
      const key = first.subarray(0, 128);
      expect(hmac(sha512, key, second).toHex()).toBe(createHmac("sha512", key).update(second).digest("hex"));
    }),
    { numRuns: 60 },
  );
});
