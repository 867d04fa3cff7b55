/**
 * `make pictures`: makes the two pictures of the README again, docs/pictures/phone.png and television.png. The phone is a
 * real Chromium, paired with a real service on a network of its own. The television shows the output of the service's
 * renderer.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { render } from "../src/screen/draw-job.ts";
import { screenSvg } from "../src/screen/status-template.ts";
import { english } from "../src/screen/texts.ts";
import { startChromium } from "../test/helpers/chromium.ts";
import { startDevice } from "../test/helpers/device.ts";
import { canMakeNetworks } from "../test/helpers/namespaces.ts";
import { pngChunk } from "../test/image/picture.ts";

const folder = join(import.meta.dir, "../docs/pictures");
const media = [
  "SNES/Star Garden.sfc",
  "SNES/Super Game.sfc",
  "SNES/Super Game 2.sfc",
  "Video/Super Holiday.mkv",
];
// Ends only when it is stopped, so that the page shows something that plays.
const player = `[[launchers]]\nid = "player"\ncommand = ["/bin/sh", "-c", "exec sleep 600", "{path}"]\n`;

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Four bytes each, R G B A, row by row. */
  readonly rgba: Uint8Array;
}

async function television(): Promise<Pixels> {
  const size = { width: 1280, height: 720 };
  const place = { base: "http://tapdeck.local:7497", hasGames: true };
  return { ...size, rgba: await render(screenSvg({ kind: "ready" }, place, size, english), size) };
}

/** The page of a paired phone, after a tap on the device and a search on the phone. */
async function phone(): Promise<Pixels> {
  await using device = await startDevice(`[readers]\ndetect = false\nconnect = ["simulated:"]\n${player}`);
  const { network, service } = device;
  for (const path of media) await device.place.file(path);
  await service.client.call("media.index", {});
  await device.run("tap", media[0] ?? "");
  const { out: link } = await device.run("pair", "Phone", "--host", network.deviceAddress);
  await using chromium = await startChromium({}, network.onNeighbour);
  const page = await chromium.browser.newPage({
    viewport: { width: 390, height: 785 },
    deviceScaleFactor: 2,
    colorScheme: "light",
    locale: "en-GB",
  });
  await page.goto(link);
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.getByRole("searchbox").fill("super");
  await page.getByRole("button", { name: /^Super Holiday/ }).waitFor();
  await page.getByRole("searchbox").blur();
  const png = await page.screenshot({ animations: "disabled" });
  const blank = await chromium.browser.newPage();
  const { width, height, bytes } = await blank.evaluate(pixelsOf, png.toString("base64"));
  return { width, height, rgba: Buffer.from(bytes, "base64") };
}

/** Runs in the browser, which reads PNG files. */
async function pixelsOf(png: string): Promise<{ width: number; height: number; bytes: string }> {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const { width, height } = image;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  if (context === null) throw new Error("the browser has no canvas");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  let bytes = "";
  for (const byte of data) bytes += String.fromCharCode(byte);
  return { width, height, bytes: btoa(bytes) };
}

const colorsMax = 64;

/** PNG with a palette (W3C recommendation, 11.2): the most frequent colors; another pixel gets the nearest of them. */
function palettePng({ width, height, rgba }: Pixels): Uint8Array {
  const counts = new Map<number, number>();
  const colors = new Uint32Array(width * height);
  for (let at = 0; at < colors.length; at++) {
    const [red = 0, green = 0, blue = 0] = rgba.subarray(at * 4, at * 4 + 3);
    const color = (red << 16) | (green << 8) | blue;
    colors[at] = color;
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  const byCount = [...counts].toSorted((one, other) => other[1] - one[1]);
  const palette = byCount.slice(0, colorsMax).map(([color]) => color);
  const places = new Map(byCount.map(([color]) => [color, nearest(color, palette)]));
  const rows = new Uint8Array(height * (1 + width));
  for (const [at, color] of colors.entries())
    rows[Math.floor(at / width) * (1 + width) + 1 + (at % width)] = places.get(color) ?? 0;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    pngChunk("IHDR", header),
    pngChunk("PLTE", Uint8Array.from(palette.flatMap(partsOf))),
    pngChunk("IDAT", deflateSync(rows, { level: 9 })),
    pngChunk("IEND", new Uint8Array()),
  ]);
}

function nearest(color: number, palette: readonly number[]): number {
  const parts = partsOf(color);
  const distances = palette.map((other) =>
    partsOf(other).reduce((sum, part, at) => sum + (part - (parts[at] ?? 0)) ** 2, 0),
  );
  return distances.indexOf(Math.min(...distances));
}

function partsOf(color: number): readonly number[] {
  return [color >> 16, (color >> 8) & 255, color & 255];
}

if (!canMakeNetworks) throw new Error("make pictures needs root: it makes network namespaces");
await mkdir(folder, { recursive: true });
for (const [name, pixels] of Object.entries({ television: await television(), phone: await phone() }))
  await Bun.write(join(folder, `${name}.png`), palettePng(pixels));
