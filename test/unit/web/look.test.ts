/**
 * One look of the page, the launch page, the installed page and the television: that of docs/LOOK.md.
 * Covers: src/web/page/style.css.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { accents, colors } from "../../../src/screen/drawings.ts";

const root = join(import.meta.dir, "../../..");
const text = (path: string) => Bun.file(join(root, path)).text();

type Palette = Readonly<Record<string, string>>;
const document = await text("docs/LOOK.md");
const rows = [...document.matchAll(/^\| `([\w-]+)` \| `(#\w+)` \| `(#\w+)` \|/gm)];
const paletteOf = (column: 2 | 3): Palette => Object.fromEntries(rows.map((row) => [row[1], row[column]]));
const light = paletteOf(2);
const dark = paletteOf(3);

/** The colors that a block of CSS names, without those of single tiles. */
function namedIn(css: string): Palette {
  return Object.fromEntries(
    [...css.matchAll(/--([\w-]+): (#[0-9a-f]+);/g)].map(([, name, color]) => [name, color]),
  );
}

/** The light and the dark block at the start of a style. */
function schemesOf(css: string): readonly [Palette, Palette] {
  const [, lightBlock = "", darkBlock = ""] =
    /:root \{([^}]*)\}\s*@media \(prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}/.exec(css) ?? [];
  return [namedIn(lightBlock), namedIn(darkBlock)];
}

test("the page has the colors of docs/LOOK.md, all of them", async () => {
  expect(rows.length).toBe(10);
  expect(schemesOf(await text("src/web/page/style.css"))).toEqual([light, dark]);
});

test("the page of a launch link has some of them", async () => {
  const schemes = schemesOf(await text("src/api/launch-page.ts"));
  for (const [shown, palette] of [
    [schemes[0], light],
    [schemes[1], dark],
  ] as const) {
    expect(Object.keys(shown).length).toBeGreaterThan(5);
    expect(palette).toMatchObject(shown);
  }
});

test("the bar of a browser and an installed page have the ground's color", async () => {
  const { ground = "" } = light;
  const page = await text("src/web/page/index.html");
  expect([...page.matchAll(/name="theme-color".*content="(#\w+)"/g)].map(([, color]) => color)).toEqual([
    ground,
    dark.ground,
  ]);
  const manifest = await text("src/web/page-icons.ts");
  expect([...manifest.matchAll(/_color: "(#\w+)"/g)].map(([, color]) => color)).toEqual([ground, ground]);
});

test("the television has the dark colors", () => {
  const shown = { ground: colors.background, quiet: colors.quiet, good: accents.ready, bad: accents.failed };
  expect(dark).toMatchObject(shown);
});

test("the icon has the color of docs/LOOK.md", async () => {
  const [, color = ""] = /The icon is white on `(#\w+)`/.exec(document) ?? [];
  expect(await text("src/web/page/icon.svg")).toContain(`fill="${color}"`);
});

test("text of each color is readable on the ground and on a card", () => {
  for (const palette of [light, dark])
    for (const name of ["text", "quiet", "accent", "good", "bad"])
      for (const behind of ["ground", "card", "hover"])
        expect([name, behind, contrast(palette[name], palette[behind]) >= 4.5]).toEqual([name, behind, true]);
  expect(contrast(light["on-accent"], light.accent)).toBeGreaterThanOrEqual(4.5);
  expect(contrast(dark["on-accent"], dark.accent)).toBeGreaterThanOrEqual(4.5);
  for (const [state, color] of Object.entries(accents))
    expect([state, contrast(color, colors.background) >= 7]).toEqual([state, true]);
});

test("the page has the sizes of text that docs/LOOK.md names", async () => {
  const css = await text("src/web/page/style.css");
  const sizes = new Set([...css.matchAll(/font-size: ([\d.]+)rem/g)].map(([, size = ""]) => size));
  const [, said = ""] = /in six sizes, in rem: ([^.]*(?:\.\d[^.]*)*)\./.exec(document) ?? [];
  expect([...sizes].toSorted()).toEqual([...said.matchAll(/[\d.]+/g)].map(([size]) => size).toSorted());
});

test("nothing moves by itself", async () => {
  expect(await text("src/web/page/style.css")).not.toMatch(/transition|animation|@keyframes/);
});

/** The ratio of two colors, 1 to 21 (WCAG 2.1, "contrast ratio"). */
function contrast(one = "", other = ""): number {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function luminance(color: string): number {
  const hex =
    color.length === 4 ? [...color.slice(1)].map((digit) => digit + digit).join("") : color.slice(1);
  const parts = [...Uint8Array.fromHex(hex)].map((part) => part / 255);
  const [red = 0, green = 0, blue = 0] = parts.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
