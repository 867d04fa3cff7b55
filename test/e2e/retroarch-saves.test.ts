/**
 * Saves of games, kept in the owner's folder over a folder in memory, with Debian's RetroArch and a free core, for real.
 */

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { faultLine } from "../../src/core/faults.ts";
import { placesOf } from "../../src/system/folders.ts";
import {
  gameDeck,
  gamePlace,
  playSomeFrames,
  retroArchSettings,
  untilPlaying,
} from "../helpers/counting-games.ts";
import { type Counted, countedIn, makeCountingNesGame } from "../helpers/nes-games.ts";
import { eventually, eventuallyExists, liveMembers, processOf } from "../helpers/processes.ts";
import { startTapdeck } from "../helpers/tapdeck.ts";

/** A launcher that keeps saves, with its folders. */
async function savingDeck() {
  const top = await mkdtemp("/dev/shm/tapdeck-saves-test-");
  const saves = { home: join(top, "kept/saves"), memory: join(top, "memory") };
  const deck = await gameDeck({ saves });
  return {
    ...saves,
    deck,
    async [Symbol.asyncDispose]() {
      await deck[Symbol.asyncDispose]();
      await rm(top, { recursive: true });
    },
  };
}

const counted = async (home: string, name = "NES/Game.srm"): Promise<Counted> =>
  countedIn(await readFile(join(home, name)));

test("saves are at home when a stop has ended, and the same card goes on with them", async () => {
  await using place = await savingDeck();
  const { deck, home, memory } = place;
  await playSomeFrames(deck);
  const first = await counted(home);
  expect(first).toMatchObject({ starts: 1, begunAt: 1 });
  expect(existsSync(join(home, "NES/Nestopia/Game.state.auto"))).toBe(true);
  expect(await readdir(memory)).toEqual([]);
  await playSomeFrames(deck);
  const second = await counted(home);
  expect(second).toMatchObject({ starts: 2, begunAt: 1 });
  // The backup file is the version from before this start.
  expect(await counted(home, "NES/Game.srm.bak")).toEqual(first);
  // RetroArch's own folder has no copy of the save.
  expect(existsSync(join(deck.folder, "retroarch/saves/Game.srm"))).toBe(false);
});

test("battery RAM comes home while the game runs, and a killed player costs the state only", async () => {
  await using place = await savingDeck();
  const { deck, home } = place;
  await deck.play("NES/Game.nes");
  await eventuallyExists(join(home, "NES/Game.srm"));
  const { frames } = await counted(home);
  await eventually(async () => expect((await counted(home)).frames).toBeGreaterThan(frames));
  const before = await counted(home);
  process.kill(await deck.playerOf("NES/Game.nes"), "SIGKILL");
  await deck.next("media.stopped");
  await playSomeFrames(deck);
  const after = await counted(home);
  expect(after).toMatchObject({ starts: 2, begunAt: 2 });
  expect((await counted(home, "NES/Game.srm.bak")).frames).toBeGreaterThanOrEqual(before.frames);
});

test("games of one name in two systems have battery RAM each, and another card's game waits for nothing of it", async () => {
  await using place = await savingDeck();
  const { deck, home, memory } = place;
  await deck.file("Homebrew/Game.nes", makeCountingNesGame());
  await deck.play("NES/Game.nes");
  await deck.play("Homebrew/Game.nes");
  expect(await counted(home)).toMatchObject({ starts: 1 });
  await deck.launchQueue.close();
  expect(await counted(home, "Homebrew/Game.srm")).toMatchObject({ starts: 1, begunAt: 1 });
  expect(await readdir(memory)).toEqual([]);
});

test("a home that cannot be written is reported, the saves stay in memory, and the next start has them", async () => {
  await using place = await savingDeck();
  const { deck, home } = place;
  await mkdir(join(home, ".."), { recursive: true });
  await writeFile(home, "no folder");
  await playSomeFrames(deck);
  expect(faultLine(deck.saves.faults())).toStartWith(`saves cannot be kept in ${home}: `);
  await playSomeFrames(deck);
  await rm(home);
  await playSomeFrames(deck);
  expect(faultLine(deck.saves.faults())).toBe("");
  expect(await counted(home)).toMatchObject({ starts: 3, begunAt: 1 });
});

test("a name that is not UTF-8 has saves that are found again", async () => {
  await using place = await savingDeck();
  const { deck, home } = place;
  const folder = join(deck.folder, "NES");
  await writeFile(
    Buffer.concat([Buffer.from(`${folder}/G`), Buffer.of(0xe4), Buffer.from(".nes")]),
    makeCountingNesGame(),
  );
  for (const starts of [1, 2]) {
    await playSomeFrames(deck, "NES/G\ufffd.nes");
    expect(await counted(home, "NES/G_.srm")).toMatchObject({ starts, begunAt: 1 });
  }
});

/** The service with a folder for saves, confined players, and its folder in memory. */
async function savingPlace() {
  const scene = await gamePlace(`saves = "__saves__"`);
  const home = join(scene.place.folder, "..", `${scene.place.folder.split("/").at(-1)}-saves`);
  const config = await readFile(join(scene.place.folder, "config.toml"), "utf8");
  await writeFile(join(scene.place.folder, "config.toml"), config.replace("__saves__", home));
  const { savesMemory } = placesOf({ data: scene.place.folder }, process.env);
  return {
    ...scene,
    home,
    savesMemory,
    async [Symbol.asyncDispose]() {
      await scene.place[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
}

test("the card is taken off in hold mode: the saves come home, and nothing stays in memory behind the service", async () => {
  await using scene = await savingPlace();
  const { place, card, home, savesMemory } = scene;
  await using service = await startTapdeck(place);
  for (const starts of [1, 2]) {
    await writeFile(card, "NES/Game.nes");
    await service.heard.next("media.started");
    await untilPlaying(service);
    await writeFile(card, "");
    await service.heard.next("media.stopped");
    await eventually(async () => {
      expect((await counted(home)).starts).toBe(starts);
      expect(await readdir(savesMemory)).toEqual([]);
    });
    expect(await counted(home)).toMatchObject({ begunAt: 1 });
  }
  expect(await service.stop()).toBe(0);
  expect(existsSync(savesMemory)).toBe(false);
});

test("the service is stopped while a game runs: state and battery RAM are at home when it has ended", async () => {
  await using scene = await savingPlace();
  const { place, card, home, savesMemory } = scene;
  const service = await startTapdeck(place);
  await writeFile(card, "NES/Game.nes");
  await untilPlaying(service);
  service.client.close();
  expect(await service.stop()).toBe(0);
  expect(existsSync(join(home, "NES/Nestopia/Game.state.auto"))).toBe(true);
  expect(await counted(home)).toMatchObject({ starts: 1 });
  expect(existsSync(savesMemory)).toBe(false);
});

test.each(["the watchdog", "the next service"])(
  "the service is killed, and %s ends its RetroArch: the next service carries the saves home",
  async (by) => {
    await using scene = await savingPlace();
    const { place, card, game, home, savesMemory } = scene;
    const first = await startTapdeck(place);
    await writeFile(card, "NES/Game.nes");
    await untilPlaying(first);
    const player = await processOf(game);
    first.client.close();
    process.kill(first.pid, "SIGKILL");
    await first.stop();
    await writeFile(card, "");
    // `step_ending` of watchdog/tapdeck-watchdog.c ends a player in the same way.
    if (by === "the watchdog") {
      process.kill(player, "SIGTERM");
      await eventually(async () => expect(await liveMembers(player)).toEqual([]));
    }
    await using _second = await startTapdeck(place);
    await eventually(async () => expect(await readdir(savesMemory)).toEqual([]));
    // A process that exits loses its command line a moment before its end, and the service knows it by the command line.
    await eventually(async () => expect(await liveMembers(player)).toEqual([]));
    expect(existsSync(join(home, "NES/Nestopia/Game.state.auto"))).toBe(true);
    expect(await counted(home)).toMatchObject({ starts: 1 });
  },
);

test("without the setting RetroArch's own settings say where saves are", async () => {
  const { place, card, folder, game } = await gamePlace();
  await using _place = place;
  const own = join(folder, "mine");
  await mkdir(own);
  await writeFile(join(folder, "retroarch.cfg"), `${retroArchSettings}savefile_directory = "${own}"\n`);
  await using service = await startTapdeck(place);
  await writeFile(card, "NES/Game.nes");
  await untilPlaying(service);
  expect(await processOf(game)).toBeGreaterThan(0);
  await writeFile(card, "");
  await service.heard.next("media.stopped");
  expect(existsSync(join(own, "Game.srm"))).toBe(true);
});
