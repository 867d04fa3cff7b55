/** Debian's RetroArch with a free core, for real and without a screen: it starts, answers, pauses, and stops. */
import { expect, test } from "bun:test";
import { appendFile, mkdir, readdir, readFile, readlink, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { LauncherConfig } from "../../src/config/launcher-settings.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { availableLaunchers } from "../../src/launch/launchers.ts";
import { proofMs } from "../../src/launch/playing.ts";
import { readPicture } from "../../src/media/pictures.ts";
import { coreFolders, findCores } from "../../src/players/retroarch-cores.ts";
import { retroArchSettings } from "../helpers/counting-games.ts";
import { defaultConfig } from "../helpers/defaults.ts";
import { headlessRetroArch as settings } from "../helpers/disc-core.ts";
import { type Deck, type DeckOptions, makeDeck } from "../helpers/launch-harness.ts";
import { makeNesGame } from "../helpers/nes-games.ts";
import { eventually, liveMembers } from "../helpers/processes.ts";

const launcher = (folder: string, more: Partial<LauncherConfig> = {}): LauncherConfig => ({
  id: "games",
  systems: ["NES"],
  extensions: [],
  command: ["retroarch", `--config=${join(folder, "retroarch.cfg")}`, "{path}"],
  kind: "retroarch",
  environment: { HOME: folder, XDG_CONFIG_HOME: folder },
  ...more,
});

async function gameDeck(more: Partial<LauncherConfig> = {}, options: DeckOptions = {}): Promise<Deck> {
  const deck = await makeDeck({ launchers: (folder) => [launcher(folder, more)], ...options });
  await deck.file("NES/Game.nes", makeNesGame());
  await deck.file("retroarch.cfg", settings);
  return deck;
}

/** The ports of this process, among all that any process in this network has open. */
async function portsOf(pid: number): Promise<readonly string[]> {
  const inodes = await Promise.all(
    (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")),
  );
  const tables = ["udp", "udp6", "tcp", "tcp6", "raw", "raw6"];
  const lines = await Promise.all(
    tables.map(async (table) => {
      const rows = (await readFile(`/proc/${pid}/net/${table}`, "utf8")).trim().split("\n").slice(1);
      return rows.map((row) => [table, ...row.trim().split(/\s+/)]);
    }),
  );
  return lines
    .flat()
    .filter((words) => inodes.includes(`socket:[${words[10]}]`))
    .map((words) => `${words[0]} ${words[2]}`);
}

const state = async (deck: Deck) => (await deck.launchQueue.playback())?.playbackState;

test("it starts with the core of the system, answers, pauses, goes on and stops", async () => {
  await using deck = await gameDeck();
  await deck.play("NES/Game.nes");
  expect(await deck.launchQueue.playback()).toMatchObject({ systemId: "NES", playbackState: "playing" });
  expect(await deck.run("**control:pause")).toBe(true);
  expect(await state(deck)).toBe("paused");
  // A second request to pause does not resume the game.
  expect(await deck.run("**control:pause")).toBe(true);
  expect(await state(deck)).toBe("paused");
  expect(await deck.run("**control:toggle")).toBe(true);
  expect(await state(deck)).toBe("playing");
  await Promise.all([
    deck.launchQueue.control({ kind: "pause" }),
    deck.launchQueue.control({ kind: "pause" }),
    deck.launchQueue.control({ kind: "resume" }),
  ]);
  expect(await state(deck)).toBe("playing");
  expect(deck.told("media.paused").length).toBe(deck.told("media.resumed").length);
  expect(await deck.run("**control:save_state||**control:reset")).toBe(true);
  expect(await deck.run("**control:seek,+10")).toBe("RetroArch has no seek command");

  const player = await deck.playerOf("NES/Game.nes");
  expect(await deck.run("**stop")).toBe(true);
  expect(await liveMembers(player)).toEqual([]);
  expect(deck.told("media.stopped")).toMatchObject([{ reason: "stopped", exitCode: 0 }]);
  // The owner's settings are as they were.
  expect(await readFile(join(deck.folder, "retroarch.cfg"), "utf8")).toBe(settings);
});

/** Plays a game whose owner has a folder of pictures; returns that folder. */
async function playWithShots(deck: Deck): Promise<string> {
  const shots = join(deck.folder, "shots");
  await mkdir(shots);
  const mine = `screenshot_directory = "${shots}"\nvideo_gpu_screenshot = "false"\n`;
  await deck.file("retroarch.cfg", settings + mine);
  await deck.play("NES/Game.nes");
  return shots;
}

test("**screenshot saves the picture of the game in RetroArch's folder", async () => {
  await using deck = await gameDeck();
  const shots = await playWithShots(deck);
  expect(await deck.run("**screenshot")).toBe(true);
  await eventually(async () => {
    const [shot = ""] = await readdir(shots);
    expect(shot).toMatch(/^Game-\d{6}-\d{6}\.png$/);
    expect((await readFile(join(shots, shot))).subarray(-8, -4).toString("latin1")).toBe("IEND");
  });
});

test("a second picture within a second replaced the first one, and was not found", async () => {
  await using deck = await gameDeck();
  const shots = await playWithShots(deck);
  const paths = [await deck.launchQueue.picture(), await deck.launchQueue.picture()];
  expect(await deck.run("**screenshot")).toBe(true);
  await eventually(async () => expect((await readdir(shots)).length).toBe(3));
  expect(await readdir(shots)).toEqual(expect.arrayContaining(paths.map((path) => basename(path))));
  for (const path of paths) expect(await readPicture(path, 64)).toMatchObject({ contentType: "image/webp" });
});

test("a paused game acknowledged that its state was saved, and saved none", async () => {
  await using deck = await gameDeck();
  const states = join(deck.folder, "states");
  await mkdir(states);
  await deck.file("retroarch.cfg", `${retroArchSettings}savestate_directory = "${states}"\n`);
  await deck.play("NES/Game.nes");
  expect(await deck.run("**control:pause")).toBe(true);
  expect(await deck.run("**control:save_state")).toBe(true);
  await eventually(async () =>
    expect(await readdir(states, { recursive: true })).toContain("NES/Nestopia/Game.state"),
  );
  expect(await deck.run("**control:load_state||**control:reset")).toBe(true);
  // Nobody else notices the moment in which the game runs.
  expect(await state(deck)).toBe("paused");
  expect(deck.told("media.resumed")).toEqual([]);
});

test("it opens no port, whatever the owner's settings say", async () => {
  await using deck = await gameDeck();
  const open = ["network_cmd_enable", "network_remote_enable", "network_remote_enable_user_p1"];
  await deck.file("retroarch.cfg", settings + open.map((key) => `${key} = "true"\n`).join(""));
  await deck.play("NES/Game.nes");
  expect(await deck.launchQueue.playback()).toMatchObject({ playbackState: "playing" });
  expect(await portsOf(await deck.playerOf("NES/Game.nes"))).toEqual([]);
});

test("a pause that its own key ends is reported, although nobody asked for that", async () => {
  // Bytes written to the file `keys` arrive like its keys.
  const script =
    'keys=$0; mkfifo "$keys"; { exec 4<>"$keys"; cat <&4 & exec cat <&3; } 3<&0 | exec retroarch "$@"';
  await using deck = await makeDeck({
    launchers: (folder) => [
      launcher(folder, {
        command: [
          ...["/bin/sh", "-c", script, join(folder, "keys")],
          ...[`--config=${join(folder, "retroarch.cfg")}`, "{path}"],
        ],
        stop: { signal: "TERM", graceMs: 2000 },
      }),
    ],
  });
  await deck.file("NES/Game.nes", makeNesGame());
  await deck.file("retroarch.cfg", settings);
  await deck.play("NES/Game.nes");
  expect(await deck.run("**control:pause")).toBe(true);
  await appendFile(join(deck.folder, "keys"), "PAUSE_TOGGLE\n");
  await deck.next("media.resumed");
});

test("it is asked to end by its own command before any signal", async () => {
  // The signal HUP would end RetroArch at once, and without a code.
  await using deck = await gameDeck({ stop: { signal: "HUP", graceMs: 30_000 } });
  await deck.play("NES/Game.nes");
  expect(await deck.run("**stop")).toBe(true);
  expect(deck.told("media.stopped")).toMatchObject([{ reason: "stopped", exitCode: 0 }]);
});

test("a launch has gone well as soon as the core runs, without three seconds of waiting", async () => {
  // The time after which a player without a report counts as started never passes.
  const after: Clock["after"] = (ms, callback) =>
    ms < proofMs ? systemClock.after(ms, callback) : { [Symbol.dispose]() {} };
  await using deck = await gameDeck({}, { clock: { ...systemClock, after } });
  deck.launch("NES/Game.nes");
  await deck.next("launch.finished");
  expect(deck.ends()).toEqual([true]);
  expect(await state(deck)).toBe("playing");
});

test("a game that the core does not know is a failed launch", async () => {
  await using deck = await gameDeck();
  await deck.file("NES/Broken.nes", "this is no game");
  expect(await deck.run("NES/Broken.nes")).toMatch(/^the player games ended with code 1 after/);
});

test("a core that is not there is reported before anything is started", async () => {
  await using deck = await gameDeck({ core: "no_such_core" });
  expect(await deck.run("NES/Game.nes")).toBe(
    "there is no libretro core no_such_core: install it, or name another one in the launcher games",
  );
  expect(deck.told("media.started")).toEqual([]);
});

test("a crash is reported", async () => {
  await using deck = await gameDeck({ core: "nestopia" });
  await deck.play("NES/Game.nes");
  const player = await deck.playerOf("NES/Game.nes");
  process.kill(player, "SIGKILL");
  expect(await deck.next("media.stopped")).toMatchObject({ reason: "failed", exitCode: null });
  await eventually(async () => expect(await liveMembers(player)).toEqual([]));
});

/** A deck whose RetroArch writes its sound to a file: 48,000 frames a second, left and right, two bytes each. */
async function soundDeck(volumeMax: number): Promise<Deck> {
  const deck = await makeDeck({
    config: { audio: { ...defaultConfig.audio, volumeMax } },
    launchers: (folder) => [
      launcher(folder, {
        environment: {
          HOME: folder,
          XDG_CONFIG_HOME: folder,
          SDL_AUDIODRIVER: "disk",
          SDL_DISKAUDIOFILE: join(folder, "sound"),
        },
      }),
    ],
  });
  await deck.file("NES/Game.nes", makeNesGame({ withTone: true }));
  await deck.file("retroarch.cfg", settings.replace(/^audio_driver.*$/m, 'audio_driver = "sdl2"'));
  await deck.play("NES/Game.nes");
  return deck;
}

/** The highest sample, of 32767, in this many of the next bytes of sound. */
async function loudestOf(deck: Deck, bytes: number): Promise<number> {
  const sound = join(deck.folder, "sound");
  const size = async () => (await stat(sound).catch(() => ({ size: 0 }))).size;
  const start = await size();
  await eventually(async () => expect(await size()).toBeGreaterThan(start + bytes));
  const samples = new Int16Array(
    await Bun.file(sound)
      .slice(start - (start % 4), start - (start % 4) + bytes)
      .arrayBuffer(),
  );
  return samples.reduce((loudest, sample) => Math.max(loudest, Math.abs(sample)), 0);
}

/** More than a second. */
const aSecond = 200_000;

async function loudestBelow(volumeMax: number): Promise<number> {
  await using deck = await soundDeck(volumeMax);
  return await loudestOf(deck, aSecond);
}

test("it begins no louder than the owner's ceiling, and silent if that is 0", async () => {
  const full = await loudestBelow(100);
  expect(full).toBeGreaterThan(5000);
  expect((await loudestBelow(50)) / full).toBeCloseTo(0.5, 2);
  expect(await loudestBelow(0)).toBe(0);
});

test("a card, a lower ceiling and the sleep timer change the volume of a game that plays or is paused", async () => {
  await using deck = await soundDeck(100);
  // The tone begins with a higher sample.
  await loudestOf(deck, aSecond);
  const full = await loudestOf(deck, aSecond);
  /** The volume is within a step of RetroArch, which is half a decibel, below this share. */
  const becomes = (share: number) =>
    eventually(async () => {
      const heard = (await loudestOf(deck, aSecond / 10)) / full;
      expect(heard).toBeLessThan(share * 1.01);
      expect(heard).toBeGreaterThan(share * 0.93);
    });
  const volume = async () => (await deck.launchQueue.playback())?.volume;
  expect(await volume()).toBe(100);
  expect(await deck.run("**volume:50")).toBe(true);
  await becomes(0.5);
  expect(await deck.run("**volume:+20")).toBe(true);
  await becomes(0.7);
  deck.set({ audio: { ...defaultConfig.audio, volumeMax: 40 } });
  await deck.launchQueue.holdVolume();
  await becomes(0.4);
  expect(await volume()).toBe(40);
  await deck.launchQueue.fadeVolume(0.5);
  await becomes(0.2);
  await deck.launchQueue.fadeVolume(1);
  await becomes(0.4);
  expect(await deck.run("**control:pause")).toBe(true);
  expect(await deck.run("**volume:10")).toBe(true);
  expect(await deck.run("**control:resume")).toBe(true);
  await becomes(0.1);
});

test("a game that begins silent is heard once its volume is raised", async () => {
  await using deck = await soundDeck(0);
  expect(await loudestOf(deck, aSecond / 10)).toBe(0);
  deck.set({ audio: { ...defaultConfig.audio, volumeMax: 100 } });
  expect(await deck.run("**volume:100")).toBe(true);
  await eventually(async () => expect(await loudestOf(deck, aSecond / 10)).toBeGreaterThan(4000));
  expect(await deck.run("**volume:0")).toBe(true);
  await eventually(async () => expect(await loudestOf(deck, aSecond / 10)).toBeLessThan(3));
});

test("without being set up, it plays the systems whose cores are installed", () => {
  const found = availableLaunchers([], Bun.which, () => findCores(coreFolders(process.env)));
  const [retroArch] = found;
  expect(retroArch).toMatchObject({ id: "retroarch", kind: "retroarch" });
  expect(retroArch?.systems).toContain("NES");
  expect(retroArch?.systems).not.toContain("Nintendo64");
});

test("a disk of the Famicom without its BIOS fails with the file and its MD5, and RetroArch is not started", async () => {
  const { HOME, XDG_CONFIG_HOME } = process.env;
  try {
    await using deck = await makeDeck({
      launchers: (folder) => {
        // BIOS files of this machine's user do not count here.
        process.env.HOME = folder;
        process.env.XDG_CONFIG_HOME = join(folder, "config");
        return [
          { ...launcher(folder, { systems: ["FDS"], command: ["retroarch", "{path}"] }), environment: {} },
        ];
      },
    });
    await deck.file("FDS/Game.fds", "FDS\u001a");
    expect(await deck.run("FDS/Game.fds")).toBe(
      `the BIOS file disksys.rom (MD5 ca30b50f880eb660a320674ed365ef7a) is missing: put it into ${deck.folder}/config/retroarch/system`,
    );
    expect(deck.told("media.started")).toEqual([]);
  } finally {
    Object.assign(process.env, { HOME });
    if (XDG_CONFIG_HOME === undefined) delete process.env.XDG_CONFIG_HOME;
    else process.env.XDG_CONFIG_HOME = XDG_CONFIG_HOME;
  }
});
