import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  bitsOf,
  bytesOfBits,
  checkedBytes,
  isWholePart,
  parseAts,
  parseIsoBlock,
  uidIn,
  uidPartsOf,
  withCheck,
} from "../../../../drivers/protocol/type-a-frame.ts";
import { fifoBytesMax } from "../../../../src/core/limits.ts";

test("the CRC is that of the examples of ISO/IEC 14443-3, annex B", () => {
  expect(withCheck(0x00, 0x00).toHex()).toBe("0000a01e");
  expect(withCheck(0x12, 0x34).toHex()).toBe("123426cf");
  // HLTA, as every reader sends it.
  expect(withCheck(0x50, 0x00).toHex()).toBe("500057cd");
});

test("bytes with their CRC come out without it, and no altered byte passes", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 62 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (bytes, at, change) => {
        const frame = withCheck(...bytes);
        expect(checkedBytes(frame)).toEqual(bytes);
        const altered = frame.map((byte, index) => (index === at % frame.length ? byte ^ change : byte));
        expect(checkedBytes(altered)).toBeUndefined();
      },
    ),
    { seed: 522 },
  );
  for (const short of ["", "00", "6363"]) expect(checkedBytes(Uint8Array.fromHex(short))).toBeUndefined();
});

test("the parts of a UID have their check bytes, and give the UID back", () => {
  expect(uidPartsOf(Uint8Array.fromHex("de4a1b7c")).map((part) => part.toHex())).toEqual(["de4a1b7cf3"]);
  expect(uidPartsOf(Uint8Array.fromHex("04a1b2c3d4e5f6")).map((part) => part.toHex())).toEqual([
    "8804a1b29f",
    "c3d4e5f604",
  ]);
  for (const bytes of [4, 7, 10]) {
    const uid = Uint8Array.from({ length: bytes }, (_, at) => 17 * at + 4);
    const parts = uidPartsOf(uid);
    expect(parts.every(isWholePart)).toBe(true);
    const read = parts.map((part, level) => uidIn(part, level === parts.length - 1 ? 0x00 : 0x04));
    expect(Uint8Array.of(...read.flatMap((one) => [...one.bytes]))).toEqual(uid);
    expect(read.map(({ isLast }) => isLast)).toEqual(parts.map((_, level) => level === parts.length - 1));
  }
  expect(isWholePart(Uint8Array.fromHex("de4a1b7cf2"))).toBe(false);
  expect(isWholePart(Uint8Array.fromHex("de4a1b7c"))).toBe(false);
});

test("bits go lowest first", () => {
  expect(bitsOf(Uint8Array.of(0x01, 0x80), 16)).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  expect(bytesOfBits([1, 1, 0, 0, 0, 0, 0, 0, 1])).toEqual(Uint8Array.of(0x03, 0x01));
});

test("an answer to select tells the size of a frame, the waiting time and the historical bytes", () => {
  const desfire = parseAts(Uint8Array.fromHex("06757781028 0".replace(" ", "")));
  expect(desfire).toEqual({
    frameBytesMax: 64,
    waitMs: (4096 / 13_560) * 2 ** 8,
    guardMs: (4096 / 13_560) * 2,
    historicalBytes: Uint8Array.of(0x80),
  });
  // TL alone, then T0 with none of the three.
  expect(parseAts(Uint8Array.of(1))).toEqual({
    frameBytesMax: 32,
    waitMs: (4096 / 13_560) * 2 ** 4,
    guardMs: 0,
    historicalBytes: new Uint8Array(),
  });
  expect(parseAts(Uint8Array.of(3, 0x00, 0x41))?.frameBytesMax).toBe(16);
  // TB without TA. A code of 15 is not used, and counts as 14.
  expect(parseAts(Uint8Array.of(3, 0x28, 0xf0))?.waitMs).toBe((4096 / 13_560) * 2 ** 14);
  expect(parseAts(Uint8Array.of(3, 0x28, 0x80))?.guardMs).toBe(0);
  expect(parseAts(Uint8Array.of(3, 0x28, 0x8f))?.guardMs).toBe(0);
  for (const wrong of ["", "00", "0675", "0575778102 80".replace(" ", "")])
    expect(parseAts(Uint8Array.fromHex(wrong))).toBeUndefined();
});

test("each block of ISO/IEC 14443-4 is of one kind", () => {
  expect(parseIsoBlock(Uint8Array.of(0x02, 0x90, 0x00))).toEqual({
    kind: "i",
    number: 0,
    hasMore: false,
    data: Uint8Array.of(0x90, 0x00),
  });
  expect(parseIsoBlock(Uint8Array.of(0x13))).toEqual({
    kind: "i",
    number: 1,
    hasMore: true,
    data: new Uint8Array(),
  });
  expect(parseIsoBlock(Uint8Array.of(0xa3))).toEqual({ kind: "ack", number: 1 });
  expect(parseIsoBlock(Uint8Array.of(0xf2, 0xc1))).toEqual({ kind: "more-time", factor: 1 });
  for (const wrong of ["", "b2", "c2", "f2", "f200", "f23c", "0a00", "06"])
    expect(parseIsoBlock(Uint8Array.fromHex(wrong))).toBeUndefined();
});

test("random answers throw nothing, and no card can ask for frames that the chip does not hold", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
      parseIsoBlock(bytes);
      const ats = parseAts(Uint8Array.of(bytes.length + 1, ...bytes));
      expect(ats?.frameBytesMax).toBeLessThanOrEqual(fifoBytesMax);
      expect(ats?.frameBytesMax).toBeGreaterThanOrEqual(16);
      expect(ats?.waitMs).toBeLessThan(5_000);
    }),
    { seed: 522, numRuns: 2000 },
  );
});
