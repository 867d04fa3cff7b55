/**
 * The picture on the display of an emulated board, by QEMU's monitor (QEMU, "QMP reference", `screendump`), and its colors.
 */
import { createConnection } from "node:net";
import { createInterface } from "node:readline";
import { deflateSync } from "node:zlib";

/** A color in red, green and blue, 0 to 255. */
export type Color = readonly [red: number, green: number, blue: number];

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** The pixels in three bytes each, row by row. */
  readonly pixels: Uint8Array;
}

/** A region as shares of the picture's width and height, 0 to 1, from its upper left corner. */
export interface Region {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export const whole: Region = { left: 0, top: 0, right: 1, bottom: 1 };

/** Takes a picture over the monitor at `controlPath`. QEMU writes it to `path`. */
export async function takePicture(controlPath: string, path: string): Promise<Picture> {
  await command(controlPath, { execute: "screendump", arguments: { filename: path } });
  return readPpm(await Bun.file(path).bytes());
}

/** Sends one command on a connection of its own. Rejects with the monitor's error. */
export async function command(controlPath: string, words: Readonly<Record<string, unknown>>): Promise<void> {
  const socket = createConnection(controlPath);
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const answer = async () => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`the monitor ended before it answered ${JSON.stringify(words)}`);
      if (value.includes('"error"'))
        throw new Error(`the monitor refused ${JSON.stringify(words)}: ${value}`);
      if (value.includes('"return"')) return;
    }
  };
  try {
    socket.write(`${JSON.stringify({ execute: "qmp_capabilities" })}\n`);
    await answer();
    socket.write(`${JSON.stringify(words)}\n`);
    await answer();
  } finally {
    socket.destroy();
  }
}

/** Reads the portable pixmap that QEMU writes (netpbm, ppm(5)): `P6`, width, height, 255, and the pixels. */
function readPpm(bytes: Uint8Array): Picture {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 64));
  const [all = "", width, height] = /^P6\s+(\d+)\s+(\d+)\s+255\s/.exec(head) ?? [];
  const pixels = bytes.subarray(all.length);
  const picture = { width: Number(width), height: Number(height), pixels };
  if (all === "" || pixels.length !== picture.width * picture.height * 3)
    throw new Error("this is no whole picture");
  return picture;
}

/** The share of the region that has this color, 0 to 1. Each of red, green and blue may differ by `slack`. */
export function shareOf(picture: Picture, color: Color, region: Region = whole, slack = 24): number {
  let count = 0;
  let fits = 0;
  for (const [red, green, blue] of pixelsIn(picture, region)) {
    count++;
    const [r, g, b] = color;
    if (Math.abs(red - r) <= slack && Math.abs(green - g) <= slack && Math.abs(blue - b) <= slack) fits++;
  }
  return fits / count;
}

/** The most frequent color of the region, among 4096 distinct ones, and its share of the region. */
export function mainColor(
  picture: Picture,
  region: Region = whole,
): { readonly color: Color; readonly share: number } {
  const counts = new Map<number, number>();
  let count = 0;
  for (const [red, green, blue] of pixelsIn(picture, region)) {
    const key = ((red >> 4) << 8) | ((green >> 4) << 4) | (blue >> 4);
    counts.set(key, (counts.get(key) ?? 0) + 1);
    count++;
  }
  const [[key, most] = [0, 0]] = [...counts].toSorted((a, b) => b[1] - a[1]);
  const middle = (shift: number) => ((key >> shift) & 15) * 16 + 8;
  return { color: [middle(8), middle(4), middle(0)], share: most / count };
}

// Colors of src/screen/drawings.ts.
const background: Color = [0x14, 0x18, 0x3a];
const quiet: Color = [0xb9, 0xc0, 0xe8];
const foot: Region = { left: 0, top: 0.9, right: 1, bottom: 1 };

/**
 * Accepts a status screen with this color in the region if it is drawn completely. The picture is accepted once its hint
 * at the bottom is drawn, which comes last, and once it is the same twice in a row. On a busy host a half-drawn picture
 * is visible for a while.
 */
export function drawnWith(
  color: Color,
  region?: Region,
  end: "hint" | "nothing below" = "hint",
): (picture: Picture) => boolean {
  let before: Picture | undefined;
  return (picture) => {
    const isStill = before !== undefined && differing(before, picture) === 0;
    before = picture;
    const isWhole = end === "hint" ? shareOf(picture, quiet, foot) > 0.01 : true;
    return isStill && isWhole && shareOf(picture, background) > 0.6 && shareOf(picture, color, region) > 0.02;
  };
}

/** The number of pixels that differ between two pictures of one size. */
export function differing(one: Picture, other: Picture): number {
  let count = 0;
  for (let at = 0; at < one.pixels.length; at += 3)
    if ([0, 1, 2].some((part) => one.pixels[at + part] !== other.pixels[at + part])) count++;
  return count;
}

function* pixelsIn({ width, height, pixels }: Picture, region: Region): Generator<Color> {
  const [left, right] = [Math.floor(region.left * width), Math.ceil(region.right * width)];
  const [top, bottom] = [Math.floor(region.top * height), Math.ceil(region.bottom * height)];
  for (let y = top; y < bottom; y++)
    for (let x = left; x < right; x++) {
      const at = (y * width + x) * 3;
      yield [pixels[at] ?? 0, pixels[at + 1] ?? 0, pixels[at + 2] ?? 0];
    }
}

/** The picture as a file for viewers and browsers (PNG, W3C recommendation): one image, no filter. */
export function pngOf({ width, height, pixels }: Picture): Uint8Array {
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([8, 2, 0, 0, 0], 8);
  const rows = new Uint8Array(height * (1 + width * 3));
  for (let y = 0; y < height; y++)
    rows.set(pixels.subarray(y * width * 3, (y + 1) * width * 3), y * (1 + width * 3) + 1);
  const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
  const data = deflateSync(rows);
  return Buffer.concat([
    signature,
    pngChunk("IHDR", header),
    pngChunk("IDAT", data),
    pngChunk("IEND", new Uint8Array()),
  ]);
}

/** One chunk of a PNG file: its length, type, bytes and CRC. */
export function pngChunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, Bun.hash.crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}
