import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  encodeTextMessage,
  encodeUriMessage,
  type NdefRecord,
  parseMessage,
  textOfRecords,
  uriBeginnings,
} from "../../../../drivers/protocol/ndef.ts";
import { ndefBytesMax } from "../../../../src/core/limits.ts";
import { fuzzRounds } from "../../../helpers/rounds.ts";

const flag = { first: 0x80, last: 0x40, chunk: 0x20, short: 0x10, id: 0x08 } as const;
const wellKnown = 1;
const unchanged = 6;

interface Parts {
  readonly flags?: number;
  readonly tnf?: number;
  readonly type?: string;
  readonly id?: string;
  readonly payload?: Uint8Array;
}

/** One record, as in the figure of NDEF 1.0, section 3.2; the long form unless `flags` has SR. */
function record({ flags = 0, tnf = wellKnown, type = "T", id, payload = new Uint8Array() }: Parts) {
  const { length } = payload;
  const lengthBytes = flags & flag.short ? [length] : [0, 0, length >> 8, length & 0xff];
  return [
    flags | (id === undefined ? 0 : flag.id) | tnf,
    type.length,
    ...lengthBytes,
    ...(id === undefined ? [] : [id.length]),
    ...Buffer.from(type, "latin1"),
    ...Buffer.from(id ?? "", "latin1"),
    ...payload,
  ];
}

const bytes = (...parts: readonly (readonly number[])[]) => Uint8Array.from(parts.flat());
const text = (words: string) => Uint8Array.of(2, ...Buffer.from(`en${words}`));
const only = flag.first | flag.last | flag.short;

function recordsOf(message: Uint8Array): readonly NdefRecord[] {
  const parsed = parseMessage(message);
  if (parsed.kind !== "message") throw new Error(parsed.why);
  return parsed.records;
}
const read = (message: Uint8Array) => textOfRecords(recordsOf(message));

describe("Text records", () => {
  test("the example of the specification is its text", () => {
    // Text RTD 1.0, appendix A: "Hello, world!" in English.
    const message = Uint8Array.fromHex("d1011054" + "02656e48656c6c6f2c20776f726c6421");
    expect(read(message)).toBe("Hello, world!");
  });

  test("UTF-8 beyond ASCII is read, and a broken sequence is a replacement character", () => {
    expect(read(encodeTextMessage("Zelda: ゼルダ 🗡"))).toBe("Zelda: ゼルダ 🗡");
    const broken = record({ flags: only, payload: Uint8Array.of(2, 0x65, 0x6e, 0x41, 0xc3) });
    expect(read(bytes(broken))).toBe("A\ufffd");
  });

  test("UTF-16 is read in both byte orders, and big-endian where no mark tells", () => {
    const utf16 = (...units: readonly number[]) =>
      bytes(record({ flags: only, payload: Uint8Array.of(0x82, 0x65, 0x6e, ...units) }));
    expect(read(utf16(0x00, 0x41, 0x30, 0xbc))).toBe("Aゼ");
    expect(read(utf16(0xfe, 0xff, 0x00, 0x41, 0x30, 0xbc))).toBe("Aゼ");
    expect(read(utf16(0xff, 0xfe, 0x41, 0x00, 0xbc, 0x30))).toBe("Aゼ");
    expect(read(utf16(0xd8, 0x3d, 0xdd, 0xe1))).toBe("🗡");
  });

  test("half a surrogate pair and half a character of UTF-16 give well-formed text", () => {
    const payload = Uint8Array.of(0x82, 0x65, 0x6e, 0xd8, 0x3d, 0x00);
    const result = read(bytes(record({ flags: only, payload })));
    expect(result).toBe("\ufffd");
    expect(result?.isWellFormed()).toBe(true);
  });

  test("a language code of any length is left out, and no text is an empty one", () => {
    expect(read(encodeTextMessage("x", ""))).toBe("x");
    expect(read(encodeTextMessage("x", "zh-Hant-TW"))).toBe("x");
    expect(read(encodeTextMessage(""))).toBe("");
  });

  test("a language code that is longer than its record made an empty text of it", () => {
    const cut = record({ flags: flag.first | flag.short, payload: Uint8Array.of(0x3f, 0x65, 0x6e) });
    const whole = record({ flags: flag.last | flag.short, payload: text("second") });
    expect(read(bytes(cut, whole))).toBe("second");
  });
});

describe("URI records", () => {
  test("every beginning of the table is put before the rest, and found again", () => {
    expect(uriBeginnings.length).toBe(36); // URI RTD 1.0, table 3: 00 to 23.
    for (const [code, beginning] of uriBeginnings.entries()) {
      const payload = Uint8Array.of(code, ...Buffer.from("example"));
      expect(read(bytes(record({ flags: only, type: "U", payload })))).toBe(`${beginning}example`);
      expect(read(encodeUriMessage(`${beginning}example`))).toBe(`${beginning}example`);
    }
    expect([uriBeginnings[0x02], uriBeginnings[0x1d], uriBeginnings[0x23]]).toEqual([
      "https://www.",
      "file://",
      "urn:nfc:",
    ]);
  });

  test("a code that the table reserves stands for nothing", () => {
    const payload = Uint8Array.of(0x24, ...Buffer.from("steam://run/1"));
    expect(read(bytes(record({ flags: only, type: "U", payload })))).toBe("steam://run/1");
  });

  test("a scheme of its own is written without a beginning", () => {
    expect(read(encodeUriMessage("steam://run/1145360"))).toBe("steam://run/1145360");
  });
});

describe("Smart Posters", () => {
  const uri = (rest: string, flags: number) =>
    record({ flags: flags | flag.short, type: "U", payload: Uint8Array.of(4, ...Buffer.from(rest)) });
  const title = (flags: number) => record({ flags: flags | flag.short, payload: text("A title") });
  const poster = (...parts: readonly (readonly number[])[]) =>
    record({ flags: only, type: "Sp", payload: bytes(...parts) });

  test("a poster is its URI, whatever titles and icons stand before it", () => {
    const icon = record({ flags: flag.short, tnf: 2, type: "image/png", payload: Uint8Array.of(1, 2) });
    expect(read(bytes(poster(uri("example.org", flag.first | flag.last))))).toBe("https://example.org");
    const whole = poster(title(flag.first), icon, uri("example.org", flag.last));
    expect(read(bytes(whole))).toBe("https://example.org");
  });

  test("a poster without a URI, a broken one and one in another are passed over", () => {
    const second = record({ flags: flag.last | flag.short, payload: text("second") });
    const inner = poster(uri("example.org", flag.first | flag.last));
    for (const payload of [
      bytes(title(flag.first | flag.last)),
      Uint8Array.of(0xd1, 0x01, 0x50),
      bytes(inner),
    ]) {
      const first = record({ flags: flag.first | flag.short, type: "Sp", payload });
      expect(read(bytes(first, second))).toBe("second");
    }
  });
});

describe("messages", () => {
  test("the first record that holds text counts", () => {
    const message = bytes(
      record({ flags: flag.first | flag.short, tnf: 2, type: "image/png", payload: Uint8Array.of(1, 2) }),
      record({ flags: flag.short, tnf: 4, type: "T", payload: text("not well-known") }),
      record({ flags: flag.short, type: "U", payload: Uint8Array.of(4, ...Buffer.from("a.example")) }),
      record({ flags: flag.last | flag.short, payload: text("too late") }),
    );
    expect(recordsOf(message).map(({ type }) => type)).toEqual(["image/png", "T", "U", "T"]);
    expect(read(message)).toBe("https://a.example");
  });

  test("a title before a script was launched in its place, and so was a blank record", () => {
    const three = (first: string, second: string) =>
      bytes(
        record({ flags: flag.first | flag.short, payload: text(first) }),
        record({ flags: flag.short, payload: text(second) }),
        record({ flags: flag.last | flag.short, payload: text("third") }),
      );
    expect(read(three("My best game", "**launch:SNES/Game.sfc"))).toBe("**launch:SNES/Game.sfc");
    expect(read(three("SNES/Game.sfc", "a note"))).toBe("SNES/Game.sfc");
    expect(read(three(" \u00a0", "SNES/Game.sfc"))).toBe("SNES/Game.sfc");
  });

  test("a record of the media type text/plain was no text", () => {
    const mime = (type: string) =>
      bytes(record({ flags: only, tnf: 2, type, payload: Buffer.from("SNES/Pokémon.sfc") }));
    for (const type of ["text/plain", "TEXT/PLAIN", "text/plain;charset=utf-8", "text/plain; charset=UTF-8"])
      expect(read(mime(type))).toBe("SNES/Pokémon.sfc");
    for (const type of ["text/plainer", "text/html", "application/json"])
      expect(read(mime(type))).toBeUndefined();
  });

  test("an id is passed over, in the short form and in the long one", () => {
    for (const flags of [only, flag.first | flag.last])
      expect(read(bytes(record({ flags, id: "some-id", payload: text("x") })))).toBe("x");
  });

  test("a record of more than 255 bytes is read", () => {
    const long = "launch ".repeat(400);
    expect(read(encodeTextMessage(long))).toBe(long);
  });

  test("bytes after the last record are not looked at", () => {
    expect(recordsOf(bytes([...encodeTextMessage("x")], [0xff, 0xff, 0xff])).length).toBe(1);
  });

  test("chunks of a record are one record", () => {
    const whole = text("in three pieces");
    const message = bytes(
      record({ flags: flag.first | flag.chunk | flag.short, payload: whole.subarray(0, 4) }),
      record({ flags: flag.chunk, tnf: unchanged, type: "", payload: whole.subarray(4, 9) }),
      record({ flags: flag.short, tnf: unchanged, type: "", payload: whole.subarray(9) }),
      record({ flags: flag.last | flag.short, type: "U", payload: Uint8Array.of(0) }),
    );
    expect(recordsOf(message).map(({ type }) => type)).toEqual(["T", "U"]);
    expect(read(message)).toBe("in three pieces");
  });

  test("a chunk that is never ended is refused", () => {
    const message = bytes(record({ flags: flag.first | flag.chunk | flag.short, payload: text("x") }));
    expect(parseMessage(message)).toEqual({ kind: "broken", why: "chunk-without-end" });
  });

  test("an empty record, an empty message and a type without payload have no text", () => {
    expect(read(Uint8Array.fromHex("d00000"))).toBeUndefined();
    expect(read(new Uint8Array())).toBeUndefined();
    for (const type of ["T", "U"]) expect(read(bytes(record({ flags: only, type })))).toBeUndefined();
  });

  test("a length beyond the message is refused, up to four gigabytes", () => {
    const claims = Uint8Array.of(0xc1, 1, 0xff, 0xff, 0xff, 0xff, 0x54, 2);
    expect(parseMessage(claims)).toEqual({ kind: "broken", why: "cut-short" });
  });

  test("a message over the limit is refused before it is looked at", () => {
    expect(parseMessage(new Uint8Array(ndefBytesMax + 1))).toEqual({ kind: "broken", why: "too-long" });
    const longest = encodeTextMessage("x".repeat(ndefBytesMax - 10));
    expect(longest.length).toBe(ndefBytesMax);
    expect(recordsOf(longest).length).toBe(1);
  });

  test("a message that ends at any byte is refused, or is the records before that byte", () => {
    const message = bytes(
      record({ flags: flag.first | flag.short, id: "id", payload: text("one") }),
      record({ payload: text("two") }),
      record({ flags: flag.chunk | flag.short, payload: text("three") }),
      record({ flags: flag.last | flag.short, tnf: unchanged, type: "", payload: text("") }),
    );
    // Three bytes of header, id length, type and id; six bytes of header and the type.
    const first = 3 + 1 + 1 + 2 + text("one").length;
    const ends = [0, first, first + 6 + 1 + text("two").length];
    for (let length = 0; length < message.length; length++) {
      const parsed = parseMessage(message.subarray(0, length));
      const whole = ends.indexOf(length);
      if (whole < 0) expect(parsed.kind).toBe("broken");
      else expect(parsed.kind === "message" && parsed.records.length).toBe(whole);
    }
  });
});

describe("any bytes", () => {
  test("are a message or a refusal, never a throw, and never more text than bytes", () => {
    const header = fc.tuple(fc.nat(255), fc.nat(4), fc.nat(40)).map((values) => [...values]);
    const almost = fc.oneof(
      header,
      fc.constantFrom([0x54], [0x55], [0x02, 0x65, 0x6e], [0xd1, 1, 5, 0x54]),
      fc.array(fc.nat(255), { maxLength: 20 }),
    );
    const input = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.array(almost, { maxLength: 12 }).map((parts) => Uint8Array.from(parts.flat())),
    );
    fc.assert(
      fc.property(input, (message) => {
        const parsed = parseMessage(message);
        if (parsed.kind === "broken") return;
        const held = parsed.records.reduce((sum, { payload, type }) => sum + payload.length + type.length, 0);
        expect(held).toBeLessThanOrEqual(message.length);
        const found = textOfRecords(parsed.records);
        expect(found === undefined || found.isWellFormed()).toBe(true);
        // The longest beginning of a URI has 26 characters.
        expect((found ?? "").length).toBeLessThanOrEqual(message.length + 26);
      }),
      { seed: 1, numRuns: fuzzRounds(10_000) },
    );
  });

  test("of any text, written and read, are that text", () => {
    const words = fc.string({ unit: "grapheme", maxLength: 500 });
    fc.assert(
      fc.property(words, (written) => {
        fc.pre(!written.startsWith("\ufeff"));
        expect(read(encodeTextMessage(written))).toBe(written);
        expect(read(encodeUriMessage(written))).toBe(written);
      }),
      { seed: 2, numRuns: 1000 },
    );
  });
});
