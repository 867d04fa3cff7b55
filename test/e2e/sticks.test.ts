/** USB sticks on the compiled binary, as folders that appear and go in a folder for mounts. */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { makeLibrary } from "../helpers/library.ts";
import { eventually } from "../helpers/processes.ts";
import { indexMedia, makePlace, noReaders, type Place, sleeper, startTapdeck } from "../helpers/tapdeck.ts";

async function makeDeck() {
  const place = await makePlace();
  // Only the media in the data folder are played.
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-sticks-"));
  const [usb, drawer] = [join(folder, "usb"), join(folder, "drawer")];
  const removable = `\n[systems]\nremovable_folders = ["${usb}"]\n`;
  await place.config(noReaders + sleeper(".sfc", ".md", ".mp3") + removable);
  await place.file("SNES/Main Game.sfc");
  await mkdir(usb);
  /** Fills a stick somewhere else, from which `plug` moves it to its place. */
  const fill = async (name: string, ...paths: readonly string[]) => {
    for (const path of paths) {
      const whole = join(drawer, name, path);
      await mkdir(dirname(whole), { recursive: true });
      await writeFile(whole, "x");
    }
  };
  await mkdir(drawer);
  return {
    place,
    usb,
    drawer,
    fill,
    plug: (name: string) => rename(join(drawer, name), join(usb, name)),
    unplug: (name: string) => rename(join(usb, name), join(drawer, name)),
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startIndexed(place: Place) {
  const service = await startTapdeck(place);
  // The first run of the index starts some seconds after the service, and a search fails until its end.
  const totalOf = (query: string) =>
    service.client.call("media.search", { query }).then(
      ({ total }) => total,
      () => -1,
    );
  await eventually(async () => expect(await totalOf("main")).toBe(1));
  const pathsOf = async (query: string) =>
    (await service.client.call("media.search", { query })).results.map(({ path }) => path);
  const launched = async (text: string) => {
    service.heard.forget();
    await service.client.call("launch", text);
    const { error } = await service.heard.next("launch.finished");
    return error ?? "";
  };
  return { service, totalOf, pathsOf, launched, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

test("media on a stick are found and played while it is plugged in, and not before and after", async () => {
  await using deck = await makeDeck();
  await deck.fill("GAMES", "SNES/Stick Game.sfc", "Genesis/Stick Quest (Japan).md", "readme.txt");
  await using running = await startIndexed(deck.place);
  const { service, totalOf, pathsOf, launched } = running;
  expect(await totalOf("stick")).toBe(0);
  await deck.plug("GAMES");
  await eventually(async () => expect(await totalOf("stick")).toBe(2));
  expect(await pathsOf("game")).toEqual(["SNES/Main Game.sfc", "SNES/Stick Game.sfc"]);
  const { systems } = await service.client.call("systems");
  expect(systems.map(({ id }) => id)).toEqual(["Genesis", "SNES"]);
  expect((await service.client.call("media")).database).toMatchObject({ exists: true, totalMedia: 3 });

  const absolute = join(deck.usb, "GAMES/SNES/Stick Game.sfc");
  for (const text of ["SNES/Stick Game.sfc", "@Genesis/Stick Quest", absolute]) {
    expect([text, await launched(text)]).toEqual([text, ""]);
    await service.client.call("stop");
    await service.heard.next("media.stopped");
  }

  await deck.unplug("GAMES");
  await eventually(async () => expect(await totalOf("stick")).toBe(0));
  expect(await totalOf("main")).toBe(1);
  const said = "it is on the USB stick GAMES, which is not plugged in";
  for (const text of ["SNES/Stick Game.sfc", "snes/stick game.SFC", "@Genesis/Stick Quest", absolute])
    expect([text, await launched(text)]).toEqual([text, expect.stringContaining(said)]);
  expect(await launched("SNES/Nowhere.sfc")).not.toContain("USB stick");

  // The stick is back before its index has been made again.
  await deck.plug("GAMES");
  await eventually(async () => expect(await totalOf("stick")).toBe(2));
  expect(await launched("@Genesis/Stick Quest")).toBe("");
});

test("the stick that something plays from is pulled out: the player ends, all are told why, and the service continues", async () => {
  await using deck = await makeDeck();
  await deck.fill("GAMES", "SNES/Stick Game.sfc");
  await deck.plug("GAMES");
  await using running = await startIndexed(deck.place);
  const { service, totalOf, launched } = running;
  await eventually(async () => expect(await totalOf("stick")).toBe(1));
  expect(await launched("SNES/Stick Game.sfc")).toBe("");
  await deck.unplug("GAMES");
  expect(await service.heard.next("media.stopped")).toMatchObject({
    reason: "stopped",
    why: "the USB stick GAMES was removed",
    mediaName: "Stick Game",
  });
  expect((await service.client.call("media")).active).toEqual([]);
  await eventually(() => expect(service.log()).toContain("a USB stick was removed"));
  // Media that are not on the stick continue to play.
  expect(await launched("SNES/Main Game.sfc")).toBe("");
  await deck.plug("GAMES");
  await eventually(async () => expect(await totalOf("stick")).toBe(1));
  await deck.unplug("GAMES");
  await eventually(async () => expect(await totalOf("stick")).toBe(0));
  expect((await service.client.call("media")).active).toHaveLength(1);
});

test("a mount point that is still empty counts once it is filled, and two sticks are one library", async () => {
  await using deck = await makeDeck();
  await deck.fill("TWO", "SNES/Stick Two.sfc", "SNES/Main Game.sfc");
  await using running = await startIndexed(deck.place);
  const { service, totalOf, pathsOf } = running;
  // A mount also creates the empty folder first.
  await mkdir(join(deck.usb, "ONE"));
  await deck.plug("TWO");
  await eventually(async () => expect(await totalOf("stick")).toBe(1));
  await mkdir(join(deck.usb, "ONE/SNES"));
  await writeFile(join(deck.usb, "ONE/SNES/Stick One.sfc"), "x");
  // The file that announces a mount (overlay/usr/lib/tapdeck/usb-stick).
  await writeFile(join(deck.usb, ".changed"), "");
  await eventually(async () => expect(await totalOf("stick")).toBe(2));
  expect(await pathsOf("stick")).toEqual(["SNES/Stick One.sfc", "SNES/Stick Two.sfc"]);
  expect(await pathsOf("main")).toEqual(["SNES/Main Game.sfc"]);
  await indexMedia(service.client);
  expect(await pathsOf("stick")).toEqual(["SNES/Stick One.sfc", "SNES/Stick Two.sfc"]);
});

test("a stick that was changed elsewhere is read again when it comes back", async () => {
  await using deck = await makeDeck();
  await deck.fill("GAMES", "SNES/Stick Old.sfc");
  await using running = await startIndexed(deck.place);
  await deck.plug("GAMES");
  await eventually(async () => expect(await running.totalOf("stick")).toBe(1));
  await deck.unplug("GAMES");
  await eventually(async () => expect(await running.totalOf("stick")).toBe(0));
  await rm(join(deck.drawer, "GAMES/SNES/Stick Old.sfc"));
  await deck.fill("GAMES", "SNES/Stick New.sfc");
  await deck.plug("GAMES");
  await eventually(async () => expect((await running.pathsOf("stick")).join()).toBe("SNES/Stick New.sfc"));
});

test("ten thousand files of a stick are searchable a moment after it was plugged in", async () => {
  await using deck = await makeDeck();
  const count = makeLibrary(join(deck.drawer, "BIG"), 10_000);
  await using running = await startIndexed(deck.place);
  // The search is for one vowel, which is in most names.
  const before = await running.totalOf("e");
  for (const what of ["the first time", "again"]) {
    const startedMs = performance.now();
    await deck.plug("BIG");
    await eventually(async () => expect(await running.totalOf("e")).toBeGreaterThan(count / 2));
    process.stdout.write(
      `sticks: ${count} files, searchable ${what} after ${Math.round(performance.now() - startedMs)} ms\n`,
    );
    await deck.unplug("BIG");
    await eventually(async () => expect(await running.totalOf("e")).toBe(before));
  }
});
