/** Debian's mpv, for real: it plays, pauses, seeks, ends, fails, crashes and is taken over. */
import { expect, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import type { LauncherConfig } from "../../src/config/shape.ts";
import { type Deck, makeDeck, makeSound } from "../helpers/player-deck.ts";
import { eventually, liveMembers } from "../helpers/processes.ts";

const mpv: LauncherConfig = {
  id: "mpv",
  systems: [],
  extensions: [],
  command: ["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null", "--", "{path}"],
  kind: "mpv",
};

async function mpvDeck(): Promise<Deck> {
  const deck = await makeDeck(() => [mpv]);
  await deck.file("Audio/long.wav", makeSound(60));
  await deck.file("Audio/other.wav", makeSound(60));
  await deck.file("Audio/short.wav", makeSound(0.3));
  await deck.file("Audio/broken.wav", "this is no sound at all");
  return deck;
}

const sockets = () =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return /^(socket|pipe)/.test(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      // It was the descriptor of this very look.
      return false;
    }
  });

test("it plays, and tells how far it is and how long it is", async () => {
  await using deck = await mpvDeck();
  expect(await deck.run("Audio/long.wav")).toBe(true);
  expect(await deck.launcher.playback()).toMatchObject({ mediaName: "long", playbackState: "playing" });
  await eventually(async () => ((await deck.launcher.playback())?.positionMs ?? 0) > 0);
  const first = await deck.launcher.playback();
  expect(first?.durationMs).toBe(60_000);
  await eventually(
    async () => ((await deck.launcher.playback())?.positionMs ?? 0) > (first?.positionMs ?? 0),
  );
});

test("a launch is finished as soon as mpv has loaded the file, not when a while has passed", async () => {
  await using deck = await mpvDeck();
  deck.launch("Audio/long.wav||**delay:media_ready||**control:pause");
  await deck.next("launch.finished");
  expect(deck.ends()).toEqual([true]);
  expect((await deck.launcher.playback())?.playbackState).toBe("paused");
});

test("it pauses, goes on, and goes where it is told", async () => {
  await using deck = await mpvDeck();
  await deck.run("Audio/long.wav||**delay:media_ready||**control:pause||**control:seek,30");
  const at = async () => (await deck.launcher.playback())?.positionMs ?? 0;
  // What mpv holds for the sound device, a part of a second, is behind the place that was asked for.
  const isAt = (ms: number) => eventually(async () => Math.abs((await at()) - ms) < 1000);
  await isAt(30_000);
  expect((await deck.launcher.playback())?.playbackState).toBe("paused");
  for (const [place, ms] of [
    ["+10", 40_000],
    ["-15s", 25_000],
    ["0:50", 50_000],
    ["25%", 15_000],
  ] as const) {
    expect(await deck.run(`**control:seek,${place}`)).toBe(true);
    await isAt(ms);
  }
  expect(await deck.run("**control:rewind||**control:toggle")).toBe(true);
  await eventually(async () => (await deck.launcher.playback())?.playbackState === "playing");
  expect(await at()).toBeLessThan(14_000);
});

test("its volume is its own, and never beyond the owner's ceiling", async () => {
  await using deck = await mpvDeck();
  expect(
    await deck.run("Audio/long.wav||**delay:media_ready||**volume:30||**volume:+5||**control:mute"),
  ).toBe(true);
});

test("what it cannot do is refused with a sentence, and so is anything where nothing plays", async () => {
  await using deck = await mpvDeck();
  expect(await deck.run("**control:pause")).toBe("nothing plays");
  expect(await deck.run("**delay:media_ready")).toBe("nothing plays");
  expect(await deck.run("Audio/long.wav||**control:save_state")).toBe("mpv has no save state");
  expect(await deck.run("**control:stop")).toBe(true);
  expect(await deck.next("media.stopped")).toMatchObject({ reason: "stopped" });
});

test("it ends by itself, and nothing of it is left open", async () => {
  const before = sockets().length;
  await using deck = await mpvDeck();
  deck.launch("Audio/short.wav");
  expect(await deck.next("media.stopped")).toMatchObject({
    mediaName: "short",
    exitCode: 0,
    reason: "ended",
  });
  await deck.next("launch.finished");
  expect(deck.ends()).toEqual([true]);
  expect(await deck.launcher.playback()).toBeUndefined();
  await eventually(() => sockets().length <= before);
});

test("a file that it cannot play is a failed launch that says why", async () => {
  await using deck = await mpvDeck();
  expect(await deck.run("Audio/broken.wav")).toMatch(
    /^the player mpv ended with code 2 after \d\.\d s: .*format/s,
  );
  expect(deck.told("media.stopped")).toMatchObject([{ exitCode: 2, reason: "failed" }]);
});

test("a crash is told, however far it was", async () => {
  await using deck = await mpvDeck();
  await deck.run("Audio/long.wav");
  process.kill(await deck.playerOf("Audio/long.wav"), "SIGSEGV");
  expect(await deck.next("media.stopped")).toMatchObject({ exitCode: null, reason: "failed" });
  expect(deck.launcher.activeMedia()).toBeUndefined();
});

test("a crash before it plays is a failed launch", async () => {
  await using deck = await mpvDeck();
  deck.launch("Audio/long.wav");
  await deck.next("media.started");
  process.kill(await deck.playerOf("Audio/long.wav"), "SIGSEGV");
  await deck.next("launch.finished");
  // It may have loaded the file in the meantime: then the launch was good.
  if (deck.ends()[0] !== true) expect(deck.ends()[0]).toMatch(/^the player mpv was ended by a signal after/);
  expect(await deck.next("media.stopped")).toMatchObject({ exitCode: null });
});

test("it is taken over: the old one is gone before the new one starts, and leaves nothing open", async () => {
  const before = sockets().length;
  await using deck = await mpvDeck();
  await deck.run("Audio/long.wav");
  const old = await deck.playerOf("Audio/long.wav");
  await deck.run("Audio/other.wav");
  expect(await liveMembers(old)).toEqual([]);
  expect(deck.heard.map(({ name }) => name)).toEqual([
    "running",
    "media.started",
    "launch.finished",
    "running",
    "media.stopped",
    "media.started",
    "launch.finished",
  ]);
  await deck.run("**stop");
  await eventually(() => sockets().length <= before);
});

test("the next item of a playlist is the next that plays, and a stop ends the playlist with it", async () => {
  await using deck = await mpvDeck();
  await deck.file("Audio/list.m3u", "long.wav\nother.wav\n");
  expect(await deck.run("**playlist.play:Audio/list.m3u")).toBe(true);
  expect(await deck.run("**control:next")).toBe(true);
  expect(deck.launcher.activeMedia()).toMatchObject({ mediaName: "other" });
  await deck.launcher.control({ kind: "previous" });
  expect(deck.launcher.activeMedia()).toMatchObject({ mediaName: "long" });
  await deck.launcher.control({ kind: "stop" });
  expect(deck.launcher.playlist()).toBeUndefined();
  expect(deck.launcher.activeMedia()).toBeUndefined();
});
