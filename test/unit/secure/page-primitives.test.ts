/** The page's cryptography gives the same results as libsodium, and refuses the same inputs. */
import { expect, test } from "bun:test";
import { createPrimitives as createPagePrimitives } from "../../../src/secure/page-primitives.ts";
import { loadPrimitives } from "../../../src/secure/primitives.ts";

const sodium = await loadPrimitives();
const page = createPagePrimitives();
const hex = (text: string) => Uint8Array.fromHex(text);
const rounds = 20;

test("X25519 agrees with RFC 7748, 5.2", () => {
  const scalar = hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
  const point = hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
  expect(page.sharedSecret(scalar, point)?.toHex()).toBe(
    "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
  );
});

test("keys, secrets and ciphertexts of random inputs are those of libsodium", () => {
  for (let round = 0; round < rounds; round++) {
    const [own, other, key, nonce] = [32, 32, 32, 12].map(page.randomBytes);
    if (own === undefined || other === undefined || key === undefined || nonce === undefined) throw own;
    const theirs = page.publicKeyOf(other);
    expect(theirs).toEqual(sodium.publicKeyOf(other));
    // With and without the top bit, which X25519 ignores.
    for (const bit of [0, 0x80]) {
      const share = theirs.with(31, (theirs[31] ?? 0) ^ bit);
      expect(page.sharedSecret(own, share)).toEqual(sodium.sharedSecret(own, share));
    }
    const [ad, plaintext] = [sodium.randomBytes(round), sodium.randomBytes(round * 37)];
    const sealed = page.encrypt(key, nonce, ad, plaintext);
    expect(sealed).toEqual(sodium.encrypt(key, nonce, ad, plaintext));
    expect(page.decrypt(key, nonce, ad, sealed)).toEqual(plaintext);
    for (const wrong of [sealed.with(0, (sealed[0] ?? 0) ^ 1), sealed.subarray(1), sealed.subarray(0, 15)])
      expect(page.decrypt(key, nonce, ad, wrong)).toBeUndefined();
    expect(page.decrypt(key, nonce, ad.length === 0 ? hex("00") : ad.subarray(1), sealed)).toBeUndefined();
  }
});

test("a public key of small order is refused", () => {
  const own = sodium.randomBytes(32);
  const prime = "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";
  for (const low of [
    "00".repeat(32),
    "01".padEnd(64, "0"),
    `ec${prime.slice(2)}`,
    prime,
    `ee${prime.slice(2)}`,
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  ]) {
    expect(page.sharedSecret(own, hex(low)), low).toBeUndefined();
    expect(sodium.sharedSecret(own, hex(low)), low).toBeUndefined();
  }
});
