/** The volume that a card changes: that of the player, of the next player, or of the device. */
import { expect, test } from "bun:test";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readVolume } from "../../../src/core/playback.ts";
import { createPlayerVolume } from "../../../src/launch/player-volume.ts";
import { createControlPorts, idleVolume } from "../../../src/launch/ports/script-ports.ts";
import type { ControlledPlayer } from "../../../src/players/player.ts";
import { startPlain } from "../../../src/players/start-player.ts";

/** `device` is the script of the program that sets the device's volume. If it is absent, the machine has no such program. */
async function makeRoom({
  device,
  ceiling = () => 100,
  start = () => 100,
}: {
  device?: string;
  ceiling?: () => number;
  start?: () => number;
} = {}) {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-volume-"));
  const mixer = join(folder, "wpctl");
  const said = join(folder, "said");
  if (device !== undefined) await writeFile(mixer, `#!/bin/sh\necho "$*" >>${said}\n${device}\n`);
  if (device !== undefined) await chmod(mixer, 0o755);
  let player: ControlledPlayer | undefined;
  let listed: "playing" | undefined;
  const volume = createPlayerVolume(() => player, ceiling, start);
  const media = { systemId: "", systemName: "", mediaPath: "", mediaName: "", launcherId: "", started: "" };
  const none = (): never => {
    throw new Error("nobody is to ask for this");
  };
  const state = () =>
    listed && {
      path: "",
      name: "",
      place: 1,
      count: 2,
      state: listed,
      isShuffled: false,
      repeat: "no" as const,
    };
  const parts = {
    playing: { active: () => player && media, control: none, volume, ready: none },
    playlists: { state, portsOf: none },
    stop: none,
    volumeMax: ceiling,
    find: (name: string) => (name === "wpctl" && device !== undefined ? mixer : null),
  };
  const ports = createControlPorts(parts, {
    card: undefined,
    origin: "trusted",
    isHook: false,
    signal: new AbortController().signal,
  });
  return {
    volume,
    /** Changes the volume; `text` is that of the script command. */
    async change(text: string) {
      const change = readVolume(text);
      if (change !== undefined) await ports.changeVolume(change, new AbortController().signal);
    },
    /** The volume that is shown while nothing plays. */
    shown: () => idleVolume(parts, new AbortController().signal),
    said: () => readFile(said, "utf8").catch(() => ""),
    /** From now on, the program of a test that waits for this answers. */
    recovers: () => writeFile(`${mixer}.well`, ""),
    plays(now: ControlledPlayer | undefined) {
      player = now;
    },
    isBetweenItems() {
      listed = "playing";
    },
    async [Symbol.asyncDispose]() {
      await player?.process.stop(1000);
      await rm(folder, { recursive: true });
    },
  };
}

const plainPlayer = () =>
  startPlain({ kind: "process", argv: ["sleep", "600"], optionsAt: 2 }, { name: "sleep" });

/** A player that can only change its volume. */
function loudPlayer(at: number): ControlledPlayer {
  const player = plainPlayer();
  let now = at;
  return {
    ...player,
    async changeVolume({ kind, percent }, max) {
      now = Math.min(max, kind === "to" ? percent : now + percent);
      return now;
    },
  };
}

test("if nothing plays, and the device has no volume, it is kept for what starts next, below the ceiling", async () => {
  let ceiling = 100;
  await using room = await makeRoom({ ceiling: () => ceiling });
  expect(room.volume.first()).toBeUndefined();
  await room.change("40");
  expect(room.volume.first()).toBe(40);
  await room.change("-15");
  expect(room.volume.first()).toBe(25);
  await room.change("90");
  ceiling = 50;
  expect(room.volume.first()).toBe(50);
  // The change starts from the last volume that was heard, not from one that could not be set.
  await room.change("-10");
  expect(room.volume.first()).toBe(40);
  room.volume.forget();
  expect(room.volume.first()).toBe(50);
});

test("if nothing plays, a volume is the device's, and that of players before does not come on top of it", async () => {
  await using room = await makeRoom({ device: "exit 0" });
  const player = loudPlayer(100);
  room.plays(player);
  await room.change("10");
  expect([await room.said(), room.volume.first()]).toEqual(["", 10]);
  await player.process.stop(1000);
  room.plays(undefined);
  await room.change("+5");
  expect([await room.said(), room.volume.first()]).toEqual(["", 15]);
  await room.change("80");
  expect(await room.said()).toBe("set-volume @DEFAULT_AUDIO_SINK@ 80%\n");
  expect(room.volume.first()).toBeUndefined();
});

test("while nothing plays, the volume that is shown is the one that a change begins with", async () => {
  await using bare = await makeRoom({ start: () => 70, ceiling: () => 60 });
  expect(await bare.shown()).toBe(60);
  await bare.change("-15");
  expect(await bare.shown()).toBe(45);
  await using mixed = await makeRoom({ device: 'echo "Volume: 0.35"', start: () => 70 });
  expect(await mixed.shown()).toBe(35);
  const player = loudPlayer(100);
  mixed.plays(player);
  await mixed.change("20");
  await player.process.stop(1000);
  mixed.plays(undefined);
  expect(await mixed.shown()).toBe(20);
  await mixed.change("80");
  expect(await mixed.shown()).toBe(35);
  await using broken = await makeRoom({ device: "exit 1", start: () => 70 });
  expect(await broken.shown()).toBe(70);
});

test("a change that the device's program did not answer was kept for the next player, and so were all later ones", async () => {
  const silent = '[ -e "$0.well" ] || exec sleep 600\necho "Volume: 0.35"';
  await using room = await makeRoom({ device: silent, start: () => 70 });
  expect(await room.change("+10").catch((error) => error.message)).toMatch(/not be changed: wpctl: .* 3 s/);
  expect(await room.shown().catch((error) => error.message)).toMatch(/ 3 s/);
  expect(room.volume.isWanted()).toBe(false);
  await room.recovers();
  await room.change("+10");
  expect(await room.said()).toEndWith("set-volume @DEFAULT_AUDIO_SINK@ 45%\n");
  expect(await room.shown()).toBe(35);
}, 30_000);

test("between two items of a playlist it is the next item's", async () => {
  await using room = await makeRoom({ device: "exit 0" });
  room.isBetweenItems();
  await room.change("30");
  expect([await room.said(), room.volume.first()]).toEqual(["", 30]);
});

test("a player without a volume of its own has the device's, and a sentence says if that cannot be set", async () => {
  await using room = await makeRoom({ device: "echo no sink >&2; exit 1" });
  room.plays(plainPlayer());
  expect(await room.change("30").catch((error) => error.message)).toBe(
    "the volume could not be changed: wpctl: no sink",
  );
  expect(room.volume.first()).toBeUndefined();
});

test("a player that ends while it is asked leaves its volume to the next one", async () => {
  await using room = await makeRoom();
  const leaving: ControlledPlayer = {
    ...plainPlayer(),
    async changeVolume() {
      room.plays(undefined);
      throw new Error("it has ended");
    },
  };
  room.plays(leaving);
  await room.change("20");
  expect(room.volume.first()).toBe(20);
  await leaving.process.stop(1000);
});

test("a lower ceiling turns down what plays, and what was wanted holds again once it is raised", async () => {
  let ceiling = 100;
  await using room = await makeRoom({ ceiling: () => ceiling });
  const player = loudPlayer(100);
  room.plays(player);
  await room.change("70");
  ceiling = 30;
  await room.volume.hold();
  expect(await player.changeVolume?.({ kind: "by", percent: 0 }, 100)).toBe(30);
  expect(room.volume.first()).toBe(30);
  ceiling = 90;
  expect(room.volume.first()).toBe(70);
});

test("headphones that came while a game loaded got the volume of the television", async () => {
  await using room = await makeRoom({ ceiling: () => 30 });
  const loaded = Promise.withResolvers<void>();
  const player = loudPlayer(100);
  let isLoading = true;
  room.plays({
    ...player,
    ready: loaded.promise,
    async changeVolume(change, max) {
      if (isLoading) throw new Error("it does not answer");
      return (await player.changeVolume?.(change, max)) ?? 0;
    },
  });
  const held = room.volume.hold();
  isLoading = false;
  loaded.resolve();
  await held;
  expect(await volumeOf(player)).toBe(30);
  isLoading = true;
  expect(await room.volume.hold().catch((error) => error.message)).toBe("it does not answer");
});

/** The present volume of a player. */
const volumeOf = (player: ControlledPlayer) => player.changeVolume?.({ kind: "by", percent: 0 }, 100);

test("a fade turns the player down by shares of its volume, and back, and later players are as loud as always", async () => {
  await using room = await makeRoom();
  const player = loudPlayer(80);
  room.plays(player);
  await room.volume.fade(0.5);
  expect(await volumeOf(player)).toBe(40);
  await room.volume.fade(0.25);
  expect(await volumeOf(player)).toBe(20);
  expect(room.volume.first()).toBeUndefined();
  await room.volume.fade(1);
  expect(await volumeOf(player)).toBe(80);
  await room.volume.fade(0.5);
  const next = loudPlayer(100);
  room.plays(next);
  await room.volume.fade(1);
  expect(await volumeOf(next)).toBe(100);
  await room.volume.fade(0.1);
  expect(await volumeOf(next)).toBe(10);
});

test("a volume that somebody sets during a fade stays, also when the fade goes on or is taken back", async () => {
  await using room = await makeRoom();
  const player = loudPlayer(80);
  room.plays(player);
  await room.volume.fade(0.5);
  await room.change("70");
  await room.volume.fade(0.25);
  expect(await volumeOf(player)).toBe(70);
  await room.volume.fade(1);
  expect(await volumeOf(player)).toBe(70);
  expect(room.volume.first()).toBe(70);
  // The next fade begins at that volume.
  await room.volume.fade(0.5);
  expect(await volumeOf(player)).toBe(35);
});

test("media without a volume of their own do not fade, and neither does the device", async () => {
  await using room = await makeRoom({ device: "exit 0" });
  room.plays(plainPlayer());
  await room.volume.fade(0.5);
  room.plays(undefined);
  await room.volume.fade(0.5);
  expect(await room.said()).toBe("");
});

test("players begin with the owner's start volume, below the ceiling, until somebody sets another one", async () => {
  await using room = await makeRoom({ start: () => 40, ceiling: () => 60 });
  expect(room.volume.first()).toBe(40);
  room.volume.want({ kind: "by", percent: 10 });
  expect(room.volume.first()).toBe(50);
  room.volume.want({ kind: "to", percent: 90 });
  expect(room.volume.first()).toBe(60);
  await using loud = await makeRoom({ start: () => 90, ceiling: () => 60 });
  expect(loud.volume.first()).toBe(60);
  await using whole = await makeRoom();
  expect(whole.volume.first()).toBeUndefined();
});
