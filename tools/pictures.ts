/**
 * `make pictures`: makes the pictures of the README again, in docs/pictures. The phone is a real Chromium, paired with a real
 * service on a network of its own, and shows three screens: phone.png, library.png and cards.png. An owner's phone shows broker.png,
 * the card of a broker that is Debian's mosquitto. The television shows the output of the service's renderer.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import type { Page } from "playwright-core";
import { render } from "../src/screen/draw-job.ts";
import { screenSvg } from "../src/screen/status-template.ts";
import { english } from "../src/screen/texts.ts";
import { goTo, goToPlace, startChromium } from "../test/helpers/chromium.ts";
import { startDevice } from "../test/helpers/device.ts";
import { canMakeNetworks } from "../test/helpers/namespaces.ts";
import { printed } from "../test/helpers/processes.ts";
import { pngChunk, pngOf } from "../test/image/picture.ts";

const folder = join(import.meta.dir, "../docs/pictures");
const names = ["Star Garden", "Moon Rally", "Paper Knight", "Deep Harbour", "Sky Orchard", "Robot Picnic"];
const media = [
  ...names.map((name) => `SNES/${name}.sfc`),
  "Video/Super Holiday.mkv",
  "Audio/Rain Songs/1.mp3",
];
// This player ends only when it is stopped, so the page shows media that play.
const player = `[[launchers]]\nid = "player"\ncommand = ["/bin/sh", "-c", "exec sleep 600", "{path}"]\n`;

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** The pixels in four bytes each, R G B A, row by row. */
  readonly rgba: Uint8Array;
}

async function television(): Promise<Pixels> {
  const size = { width: 1280, height: 720 };
  const place = { base: "http://tapdeck.local:7497", hasGames: true };
  return { ...size, rgba: await render(screenSvg({ kind: "ready" }, place, size, english), size) };
}

const coverColors = [
  [0x1e, 0x3a, 0x5f],
  [0xf2, 0xa5, 0x41],
  [0xe4, 0x57, 0x2e],
  [0x2e, 0x8b, 0x7a],
  [0xf4, 0xe9, 0xcd],
] as const;

/** A cover of few colors: hills below a disc, different for each number. */
function cover(number: number): Uint8Array {
  const width = 300;
  const height = 300;
  const color = (place: number) => coverColors[(number + place) % coverColors.length] ?? coverColors[0];
  const pixels = new Uint8Array(width * height * 3);
  for (let at = 0; at < width * height; at++) {
    const x = at % width;
    const y = Math.floor(at / width);
    const isDisc = Math.hypot(x - 90 - 25 * (number % 5), y - 100) < 46;
    const isNear = y > 230 + 18 * Math.sin((x + 70 * number) / 40);
    const isFar = y > 190 + 30 * Math.sin((x + 40 * number) / 55);
    pixels.set(color(isNear ? 3 : isFar ? 2 : isDisc ? 1 : 0), at * 3);
  }
  return pngOf({ width, height, pixels });
}

/** Three screens of the page of a paired phone, after some taps on the device. */
async function phone(): Promise<Readonly<Record<string, Pixels>>> {
  await using device = await startDevice(`[readers]\ndetect = false\nconnect = ["simulated:"]\n${player}`);
  const { network, service } = device;
  for (const path of media) await device.place.file(path);
  const covers = [
    ...names.map((name) => `SNES/covers/${name}.png`),
    "Audio/Rain Songs/cover.png",
    "Video/Super Holiday.png",
  ];
  for (const [number, path] of covers.entries()) {
    await device.place.file(path);
    await Bun.write(join(device.place.folder, "media", path), cover(number));
  }
  await service.client.call("media.index", {});
  await service.client.call("media.favourites.update", { path: "Audio/Rain Songs", favourite: true });
  const taps = [media[6], "Audio/Rain Songs", media[3], media[2], "**stop", media[1], media[0]];
  for (const [number, text = ""] of taps.entries()) {
    await service.client.call("launch", { uid: `04a1b2c3d4e5f${number}`, text });
    await Bun.sleep(300);
  }
  const { out: link } = await device.run("pair", "Phone", "--host", network.deviceAddress);
  await using chromium = await startChromium({}, network.onNeighbour);
  const page = await chromium.browser.newPage({
    viewport: { width: 390, height: 785 },
    deviceScaleFactor: 2,
    colorScheme: "light",
    locale: "en-GB",
  });
  await page.goto(link);
  await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
  const blank = await chromium.browser.newPage();
  const seen = async () => {
    await page.waitForLoadState("networkidle");
    // The pointer is moved away from the tiles, because a tile below it is brighter.
    await page.mouse.move(0, 0);
    // The page loads its pictures three at a time.
    await page.waitForTimeout(1500);
    return decoded(blank, await page.screenshot({ animations: "disabled" }));
  };
  const now = await seen();
  await goTo(page, "Library");
  await page.getByRole("link", { name: /^Super Nintendo/ }).click();
  await page.getByRole("button", { name: "Star Garden", exact: true }).waitFor();
  const library = await seen();
  await goTo(page, "Cards");
  await page.getByRole("button", { name: "Star Garden", exact: true }).waitFor();
  return { phone: now, library, cards: await seen() };
}

/** The card of the broker on an owner's phone, after a save. */
async function brokerCard(): Promise<Pixels> {
  await using device = await startDevice("[readers]\ndetect = false\n");
  const { network } = device;
  const file = (name: string) => join(device.place.folder, name);
  await printed(["mosquitto_passwd", "-b", "-c", file("passwords"), "deck", "secret"]);
  await Bun.write(file("broker.conf"), `user root\nlistener 1883\npassword_file ${file("passwords")}\n`);
  const words = network.onNeighbour(["/usr/sbin/mosquitto", "-c", file("broker.conf")]);
  await using broker = Bun.spawn([...words], { stdio: ["ignore", "ignore", "ignore"] });
  const { out: link } = await device.run("pair", "Phone", "--role", "owner", "--host", network.deviceAddress);
  await using chromium = await startChromium({}, network.onNeighbour);
  const page = await chromium.browser.newPage({
    viewport: { width: 390, height: 1000 },
    deviceScaleFactor: 2,
    colorScheme: "light",
    locale: "en-GB",
  });
  await page.goto(link);
  await goToPlace(page, "network");
  const card = page.getByRole("region", { name: "MQTT broker" });
  await card.getByLabel("Address").fill(`mqtt://${network.neighbourAddress}:1883`);
  await card.getByLabel("Account").fill("deck");
  await card.getByLabel("Password").fill("secret");
  await card.getByRole("button", { name: "Save" }).click();
  await card.getByText("Connected.").waitFor();
  const png = await card.screenshot({ animations: "disabled" });
  const pixels = await decoded(await chromium.browser.newPage(), png);
  broker.kill();
  return pixels;
}

async function decoded(blank: Page, png: Buffer): Promise<Pixels> {
  const { width, height, bytes } = await blank.evaluate(pixelsOf, png.toString("base64"));
  return { width, height, rgba: Buffer.from(bytes, "base64") };
}

/** This function runs in the browser, which reads PNG files. */
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

/**
 * The picture as PNG with a palette (W3C recommendation, 11.2). The palette has the most frequent colors, and another
 * pixel gets the nearest of them.
 */
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
for (const [name, pixels] of Object.entries({
  television: await television(),
  ...(await phone()),
  broker: await brokerCard(),
}))
  await Bun.write(join(folder, `${name}.png`), palettePng(pixels));
