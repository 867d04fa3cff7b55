/**
 * The codecs of readers that send lines, type, light up or are files, with arbitrary input.
 * Covers: drivers/protocol/typed-code.ts, drivers/protocol/card-text.ts, drivers/protocol/toypad-report.ts.
 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseKeyboardName } from "../../../../drivers/hid-keyboard.ts";
import { createLineCutter, parseCardFile, parseReaderLine } from "../../../../drivers/protocol/card-text.ts";
import {
  encodeCommand,
  encodeReport,
  parseList,
  parsePadRead,
  parsePadReport,
  uidOfPages,
} from "../../../../drivers/protocol/toypad-report.ts";
import { createEventCutter, createTyping, layoutNames } from "../../../../drivers/protocol/typed-code.ts";
import { readerLineBytesMax, scriptBytesMax, typedCharsMax } from "../../../../src/core/limits.ts";
import { encodeEvent, strokesOf } from "../../../emulators/keyboard-device.ts";
import { fuzzRounds } from "../../../helpers/rounds.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const anyBytes = fc.uint8Array({ maxLength: 200 });

test("any bytes are a line, a report, a list, a file or events without a throw", () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      parseReaderLine(bytes);
      parseCardFile(bytes);
      parsePadReport(bytes);
      parseList(bytes);
      parsePadRead(bytes);
      uidOfPages(bytes);
      const typing = createTyping("us");
      for (const event of createEventCutter()(bytes)) typing.take(event);
    }),
    { numRuns: fuzzRounds(5000) },
  );
});

test("a line of one good kind, with bytes altered, is never a card with control characters or beyond the limits", () => {
  const good = bytesOf("SCAN\tuid=04a1b2c3\ttext=SNES/Game.sfc\tremovable=yes");
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 5 }), (changes) => {
      const line = good.slice();
      for (const [at, byte] of changes) line[at] = byte;
      const said = parseReaderLine(line);
      if (said.kind !== "card") return;
      expect(said.card.uid.length).toBeLessThanOrEqual(scriptBytesMax);
      expect(said.card.uid + said.card.text).not.toMatch(/\p{Cc}/u);
      expect(said.card.uid + said.card.text).not.toBe("");
    }),
    { numRuns: fuzzRounds(3000) },
  );
});

test("a text or a uid beyond its limit is passed over, and one at its limit is not", () => {
  const kindOf = (line: string) => parseReaderLine(bytesOf(line)).kind;
  expect(kindOf(`SCAN\ttext=${"x".repeat(scriptBytesMax)}`)).toBe("card");
  expect(kindOf(`SCAN\ttext=${"x".repeat(scriptBytesMax + 1)}`)).toBe("noise");
  expect(kindOf(`SCAN\ttext=${"ü".repeat(scriptBytesMax / 2 + 1)}`)).toBe("noise");
  expect(kindOf(`SCAN\tuid=${"a".repeat(scriptBytesMax)}`)).toBe("card");
  expect(kindOf(`SCAN\tuid=${"a".repeat(scriptBytesMax + 1)}`)).toBe("noise");
  expect(kindOf("x".repeat(scriptBytesMax + 1))).toBe("noise");
});

test("a flood without a line end leaves no more than a line of it, however it is split, and the next line is whole", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3000), { minLength: 1, maxLength: 40 }), (lengths) => {
      const lines: string[] = [];
      const cut = createLineCutter(readerLineBytesMax, (line) => lines.push(new TextDecoder().decode(line)));
      for (const length of lengths) cut(new Uint8Array(length).fill(0x41));
      cut(bytesOf("B\n\nnext\n"));
      const flood = `${"A".repeat(lengths.reduce((sum, length) => sum + length))}B`;
      expect(lines).toEqual([flood.slice(0, readerLineBytesMax + 1), "next"]);
    }),
  );
});

test("events are the same at every split of their bytes", () => {
  const strokes = Uint8Array.from(
    [...strokesOf("us", "A"), ...strokesOf("us", "/")].flatMap((event) => [...event]),
  );
  const whole = createEventCutter()(strokes);
  expect(whole.length).toBe(6);
  for (let at = 0; at <= strokes.length; at++) {
    const cut = createEventCutter();
    expect([...cut(strokes.subarray(0, at)), ...cut(strokes.subarray(at))]).toEqual([...whole]);
  }
});

test("the codes that people use are typed and read again, on every layout", () => {
  const characters = "abcxyzqwmABCXYZQWM0123456789-_.,:;/\\!?@#$%&*()[]{}=+<>|'\" ";
  for (const layout of layoutNames) {
    for (const character of characters) {
      const typing = createTyping(layout);
      const cut = createEventCutter();
      for (const event of strokesOf(layout, character).flatMap((bytes) => cut(bytes))) typing.take(event);
      expect([layout, typing.end()]).toEqual([layout, { kind: "code", text: character }]);
    }
  }
});

test("a code longer than any QR code is dropped as a whole, and the next one is read", () => {
  const typing = createTyping("us");
  for (let typed = 0; typed <= typedCharsMax; typed++) typing.take({ kind: "down", key: 30 });
  expect(typing.take({ kind: "down", key: 28 })?.kind).toBe("dropped");
  typing.take({ kind: "down", key: 30 });
  expect(typing.take({ kind: "down", key: 28 })).toEqual({ kind: "code", text: "a" });
});

test("a reader that types is named by its USB id, and nothing less", () => {
  const kindOf = (text: string) => parseKeyboardName(text).kind;
  expect(kindOf("08ff:0009")).toBe("name");
  expect(kindOf("08FF:0009?layout=fr&codes=text")).toBe("name");
  expect(kindOf("/dev/input/by-path/x-event-kbd?id=08ff:0009")).toBe("name");
  for (const wrong of ["", "08ff", "keyboard", "event3", "08ff:0009?layout=dvorak", "08ff:0009?codes=all"])
    expect([wrong, kindOf(wrong)]).toEqual([wrong, "error"]);
});

test("the reports that people have seen of Toy Pads are read as they say", () => {
  const report = (hex: string) => parsePadReport(Uint8Array.fromHex(hex.replaceAll(" ", "").padEnd(64, "0")));
  expect(report("56 0b 03 00 00 01 04 af 10 ba 80 49 80 2b")).toEqual({
    kind: "tag",
    zone: 3,
    index: 0,
    isThere: false,
    uid: Uint8Array.fromHex("04af10ba804980"),
  });
  const list = report("55 0f 13 30 00 31 00 32 00 23 00 14 00 25 00 26 00 8c");
  expect(list.kind === "answer" ? parseList(list.data)?.map(({ zone, index }) => [zone, index]) : []).toEqual(
    [
      [3, 0],
      [3, 1],
      [3, 2],
      [2, 3],
      [1, 4],
      [2, 5],
      [2, 6],
    ],
  );
  const wake = encodeCommand(0xb0, 1, bytesOf("(c) LEGO 2014"));
  expect(wake.toHex()).toBe("550fb001286329204c45474f2032303134f7".padEnd(64, "0"));
});

test("of a report with one byte altered nothing is believed, unless two bytes cancel out", () => {
  const good = encodeReport(0x56, Uint8Array.of(1, 0, 2, 0, 4, 1, 2, 3, 4, 5, 6));
  for (let at = 0; at < 14; at++) {
    for (let byte = 0; byte < 256; byte++) {
      if (byte === good[at]) continue;
      const bad = good.slice();
      bad[at] = byte;
      expect(parsePadReport(bad).kind).not.toBe("tag");
    }
  }
});

test("events of other kinds type nothing", () => {
  const cut = createEventCutter();
  expect(cut(encodeEvent(2, 0, 1))).toEqual([]);
  expect(cut(encodeEvent(1, 30, 2))).toEqual([]);
});
