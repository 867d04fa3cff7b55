/** The pairing link, which no listener receives. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { createBus } from "../../../src/bus.ts";
import { silentLog } from "../../../src/core/log.ts";
import {
  codeLink,
  isPairingLink,
  pairingLink,
  readPairingHash,
  withoutPairingSecrets,
  withoutSecrets,
} from "../../../src/core/pairing-link.ts";
import { createTokens } from "../../../src/readers/presence.ts";
import { fromBase64, fromBase64ByAtob, toBase64 } from "../../../src/secure/frames.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

const hex = (bytes: Uint8Array) => bytes.toHex();
const base = "http://tapdeck.local:7497";

test("id and secret come out of the link as they went in, and it has 64 characters behind its mark", () => {
  const bytes = fc.tuple(fc.uuid(), fc.uint8Array({ minLength: 32, maxLength: 32 }));
  fc.assert(
    fc.property(bytes, ([id, secretBytes]) => {
      const made = pairingLink(base, { id, secret: hex(secretBytes) }) ?? "";
      expect(made).toMatch(/^http:\/\/tapdeck\.local:7497\/#pair=[A-Za-z0-9_-]{64}$/);
      expect(readPairingHash(new URL(made).hash)).toEqual({ id, secret: hex(secretBytes) });
      expect(isPairingLink(made)).toBe(true);
      expect(withoutPairingSecrets(`**echo:${made}||x`)).toBe(`**echo:${base}/#pair=*||x`);
    }),
  );
  expect(pairingLink(base, { id: "tv", secret: "00".repeat(32) })).toBeUndefined();
});

test("a text that is no pairing link is left alone", () => {
  const texts = [
    "",
    "SNES/Game.sfc",
    "http://a/#pear=x",
    "https://example.org/?pair=1",
    "https://example.org/#code=4/abc",
    "https://example.org/#code=1234567",
    "**http.get:http://a/b",
  ];
  for (const text of texts) {
    expect(isPairingLink(text)).toBe(false);
    expect(withoutPairingSecrets(text)).toBe(text);
  }
  for (const hash of ["", "#pair=", "#pair=abc", `#pair=${"*".repeat(64)}`, `#pair=${"a".repeat(65)}`])
    expect(readPairingHash(hash)).toBeUndefined();
});

test("a card with the link is reported without its secret and its memory, and leaves as it came", () => {
  const bus = createBus(silentLog);
  const heard: unknown[] = [];
  bus.on("tokens.added", (token) => heard.push(token));
  bus.on("tokens.removed", (token) => heard.push(token));
  const tokens = createTokens(bus, createManualClock());
  const link =
    pairingLink(base, { id: "5f4dcc3b-0000-4000-8000-000000000001", secret: "ab".repeat(32) }) ?? "";
  const card = { type: "NTAG", uid: "04a1", text: link, data: "d1017e" } as const;
  tokens.added(card, "r");
  expect(tokens.list().active).toMatchObject([{ text: `${base}/#pair=*`, data: "" }]);
  tokens.removed(card, "r");
  expect(tokens.list().active).toEqual([]);
  expect(heard).toHaveLength(2);
  expect(JSON.stringify(heard)).not.toContain(link.slice(-64));
});

test("an app sent a scanned link as the UID too, and everybody who may see cards got its secret", () => {
  const id = "5f4dcc3b-0000-4000-8000-000000000001";
  const link = pairingLink(base, { id, secret: "ab".repeat(32) }) ?? "";
  for (const [scanned, shown] of [
    [link, `${base}/#pair=*`],
    [codeLink(base, "123456"), `${base}/#code=*`],
  ] as const) {
    const card = { type: "", uid: scanned, text: scanned, data: "d1017e" };
    expect(withoutSecrets(card)).toEqual({ type: "", uid: shown, text: shown, data: "" });
    expect(withoutSecrets({ ...card, text: "" })).toEqual({ type: "", uid: shown, text: "", data: "" });
    for (const text of [scanned, shown]) expect(isPairingLink(text)).toBe(true);
  }
});

test("base64 without the browser's own says the same, of bytes and of what is none", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(fromBase64ByAtob(toBase64(bytes))).toEqual(bytes);
    }),
  );
  for (const text of ["", "QQ==", "QR==", "QQ=", "QQ", "Q Q=", "QUI=", "QUJD", "QUJ_", "QQ==QQ=="]) {
    let byAtob: Uint8Array | undefined;
    try {
      byAtob = fromBase64ByAtob(text);
    } catch {
      // `fromBase64` also refuses it.
    }
    expect(byAtob, text).toEqual(fromBase64(text));
  }
});
