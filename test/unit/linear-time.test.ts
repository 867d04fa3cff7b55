/**
 * Parsers of outside bytes take time in proportion to the number of bytes, for any content. Steps are counted if the bytes
 * are read in place. If a parser copies them, the test compares this process's own CPU time at two sizes, which other
 * programs do not lengthen.
 * Covers: drivers/protocol, src/script, src/config, src/api.
 */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ccidIn, createCcidAssembler, encodeCcid } from "../../drivers/protocol/ccid.ts";
import { encodeTextMessage, parseMessage } from "../../drivers/protocol/ndef.ts";
import { createFrameCutter, encodeFrame } from "../../drivers/protocol/pn532-frame.ts";
import { findMessage, placeOfMessage } from "../../drivers/protocol/tlv.ts";
import { contentOf } from "../../drivers/protocol/type2-tag.ts";
import { plainAddress } from "../../src/api/admission/access.ts";
import { lineOf } from "../../src/config/read-config.ts";
import { addressBytes } from "../../src/core/ip-address.ts";
import { ndefBytesMax } from "../../src/core/limits.ts";
import { regexFault } from "../../src/mappings/regex.ts";
import { noteParts } from "../../src/media/playlists.ts";
import { titleKey } from "../../src/media/titles/title-key.ts";
import { splitTitle } from "../../src/media/titles/titles.ts";

const factor = 4;
const stepsPerByteMax = 8;

/** Wraps bytes, and counts how often each byte is read or copied. */
function counted(bytes: Uint8Array): { readonly bytes: Uint8Array; readonly steps: () => number } {
  let steps = 0;
  const wrap = (target: Uint8Array): Uint8Array =>
    new Proxy(target, {
      get(_, key) {
        if (typeof key === "string" && /^\d+$/.test(key)) {
          steps += 1;
          return target[Number(key)];
        }
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== "function") return value;
        return (...args: readonly unknown[]) => {
          // A sub-array in place costs one step, and every other operation may read all bytes.
          steps += key === "subarray" ? 1 : target.length;
          const result: unknown = Reflect.apply(value, target, args);
          return key === "subarray" && result instanceof Uint8Array ? wrap(result) : result;
        };
      },
    });
  return { bytes: wrap(bytes), steps: () => steps };
}

/** The bytes repeated, `length` of them. */
function filled(length: number, ...bytes: readonly number[]): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => bytes[at % bytes.length] ?? 0);
}

describe("steps are in proportion to the bytes", () => {
  const parsers: Readonly<Record<string, (bytes: Uint8Array) => unknown>> = {
    findMessage: (bytes) => findMessage(bytes, bytes.length),
    placeOfMessage,
    contentOf: (bytes) => contentOf(bytes),
    parseMessage,
  };
  const worst: Readonly<Record<string, (length: number) => Uint8Array>> = {
    "nothing but zeros": (length) => filled(length, 0x00),
    "the shortest TLVs": (length) => filled(length, 0x01, 0x00),
    "long TLVs of no length": (length) => filled(length, 0xfd, 0xff, 0x00, 0x00),
    "the shortest records": (length) => filled(length, 0x10, 0x00, 0x00),
    "the shortest records, first and then more": (length) =>
      Uint8Array.of(0x90, 0, 0, ...filled(length - 3, 0x10, 0x00, 0x00)),
    "the shortest chunks": (length) =>
      Uint8Array.of(0xb1, 1, 0, 0x54, ...filled(length - 4, 0x36, 0x00, 0x00)),
    "chunks of one byte": (length) =>
      Uint8Array.of(0xb1, 1, 1, 0x54, 0, ...filled(length - 5, 0x36, 0x00, 0x01, 0x41)),
    "a message within": (length) =>
      Uint8Array.of(0x03, 0xff, (length - 4) >> 8, (length - 4) & 0xff, ...filled(length - 4, 0x10, 0, 0)),
    "one long record": (length) => encodeTextMessage("x".repeat(length - 10)),
  };
  for (const [name, parse] of Object.entries(parsers))
    for (const [what, make] of Object.entries(worst))
      test(`${name} of ${what}`, () => {
        const [few, many] = [ndefBytesMax / factor, ndefBytesMax].map((length) => {
          const { bytes, steps } = counted(make(length));
          parse(bytes);
          return steps();
        });
        expect(many ?? 0).toBeLessThanOrEqual(ndefBytesMax * stepsPerByteMax);
        expect(many ?? 0).toBeLessThanOrEqual((few ?? 0) * factor * 1.5 + 64);
      });
});

describe("a stream's time is in proportion to its bytes", () => {
  const frame = encodeFrame(Uint8Array.fromHex("d50332010607"));
  const streams: Readonly<Record<string, readonly number[]>> = {
    zeros: [0x00],
    "start codes": [0x00, 0x00, 0xff],
    "long frames that never come": [0x00, 0x00, 0xff, 0xff, 0xff, 0x01, 0x08, 0xf7],
    "frames with a wrong sum": [...frame.subarray(0, -2), 0x55, 0x00],
    "good frames": [...frame],
  };
  for (const [what, bytes] of Object.entries(streams))
    for (const pieceBytes of [1, 64, 4096])
      test(`a PN532's ${what}, ${pieceBytes} at a time`, () => {
        const base = pieceBytes === 1 ? 10_000 : 50_000;
        expect(
          growth(base, (length) => {
            const cutter = createFrameCutter();
            const stream = filled(length, ...bytes);
            for (let at = 0; at < length; at += pieceBytes) cutter.push(stream.subarray(at, at + pieceBytes));
          }),
        ).toBeLessThan((factor * factor) / 2);
      });

  test("a CCID reader's answers that never end", () => {
    const options = { types: Object.values(ccidIn), packetBytes: 64, messageBytesMax: 271 };
    const begun = encodeCcid(ccidIn.block, 0, 7, new Uint8Array(261)).subarray(0, 64);
    expect(
      growth(2000, (transfers) => {
        const assembler = createCcidAssembler(options);
        for (let count = 0; count < transfers; count++) assembler.push(begun);
      }),
    ).toBeLessThan((factor * factor) / 2);
  });
});

describe("a text's time is in proportion to its characters", () => {
  const cue = join(mkdtempSync(join(tmpdir(), "tapdeck-")), "a.cue");
  const readCue = (text: string) => {
    writeFileSync(cue, text);
    noteParts(new Map(), cue, "", ".cue");
  };
  const texts: Readonly<Record<string, readonly [number, (length: number) => unknown]>> = {
    "a title of blanks": [4000, (length) => splitTitle(`a${" ".repeat(length)}b`)],
    "the key of a title of blanks": [4000, (length) => titleKey(`a${" ".repeat(length)}b`)],
    "a sheet of line ends": [8000, (length) => readCue("\n".repeat(length))],
    "a line of TOML of blanks": [100, (length) => lineOf(`[${" ".repeat(length)}\n`, { key: "a.b", nth: 0 })],
    "an expression of open classes": [1000, (length) => regexFault(`[${"[:".repeat(length)}`)],
    "an expression of open escapes": [8000, (length) => regexFault("\\x{".repeat(length))],
    "an address of zones": [2000, (length) => addressBytes(`${"%".repeat(length)}\n`)],
    "a caller's address of zones": [2000, (length) => plainAddress(`${"%".repeat(length)}\n`)],
  };
  for (const [what, [base, read]] of Object.entries(texts))
    test(what, () => {
      expect(growth(base, read)).toBeLessThan((factor * factor) / 2);
    });
});

/**
 * The ratio of the times for `factor` times as many bytes. It is the best of some tries, because a garbage collection may
 * happen during one.
 */
function growth(size: number, run: (size: number) => void): number {
  run(size);
  let best = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 8 && best >= factor * 1.5; tries++)
    best = Math.min(
      best,
      cpuMs(() => run(size * factor)) /
        Math.max(
          cpuMs(() => run(size)),
          0.05,
        ),
    );
  return best;
}

function cpuMs(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
