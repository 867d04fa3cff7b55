/**
 * Emulated tags behave as their data sheets say.
 * Covers: test/emulators.
 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseMessage, textOfRecords } from "../../../drivers/protocol/ndef.ts";
import { contentOf } from "../../../drivers/protocol/type2-tag.ts";
import {
  createType2Tag,
  type EmulatedTag,
  tagMessageBytesMax,
  type2Kinds,
} from "../../emulators/emulated-tags.ts";
import { crcA } from "../../emulators/type-a.ts";

const uid = Uint8Array.fromHex("04112233445566");
const say = (tag: EmulatedTag, hex: string, bits?: number) => {
  const answer = tag.receive(Uint8Array.fromHex(hex), bits);
  if (answer === undefined) return "silence";
  return answer.kind === "frame" ? answer.bytes.toHex() : answer.value.toString(16);
};
const active = (kind: Parameters<typeof createType2Tag>[0], text?: string) => {
  const tag = createType2Tag(kind, text === undefined ? { uid } : { uid, text });
  tag.select();
  return tag;
};

test("the CRC is that of the standard's example", () => {
  expect(crcA(Uint8Array.of(0x12, 0x34)).toHex()).toBe("26cf"); // ISO/IEC 14443-3, annex B.2.
});

test("a tag is woken, told apart and selected in two levels, and halted until WUPA", () => {
  const tag = createType2Tag("ntag213", { uid });
  expect(say(tag, "26", 7)).toBe("4400");
  expect(say(tag, "9320")).toBe("88041122bf");
  expect(say(tag, "937088041122bf")).toBe("04");
  expect(say(tag, "9520")).toBe("3344556644");
  expect(say(tag, "95703344556644")).toBe("00");
  expect(say(tag, "3000")).toBe("041122bf3344556644480000e1101200");
  expect(say(tag, "5000")).toBe("silence");
  expect(say(tag, "26", 7)).toBe("silence");
  expect(say(tag, "52", 7)).toBe("4400");
});

test("READ rolls over to the first page behind the last", () => {
  expect(say(active("ultralight"), "300e")).toBe("0000000000000000041122bf33445566");
});

test("a refused command makes a tag deaf until it is selected again", () => {
  const tag = active("ntag213");
  expect(say(tag, "30ff")).toBe("0");
  expect(say(tag, "3000")).toBe("silence");
  tag.select();
  expect(say(tag, "3000")).toStartWith("041122");
});

test("a plain Ultralight says nothing to GET_VERSION, the others tell theirs", () => {
  expect(type2Kinds.map((kind) => say(active(kind), "60"))).toEqual([
    "silence",
    "0004030101000b03",
    "0004030101000e03",
    "silence",
    "0004040102000b03",
    "0004040201000f03",
    "0004040201001103",
    "0004040201001303",
  ]);
});

test("one-time bits can be set but not cleared, and the UID cannot be written", () => {
  const tag = active("ultralight");
  expect(say(tag, "a2030f000000")).toBe("a");
  expect(say(tag, "a203f0000000")).toBe("a");
  expect(say(tag, "3003")).toStartWith("ff000000");
  expect(say(tag, "a20000000000")).toBe("0");
});

test("a locked page cannot be written, and block-locking bits keep lock bits as they are", () => {
  const tag = active("ntag215");
  expect(say(tag, "a20200001200")).toBe("a"); // Locks page 4, and the lock bits of pages 4 to 9.
  expect(say(tag, "a20411223344")).toBe("0");
  tag.select();
  expect(say(tag, "a20200002000")).toBe("a");
  expect(say(tag, "a20511223344")).toBe("a");
  expect(say(tag, "a28201000000")).toBe("a"); // This lock bit is for pages 16 to 31.
  expect(say(tag, "a21f11223344")).toBe("0");
  tag.select();
  expect(say(tag, "a22011223344")).toBe("a");
});

test("a compatibility write takes sixteen bytes and keeps four", () => {
  const tag = active("ntag213");
  expect(say(tag, "a006")).toBe("a");
  expect(say(tag, "01020304ffffffffffffffffffffffff")).toBe("a");
  expect(say(tag, "3a0607")).toBe("0102030400000000");
});

test("protected pages need the password, which never shows", () => {
  const tag = active("ntag213", "hello");
  expect(say(tag, "a22b01020304")).toBe("a");
  expect(say(tag, "a22a80050000")).toBe("a");
  expect(say(tag, "a22904000006")).toBe("a");
  expect(say(tag, "a20611223344")).toBe("0");
  tag.select();
  expect(say(tag, "3006")).toBe("0");
  tag.select();
  expect(say(tag, "1b01020304")).toBe("0000");
  expect(say(tag, "a20611223344")).toBe("a");
  expect(say(tag, "3a2b2c")).toBe("0000000000000000");
});

test("every text that fits a tag is read back from its memory", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...type2Kinds),
      fc.string({ unit: "binary", maxLength: 200 }),
      (kind, text) => {
        const bytes = new TextEncoder().encode(text).length + 10;
        fc.pre(bytes <= tagMessageBytesMax(kind));
        const tag = createType2Tag(kind, { uid, text });
        const content = contentOf(tag.memory.subarray(12));
        if (content.kind !== "message") return false;
        const parsed = parseMessage(content.message);
        return parsed.kind === "message" && textOfRecords(parsed.records) === text.toWellFormed();
      },
    ),
  );
});

test("a message as long as the tag allows fits, and one byte more is refused", () => {
  for (const kind of type2Kinds) {
    const most = tagMessageBytesMax(kind);
    expect(createType2Tag(kind, { uid, message: new Uint8Array(most) }).memory).toBeDefined();
    expect(() => createType2Tag(kind, { uid, message: new Uint8Array(most + 1) })).toThrow("fits");
  }
});
