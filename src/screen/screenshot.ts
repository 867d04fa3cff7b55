/**
 * Pictures of the frame buffer as files (W3C, PNG specification, third edition), which are read band by band, so taps are
 * not delayed.
 */
import { closeSync, openSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createDeflate } from "node:zlib";
import { screenshotsMax } from "../core/console-limits.ts";
import { failed, messageOf } from "../core/errors.ts";
import { bandRows, type Canvas, readRows, wholeOf } from "./frame-buffer.ts";

/**
 * Writes a picture of the screen as its viewers see it to a new file, which is named after the time, and resolves with
 * its path. Rejects with `ServiceError`, for example if the folder is full.
 */
export async function saveScreenshot(canvas: Canvas, folder: string, nowMs: number): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await refuseFull(folder);
  const path = join(folder, `screen-${new Date(nowMs).toISOString().replace(/\D/g, "")}.png`);
  try {
    await writeFile(path, await pngOf(canvas), { flag: "wx" });
  } catch (error) {
    throw failed(`the picture of the screen cannot be saved: ${messageOf(error)}`, error);
  }
  return path;
}

/** Rejects with `ServiceError` if the folder has too many files. The folder need not exist. */
export async function refuseFull(folder: string): Promise<void> {
  const files = await readdir(folder).catch(() => []);
  if (files.length >= screenshotsMax)
    throw failed(`there are ${screenshotsMax} files in ${folder}: delete some pictures`);
}

const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const bitsPerSample = 8;
const trueColor = 2;

async function pngOf(canvas: Canvas): Promise<Buffer> {
  const header = Buffer.alloc(13);
  const { width, height } = wholeOf(canvas);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bitsPerSample, trueColor], 8);
  const parts: Uint8Array[] = [];
  await pipeline(Readable.from(rowsOf(canvas)), createDeflate({ level: 1 }), async (packed) => {
    for await (const part of packed) parts.push(part);
  });
  const chunks = [chunk("IHDR", header), chunk("IDAT", Buffer.concat(parts)), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...chunks.flat()]);
}

/** A chunk of a PNG file (section 5.3): the length, the type, the data, and the sum of the last two. */
function chunk(type: string, data: Uint8Array): readonly Uint8Array[] {
  const length = Buffer.alloc(4);
  const sum = Buffer.alloc(4);
  const typed = Buffer.concat([Buffer.from(type, "latin1"), data]);
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(typed));
  return [length, typed, sum];
}

function* rowsOf(canvas: Canvas): Generator<Uint8Array> {
  const { height } = wholeOf(canvas);
  const fd = openSync(canvas.frame.device, "r");
  try {
    for (let first = 0; first < height; first += bandRows)
      yield readRows(canvas, fd, { first, count: Math.min(bandRows, height - first) });
  } finally {
    closeSync(fd);
  }
}
