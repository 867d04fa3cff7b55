/**
 * A decoder that shares no code with ours checks the written message: it follows the text of NDEF 1.0 and Text RTD 1.0
 * alone. Also the whole path: a text that fits a tag is read back from the tag.
 * Covers: drivers/protocol/ndef.ts.
 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { encodeTextMessage } from "../../../../drivers/protocol/ndef.ts";
import { planWrite } from "../../../../drivers/protocol/type2-write-plan.ts";
import { createType2Tag, type2Kinds } from "../../../emulators/emulated-tags.ts";
import { textIn } from "../../../helpers/emulated.ts";
import { imageOf, roomBytes } from "../../../helpers/type2-images.ts";

/** Any well-formed text that does not begin with a byte-order mark, like those of `readers.write`. */
const anyText = (charsMax: number) =>
  fc
    .oneof(
      fc.string({ unit: "binary", minLength: 1, maxLength: charsMax }),
      fc.string({ unit: "grapheme", minLength: 1, maxLength: charsMax }),
      fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: charsMax }),
    )
    .map((text) => text.toWellFormed())
    .filter((text) => !text.startsWith("\ufeff"));

/** The only record of a message, by the letter of the specifications; throws if it violates one of them. */
function readByTheLetter(message: Uint8Array): { readonly language: string; readonly text: string } {
  const bytes = Buffer.from(message);
  const flags = bytes.readUInt8(0);
  const isShort = (flags & 0b0001_0000) !== 0;
  // MB and ME set, CF and IL clear, TNF 1 (NDEF 3.2.1 to 3.2.6).
  if ((flags & 0b1110_1111) !== 0b1100_0001) throw new Error(`flags ${flags.toString(2)}`);
  if (bytes.readUInt8(1) !== 1) throw new Error("the type is one byte");
  const length = isShort ? bytes.readUInt8(2) : bytes.readUInt32BE(2);
  const typeAt = isShort ? 3 : 6;
  if (bytes.toString("latin1", typeAt, typeAt + 1) !== "T") throw new Error("the type is T");
  if (bytes.length !== typeAt + 1 + length) throw new Error("the record fills the message");
  const status = bytes.readUInt8(typeAt + 1);
  // UTF-8, the reserved bit clear (Text RTD 3.2.1).
  if ((status & 0b1100_0000) !== 0) throw new Error(`status ${status}`);
  const textAt = typeAt + 2 + status;
  return {
    language: bytes.toString("latin1", typeAt + 2, textAt),
    text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(textAt)),
  };
}

test("10,000 random texts are messages of one English Text record, by the letter of the specifications", () => {
  fc.assert(
    fc.property(anyText(400), (text) => {
      expect(readByTheLetter(encodeTextMessage(text))).toEqual({ language: "en", text });
    }),
    { seed: 21, numRuns: 10_000 },
  );
});

test("a text that is a URI stays a text, for it is a script", () => {
  const message = encodeTextMessage("https://example.org/x");
  expect(readByTheLetter(message)).toEqual({ language: "en", text: "https://example.org/x" });
});

test("lengths around the change of the record's form are reported as they are", () => {
  for (const length of [1, 251, 252, 253, 254, 255, 256, 65_533, 65_534])
    expect(readByTheLetter(encodeTextMessage("x".repeat(length))).text.length).toBe(length);
});

test("any text is read back from each tag that it fits, and refused by the bytes that are missing", () => {
  fc.assert(
    fc.property(anyText(300), fc.constantFrom(...type2Kinds), (text, kind) => {
      const memory = createType2Tag(kind, { uid: Uint8Array.fromHex("04a1b2c3d4e5f6") }).memory;
      const message = encodeTextMessage(text);
      const plan = planWrite(imageOf(kind, memory), message, false);
      const roomFor = roomBytes[kind];
      const blockBytes = message.length + (message.length < 255 ? 2 : 4);
      if (blockBytes > roomFor) {
        expect(plan).toEqual({ kind: "too-small", bytesMissing: blockBytes - roomFor });
        return;
      }
      if (plan.kind !== "plan") throw new Error(JSON.stringify(plan));
      expect(textIn(plan.written)).toBe(text);
    }),
    { seed: 22, numRuns: 3000 },
  );
});
