/** The frame buffer of Linux (Documentation/fb/framebuffer.rst): its size from sysfs, and pixels in its layout. */
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { screenPixelsMax } from "../core/console-limits.ts";
import type { Rotation, ScreenView } from "../core/playback.ts";

export interface FrameBuffer {
  readonly device: string;
  readonly width: number;
  readonly height: number;
  /** Bytes from one row to the next. */
  readonly stride: number;
  readonly bitsPerPixel: 16 | 32;
}

/**
 * Reads the first frame buffer at each call, because a display may be plugged in, unplugged or changed; undefined if
 * there is none to draw on.
 */
export async function findFrameBuffer(
  folder = "/sys/class/graphics/fb0",
  device = "/dev/fb0",
): Promise<FrameBuffer | undefined> {
  try {
    const [size = "", stride = "", bits = ""] = await Promise.all(
      ["virtual_size", "stride", "bits_per_pixel"].map((name) => readFile(join(folder, name), "utf8")),
    );
    const [width = 0, height = 0] = size.split(",").map(Number);
    return checked({ device, width, height, stride: Number(stride), bitsPerPixel: Number(bits) });
  } catch {
    // The machine has no display, or its kernel has no frame buffers.
    return undefined;
  }
}

const sideMin = 160; // Below this size, no text is legible.

function checked(
  found: Omit<FrameBuffer, "bitsPerPixel"> & { bitsPerPixel: number },
): FrameBuffer | undefined {
  const { width, height, stride, bitsPerPixel } = found;
  if (bitsPerPixel !== 16 && bitsPerPixel !== 32) return undefined;
  const isSound =
    [width, height, stride].every(Number.isInteger) &&
    Math.min(width, height) >= sideMin &&
    width * height <= screenPixelsMax &&
    stride >= (width * bitsPerPixel) / 8 &&
    stride * height <= screenPixelsMax * 4;
  return isSound ? { ...found, bitsPerPixel } : undefined;
}

/** A box in whole pixels. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

type Size = Pick<Box, "width" | "height">;

/** The part of a frame buffer that pictures use, as its viewers see it: rotated, and without the edges that stay free. */
export interface Canvas extends Box {
  readonly frame: FrameBuffer;
  /** The angle by which the picture is rotated clockwise. */
  readonly rotation: Rotation;
}

export function canvasOf(frame: FrameBuffer, { rotation, overscan }: ScreenView): Canvas {
  const isOnItsSide = rotation === 90 || rotation === 270;
  const width = isOnItsSide ? frame.height : frame.width;
  const height = isOnItsSide ? frame.width : frame.height;
  const x = Math.round((width * overscan) / 100);
  const y = Math.round((height * overscan) / 100);
  return { frame, rotation, x, y, width: width - 2 * x, height: height - 2 * y };
}

/** The whole screen as its viewers see it. */
export function wholeOf({ x, y, width, height }: Box): Size {
  return { width: width + 2 * x, height: height + 2 * y };
}

/** The pixels of the frame buffer in which a box of the whole screen is seen. */
function placeOf({ x, y, width, height }: Box, { frame, rotation }: Canvas): Box {
  switch (rotation) {
    case 0:
      return { x, y, width, height };
    case 90:
      return { x: frame.width - y - height, y: x, width: height, height: width };
    case 180:
      return { x: frame.width - x - width, y: frame.height - y - height, width, height };
    case 270:
      return { x: y, y: frame.height - x - width, width: height, height: width };
  }
}

/** Like `placeOf`, for a box of the canvas. */
function placeOn(canvas: Canvas, { x, y, width, height }: Box): Box {
  return placeOf({ x: x + canvas.x, y: y + canvas.y, width, height }, canvas);
}

/**
 * The order in which the pixels of a picture are read, so that the result is rotated clockwise. It has the address of the
 * first pixel, the step to the next pixel on the right, and the step to the next row. `column` and `row` are the steps of
 * the picture itself.
 */
function turned(by: Rotation, { width, height }: Size, column: number, row: number) {
  switch (by) {
    case 0:
      return { start: 0, right: column, down: row };
    case 90:
      return { start: (height - 1) * row, right: -row, down: column };
    case 180:
      return { start: (height - 1) * row + (width - 1) * column, right: -column, down: -row };
    case 270:
      return { start: (width - 1) * column, right: row, down: -column };
  }
}

/** The rotation that undoes a rotation. */
const backFrom = { 0: 0, 90: 270, 180: 180, 270: 90 } as const;

export const bandRows = 64; // The rows that are processed at a time: 0.5 MB on a screen of 1920 columns. The whole picture at once would need another copy.

/** The bands of a picture, each compressed by zstd and in base64. Together they have a few kB, because colors are flat. */
export type PackedFrame = readonly string[];

export function packFrame(rgba: Uint8Array, canvas: Canvas): PackedFrame {
  return [...bandsOf(rgba, canvas)].map((band) => Bun.zstdCompressSync(band).toString("base64"));
}

/** Writes a packed picture. Another thread unpacks each band, and the event loop runs between two bands. */
export function writePacked(packed: PackedFrame, { device }: FrameBuffer): Promise<void> {
  return writeBands(
    device,
    packed.values().map((band) => Bun.zstdDecompress(Buffer.from(band, "base64"))),
  );
}

/** Writes a picture. `rgba` is the whole screen as its viewers see it. */
export function writeFrame(rgba: Uint8Array, canvas: Canvas): Promise<void> {
  return writeBands(canvas.frame.device, bandsOf(rgba, canvas));
}

function* bandsOf(rgba: Uint8Array, { frame, rotation }: Canvas): Generator<Uint8Array> {
  for (let first = 0; first < frame.height; first += bandRows)
    yield framePixels(rgba, frame, { first, count: Math.min(bandRows, frame.height - first) }, rotation);
}

/** Writes successive bands. Never makes a missing file, and never truncates one. */
async function writeBands(device: string, bands: Iterable<Uint8Array | Promise<Uint8Array>>): Promise<void> {
  const fd = openSync(device, "r+");
  try {
    let start = 0;
    for (const band of bands) {
      const bytes = await band;
      // The write is not done by another thread. At the lowest priority of that thread, half a picture would be visible
      // for long.
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, start + at);
      start += bytes.length;
    }
  } finally {
    closeSync(fd);
  }
}

/** Draws a border of this thickness and color (`#rrggbb`) just inside a box of the canvas, and leaves all other pixels. */
export function drawBorder(canvas: Canvas, within: Box, color: string, thickness: number): void {
  const { frame } = canvas;
  const box = placeOn(canvas, within);
  const fd = openSync(frame.device, "r+");
  try {
    const across = pixelsOf(frame, color, box.width);
    const side = across.subarray(0, (thickness * frame.bitsPerPixel) / 8);
    const put = (pixels: Uint8Array, x: number, y: number) =>
      writeSync(fd, pixels, 0, pixels.length, y * frame.stride + (x * frame.bitsPerPixel) / 8);
    for (let row = 0; row < box.height; row++) {
      const y = box.y + row;
      if (row < thickness || row >= box.height - thickness) put(across, box.x, y);
      else {
        put(side, box.x, y);
        put(side, box.x + box.width - thickness, y);
      }
    }
  } finally {
    closeSync(fd);
  }
}

/** Fills a box of the canvas with this color (`#rrggbb`). */
export function fillBox(canvas: Canvas, box: Box, color: string): void {
  drawBorder(canvas, box, color, Math.max(box.width, box.height));
}

/** Copies the pixels of a box of the canvas to another place of the canvas. */
export function copyBox(canvas: Canvas, source: Box, target: Pick<Box, "x" | "y">): void {
  const { frame } = canvas;
  const from = placeOn(canvas, source);
  const to = placeOn(canvas, { ...source, x: target.x, y: target.y });
  const fd = openSync(frame.device, "r+");
  try {
    const bytesPerPixel = frame.bitsPerPixel / 8;
    const pixels = new Uint8Array(from.width * bytesPerPixel);
    for (let row = 0; row < from.height; row++) {
      readSync(fd, pixels, 0, pixels.length, (from.y + row) * frame.stride + from.x * bytesPerPixel);
      writeSync(fd, pixels, 0, pixels.length, (to.y + row) * frame.stride + to.x * bytesPerPixel);
    }
  } finally {
    closeSync(fd);
  }
}

/** One row of pixels of this color. */
function pixelsOf(frame: FrameBuffer, color: string, count: number): Uint8Array {
  const rgba = Buffer.from(`${color.slice(1)}ff`.repeat(count), "hex");
  const row = { ...frame, width: count, stride: (count * frame.bitsPerPixel) / 8 };
  return framePixels(rgba, row, { first: 0, count: 1 });
}

const displays = /^\/dev\/(dri\/card|fb)\d+$/;

/** Whether a process of this user, other than this program's, has a display open (`displayUser`). */
export async function isDisplayTaken(folder?: string): Promise<boolean> {
  return (await displayUser(folder)) === "other";
}

/**
 * The program that has a display open: another one of this user, or only this one, which draws. The kernel does not
 * show the open files of other users' processes.
 */
export async function displayUser(folder = "/proc"): Promise<"other" | "own" | undefined> {
  const exe = (pid: string) => readlink(join(folder, pid, "exe")).catch(() => "");
  const own = await exe("self");
  let user: "own" | undefined;
  for (const pid of await readdir(folder)) {
    if (!/^\d+$/.test(pid)) continue;
    const open = join(folder, pid, "fd");
    const numbers = await readdir(open).catch(() => []);
    const paths = await Promise.all(numbers.map((number) => readlink(join(open, number)).catch(() => "")));
    if (!paths.some((path) => displays.test(path))) continue;
    if (own === "" || (await exe(pid)) !== own) return "other";
    user = "own";
  }
  return user;
}

/**
 * The bytes of a band of the frame buffer, `count` rows from `first` on. They come from pixels of 4 bytes R G B A of the
 * whole picture, which is rotated clockwise.
 *
 *   32 bits  B G R X, a byte each
 *   16 bits  little-endian: red in bits 11..15, green in 5..10, blue in 0..4
 */
export function framePixels(
  rgba: Uint8Array,
  { width, height, stride, bitsPerPixel }: FrameBuffer,
  { first, count }: { readonly first: number; readonly count: number },
  rotation: Rotation = 0,
): Uint8Array {
  const band = new Uint8Array(stride * count);
  const bytesPerPixel = bitsPerPixel / 8;
  const isOnItsSide = rotation === 90 || rotation === 270;
  const picture = isOnItsSide ? { width: height, height: width } : { width, height };
  const { start, right, down } = turned(rotation, picture, 4, picture.width * 4);
  for (let row = 0; row < count; row++) {
    let from = start + (first + row) * down;
    let to = row * stride;
    for (let x = 0; x < width; x++) {
      const red = rgba[from] ?? 0;
      const green = rgba[from + 1] ?? 0;
      const blue = rgba[from + 2] ?? 0;
      if (bitsPerPixel === 32) {
        band[to] = blue;
        band[to + 1] = green;
        band[to + 2] = red;
      } else {
        const pixel = ((red >> 3) << 11) | ((green >> 2) << 5) | (blue >> 3);
        band[to] = pixel & 0xff;
        band[to + 1] = pixel >> 8;
      }
      from += right;
      to += bytesPerPixel;
    }
  }
  return band;
}

/**
 * The reverse of `framePixels`: returns `count` rows, from `first` on, of the whole screen as its viewers see it. They
 * are rows of a PNG file: a filter byte of 0, and R G B of each pixel. `fd` is the open frame buffer.
 */
export function readRows(
  canvas: Canvas,
  fd: number,
  { first, count }: { readonly first: number; readonly count: number },
): Uint8Array {
  const { width } = wholeOf(canvas);
  const box = placeOf({ x: 0, y: first, width, height: count }, canvas);
  const pixels = readBox(canvas.frame, fd, box);
  const { bitsPerPixel } = canvas.frame;
  const column = bitsPerPixel / 8;
  const { start, right, down } = turned(backFrom[canvas.rotation], box, column, box.width * column);
  const rows = new Uint8Array((width * 3 + 1) * count);
  let to = 0;
  for (let row = 0; row < count; row++) {
    let from = start + row * down;
    to++;
    for (let x = 0; x < width; x++, to += 3, from += right) {
      const low = pixels[from] ?? 0;
      const high = pixels[from + 1] ?? 0;
      if (bitsPerPixel === 32) {
        rows[to] = pixels[from + 2] ?? 0;
        rows[to + 1] = high;
        rows[to + 2] = low;
      } else {
        // The high bits are repeated, so the largest value becomes 255.
        const red = high >> 3;
        const green = ((high & 7) << 3) | (low >> 5);
        const blue = low & 31;
        rows[to] = (red << 3) | (red >> 2);
        rows[to + 1] = (green << 2) | (green >> 4);
        rows[to + 2] = (blue << 3) | (blue >> 2);
      }
    }
  }
  return rows;
}

/** The bytes of the pixels of a box, row by row. */
function readBox({ device, stride, bitsPerPixel }: FrameBuffer, fd: number, box: Box): Uint8Array {
  const bytesPerPixel = bitsPerPixel / 8;
  const length = box.width * bytesPerPixel;
  const pixels = new Uint8Array(length * box.height);
  for (let row = 0; row < box.height; row++) {
    const from = (box.y + row) * stride + box.x * bytesPerPixel;
    for (let at = 0; at < length; ) {
      const count = readSync(fd, pixels, row * length + at, length - at, from + at);
      if (count === 0) throw new Error(`${device} ends early`);
      at += count;
    }
  }
  return pixels;
}
