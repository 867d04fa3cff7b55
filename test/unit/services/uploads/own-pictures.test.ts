/**
 * Deletions and moves of files with their pictures, against real folders.
 * Covers: src/services/uploads/own-pictures.ts, src/services/uploads/upload-service.ts.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { MethodCaller } from "../../../../src/api/connection.ts";
import { createBus } from "../../../../src/bus.ts";
import { silentLog } from "../../../../src/core/log.ts";
import { createUploadService } from "../../../../src/services/uploads/upload-service.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

let folder = "";
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "own-pictures-")));
});
afterEach(() => rm(folder, { recursive: true }));

function put(...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), "content");
  }
}

/** Deletes the file as a caller of the API does, and returns the files that are left. */
async function leftAfter(path: string): Promise<readonly string[]> {
  await using service = made();
  await service.remove(path);
  return await left();
}

async function left(): Promise<readonly string[]> {
  const all = await readdir(folder, { recursive: true, withFileTypes: true });
  return all
    .filter((one) => !one.isDirectory())
    .map((one) => join(one.parentPath, one.name).slice(folder.length + 1))
    .sort();
}

function made() {
  const service = createUploadService({
    media: { bases: () => [], index: async () => {} },
    folders: () => ({ roots: [join(folder, "media")], own: [] }),
    config: () => ({ launchers: [] }),
    favourites: { move() {}, remove() {} },
    bus: createBus(silentLog),
    clock: createManualClock(),
    log: silentLog,
  });
  return { ...service, [Symbol.asyncDispose]: () => service.close() };
}

test.each([
  ["SNES/Game.sfc", "SNES/Game.jpg"],
  ["SNES/Game.sfc", "SNES/images/Game.png"],
  ["SNES/RPG/Game.sfc", "SNES/images/RPG/Game.png"],
  ["SNES/RPG/Game.sfc", "SNES/images/Game.png"],
  ["SNES/RPG/Game.sfc", "SNES/RPG/Game-thumb.webp"],
  ["SNES/Game.sfc", "SNES/media/covers/Game.jpeg"],
  ["Video/Film.mkv", "Video/Film-poster.jpg"],
])("the cover stayed when its game was deleted: %s with %s", async (file, picture) => {
  put(`media/${file}`, `media/${picture}`, "media/SNES/Other.sfc", "media/SNES/Other.jpg");
  expect(await leftAfter(file)).toEqual(["media/SNES/Other.jpg", "media/SNES/Other.sfc"]);
});

const owner: MethodCaller = {
  access: "device",
  from: { address: "127.0.0.1" },
  grant: () => "own",
  gone: () => new AbortController().signal,
};

test("the cover stayed behind when its game was moved to another system", async () => {
  put("media/SegaCD/RPG/Game.chd", "media/SegaCD/RPG/Game.jpg", "media/SegaCD/images/RPG/Game-thumb.png");
  put("media/Saturn/Other.chd", "media/SegaCD/Other.chd", "media/SegaCD/images/Other.png");
  await using service = made();
  await service.move("SegaCD/RPG/Game.chd", "Saturn", owner);
  expect(await left()).toEqual([
    "media/Saturn/Other.chd",
    "media/Saturn/RPG/Game.chd",
    "media/Saturn/RPG/Game.jpg",
    "media/Saturn/images/RPG/Game-thumb.png",
    "media/SegaCD/Other.chd",
    "media/SegaCD/images/Other.png",
  ]);
});

test.each([
  ["replaces no other", "PSX/Game.chd", "Saturn", ["PSX/Game.jpg", "Saturn/Game.jpg"]],
  ["becomes no game", "PSX/Game.m3u", "Pico8", ["PSX/Game.png"]],
  ["of another file stays with it", "PSX/Game.chd", "Saturn", ["PSX/Game.jpg", "PSX/Game.cue"]],
] as const)("a picture that is moved with its file %s", async (_, file, system, others) => {
  put(`media/${file}`, ...others.map((path) => `media/${path}`));
  mkdirSync(join(folder, "media", system), { recursive: true });
  await using service = made();
  const { path } = await service.move(file, system, owner);
  expect(await left()).toEqual([path, ...others].map((one) => `media/${one}`).sort());
});

test.each([
  ["of the folder", "Audio/Album/1.mp3", ["Audio/Album/folder.jpg"]],
  ["of the same name in another extension", "SNES/Game.sfc", ["SNES/Game.jpg", "SNES/Game.smc"]],
  ["of a folder of the same name", "SNES/Game.sfc", ["SNES/Game.jpg", "SNES/Game/Part.sfc"]],
  ["of a game in a deeper folder", "SNES/Game.sfc", ["SNES/images/Game.png", "SNES/RPG/Game.sfc"]],
  ["of a game in another case", "SNES/Game.sfc", ["SNES/game.png", "SNES/Game.png", "SNES/game.smc"]],
  ["of a game whose name has an ending", "SNES/Game.sfc", ["SNES/Game-image.png", "SNES/Game-image.sfc"]],
  ["that is media", "PICO8/Cart.p8", ["PICO8/Cart.png"]],
  ["that is a photo", "Image/Holiday.mp4", ["Image/Holiday.jpg"]],
  ["of a game of the same name in another system", "SNES/Game.sfc", ["GBA/Game.gba", "GBA/Game.png"]],
  ["that only a list names", "SNES/Game.sfc", ["SNES/gamelist.xml", "SNES/images/7.png"]],
] as const)("a picture %s stays", async (_, file, others) => {
  put(`media/${file}`, ...others.map((path) => `media/${path}`));
  expect(await leftAfter(file)).toEqual(others.map((path) => `media/${path}`).toSorted());
});

test("in a folder for pictures at the top, that of another folder stays", async () => {
  put("media/SNES/USA/Game.sfc", "media/SNES/images/USA/Game.png");
  put("media/SNES/Japan/Game.sfc", "media/SNES/images/Japan/Game.png");
  expect(await leftAfter("SNES/USA/Game.sfc")).toEqual([
    "media/SNES/Japan/Game.sfc",
    "media/SNES/images/Japan/Game.png",
  ]);
});

test("parts of a disc and subtitles do not keep the picture of their game", async () => {
  put("media/PSX/Disc.cue", "media/PSX/Disc.bin", "media/PSX/Disc.jpg");
  expect(await leftAfter("PSX/Disc.cue")).toEqual(["media/PSX/Disc.bin"]);
});

test("no picture behind a link is deleted, and no link", async () => {
  put("outside/Game.png", "media/SNES/Game.sfc");
  symlinkSync(join(folder, "outside"), join(folder, "media/SNES/images"));
  symlinkSync(join(folder, "outside/Game.png"), join(folder, "media/SNES/Game.png"));
  const left = await leftAfter("SNES/Game.sfc");
  expect(left).not.toContain("media/SNES/Game.sfc");
  for (const path of ["media/SNES/Game.png", "media/SNES/images", "outside/Game.png"])
    expect(left).toContain(path);
});
