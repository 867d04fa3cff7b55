import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  ackFrame,
  type Cut,
  createFrameCutter,
  cutterBytesMax,
  encodeFrame,
  errorFrame,
  nackFrame,
} from "../../../../drivers/protocol/pn532-frame.ts";
import { chipFrameBytesMax } from "../../../../src/core/limits.ts";
import { fuzzRounds } from "../../../helpers/rounds.ts";

const answer = encodeFrame(Uint8Array.fromHex("d50332010607"));
const extended = encodeFrame(new Uint8Array(260).fill(0xff).fill(0x00, 3, 40));
const exchange = Uint8Array.from([
  ...ackFrame,
  ...answer,
  ...nackFrame,
  ...extended,
  ...errorFrame,
  ...ackFrame,
]);

function cutsOf(...runs: readonly Uint8Array[]): Cut[] {
  const cutter = createFrameCutter();
  return runs.flatMap((run) => [...cutter.push(run)]);
}

/** Frames in order, and the total of noise bytes: neither may depend on the division of the stream. */
function summary(cuts: readonly Cut[]) {
  const frames = cuts.filter((cut) => cut.kind !== "noise");
  const noiseBytes = cuts.reduce((bytes, cut) => bytes + (cut.kind === "noise" ? cut.bytes : 0), 0);
  return { frames, noiseBytes };
}

test("a frame is laid out as the manual draws it", () => {
  // UM0701-02, section 6.2.1.1, with the example of GetFirmwareVersion.
  expect(encodeFrame(Uint8Array.of(0xd4, 0x02)).toHex()).toBe("0000ff02fed4022a00");
});

test("255 bytes are a normal frame, 256 to 264 an extended one, and all of them come back", () => {
  for (const length of [1, 2, 255, 256, 257, chipFrameBytesMax]) {
    const payload = Uint8Array.from({ length }, (_, at) => (at * 7 + length) & 0xff);
    const frame = encodeFrame(payload);
    const header =
      length <= 255
        ? [0, 0, 0xff, length, -length & 0xff]
        : [0, 0, 0xff, 0xff, 0xff, length >> 8, length & 0xff];
    expect([...frame.subarray(0, header.length)]).toEqual(header);
    expect(frame.at(-1)).toBe(0);
    expect(cutsOf(frame)).toEqual([{ kind: "frame", payload }]);
  }
});

test("a frame carries 1 to 264 bytes: no others are encoded, and no others are read", () => {
  for (const length of [0, chipFrameBytesMax + 1]) {
    expect(() => encodeFrame(new Uint8Array(length))).toThrow("a frame carries 1 to 264 bytes");
    // A correct length sum, and more zeros than the frame needs; the sums of the zeros are also correct.
    const header = [0, 0, 0xff, 0xff, 0xff, length >> 8, length & 0xff, -((length >> 8) + length) & 0xff];
    const cuts = cutsOf(Uint8Array.from([...header, ...new Uint8Array(300)]), answer);
    expect(cuts[0]).toEqual({ kind: "noise", bytes: 2, why: "length" });
    expect(summary(cuts).frames).toEqual(summary(cutsOf(answer)).frames);
  }
});

test("an extended frame whose length sum is wrong is noise, and the frame after it is read", () => {
  for (const place of [5, 6, 7]) {
    const broken = extended.slice();
    broken[place] = (broken[place] ?? 0) ^ 1;
    const cuts = cutsOf(broken.subarray(0, 8), answer);
    expect(cuts[0]).toEqual({ kind: "noise", bytes: 2, why: "length-sum" });
    expect(cuts.at(-1)).toMatchObject({ kind: "frame", payload: Uint8Array.fromHex("d50332010607") });
  }
});

test("a good frame within a false one is found", () => {
  const inner = answer.subarray(0, -1);
  // The frame's length is right, and its data sum is wrong.
  const sums = [...inner].reduce((total, byte) => total + byte, 0);
  const around = [0, 0, 0xff, inner.length, -inner.length & 0xff, ...inner, (-sums & 0xff) ^ 1, 0];
  const { frames } = summary(cutsOf(Uint8Array.from(around)));
  expect(frames).toEqual([{ kind: "frame", payload: Uint8Array.fromHex("d50332010607") }]);
});

test("the error frame is one byte 7F; another byte alone, and a longer frame with 7F, carry data", () => {
  for (const payload of [Uint8Array.of(0x7e), Uint8Array.of(0x7f, 0x00)])
    expect(cutsOf(encodeFrame(payload))).toEqual([{ kind: "frame", payload }]);
  expect(cutsOf(encodeFrame(Uint8Array.of(0x7f)))).toEqual([{ kind: "error" }]);
});

test("a payload is a copy that later bytes do not change", () => {
  const cutter = createFrameCutter();
  const [cut] = cutter.push(answer);
  cutter.push(encodeFrame(new Uint8Array(6).fill(0xee)));
  expect(cut).toEqual({ kind: "frame", payload: Uint8Array.fromHex("d50332010607") });
});

test("an exchange of every kind of frame is cut into its frames without noise", () => {
  const cuts = cutsOf(exchange);
  expect(cuts.map((cut) => cut.kind)).toEqual(["ack", "frame", "nack", "frame", "error", "ack"]);
});

test("every split of an exchange gives the same frames", () => {
  const whole = cutsOf(exchange);
  for (let cut = 0; cut <= exchange.length; cut++) {
    expect(cutsOf(exchange.subarray(0, cut), exchange.subarray(cut))).toEqual(whole);
  }
  expect(cutsOf(...Array.from(exchange, (byte) => Uint8Array.of(byte)))).toEqual(whole);
});

test("noise without start codes before, between and after frames loses none of them", () => {
  // 0xFF without a zero before it, and zeros without 0xFF after them, cannot begin a frame.
  const noise = fc.array(fc.integer({ min: 1, max: 254 }), { maxLength: 40 });
  fc.assert(
    fc.property(noise, noise, noise, (before, between, after) => {
      const stream = Uint8Array.from([...before, ...answer, ...between, ...ackFrame, ...extended, ...after]);
      const { frames, noiseBytes } = summary(cutsOf(stream));
      expect(frames).toEqual(summary(cutsOf(answer, ackFrame, extended)).frames);
      expect(noiseBytes).toBe(before.length + between.length + after.length);
    }),
    { seed: 532 },
  );
});

test("a frame with a wrong sum is lost alone", () => {
  for (let index = 3; index < answer.length - 1; index++) {
    const broken = answer.slice();
    broken[index] = (broken[index] ?? 0) ^ 0x10;
    const kinds = summary(cutsOf(broken, new Uint8Array(300), answer)).frames.map((cut) => cut.kind);
    expect(kinds).toEqual(["frame"]);
  }
});

test("any split of any noise gives the same frames, never throws, and holds no more than its maximum", () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.constantFrom(
      answer,
      extended,
      ackFrame,
      Uint8Array.of(0, 0, 0xff),
      Uint8Array.of(0, 0xff, 0xff, 0xff, 1, 8, 0xf7),
    ),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(700)), (pieces, cutPoints) => {
      const stream = Uint8Array.from(pieces.flatMap((bytes) => [...bytes]));
      const cutter = createFrameCutter();
      const points = [
        0,
        ...cutPoints.map((point) => Math.min(point, stream.length)).sort((a, b) => a - b),
        stream.length,
      ];
      const cuts = points.slice(1).flatMap((to, index): Cut[] => {
        const some = [...cutter.push(stream.subarray(points[index], to))];
        expect(cutter.pendingBytes).toBeLessThan(cutterBytesMax);
        return some;
      });
      expect(summary(cuts)).toEqual(summary(cutsOf(stream)));
    }),
    { seed: 532, numRuns: fuzzRounds(2000) },
  );
});

test("a megabyte of noise costs one cut per push", () => {
  const cutter = createFrameCutter();
  expect(cutter.push(new Uint8Array(1_000_000).fill(0xaa))).toEqual([
    { kind: "noise", bytes: 1_000_000, why: "no-start" },
  ]);
});
