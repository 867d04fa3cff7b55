/** The sealed body of an upload: it can be read in pieces of any size, and no other body is accepted. */
import { expect, spyOn, test } from "bun:test";
import { loadPrimitives } from "../../../src/secure/primitives.ts";
import { ForgedFrame, openUpload, sealUpload } from "../../../src/secure/upload-frames.ts";
import { seededRandom } from "../../emulators/emulated-line.ts";

const primitives = await loadPrimitives();
const random = seededRandom(7);
const randomBytes = (count: number) => Uint8Array.from({ length: count }, () => Math.floor(random() * 256));
const seal = { key: randomBytes(32), id: "0123456789abcdef0123456789abcdef" };
const offset = 5 * 2 ** 32 + 3;

async function* cut(body: Uint8Array, length: () => number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; ) {
    const end = at + length();
    yield body.subarray(at, end);
    at = end;
  }
}

async function openAll(body: AsyncIterable<Uint8Array>, from = offset, by = seal): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(openUpload(primitives, by, from, body)));
}

test("a body opens, whatever its length and its pieces", async () => {
  for (const length of [0, 1, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1, 50_000]) {
    const bytes = randomBytes(length);
    const body = await sealUpload(primitives, seal, offset, bytes);
    expect(body.length).toBe(length + 16 * Math.ceil(length / (16 * 1024)));
    for (const most of [100_000, 5000, 17])
      expect(Buffer.compare(await openAll(cut(body, () => 1 + Math.floor(random() * most))), bytes)).toBe(0);
  }
});

test("a changed, cut, moved, reordered or foreign body does not open, and noise neither", async () => {
  const frame = 16 * 1024 + 16;
  const body = await sealUpload(primitives, seal, offset, randomBytes(40_000));
  const changed = body.slice();
  changed[frame + 5] = (changed[frame + 5] ?? 0) ^ 1;
  const swapped = Buffer.concat([
    body.subarray(frame, 2 * frame),
    body.subarray(0, frame),
    body.subarray(2 * frame),
  ]);
  const bad: readonly (readonly [Uint8Array, number, typeof seal])[] = [
    [changed, offset, seal],
    [body.subarray(0, -1), offset, seal],
    [body.subarray(0, frame + 10), offset, seal],
    [swapped, offset, seal],
    [body, offset + 1, seal],
    [body, offset, { ...seal, id: seal.id.replace("0", "1") }],
    [body, offset, { ...seal, key: randomBytes(32) }],
  ];
  for (const [index, [bytes, from, by]] of bad.entries())
    expect([
      index,
      await openAll(
        cut(bytes, () => frame),
        from,
        by,
      ).catch((error) => error),
    ]).toEqual([index, expect.any(ForgedFrame)]);
  for (let round = 0; round < 200; round++) {
    const noise = randomBytes(1 + Math.floor(random() * 2 * frame));
    expect(await openAll(cut(noise, () => frame)).catch((error) => error)).toBeInstanceOf(ForgedFrame);
  }
});

test("the frames before a changed one are given, and a whole frame cut off at its end is noticed by its length", async () => {
  const frame = 16 * 1024 + 16;
  const bytes = randomBytes(40_000);
  const body = await sealUpload(primitives, seal, offset, bytes);
  expect((await openAll(cut(body.subarray(0, 2 * frame), () => 999))).length).toBe(2 * 16 * 1024);
  const opened: Uint8Array[] = [];
  const read = async () => {
    const damaged = body.slice();
    damaged[2 * frame] = (damaged[2 * frame] ?? 0) ^ 1;
    for await (const part of openUpload(
      primitives,
      seal,
      offset,
      cut(damaged, () => frame),
    ))
      opened.push(part);
  };
  expect(await read().catch((error) => error)).toBeInstanceOf(ForgedFrame);
  expect(Buffer.compare(Buffer.concat(opened), bytes.subarray(0, 2 * 16 * 1024))).toBe(0);
});

test("a body is the same with the cipher of the runtime and without, and each opens the other's", async () => {
  const bytes = randomBytes(300_000);
  const body = await sealUpload(primitives, seal, offset, bytes);
  using without = spyOn(crypto.subtle, "importKey").mockRejectedValue(new Error("not supported"));
  expect(Buffer.compare(await sealUpload(primitives, seal, offset, bytes), body)).toBe(0);
  expect(Buffer.compare(await openAll(cut(body, () => 70_000)), bytes)).toBe(0);
  expect(without).toHaveBeenCalledTimes(2);
});
