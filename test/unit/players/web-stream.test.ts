/** Titles between the bytes of a web radio. */
import { expect, test } from "bun:test";
import { createTitleCutter } from "../../../src/players/web-stream.ts";

function cutAll(bytes: Uint8Array, cuts: readonly number[], interval: number) {
  const titles: string[] = [];
  const cut = createTitleCutter(interval, (title) => titles.push(title));
  const edges = [0, ...cuts, bytes.length];
  const pieces = edges.slice(1).flatMap((end, at) => cut(bytes.subarray(edges[at], end)));
  return { sound: Buffer.concat(pieces).toString(), titles };
}

const said = (text: string) => {
  const bytes = Buffer.from(text);
  const blocks = Math.ceil(bytes.length / 16);
  return Buffer.concat([Buffer.of(blocks), bytes, Buffer.alloc(blocks * 16 - bytes.length)]);
};
const body = Buffer.concat([
  ...[Buffer.from("aaaa"), said("StreamTitle='It's Ü';StreamUrl='x';")],
  ...[Buffer.from("bbbb"), Buffer.of(0), Buffer.from("cccc"), said("StreamTitle='';"), Buffer.from("dd")],
]);

test("every split of a stream gives the same sound and titles", () => {
  for (let one = 0; one <= body.length; one++)
    for (let two = one; two <= body.length; two += 5)
      expect(cutAll(body, [one, two], 4)).toEqual({ sound: "aaaabbbbccccdd", titles: ["It's Ü", ""] });
});

test("without an interval, or with one that is none, all is sound", () => {
  for (const interval of [0, -4, 1.5, Number.NaN])
    expect(cutAll(Buffer.from("aaaa"), [2], interval)).toEqual({ sound: "aaaa", titles: [] });
});

test("noise in the place of titles gives no title, and no more than it is long", () => {
  for (let seed = 1; seed <= 200; seed++) {
    let state = seed;
    const next = () => {
      state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
      return state >> 16;
    };
    const noise = Uint8Array.from({ length: 3000 }, () => next() & 0xff);
    const { sound, titles } = cutAll(noise, [seed, seed * 3], 1 + (seed % 40));
    expect(Buffer.byteLength(sound, "utf8")).toBeGreaterThan(0);
    expect(titles).toEqual([]);
  }
});
