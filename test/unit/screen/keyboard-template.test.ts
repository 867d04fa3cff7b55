/** The keyboard of the television: its keys, its field, and the letters that are copied between them. */
import { expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { render } from "../../../src/screen/draw-job.ts";
import { canvasOf, copyBox, framePixels, wholeOf } from "../../../src/screen/frame-buffer.ts";
import {
  keyAt,
  keyNeighbour,
  keysMax,
  letterIn,
  letterOn,
  typedMax,
} from "../../../src/screen/keyboard-template.ts";
import { menuBox } from "../../../src/screen/menu-template.ts";
import { screenSvg, screenTexts } from "../../../src/screen/status-template.ts";
import { passwordKeys } from "../../../src/services/menu-wifi.ts";

const sizes = [
  { width: 1920, height: 1080 },
  { width: 1280, height: 720 },
  { width: 640, height: 480 },
  { width: 1024, height: 768 },
  { width: 1080, height: 1920 },
  { width: 480, height: 640 },
] as const;
const { items } = passwordKeys({ title: "Password", advice: "", done: () => undefined });
const picture = (typed: string) =>
  ({ kind: "menu", title: "Password", tiles: items, typed, page: 1, pages: 1 }) as const;

test("keys and letters lie within the screen, beside each other, and a letter fits its place", () => {
  expect(items.length).toBe(keysMax);
  for (const size of sizes) {
    const keys = items.map((_, place) => menuBox(place, size, true));
    const letters = Array.from({ length: typedMax }, (_, at) => letterIn(at, size));
    for (const boxes of [keys, letters])
      for (const [at, box] of boxes.entries()) {
        expect(box.x).toBeGreaterThanOrEqual(0);
        expect(box.x + box.width).toBeLessThanOrEqual(size.width);
        expect(box.y + box.height).toBeLessThanOrEqual(size.height);
        for (const other of boxes.slice(at + 1)) {
          const isBeside =
            other.x >= box.x + box.width || box.x >= other.x + other.width || other.y >= box.y + box.height;
          expect(isBeside).toBe(true);
        }
      }
    for (const [place, key] of keys.entries()) {
      const letter = letterOn(place, size);
      expect(letter.width).toBeLessThan(key.width);
      expect(letter.y).toBeGreaterThanOrEqual(keyAt(place, size).y - 1);
    }
  }
});

test("arrows lead to each key, round at the sides, and from letters to the wide keys and back", () => {
  expect(keyNeighbour(9, "right")).toBe(0);
  expect(keyNeighbour(10, "left")).toBe(19);
  expect(keyNeighbour(5, "down")).toBe(15);
  expect(keyNeighbour(5, "up")).toBeUndefined();
  expect(keyNeighbour(37, "down")).toBe(43);
  expect(keyNeighbour(43, "up")).toBe(36);
  expect(keyNeighbour(44, "right")).toBe(40);
  expect(keyNeighbour(44, "down")).toBeUndefined();
});

test("all printable characters of ASCII can be typed", async () => {
  const seen = new Set<string>([" "]);
  const first = passwordKeys({ title: "", advice: "", done: () => undefined });
  const large = await first.items[40]?.choose();
  const signs = await first.items[41]?.choose();
  for (const list of [first, large, signs])
    for (const { name } of typeof list === "object" ? list.items.slice(0, 40) : []) seen.add(name);
  const wanted = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at));
  expect(wanted.filter((letter) => !seen.has(letter))).toEqual([]);
});

test("a letter that is copied looks as one that is drawn, on a turned screen with free edges as well", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-keys-"));
  const device = join(folder, "frame");
  const views = [
    { rotation: 0, overscan: 0 },
    { rotation: 90, overscan: 5 },
    { rotation: 180, overscan: 0 },
    { rotation: 270, overscan: 10 },
  ] as const;
  for (const size of sizes.slice(0, 4))
    for (const view of size.width > 1280 ? views.slice(0, 2) : views) {
      const frame = { device, ...size, stride: size.width * 4, bitsPerPixel: 32 } as const;
      const canvas = canvasOf(frame, view);
      const all = { first: 0, count: size.height };
      const drawnOf = async (typed: string) => {
        const svg = screenSvg(picture(typed), { base: "" }, canvas, screenTexts.en);
        return framePixels(await render(svg, wholeOf(canvas)), frame, all, view.rotation);
      };
      await writeFile(device, await drawnOf(""));
      // The key of the letter w.
      copyBox(canvas, letterOn(11, canvas), letterIn(0, canvas));
      const copied = await readFile(device);
      const drawn = await drawnOf("w");
      const empty = await drawnOf("");
      let lit = 0;
      let other = 0;
      for (let at = 1; at < drawn.length; at += 4) {
        if (Math.abs((drawn[at] ?? 0) - (empty[at] ?? 0)) > 0x80) lit++;
        if (Math.abs((drawn[at] ?? 0) - (copied[at] ?? 0)) > 0x80) other++;
      }
      expect(lit).toBeGreaterThan(20);
      // At another place, parts of a pixel are rounded in another way.
      expect(other / lit).toBeLessThan(0.35);
    }
  await rm(folder, { recursive: true });
}, 60_000);
