/** The bearer token against Node's HMAC and a fixed vector. */
import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { bearerToken } from "../../../src/secure/bearer-token.ts";

const secret = "5a".repeat(32);
const fingerprint = "0123456789abcdef".repeat(4);

test("a bearer token is the HMAC of the certificate's fingerprint under the client's secret", () => {
  // python3 -c 'import hmac; print(hmac.new(b"\x5a"*32, b"tapdeck-bearer:"+b"0123456789abcdef"*4, "sha256").hexdigest())'
  expect(bearerToken(secret, fingerprint)).toBe(
    "a47d46656887eff50e124444c33b931694528185bfd4115fc04fc53833675836",
  );
  for (let round = 0; round < 20; round++) {
    const [key, print] = [
      crypto.getRandomValues(new Uint8Array(32)),
      crypto.getRandomValues(new Uint8Array(32)),
    ];
    const expected = createHmac("sha256", key).update(`tapdeck-bearer:${print.toHex()}`).digest("hex");
    expect(bearerToken(key.toHex(), print.toHex())).toBe(expected);
  }
});

test("a fingerprint may have colons and capitals, as browsers show it", () => {
  const shown = (fingerprint.match(/../g) ?? []).join(":").toUpperCase();
  expect(bearerToken(secret, shown)).toBe(bearerToken(secret, fingerprint));
  expect(bearerToken(secret.toUpperCase(), fingerprint)).toBe(bearerToken(secret, fingerprint));
});

test("a secret or a fingerprint of another length makes no token", () => {
  for (const [key, print] of [
    ["", fingerprint],
    [secret.slice(2), fingerprint],
    [`${secret}00`, fingerprint],
    [secret, ""],
    [secret, fingerprint.slice(2)],
    [secret, "x".repeat(64)],
  ] as const)
    expect(() => bearerToken(key, print)).toThrow("32 bytes each");
});
