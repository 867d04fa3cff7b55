/** The pages of the television's menu: their places, their texts in all languages, and their pixels. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { render } from "../../../src/screen/draw-job.ts";
import {
  menuBorder,
  menuBox,
  menuColumns,
  menuNeighbour,
  menuTilesMax,
} from "../../../src/screen/menu-template.ts";
import type { Picture } from "../../../src/screen/picture.ts";
import { screenSvg, screenTexts } from "../../../src/screen/status-template.ts";

const sizes = [
  { width: 1920, height: 1080 },
  { width: 1280, height: 720 },
  { width: 640, height: 480 },
  { width: 800, height: 600 },
  { width: 1080, height: 1920 },
  { width: 480, height: 640 },
] as const;
const place = { base: "http://deck.local:7497" };
const symbol = "M7 4.5v15l12-7.5z";

test("the borders of tiles lie beside each other, within the screen", () => {
  for (const size of sizes) {
    const boxes = Array.from({ length: menuTilesMax }, (_, at) => menuBox(at, size));
    for (const [at, box] of boxes.entries()) {
      expect(box.x).toBeGreaterThanOrEqual(0);
      expect(box.x + box.width).toBeLessThanOrEqual(size.width);
      expect(box.y + box.height).toBeLessThanOrEqual(size.height);
      for (const other of boxes.slice(at + 1)) {
        const isBeside = other.x >= box.x + box.width || other.y >= box.y + box.height;
        expect(isBeside).toBe(true);
      }
    }
  }
});

test("arrows lead to each tile of a full and of a broken row, and not out of the page", () => {
  expect(menuNeighbour(0, "right", 8, 4)).toBe(1);
  expect(menuNeighbour(3, "right", 8, 4)).toBeUndefined();
  expect(menuNeighbour(4, "left", 8, 4)).toBeUndefined();
  expect(menuNeighbour(2, "down", 8, 4)).toBe(6);
  expect(menuNeighbour(6, "up", 8, 4)).toBe(2);
  expect(menuNeighbour(3, "down", 6, 4)).toBe(5);
  expect(menuNeighbour(1, "down", 3, 4)).toBeUndefined();
  expect(menuNeighbour(5, "right", 6, 4)).toBeUndefined();
  expect(menuNeighbour(0, "up", 8, 4)).toBeUndefined();
});

test("an upright screen has rows of two tiles, and arrows lead through all of them", () => {
  expect(sizes.map(menuColumns)).toEqual([4, 4, 4, 4, 2, 2]);
  expect(menuNeighbour(1, "right", 8, 2)).toBeUndefined();
  expect(menuNeighbour(1, "down", 8, 2)).toBe(3);
  expect(menuNeighbour(5, "down", 8, 2)).toBe(7);
  expect(menuNeighbour(5, "down", 7, 2)).toBe(6);
  expect(menuNeighbour(4, "down", 6, 2)).toBeUndefined();
  expect(menuNeighbour(6, "up", 7, 2)).toBe(4);
  expect(menuNeighbour(4, "right", 5, 2)).toBeUndefined();
});

test.each(Object.entries(screenTexts))(
  "in the language %p each text of the menu is whole",
  (_language, texts) => {
    const { empty, hint, title, searching, wifiPassword: _password, ...rest } = texts.menu;
    const { bluetoothFaults, pairing: _pairing, typeCode, pressPairing, passwordLength, ...names } = rest;
    const all = Object.values(names);
    for (const size of sizes)
      for (let first = 0; first < all.length; first += menuTilesMax) {
        const tiles = all.slice(first, first + menuTilesMax).map((name) => ({ name, symbol }));
        const svg = screenSvg({ kind: "menu", title, tiles, page: 1, pages: 2 }, place, size, texts);
        expect(svg).not.toContain("…");
        expect(svg).toContain(hint);
      }
    // The longest texts of both kinds: above the tiles, and alone.
    for (const size of sizes)
      for (const above of [...Object.values(bluetoothFaults), passwordLength]) {
        const svg = screenSvg(
          { kind: "menu", title: above, tiles: [{ name: "A" }], page: 1, pages: 1 },
          place,
          size,
          texts,
        );
        expect(svg).not.toContain("…");
      }
    for (const size of sizes)
      for (const note of [pressPairing, typeCode])
        expect(
          screenSvg({ kind: "menu", title, tiles: [], note, page: 1, pages: 1 }, place, size, texts),
        ).not.toContain("…");
    const none = screenSvg({ kind: "menu", title, tiles: [], page: 1, pages: 1 }, place, sizes[2], texts);
    expect(none).toContain(empty);
  },
);

test("pictures and symbols are drawn in their tiles, and nothing is drawn where a border comes", async () => {
  const file = join(import.meta.dir, "../../../docs/pictures/cards.png");
  const bytes = await Bun.file(file).arrayBuffer();
  const png = await new Bun.Image(Buffer.from(bytes)).resize(200, 200, { fit: "inside" }).png().bytes();
  const picture: Picture = {
    kind: "menu",
    title: "Games & more",
    tiles: [
      { name: "A", picture: Buffer.from(png).toString("base64") },
      { name: "B", symbol },
      { name: "Sonic the Hedgehog 2 (World) (Rev A) and a very long name" },
    ],
    page: 1,
    pages: 1,
  };
  const [, size] = sizes;
  const rgba = await render(screenSvg(picture, place, size, screenTexts.en), size);
  const colorsOf = (at: number) => {
    const { x, y, width, height } = menuBox(at, size);
    const found = new Set<string>();
    for (let row = y + 10; row < y + height * 0.6; row++)
      for (let column = x + 10; column < x + width - 10; column++)
        found.add(rgba.subarray(4 * (row * size.width + column), 4 * (row * size.width + column) + 3).join());
    return found.size;
  };
  expect(colorsOf(0)).toBeGreaterThan(50);
  expect(colorsOf(1)).toBeGreaterThan(2);
  for (let at = 0; at < menuTilesMax; at++) {
    const { x, y, width, height } = menuBox(at, size);
    const seen = new Set<string>();
    for (let row = y; row < y + height; row++)
      for (let column = x; column < x + width; column++) {
        const inner = menuBorder(size);
        const isInside =
          row >= y + inner && row < y + height - inner && column >= x + inner && column < x + width - inner;
        if (!isInside)
          seen.add(
            rgba.subarray(4 * (row * size.width + column), 4 * (row * size.width + column) + 3).join(),
          );
      }
    // The edge of a tile that begins within a pixel is mixed with the background.
    expect(seen.size).toBeLessThanOrEqual(3);
  }
});
