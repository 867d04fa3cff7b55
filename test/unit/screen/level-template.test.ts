/** The level on the page of the volume: its bar and its digits, as the service draws them. */
import { expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { render } from "../../../src/screen/draw-job.ts";
import { accents, colors } from "../../../src/screen/drawings.ts";
import { canvasOf, wholeOf, writeFrame } from "../../../src/screen/frame-buffer.ts";
import { levelBoxes } from "../../../src/screen/level-template.ts";
import { menuBox, menuColumns } from "../../../src/screen/menu-template.ts";
import { screenSvg, screenTexts } from "../../../src/screen/status-template.ts";
import { createMenuPen } from "../../../src/services/menu-pen.ts";

const sizes = [
  { width: 1920, height: 1080 },
  { width: 640, height: 480 },
  { width: 1080, height: 1920 },
] as const;
const menu = {
  kind: "menu",
  title: "Volume",
  tiles: [{ name: "Quieter" }, { name: "Louder" }],
  page: 1,
  pages: 1,
  hasLevel: true,
} as const;

test("bar and digits lie within the screen, below the tiles and their borders, and each level covers each other one", () => {
  for (const size of sizes) {
    const first = menuBox(0, size);
    const covered = (percent: number) => {
      const pixels = new Set<number>();
      for (const { box } of levelBoxes(percent, size)) {
        expect(box.y).toBeGreaterThanOrEqual(first.y + first.height);
        expect(box.x).toBeGreaterThanOrEqual(0);
        expect(box.x + box.width).toBeLessThanOrEqual(size.width);
        expect([box.x, box.y, box.width, box.height].every(Number.isInteger)).toBe(true);
        for (let y = box.y; y < box.y + box.height; y++)
          for (let x = box.x; x < box.x + box.width; x++) pixels.add(y * size.width + x);
      }
      return pixels;
    };
    const all = covered(100);
    for (const percent of [0, 8, 37, -5, 140]) expect(covered(percent)).toEqual(all);
  }
});

test("a level is drawn once its page is, and then as it changes, on a turned screen as well", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-level-"));
  const device = join(folder, "frame");
  const frame = { device, width: 640, height: 480, stride: 2560, bitsPerPixel: 32 } as const;
  for (const rotation of [0, 90, 180, 270] as const) {
    const canvas = canvasOf(frame, { rotation, overscan: 5 });
    const rgba = await render(screenSvg(menu, { base: undefined }, canvas, screenTexts.en), wholeOf(canvas));
    const drawn = async () => {
      await writeFile(device, new Uint8Array(frame.stride * frame.height));
      await writeFrame(rgba, canvas);
      return readFile(device);
    };
    const count = (bytes: Buffer, color: string) => {
      const [red, green, blue] = Buffer.from(color.slice(1), "hex");
      let found = 0;
      for (let at = 0; at < bytes.length; at += 4)
        if (bytes[at] === blue && bytes[at + 1] === green && bytes[at + 2] === red) found++;
      return found;
    };
    const pen = createMenuPen();
    const plain = await drawn();
    pen.expect(0);
    pen.level(30);
    // The page is not on the screen yet.
    expect((await readFile(device)).equals(plain)).toBe(true);
    pen.drawn(menu, canvas, true);
    const border = count(await readFile(device), accents.ready);
    const areas: number[] = [];
    for (const percent of [0, 30, 65, 100]) {
      pen.level(percent);
      const bytes = await readFile(device);
      areas.push(count(bytes, accents.ready));
      const lit = levelBoxes(percent, canvas).filter(({ color }) => color === colors.text);
      // 0 has six segments, 30 five and six, 65 six and five, and 100 two and twice six.
      expect([percent, lit.length]).toEqual([percent, { 0: 6, 30: 11, 65: 11, 100: 14 }[percent] ?? 0]);
      expect(count(bytes, colors.text)).toBeGreaterThan(count(plain, colors.text));
    }
    const [none = 0, some = 0, more = 0, all = 0] = areas;
    expect(some).toBe(border);
    expect((some - none) / (all - none)).toBeCloseTo(0.3, 1);
    expect((more - none) / (all - none)).toBeCloseTo(0.65, 1);
    expect(menuColumns(canvas)).toBe(rotation % 180 === 0 ? 4 : 2);
    // Another page has no level.
    const before = await drawn();
    const { hasLevel: _, ...other } = menu;
    pen.drawn(other, canvas, false);
    pen.choose(0);
    const chosen = await readFile(device);
    pen.level(50);
    expect((await readFile(device)).equals(chosen)).toBe(true);
    expect(chosen.equals(before)).toBe(false);
  }
  await rm(folder, { recursive: true });
});
