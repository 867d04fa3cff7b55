/** The frame buffer: its size, the order of its pixels, a packed picture, and whether a player has the display. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { screenshotsMax } from "../../../src/core/console-limits.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import {
  canvasOf,
  copyBox,
  displayUser,
  drawBorder,
  findFrameBuffer,
  framePixels,
  isDisplayTaken,
  packFrame,
  writeFrame,
  writePacked,
} from "../../../src/screen/frame-buffer.ts";

import { refuseFull, saveScreenshot } from "../../../src/screen/screenshot.ts";
import { run } from "../../helpers/processes.ts";

const plain = { rotation: 0, overscan: 0 } as const;
let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-fb-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("pixels stand in the order of the frame buffer, row by row of its stride", () => {
  const rgba = Uint8Array.of(255, 128, 8, 255, 1, 2, 3, 255, 10, 20, 30, 255, 0, 0, 0, 255);
  const small = { device: "", width: 2, height: 2 };
  const all = { first: 0, count: 2 };
  expect([...framePixels(rgba, { ...small, stride: 12, bitsPerPixel: 32 }, all)]).toEqual([
    8, 128, 255, 0, 3, 2, 1, 0, 0, 0, 0, 0, 30, 20, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  ]);
  // 255, 128 and 8 are 31, 32 and 1 of 5, 6 and 5 bits: 0xfc01.
  const low = { ...small, stride: 4, bitsPerPixel: 16 } as const;
  expect([...framePixels(rgba, low, all)]).toEqual([0x01, 0xfc, 0x00, 0x00, 0xa3, 0x08, 0x00, 0x00]);
  expect([...framePixels(rgba, low, { first: 1, count: 1 })]).toEqual([0xa3, 0x08, 0x00, 0x00]);
});

test("a frame buffer is known by sysfs, and one that is odd, too large or not there is none", async () => {
  const found = async (size: string, stride: string, bits: string) => {
    await writeFile(join(folder, "virtual_size"), `${size}\n`);
    await writeFile(join(folder, "stride"), `${stride}\n`);
    await writeFile(join(folder, "bits_per_pixel"), `${bits}\n`);
    return findFrameBuffer(folder, "/dev/fb0");
  };
  expect(await found("1280,800", "5120", "32")).toEqual({
    device: "/dev/fb0",
    width: 1280,
    height: 800,
    stride: 5120,
    bitsPerPixel: 32,
  });
  expect((await found("640,480", "1280", "16"))?.bitsPerPixel).toBe(16);
  for (const [size, stride, bits] of [
    ["1280,800", "5120", "24"],
    ["1280,800", "5000", "32"],
    ["1280", "5120", "32"],
    ["x,y", "5120", "32"],
    ["99999,99999", "399996", "32"],
    ["1280,800", "99999999", "32"],
  ] as const)
    expect([size, stride, bits, await found(size, stride, bits)]).toEqual([size, stride, bits, undefined]);
  expect(await findFrameBuffer(join(folder, "none"))).toBeUndefined();
});

for (const bitsPerPixel of [32, 16] as const)
  test(`a packed picture is written as it is drawn, at ${bitsPerPixel} bits a pixel, and is much smaller`, async () => {
    const [width, height] = [320, 200];
    const device = join(folder, "fb");
    const frame = { device, width, height, stride: (width * bitsPerPixel) / 8 + 64, bitsPerPixel };
    // Flat areas of ten colors, and a last band that is shorter than the others.
    const rgba = new Uint8Array(width * height * 4).map((_, at) => 25 * (Math.floor(at / 25_600) + (at % 4)));
    const written = async (write: () => Promise<void>) => {
      await writeFile(device, new Uint8Array(frame.stride * height + 8).fill(0xee));
      await write();
      return readFile(device);
    };
    const packed = packFrame(rgba, canvasOf(frame, plain));
    const drawn = await written(() => writeFrame(rgba, canvasOf(frame, plain)));
    expect(drawn.equals(await written(() => writePacked(packed, frame)))).toBe(true);
    expect([...drawn.subarray(0, bitsPerPixel / 8)]).toEqual([
      ...framePixels(rgba, frame, { first: 0, count: 1 }).subarray(0, bitsPerPixel / 8),
    ]);
    expect([...drawn.subarray(-8)]).toEqual(Array.from({ length: 8 }, () => 0xee));
    expect(packed.join("").length).toBeLessThan(2000);
    await rm(device);
    expect(writePacked(packed, frame)).rejects.toThrow("ENOENT");
  });

test("a process that has a display open is found, and one that renders without a display is not", async () => {
  const opens = async (pid: string, path: string) => {
    await mkdir(join(folder, pid, "fd"), { recursive: true });
    await symlink(path, join(folder, pid, "fd/7"));
  };
  await writeFile(join(folder, "uptime"), "");
  await mkdir(join(folder, "12"));
  await opens("13", "/dev/dri/renderD128");
  await opens("self", "/dev/dri/card0");
  expect(await isDisplayTaken(folder)).toBe(false);
  await opens("14", "/dev/dri/card1");
  expect(await isDisplayTaken(folder)).toBe(true);
  await rm(join(folder, "14"), { recursive: true });
  await opens("15", "/dev/fb0");
  expect(await isDisplayTaken(folder)).toBe(true);
});

test("this program's own drawing takes the display from nobody, and a player beside it is found", async () => {
  const runs = async (pid: string, program: string) => {
    await mkdir(join(folder, pid, "fd"), { recursive: true });
    await symlink(program, join(folder, pid, "exe"));
    await symlink("/dev/fb0", join(folder, pid, "fd/4"));
  };
  expect(await displayUser(folder)).toBeUndefined();
  await runs("self", "/usr/bin/tapdeck");
  await runs("21", "/usr/bin/tapdeck");
  expect(await displayUser(folder)).toBe("own");
  expect(await isDisplayTaken(folder)).toBe(false);
  await runs("22", "/usr/bin/mpv");
  expect(await displayUser(folder)).toBe("other");
  expect(await isDisplayTaken(folder)).toBe(true);
});

/** The width, the height and the pixels, R G B, of a PNG file without interlace whose rows have no filter. */
function readPng(file: Buffer) {
  const packed: Buffer[] = [];
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at);
    const type = file.toString("latin1", at + 4, at + 8);
    const data = file.subarray(at + 8, at + 8 + length);
    expect(file.readUInt32BE(at + 8 + length)).toBe(Bun.hash.crc32(file.subarray(at + 4, at + 8 + length)));
    if (type === "IDAT") packed.push(data);
    at += 12 + length;
  }
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  const rows = inflateSync(Buffer.concat(packed));
  const pixels: number[] = [];
  for (let row = 0; row < height; row++) {
    const from = row * (width * 3 + 1);
    expect(rows[from]).toBe(0);
    pixels.push(...rows.subarray(from + 1, from + 1 + width * 3));
  }
  return { width, height, pixels };
}

for (const bitsPerPixel of [32, 16] as const)
  test(`a screenshot has the pixels that were drawn, at ${bitsPerPixel} bits a pixel`, async () => {
    const [width, height] = [161, 163];
    const device = join(folder, "fb");
    const frame = { device, width, height, stride: width * 4 + 12, bitsPerPixel } as const;
    await writeFile(device, new Uint8Array(frame.stride * height));
    const rgba = Uint8Array.from({ length: width * height * 4 }, (_, at) => (at % 4 === 3 ? 255 : at * 7));
    await writeFrame(rgba, canvasOf(frame, plain));
    const pictures = join(folder, "made/pictures");
    await saveScreenshot(canvasOf(frame, plain), pictures, Date.UTC(2026, 10, 5, 3, 4, 5, 6));
    const path = join(pictures, "screen-20261105030405006.png");
    const shot = readPng(await readFile(path));
    expect([shot.width, shot.height]).toEqual([width, height]);
    const drawn = [...rgba].filter((_, at) => at % 4 < 3);
    // 16 bits keep five or six of each color.
    const slack = bitsPerPixel === 32 ? 0 : 7;
    expect(shot.pixels.every((value, at) => Math.abs(value - (drawn[at] ?? 0)) <= slack)).toBe(true);
    expect(shot.pixels).toHaveLength(drawn.length);
    if (Bun.which("file") !== null)
      expect((await run(["file", path])).out).toContain("PNG image data, 161 x 163, 8-bit/color RGB");
  });

test("a folder with too many files, a picture of the same moment and a frame buffer that is gone refuse a screenshot", async () => {
  const device = join(folder, "fb");
  const frame = { device, width: 160, height: 160, stride: 640, bitsPerPixel: 32 } as const;
  const save = (into: string) => saveScreenshot(canvasOf(frame, plain), join(folder, into), 0);
  await expect(save("none")).rejects.toThrow(/^the picture of the screen cannot be saved: ENOENT/);
  await writeFile(device, new Uint8Array(640 * 100));
  await expect(save("short")).rejects.toThrow(`${device} ends early`);
  await writeFile(device, new Uint8Array(640 * 160));
  await save("same");
  await expect(save("same")).rejects.toThrow(ServiceError);
  await mkdir(join(folder, "full"));
  for (let n = 0; n < screenshotsMax; n++) await writeFile(join(folder, "full", `${n}`), "");
  await expect(save("full")).rejects.toThrow(`there are ${screenshotsMax} files in ${folder}/full`);
  await expect(refuseFull(join(folder, "full"))).rejects.toThrow(`${screenshotsMax} files in ${folder}/full`);
  await refuseFull(join(folder, "same"));
  await refuseFull(join(folder, "nothing"));
});

/** A frame buffer of 5 by 3 pixels, as rows of letters: each stands for the blue of its pixel. */
async function makeLetters(bitsPerPixel: 16 | 32) {
  const device = join(folder, "letters");
  const frame = { device, width: 5, height: 3, stride: 5 * 4 + 4, bitsPerPixel } as const;
  await writeFile(device, new Uint8Array(frame.stride * frame.height));
  /** A pixel of 16 bits keeps the upper five bits. */
  const colorOf = (letter: string) => (letter.charCodeAt(0) - 64) << 3;
  const picture = (rows: string) =>
    Uint8Array.from([...rows.replaceAll(" ", "")].flatMap((letter) => [0, 0, colorOf(letter), 255]));
  const rows = async () => {
    const bytes = await readFile(device);
    const letterAt = (row: number, column: number) => {
      const low = bytes[row * frame.stride + (column * bitsPerPixel) / 8] ?? 0;
      return String.fromCharCode(64 + (bitsPerPixel === 32 ? low >> 3 : low & 31));
    };
    const columns = [0, 1, 2, 3, 4];
    return [0, 1, 2].map((row) => columns.map((column) => letterAt(row, column)).join("")).join(" ");
  };
  return { frame, picture, rows };
}

for (const bitsPerPixel of [32, 16] as const)
  test(`a picture lies turned clockwise in the frame buffer, and upright in a screenshot, at ${bitsPerPixel} bits a pixel`, async () => {
    const { frame, picture, rows } = await makeLetters(bitsPerPixel);
    const wide = "ABCDE FGHIJ KLMNO";
    const upright = "ABC DEF GHI JKL MNO";
    const turns = [
      [0, wide, wide],
      [90, upright, "MJGDA NKHEB OLIFC"],
      [180, wide, "ONMLK JIHGF EDCBA"],
      [270, upright, "CFILO BEHKN ADGJM"],
    ] as const;
    for (const [rotation, seen, lying] of turns) {
      const canvas = canvasOf(frame, { rotation, overscan: 0 });
      await writeFrame(picture(seen), canvas);
      expect([rotation, await rows()]).toEqual([rotation, lying]);
      const shot = readPng(
        await readFile(await saveScreenshot(canvas, join(folder, `turned-${rotation}`), 0)),
      );
      expect([shot.width, shot.height]).toEqual(seen === wide ? [5, 3] : [3, 5]);
      // The highest bits of the blues give the letters.
      const blues = shot.pixels
        .filter((_, at) => at % 3 === 2)
        .map((blue) => String.fromCharCode(64 + (blue >> 3)));
      expect(blues.join("")).toBe(seen.replaceAll(" ", ""));
    }
  });

test("borders and copies of the service lie where the drawing has them, turned and within the free edges", async () => {
  const device = join(folder, "fb");
  for (const rotation of [0, 90, 180, 270] as const)
    for (const overscan of [0, 5, 10]) {
      const frame = { device, width: 320, height: 200, stride: 320 * 4 + 8, bitsPerPixel: 32 } as const;
      const canvas = canvasOf(frame, { rotation, overscan });
      const across = canvas.width + 2 * canvas.x;
      const down = canvas.height + 2 * canvas.y;
      expect([across, down]).toEqual(rotation % 180 === 0 ? [320, 200] : [200, 320]);
      expect(canvas.x).toBe(Math.round((across * overscan) / 100));
      await writeFile(device, new Uint8Array(frame.stride * frame.height));
      drawBorder(canvas, { x: 10, y: 20, width: 30, height: 12 }, "#0000ff", 2);
      copyBox(canvas, { x: 10, y: 20, width: 5, height: 12 }, { x: 100, y: 60 });
      const shot = readPng(
        await readFile(await saveScreenshot(canvas, join(folder, `${rotation}-${overscan}`), 0)),
      );
      const lit = new Set<string>();
      for (let at = 2, pixel = 0; at < shot.pixels.length; at += 3, pixel++)
        if (shot.pixels[at] === 255)
          lit.add(`${(pixel % across) - canvas.x},${Math.floor(pixel / across) - canvas.y}`);
      const wanted = new Set<string>();
      for (let y = 20; y < 32; y++)
        for (let x = 10; x < 40; x++)
          if (x < 12 || x >= 38 || y < 22 || y >= 30) {
            wanted.add(`${x},${y}`);
            if (x < 15) wanted.add(`${x + 90},${y + 40}`);
          }
      expect(lit).toEqual(wanted);
    }
});
