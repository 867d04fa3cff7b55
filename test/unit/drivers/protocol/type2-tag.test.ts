import { expect, test } from "bun:test";
import fc from "fast-check";
import { encodeTextMessage } from "../../../../drivers/protocol/ndef.ts";
import {
  contentOf,
  parseVersion,
  type TagContent,
  wrapMessage,
} from "../../../../drivers/protocol/type2-tag.ts";
import { ndefBytesMax } from "../../../../src/core/limits.ts";

const terminator = [0xfe];
const message = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 7) & 0xff);
/** An NDEF block with its length in one byte. */
const block = (length: number) => [0x03, length, ...message(length)];

/** Memory from page 3 on: the capability container and its data area. */
function memory(area: readonly number[], areaBytes = 144): Uint8Array {
  const bytes = new Uint8Array(4 + areaBytes);
  bytes.set([0xe1, 0x10, areaBytes / 8, 0x00, ...area]);
  return bytes;
}

function messageIn(content: TagContent): Uint8Array | string {
  return content.kind === "message" ? content.message : content.kind === "none" ? content.why : "need";
}

test("a message is found, and its data is the memory up to its end", () => {
  const content = contentOf(memory([...block(20), ...terminator]));
  expect(content).toEqual({ kind: "message", message: message(20), data: Uint8Array.from(block(20)) });
});

test("null, lock control, memory control and proprietary blocks before the message are passed over", () => {
  const before: readonly (readonly number[])[] = [
    [0x00],
    [0x00, 0x00, 0x00],
    [0x01, 0x03, 0xa0, 0x0c, 0x34],
    [0x02, 0x03, 0xf0, 0x10, 0x04],
    [0xfd, 0x04, 0x03, 0x02, 0x01, 0xfe],
    [0xfd, 0x00],
    [0xfd, 0xff, 0x00, 0x03, 0x03, 0x01, 0xfe],
    [0x42, 0x02, 0x03, 0x00],
  ];
  for (const blocks of [...before, before.flat()]) {
    const content = contentOf(memory([...blocks, ...block(20), ...terminator]));
    expect(messageIn(content)).toEqual(message(20));
    if (content.kind === "message") expect(content.data.length).toBe(blocks.length + 22);
  }
});

test("the end block ends the search, whatever follows it", () => {
  expect(messageIn(contentOf(memory([...terminator, ...block(20)])))).toBe("no-message");
  expect(messageIn(contentOf(memory([0x00, ...terminator, ...block(20)])))).toBe("no-message");
});

test("an empty message, and an area of nothing but null blocks, hold none", () => {
  expect(messageIn(contentOf(memory([0x03, 0x00, ...terminator])))).toBe("no-message");
  expect(messageIn(contentOf(memory([])))).toBe("no-message");
});

test("lengths of 1, 254, 255 and more are read, and the longer ones take three bytes", () => {
  for (const length of [1, 2, 253, 254, 255, 256, 300, 868]) {
    const wrapped = wrapMessage(message(length));
    expect(wrapped.length).toBe(length + (length < 255 ? 3 : 5));
    const content = contentOf(memory([...wrapped], 880));
    expect(messageIn(content)).toEqual(message(length));
  }
});

test("a short length may be written in three bytes as well", () => {
  expect(messageIn(contentOf(memory([0x03, 0xff, 0x00, 0x14, ...message(20)])))).toEqual(message(20));
});

test("a block that goes beyond the data area is cut short, and gives its first bytes as data", () => {
  const full = 144 - 2;
  expect(messageIn(contentOf(memory(block(full))))).toEqual(message(full));
  for (const area of [
    [0x03, full + 1],
    [0x03, 0xff, 0xff, 0xff],
    [0xfd, 0xf0],
    [...new Array(143).fill(0), 0x03],
    [...new Array(141).fill(0), 0x03, 0xff, 0x00],
  ]) {
    const content = contentOf(memory(area));
    expect(messageIn(content)).toBe("cut-short");
    if (content.kind === "none") expect(content.data.length).toBe(16);
  }
});

test("memory without the magic number is not formatted", () => {
  const bytes = memory(block(20));
  bytes[0] = 0x00;
  expect(messageIn(contentOf(bytes))).toBe("not-formatted");
});

test("a data area of no bytes holds nothing", () => {
  const bytes = memory(block(20));
  bytes[2] = 0;
  expect(messageIn(contentOf(bytes))).toBe("no-message");
});

test("memory that was read up to any byte asks for more, or gives the result of the whole", () => {
  const leading = [0x01, 0x03, 0xa0, 0x0c, 0x34];
  for (const length of [1, 20, 300]) {
    const bytes = memory([...leading, ...wrapMessage(message(length))], 496);
    const whole = contentOf(bytes);
    for (let read = 0; read < bytes.length; read++) {
      const content = contentOf(bytes.subarray(0, read));
      if (content.kind !== "need") expect<TagContent>(content).toEqual(whole);
      else {
        expect(content.bytes).toBeGreaterThan(read);
        expect(content.bytes).toBeLessThanOrEqual(bytes.length);
      }
    }
  }
});

test("a message is asked for to its last byte, and no further", () => {
  const bytes = memory([...wrapMessage(message(300))], 872);
  expect(contentOf(bytes.subarray(0, 20))).toEqual({ kind: "need", bytes: 4 + 4 + 300 });
});

test("reading ends for any content of a tag: each request is for more, and none is beyond the area", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      [0x00],
      [0xfe],
      [0x03, 0x04],
      [0x03, 0xff, 0x01, 0x00],
      [0x01, 0x03, 1, 2, 3],
      [0xfd, 0xff],
    ),
    fc.array(fc.nat(255), { maxLength: 12 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.nat(255), fc.boolean(), (pieces, size, formatted) => {
      const bytes = new Uint8Array(4 + 2048);
      bytes.set([formatted ? 0xe1 : 0x00, 0x10, size, 0x00, ...pieces.flat()]);
      const areaBytes = Math.min(size * 8, ndefBytesMax);
      const asked: number[] = [];
      for (let read = 0; ; read = Math.ceil((asked.at(-1) ?? 0) / 16) * 16) {
        const content = contentOf(bytes.subarray(0, read));
        if (content.kind !== "need") break;
        if (content.bytes <= read) throw new Error(`asks for ${content.bytes} where ${read} are known`);
        asked.push(content.bytes);
      }
      expect(Math.max(0, ...asked)).toBeLessThanOrEqual(4 + Math.max(areaBytes, 16));
    }),
    { seed: 3, numRuns: 500 },
  );
});

test("a wrapped text is found again", () => {
  const wrapped = wrapMessage(encodeTextMessage("launch.system:snes"));
  expect(wrapped.at(-1)).toBe(0xfe);
  expect(messageIn(contentOf(memory([...wrapped])))).toEqual(encodeTextMessage("launch.system:snes"));
});

test("GET_VERSION tells family and pages, and what is unknown or of another length is none", () => {
  const version = (hex: string) => parseVersion(Uint8Array.fromHex(hex));
  // NTAG21x rev 3.2, table 28; MF0ULx1 rev 3.3, table 18.
  expect(version("0004040201000f03")).toEqual({ family: "NTAG", pages: 45 });
  expect(version("0004040201001103")).toEqual({ family: "NTAG", pages: 135 });
  expect(version("0004040201001303")).toEqual({ family: "NTAG", pages: 231 });
  expect(version("0004030101000b03")).toEqual({ family: "Ultralight", pages: 20 });
  expect(version("0004030101000e03")).toEqual({ family: "Ultralight", pages: 41 });
  // NT2L1001 rev 3.0 and MF0UN rev 3.2 have the storage size of larger chips.
  expect(version("0004040102000b03")).toEqual({ family: "NTAG", pages: 16, lacksFastRead: true });
  expect(version("0004030102000b03")).toEqual({ family: "Ultralight", pages: 14, lacksFastRead: true });
  for (const hex of [
    "",
    "00",
    "0004040201000f",
    "0004040201000f0300",
    "0004040201007703",
    "0004050201000f03",
  ])
    expect(version(hex)).toBeUndefined();
});
