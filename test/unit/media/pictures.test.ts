/** Pictures of media files: where they are found, which are never sent, and how large they may be. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pictureBytesMax, pictureFileBytesMax, pictureGameBytesMax } from "../../../src/core/limits.ts";
import { type MediaFolders, type PictureType, pictureTypes } from "../../../src/core/media.ts";
import { findPicture } from "../../../src/media/pictures.ts";

const dot = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);
const jpeg = Buffer.from("ffd8ffe000104a46494600010100000100010000ffd9", "hex");

let folder = "";
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "pictures-")));
});
afterEach(() => rm(folder, { recursive: true }));

/** Makes a file below the test's folder. */
function put(path: string, content: Uint8Array | string = dot): string {
  const whole = join(folder, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, content);
  return whole;
}

async function found(file: string, more: Partial<Parameters<typeof findPicture>[0]> = {}) {
  const folders: MediaFolders = { roots: [join(folder, "media"), join(folder, "more")], own: [] };
  return findPicture({
    file: join(folder, file),
    folders,
    types: pictureTypes,
    maxSize: undefined,
    showsPhotos: true,
    ...more,
  });
}

const game = "media/SNES/RPG/Some & Game's.sfc";

test.each<[string, PictureType]>([
  ["media/SNES/RPG/Some & Game's.png", "image"],
  ["media/SNES/RPG/Some & Game's-thumb.jpg", "thumbnail"],
  ["media/SNES/RPG/images/Some & Game's.webp", "image"],
  ["media/SNES/images/Some & Game's-image.png", "image"],
  ["media/SNES/images/RPG/Some & Game's.png", "image"],
  ["media/SNES/media/Some & Game's.jpeg", "image"],
  ["media/SNES/media/covers/Some & Game's.png", "boxart"],
  ["media/SNES/covers/Some & Game's.png", "boxart"],
  ["media/SNES/downloaded_images/Some & Game's-image.jpg", "image"],
  ["media/SNES/media/screenshots/RPG/Some & Game's.png", "screenshot"],
  ["media/SNES/downloaded_images/Some & Game's-marquee.png", "marquee"],
])("%s is a picture of the game", async (path, type) => {
  put(game, "");
  put(path);
  expect(await found(game)).toEqual({ contentType: "image/png", bytes: dot, type });
  expect(await found(game, { types: pictureTypes.filter((one) => one !== type) })).toBeUndefined();
});

test("an album has the cover in its folder, and so has each of its files without a picture of its own", async () => {
  put("media/Audio/Album/1.mp3", "");
  put("media/Audio/Album/2.mp3", "");
  put("media/Audio/single.mp3", "");
  put("media/Audio/cover.png");
  put("media/Audio/Album/Folder.jpg", jpeg);
  put("media/Audio/Album/2.png");
  const boxart = { contentType: "image/jpeg", bytes: jpeg, type: "boxart" } as const;
  expect(await found("media/Audio/Album")).toEqual(boxart);
  expect(await found("media/Audio/Album/1.mp3")).toEqual(boxart);
  expect(await found("media/Audio/Album/2.mp3")).toMatchObject({ bytes: dot, type: "image" });
  // The picture of a whole system is not that of each of its files.
  expect(await found("media/Audio")).toMatchObject({ bytes: dot });
  expect(await found("media/Audio/single.mp3")).toBeUndefined();
});

test("a gamelist names pictures that no folder would give", async () => {
  put(game, "");
  put("media/SNES/art/cover 1 & 2.png");
  put("media/SNES/art/other.png", jpeg);
  put(
    "media/SNES/gamelist.xml",
    `<?xml version="1.0"?><gameList>
  <game><path>./RPG/Other.sfc</path><image>./art/other.png</image></game>
  <game id="3"><name>Some Game</name><path>./RPG/Some &amp; Game's.sfc</path>
    <boxart>./art/cover 1 &amp; 2.png</boxart><image>~/nowhere.png</image></game>
  <game><path>./Last.sfc</path><image>./art/other.png</image></game></gameList>`,
  );
  expect(await found(game)).toEqual({ contentType: "image/png", bytes: dot, type: "boxart" });
  expect(await found("media/SNES/Unlisted.sfc")).toBeUndefined();
});

test("a gamelist whose game does not end names the pictures near the game only", async () => {
  put(game, "");
  put("media/SNES/art/far.png");
  put("media/SNES/art/near.png", jpeg);
  const begin = `<game><path>./RPG/Some &amp; Game's.sfc</path>`;
  const noise = "<desc>x</desc>".repeat(pictureGameBytesMax / 14 + 1);
  put("media/SNES/gamelist.xml", `${begin}${noise}<image>./art/far.png</image></game>`);
  expect(await found(game)).toBeUndefined();
  put("media/SNES/gamelist.xml", `${begin}<image>./art/near.png</image>${noise}</game>`);
  expect((await found(game))?.bytes).toEqual(jpeg);
  put("media/SNES/gamelist.xml", `<image>./art/far.png</image>${noise}${begin.slice(6)}</game>`);
  expect(await found(game)).toBeUndefined();
});

test("the wanted types decide between pictures, and then the usual order", async () => {
  put(game, "");
  put("media/SNES/covers/Some & Game's.png", jpeg);
  put("media/SNES/screenshots/Some & Game's.png");
  expect((await found(game))?.type).toBe("boxart");
  expect((await found(game, { types: ["screenshot", "boxart"] }))?.type).toBe("screenshot");
  expect(await found(game, { types: ["map"] })).toBeUndefined();
});

test("nothing outside the media folders is sent, neither by link nor by a gamelist, and no closed place", async () => {
  put(game, "");
  const secret = put("outside/secret.png");
  const closed = put("media/SNES/own/key.png");
  mkdirSync(join(folder, "media/SNES/images"));
  symlinkSync(secret, join(folder, "media/SNES/images/Some & Game's.png"));
  symlinkSync(join(folder, "outside"), join(folder, "media/SNES/covers"));
  put("outside/Some & Game's.png");
  const list = (path: string) =>
    put(
      "media/SNES/gamelist.xml",
      `<game><path>./RPG/Some &amp; Game&apos;s.sfc</path><image>${path}</image></game>`,
    );
  const folders: MediaFolders = {
    roots: [join(folder, "media")],
    own: [],
    closed: { folders: [dirname(closed)], files: [], open: join(folder, "nothing") },
  };
  for (const path of ["../../outside/secret.png", secret, "./own/key.png", closed]) {
    list(path);
    expect(await found(game, { folders })).toBeUndefined();
  }
  // A link from one media folder into another is allowed.
  symlinkSync(put("more/art/cover.png"), join(folder, "media/SNES/RPG/Some & Game's.png"));
  expect((await found(game))?.type).toBe("image");
});

test("only PNG, JPEG and WebP are sent, whatever the name says, and no pipe holds the request up", async () => {
  put(game, "");
  put("media/SNES/RPG/Some & Game's.png", "[secrets]\nkey = 1\n");
  expect(await found(game)).toBeUndefined();
  put("media/SNES/images/Some & Game's.png", jpeg);
  expect((await found(game))?.contentType).toBe("image/jpeg");
  await rm(join(folder, "media/SNES/images/Some & Game's.png"));
  expect(Bun.spawnSync(["mkfifo", join(folder, "media/SNES/images/Some & Game's.png")]).exitCode).toBe(0);
  expect(await found(game)).toBeUndefined();
});

test("a photo is its own picture for those who may see it", async () => {
  put("media/Pictures/photo.png");
  const asked = "media/Pictures/photo.png";
  expect((await found(asked))?.bytes).toEqual(dot);
  expect(await found(asked, { showsPhotos: false })).toBeUndefined();
});

test("a photo of a drive that ignores case is no picture of itself for others, whatever the spelling", async () => {
  const photo = put("media/Holiday/IMG_1.JPG", jpeg);
  // On FAT, both spellings open one file.
  linkSync(photo, join(folder, "media/Holiday/IMG_1.jpg"));
  expect((await found("media/Holiday/IMG_1.JPG"))?.bytes).toEqual(jpeg);
  expect(await found("media/Holiday/IMG_1.JPG", { showsPhotos: false })).toBeUndefined();
});

test("photos are no pictures of the films beside them for others, nor of games that list them", async () => {
  put("media/Photos/IMG_2.MOV", "");
  put("media/Photos/IMG_2.jpg", jpeg);
  put("own/IMG_3.MOV", "");
  put("own/IMG_3.jpg", jpeg);
  put(game, "");
  const list = "<game><path>./RPG/Some &amp; Game's.sfc</path><image>../Photos/IMG_2.jpg</image></game>";
  put("media/SNES/gamelist.xml", list);
  const folders: MediaFolders = {
    roots: [join(folder, "media")],
    own: [{ folder: join(folder, "own"), system: "Image" }],
  };
  for (const asked of ["media/Photos/IMG_2.MOV", "own/IMG_3.MOV", game]) {
    expect((await found(asked, { folders }))?.bytes).toEqual(jpeg);
    expect(await found(asked, { folders, showsPhotos: false })).toBeUndefined();
  }
  put("media/SNES/images/Some & Game's.png");
  expect((await found(game, { folders, showsPhotos: false }))?.bytes).toEqual(dot);
});

test.each(["Photo", "picture", "image"])(
  "photos in a folder that the settings name by %s stay hidden from others",
  async (system) => {
    put("own/IMG_3.MOV", "");
    put("own/IMG_3.jpg", jpeg);
    const folders: MediaFolders = { roots: [], own: [{ folder: join(folder, "own"), system }] };
    expect((await found("own/IMG_3.MOV", { folders }))?.bytes).toEqual(jpeg);
    expect(await found("own/IMG_3.MOV", { folders, showsPhotos: false })).toBeUndefined();
  },
);

/** A PNG of this edge that does not compress. */
async function noise(edge: number): Promise<Buffer> {
  // A bitmap is the one container that needs no compression (BITMAPINFOHEADER, 24 bits).
  const row = Math.ceil((edge * 3) / 4) * 4;
  const bitmap = Buffer.alloc(54 + row * edge);
  bitmap.write("BM");
  bitmap.writeUInt32LE(bitmap.length, 2);
  bitmap.writeUInt32LE(54, 10);
  bitmap.writeUInt32LE(40, 14);
  bitmap.writeInt32LE(edge, 18);
  bitmap.writeInt32LE(edge, 22);
  bitmap.writeUInt16LE(1, 26);
  bitmap.writeUInt16LE(24, 28);
  let seed = 1;
  for (let at = 54; at < bitmap.length; at++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    bitmap[at] = seed >>> 24;
  }
  return new Bun.Image(bitmap).png().buffer();
}

test("a large picture is made smaller, and a small one stays as it is", async () => {
  put(game, "");
  const large = await noise(1200);
  expect(large.length).toBeGreaterThan(pictureBytesMax);
  put("media/SNES/images/Some & Game's.png", large);
  const sizeOf = async (maxSize: number | undefined) => {
    const picture = await found(game, { maxSize });
    if (picture === undefined) throw new Error("there is no picture");
    expect(picture.bytes.length).toBeLessThanOrEqual(pictureBytesMax);
    const { width, height, format } = await new Bun.Image(picture.bytes).metadata();
    return [picture.contentType, format, width, height];
  };
  // With an edge of 1024 this noise would still be too long for an answer.
  expect(await sizeOf(undefined)).toEqual(["image/webp", "webp", 512, 512]);
  expect(await sizeOf(200)).toEqual(["image/webp", "webp", 200, 200]);
  put("media/SNES/images/Some & Game's.png", dot);
  expect((await found(game, { maxSize: 256 }))?.type).toBe("image");
  expect(await sizeOf(undefined)).toEqual(["image/png", "png", 1, 1]);
});

test("a picture that is too large, or damaged and large, is named as such; another one is taken instead", async () => {
  put(game, "");
  const image = put(
    "media/SNES/images/Some & Game's.png",
    Buffer.concat([dot, Buffer.alloc(pictureBytesMax)]).fill(7, 40),
  );
  const refusal = {
    code: "failed",
    isPublic: true,
    message: "media.image: image file too large or damaged: make it smaller",
  };
  await expect(found(game)).rejects.toMatchObject(refusal);
  truncateSync(image, pictureFileBytesMax + 1);
  await expect(found(game)).rejects.toMatchObject(refusal);
  put("media/SNES/covers/Some & Game's.png");
  expect((await found(game))?.type).toBe("boxart");
});
