/** Games that continue from their last state, with Debian's RetroArch and a free core, for real and without a screen. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { proofMs } from "../../src/launch/playing.ts";
import {
  gameDeck,
  gamePlace,
  playSomeFrames,
  retroArchIn,
  retroArchSettings,
  untilPlaying,
} from "../helpers/counting-games.ts";
import { type Deck, makeDeck } from "../helpers/launch-harness.ts";
import { type Counted, countedIn, makeCountingNesGame } from "../helpers/nes-games.ts";
import { eventually, liveMembers, processOf } from "../helpers/processes.ts";
import { startTapdeck } from "../helpers/tapdeck.ts";

const batteryRam = (folder: string) => join(folder, "retroarch/saves/Game.srm");
const stateOf = (folder: string, system = "NES") =>
  join(folder, `retroarch/states/${system}/Nestopia/Game.state.auto`);

async function counted({ folder }: { readonly folder: string }): Promise<Counted> {
  return countedIn(await readFile(batteryRam(folder)));
}

/** Plays the card for some frames and stops it; returns the battery RAM. */
async function playAndStop(deck: Deck, card?: string): Promise<Counted> {
  await playSomeFrames(deck, card);
  return counted(deck);
}

async function states({ folder }: Deck): Promise<readonly string[]> {
  const all = await readdir(join(folder, "retroarch"), { recursive: true });
  return all.filter((name) => name.includes(".state"));
}

test("the same card continues where the game was stopped, and resume=no begins at its start", async () => {
  await using deck = await gameDeck();
  const first = await playAndStop(deck);
  expect(first).toMatchObject({ starts: 1, begunAt: 1 });
  expect(existsSync(stateOf(deck.folder))).toBe(true);
  const second = await playAndStop(deck);
  expect(second).toMatchObject({ starts: 2, begunAt: 1 });
  expect(second.frames).toBeGreaterThanOrEqual(first.frames);
  const third = await playAndStop(deck, "NES/Game.nes?resume=no");
  expect(third).toMatchObject({ starts: 3, begunAt: 3 });
  // The end of the game wrote a state of its own.
  expect(await playAndStop(deck, "**launch.last")).toMatchObject({ starts: 4, begunAt: 3 });
  expect(await playAndStop(deck, "**launch.last?resume=no")).toMatchObject({ starts: 5, begunAt: 5 });
  expect(deck.told("media.stopped").map(({ reason, exitCode }) => [reason, exitCode])).toEqual(
    new Array(5).fill(["stopped", 0]),
  );
});

test("another card, and the end of the service, write the state of what plays", async () => {
  await using deck = await gameDeck();
  await deck.file("NES/Other.nes", makeCountingNesGame());
  await deck.play("NES/Game.nes");
  await deck.play("NES/Other.nes");
  expect(existsSync(stateOf(deck.folder))).toBe(true);
  await deck.launchQueue.close();
  expect(await states(deck)).toContain("states/NES/Nestopia/Other.state.auto");
});

test("games of one name in two systems have a state each, with one core too", async () => {
  await using deck = await gameDeck();
  await deck.file("Homebrew/Game.nes", makeCountingNesGame());
  await playAndStop(deck);
  expect(await playAndStop(deck, "Homebrew/Game.nes")).toMatchObject({ starts: 2, begunAt: 2 });
  expect(await playAndStop(deck)).toMatchObject({ starts: 3, begunAt: 1 });
  expect(existsSync(stateOf(deck.folder, "Homebrew"))).toBe(true);
});

test("without resume no state is written or loaded, whatever the owner's settings say, unless a card asks", async () => {
  const own = 'savestate_auto_save = "true"\nsavestate_auto_load = "true"\n';
  await using deck = await gameDeck({ config: { retroarch: { resume: false } } }, own);
  expect(await playAndStop(deck)).toMatchObject({ starts: 1, begunAt: 1 });
  expect(await states(deck)).toEqual([]);
  expect(await playAndStop(deck, "NES/Game.nes?resume=yes")).toMatchObject({ starts: 2, begunAt: 2 });
  expect(await playAndStop(deck)).toMatchObject({ starts: 3, begunAt: 3 });
  expect(await playAndStop(deck, "NES/Game.nes?resume=yes")).toMatchObject({ starts: 4, begunAt: 2 });
});

test("a state that cannot be loaded keeps no game from starting", async () => {
  await using deck = await gameDeck();
  await playAndStop(deck);
  const good = await readFile(stateOf(deck.folder));
  const header = Buffer.from("RASTATE\x01MEM \x00\x40\x00\x00", "latin1");
  const broken = [Buffer.alloc(0), good.subarray(0, good.length / 2), Buffer.concat([header, good])];
  for (const bytes of broken) {
    await writeFile(stateOf(deck.folder), bytes);
    // If a load fails, RetroArch may switch the console on a second time.
    const { starts, begunAt } = await playAndStop(deck);
    expect(begunAt).toBe(starts);
  }
});

test("a state over which the core crashes fails one start, and the next one begins without it", async () => {
  // This player crashes as it loads a state.
  const script = `
for word; do case $word in --appendconfig=*) settings=$(echo "$word" | cut -d = -f 2) ;; esac; done
if grep -q 'savestate_auto_load = "true"' "$settings"; then kill -SEGV $$; fi
exec retroarch "$@"`;
  await using deck = await makeDeck({
    launchers: (folder) => [
      {
        ...retroArchIn(folder),
        command: ["/bin/sh", "-c", script, "sh", ...retroArchIn(folder).command.slice(1)],
      },
    ],
  });
  await deck.file("NES/Game.nes", makeCountingNesGame());
  await deck.file("retroarch.cfg", retroArchSettings);
  expect(await deck.run("NES/Game.nes")).toMatch(/^the player games was ended by a signal after/);
  expect(await playAndStop(deck)).toMatchObject({ starts: 1, begunAt: 1 });
  expect(deck.told("launch.finished").map(({ note }) => note)).toContain(
    "it starts fresh: its last start, with a saved state, failed",
  );
  // The fresh start wrote a state at its end, which the next start loads.
  expect(existsSync(stateOf(deck.folder))).toBe(true);
  expect(await deck.run("NES/Game.nes")).toMatch(/^the player games was ended by a signal after/);
});

test("a crash costs the state only: battery RAM was written while the game ran, and an older state leaves it", async () => {
  await using deck = await gameDeck();
  const first = await playAndStop(deck);
  await deck.play("NES/Game.nes");
  // RetroArch may write battery RAM before it has loaded the state.
  await eventually(async () => {
    const { starts, frames } = await counted(deck);
    expect(starts).toBe(2);
    expect(frames).toBeGreaterThan(first.frames);
  });
  // A crash in the first seconds would make the next start a fresh one. The timer of the start is older than this one.
  expect(await deck.next("launch.finished", 2)).toMatchObject({ success: true });
  await Bun.sleep(proofMs);
  process.kill(await deck.playerOf("NES/Game.nes"), "SIGKILL");
  await deck.next("media.stopped", 2);
  const saved = await counted(deck);
  expect(saved.frames).toBeGreaterThan(first.frames);
  expect(await playAndStop(deck)).toMatchObject({ starts: 3, begunAt: 1 });
});

test("the card is taken off in hold mode, and put on again: the game goes on", async () => {
  const { place, card, folder } = await gamePlace();
  await using _place = place;
  await using service = await startTapdeck(place);
  for (const starts of [1, 2]) {
    await writeFile(card, "NES/Game.nes");
    await service.heard.next("media.started");
    await untilPlaying(service);
    await writeFile(card, "");
    expect(await service.heard.next("media.stopped")).toMatchObject({ exitCode: 0 });
    expect(await counted({ folder })).toMatchObject({ starts, begunAt: 1 });
  }
});

test("the service is stopped, by a signal that its player gets too: the state is written", async () => {
  const { place, card, game, folder } = await gamePlace();
  await using _place = place;
  await using service = await startTapdeck(place);
  await writeFile(card, "NES/Game.nes");
  await untilPlaying(service);
  const player = await processOf(game);
  process.kill(player, "SIGTERM");
  expect(await service.stop()).toBe(0);
  expect(await liveMembers(player)).toEqual([]);
  expect(existsSync(stateOf(folder))).toBe(true);
});

test("the service has died, and the watchdog ends its player: the state is written, and the next game removes what is left", async () => {
  const { place, card, game, folder } = await gamePlace();
  await using _place = place;
  const service = await startTapdeck(place);
  await writeFile(card, "NES/Game.nes");
  await untilPlaying(service);
  const player = await processOf(game);
  service.client.close();
  process.kill(service.pid, "SIGKILL");
  await service.stop();
  // `step_ending` of watchdog/tapdeck-watchdog.c ends a player in the same way.
  process.kill(player, "SIGTERM");
  await eventually(async () => expect(await liveMembers(player)).toEqual([]));
  expect(existsSync(stateOf(folder))).toBe(true);
  const settingsOf = async (pid: number) =>
    (await readdir(tmpdir())).filter((name) => name.startsWith(`tapdeck-retroarch-${pid}-`));
  expect(await settingsOf(service.pid)).toHaveLength(1);
  await using next = await startTapdeck(place);
  await untilPlaying(next);
  await eventually(async () => expect(await settingsOf(service.pid)).toEqual([]));
  expect(await settingsOf(next.pid)).toHaveLength(1);
  await next[Symbol.asyncDispose]();
  await eventually(async () => expect(await settingsOf(next.pid)).toEqual([]));
});
