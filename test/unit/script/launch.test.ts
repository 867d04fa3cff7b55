/**
 * Scripts in the launcher, with real files and players: their variables, the rights of untrusted ones, and the launch link.
 * Covers: src/api/launch-endpoint.ts.
 */
import { afterEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { answerLaunch } from "../../../src/api/launch-endpoint.ts";
import type { Config } from "../../../src/config/shape.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { failed } from "../../../src/core/errors.ts";
import { scriptCommands } from "../../../src/script/commands/index.ts";
import { keepPlays } from "../../../src/services/library.ts";
import { captureScreen } from "../../../src/services/screen.ts";
import { tapdeckVersion } from "../../../src/system/own-program.ts";
import { defaultConfig, silentAudit } from "../../helpers/defaults.ts";
import { makeDeck } from "../../helpers/launch-harness.ts";
import { makeFiles } from "../../helpers/library.ts";
import { mediaTrial } from "../../helpers/media.ts";
import { eventually } from "../../helpers/processes.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function scriptDeck(map: (text: string) => string | undefined = () => undefined) {
  let pairings = 0;
  const deck = await makeDeck({
    config: {
      script: {
        allowExecute: ["/usr/bin/touch .*|/bin/touch .*"],
        allowHttp: [],
        allowStream: [],
        allowInput: false,
      },
    },
    launchers: () => [
      { id: "game", systems: ["SNES"], extensions: [".sfc"], command: ["sleep", "60"] },
      { id: "menu", systems: ["NES"], extensions: [], command: ["sleep", "61"] },
    ],
    map: ({ text }) => map(text),
    devices: {
      input: async () => {},
      writeTag: async () => {},
      async pair() {
        pairings += 1;
      },
    },
  });
  closing.push(() => deck[Symbol.asyncDispose]());
  await deck.file("SNES/A Game.sfc");
  const card = { type: "NTAG", uid: "04:AA:BB", data: "" };
  const launch = (text: string, trusted = true) =>
    deck.launchQueue.launch({ ...card, text, data: "00ff" }, { readerId: "r", trusted });
  return {
    ...deck,
    ran: join(deck.folder, "ran"),
    paired: () => pairings,
    started: () =>
      deck
        .told("media.started")
        .map(({ launcherId, systemId, mediaName }) => `${launcherId} ${systemId} ${mediaName}`),
    launch,
    tap: (text: string) =>
      deck.launchQueue.launch({ ...card, text }, { readerId: "r", isTap: true, isFromReader: true }),
    async run(text: string) {
      const before = deck.ends().length;
      launch(text);
      await eventually(() => expect(deck.ends().length).toBeGreaterThan(before));
      return deck.ends().at(-1);
    },
  };
}

test("expressions know the device, the card and what plays", async () => {
  const deck = await scriptDeck();
  await deck.run("**echo:[[platform]] [[version]] [[scan_mode]] [[device.hostname]] [[device.os]]");
  await deck.run("**echo:[[last_scanned.id]] [[last_scanned.data]] [[media_playing]] [[active_media.name]]");
  await deck.run(
    "SNES/A Game.sfc||**echo:[[active_media.launcher_id]], [[active_media.system_id]], [[active_media.name]]",
  );
  expect(deck.lines).toEqual([
    `info  script: linux ${tapdeckVersion} tap ${hostname()} linux`,
    "info  script: 04aabb 00ff false ",
    "info  script: game, SNES, A Game",
  ]);
});

test("a command whose when does not hold is left out, and the rest runs", async () => {
  const deck = await scriptDeck();
  expect(await deck.run("SNES/A Game.sfc||**stop?when=[[active_media.system_id == 'NES']]||**echo:on")).toBe(
    true,
  );
  expect(deck.started()).toEqual(["game SNES A Game"]);
  expect(deck.lines).toEqual(["info  script: on"]);
});

test("a system starts without a file by a launcher that takes none", async () => {
  const deck = await scriptDeck();
  expect(await deck.run("**launch.system:nintendo entertainment system")).toBe(true);
  expect(deck.started()).toEqual(["menu NES "]);
  expect(await deck.run("**launch.system:Genesis")).toMatch(/no player starts Genesis without a file/);
});

test("the media that was started last starts once more", async () => {
  const deck = await scriptDeck();
  expect(await deck.run("**launch.last")).toBe("nothing has been started yet");
  await deck.run("SNES/A Game.sfc||**stop||**launch.last");
  expect(deck.started()).toEqual(["game SNES A Game", "game SNES A Game"]);
});

test("the media before the last one start by their number, each of them once", async () => {
  await using deck = await makeDeck();
  using _plays = keepPlays(deck.bus, deck.store.plays);
  await deck.files("a.true", "b.true", "c.true");
  for (const name of ["a", "b", "b", "c"]) expect(await deck.run(`${deck.folder}/${name}.true`)).toBe(true);
  expect(await deck.run("**launch.last:2")).toBe(true);
  // The media that was started a moment ago is the last one.
  expect(await deck.run("**launch.last:3")).toBe(true);
  expect(deck.started().slice(4)).toEqual(["b", "a"]);
  expect(await deck.run("**launch.last:4")).toBe("fewer than 4 different media have been played");
});

test("the media that was started last, and played, is still known after a restart", async () => {
  const data = await mkdtemp(join(tmpdir(), "tapdeck-last-"));
  closing.push(() => rm(data, { recursive: true }));
  const folder = join(data, "media");
  await mkdir(join(folder, "SNES"), { recursive: true });
  for (const name of ["A Game.sfc", "Broken.bad"]) await writeFile(join(folder, "SNES", name), "");
  const sleeper = { systems: ["SNES"], extensions: [".sfc"], command: ["sleep", "60"] };
  const broken = { id: "broken", systems: [], extensions: [".bad"], command: ["/bin/false"] };
  /** One run of the service: the media that it started, and the errors of its scripts. */
  const live = async (launchers: Config["launchers"], ...scripts: readonly string[]) => {
    await using deck = await makeDeck({ data, launchers: () => launchers });
    for (const script of scripts) await deck.run(script);
    const started = deck
      .told("media.started")
      .map(({ launcherId, systemId, mediaPath }) =>
        [launcherId, systemId, relative(folder, mediaPath)].join(" "),
      );
    return [...started, ...deck.ends().filter((end) => end !== true)];
  };
  const game = { ...sleeper, id: "game" };
  const other = { ...sleeper, id: "other" };
  await live([game, other, broken], "SNES/A Game.sfc?launcher=other||**stop", "SNES/Broken.bad");
  // A failed start does not count as a game that was played.
  expect(await live([game, other], "**launch.last||**stop")).toEqual(["other SNES SNES/A Game.sfc"]);
  // The player of the file has ended, so another one plays the file.
  expect(await live([game], "**launch.last||**stop")).toEqual(["game SNES SNES/A Game.sfc"]);
  await rm(join(folder, "SNES/A Game.sfc"));
  expect(await live([game], "**launch.last")).toEqual([`there is no file ${folder}/SNES/A Game.sfc`]);
});

test("a title is refused as long as there is no index", async () => {
  const deck = await scriptDeck();
  expect(await deck.run("@SNES/A Game")).toMatch(/^there is no media index here/);
});

test("a text that is no file is a title of its system, or a search with stars", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, ["SNES/A Game (USA).sfc", "SNES/RPG/Star Quest.sfc", "NES/Other Star.nes"]);
  await trial.media.index([]);
  await using deck = await makeDeck({
    media: trial.media,
    launchers: () => [{ id: "game", systems: [], extensions: [".sfc", ".nes"], command: ["true", "{path}"] }],
  });
  deck.set({ systems: { ...defaultConfig.systems, rootFolders: [trial.root] } });
  const playedBy = async (text: string) => {
    const before = deck.told("media.started").length;
    const end = await deck.run(text);
    const [started] = deck.told("media.started").slice(before);
    return started === undefined ? end : relative(trial.root, started.mediaPath);
  };
  expect(await playedBy("SNES/A Game")).toBe("SNES/A Game (USA).sfc");
  expect(await playedBy("super nintendo/Star Qest")).toBe("SNES/RPG/Star Quest.sfc");
  expect(deck.told("launch.finished").at(-1)?.note).toBe("Star Qest is SNES/RPG/Star Quest.sfc, the closest");
  expect(await playedBy("SNES/*quest*")).toBe("SNES/RPG/Star Quest.sfc");
  expect(await playedBy("*other*")).toBe("NES/Other Star.nes");
  expect(await playedBy("@Other Star")).toBe("NES/Other Star.nes");
  for (const text of ["SNES/Nothing Like It", "SNES/A Game.smc", "Nowhere/A Game", "A Game"])
    expect(await deck.run(text)).toBe(`there is no file ${text} below the media folders`);
  expect(await deck.run("SNES/*nothing*")).toBe("nothing in the media index fits *nothing*");
});

test("a screenshot shows the screen of the device, or else the player, and is refused without either", async () => {
  let hasScreen = true;
  let taken = 0;
  const none = async () => {};
  await using deck = await makeDeck({
    devices: {
      input: none,
      pair: none,
      writeTag: none,
      async captureScreen() {
        taken += hasScreen ? 1 : 0;
        return hasScreen ? "screen.png" : undefined;
      },
    },
  });
  await deck.file("a.sleep");
  expect(await deck.run("**screenshot")).toBe(true);
  hasScreen = false;
  expect(await deck.run("**screenshot")).toBe("nothing plays, and there is no screen to save");
  deck.launch(`${deck.folder}/a.sleep`);
  await deck.next("media.started");
  expect(await deck.run("**screenshot")).toMatch(
    /^the player sleep can only be started and stopped: screenshot/,
  );
  expect(taken).toBe(1);
  // A terminal that is no console of this machine does not count as a screen.
  const view = { rotation: 0, overscan: 0 } as const;
  expect(await captureScreen(deck.folder, systemClock, view, "/dev/null")).toBeUndefined();
  expect(await captureScreen(deck.folder, systemClock, view, "")).toBeUndefined();
});

test("a player saves no picture if the folder of screenshots is full, whichever command asks", async () => {
  const none = async () => {};
  const full = failed("there are 500 files");
  await using deck = await makeDeck({
    devices: {
      input: none,
      pair: none,
      writeTag: none,
      captureScreen: async () => undefined,
      refuseFullScreenshots: () => Promise.reject(full),
    },
  });
  await deck.file("a.sleep");
  deck.launch(`${deck.folder}/a.sleep`);
  await deck.next("media.started");
  for (const script of ["**screenshot", "**control:screenshot", "**control:screenshot||**stop"])
    expect(await deck.run(script)).toBe("there are 500 files");
  expect(await deck.run("**control:pause")).toMatch(/^the player sleep can only be started and stopped/);
});

test("a card may run what the list allows, a link may not, even where a mapping of the owner's stands behind it", async () => {
  const deck = await scriptDeck((text) => (text === "touch" ? `**execute:${touch},${deck.ran}` : undefined));
  const touch = Bun.which("touch") ?? "";
  for (const text of [`**execute:${touch},${deck.ran}`, "**echo:x||**http.get:http://localhost/"]) {
    expect(() => deck.launch(text, false)).toThrow(/reaches outside this device/);
  }
  expect(deck.store.history.page({ limit: 9 }).entries).toEqual([]);
  // Mappings are not revealed, so the launch is queued, and fails later.
  deck.launch("touch", false);
  await eventually(() => expect(deck.ends()).toHaveLength(1));
  expect(deck.ends().at(-1)).toMatch(/reaches outside this device/);
  expect(await Bun.file(deck.ran).exists()).toBe(false);
  expect(await deck.run("touch")).toBe(true);
  expect(await Bun.file(deck.ran).exists()).toBe(true);
});

test("a link learns nothing of cards, neither of its own words nor of the card before", async () => {
  const deck = await scriptDeck((text) => (text === "mapped" ? "**echo:[[last_scanned.id]]." : undefined));
  await deck.run("**echo:card");
  for (const text of [
    "**echo:[[last_scanned.id]][[last_scanned.value]][[last_scanned.data]].",
    "SNES/A Game.sfc?when=[[last_scanned.id == '04aabb']]",
    "**echo:[[last_scanned.id == '']]||**delay:1||**echo:[[last_scanned.value]].",
    "mapped",
  ]) {
    const before = deck.ends().length;
    deck.launch(text, false);
    await eventually(() => expect(deck.ends().length).toBeGreaterThan(before));
  }
  expect(deck.ends()).toEqual([true, true, true, true, true]);
  expect(deck.started()).toEqual([]);
  expect(deck.lines.slice(1)).toEqual([".", "true", ".", "."].map((text) => `info  script: ${text}`));
  await deck.run("**echo:[[last_scanned.value]]");
  expect(deck.lines.at(-1)).toBe("info  script: **echo:[[last_scanned.value]]");
});

const harmless = [
  ...["launch", "launch.title", "launch.search", "launch.random", "launch.system", "launch.last"],
  ...["playlist.play", "playlist.load", "playlist.open", "playlist.stop", "playlist.pause"],
  ...["playlist.next", "playlist.previous", "playlist.goto"],
  ...["control", "stop", "sleep", "volume", "delay", "echo", "screenshot"],
];

test.each(scriptCommands.map((command) => [command.names[0] ?? "", command] as const))(
  "**%s from a link does what the list of harmless commands says, under each of its names",
  async (name, { names, allowedUntrusted, argsMin }) => {
    expect(allowedUntrusted).toBe(harmless.includes(name));
    const deck = await scriptDeck((text) => (text.startsWith("mapped ") ? text.slice(7) : undefined));
    for (const one of names) {
      const script = `**${one}${argsMin === 0 ? "" : `:${Array(argsMin).fill("1").join(",")}`}?when=no`;
      for (const text of [script, `**echo:a||${script}`]) {
        if (!allowedUntrusted) expect(() => deck.launch(text, false)).toThrow(/\*\*\S+ (reaches|works)/);
        else expect(() => deck.launch(text, false)).not.toThrow();
      }
      // Mappings are not revealed, so the script of a mapping fails when it runs.
      const before = deck.ends().length;
      deck.launch(`mapped ${script}`, false);
      await eventually(() => expect(deck.ends().length).toBeGreaterThan(before));
      if (!allowedUntrusted) expect(deck.ends().at(-1)).toMatch(/\*\*\S+ (reaches|works)/);
    }
    if (!allowedUntrusted) expect(deck.store.history.page({ limit: 9 }).entries.length).toBe(names.length);
  },
);

test("a caller that may do everything is no card on a reader, whatever a mapping makes of its words", async () => {
  const deck = await scriptDeck((text) => (text === "mapped" ? "**delay:1||**pair" : undefined));
  for (const text of ["**pair", "**echo:a||**PAIR", "mapped"])
    expect(() => deck.launch(text)).toThrow("**pair works from a card on a reader of this device only");
  expect(deck.paired()).toBe(0);
  for (const text of ["**pair", "**delay:1||**pair", "mapped"]) {
    const before = deck.ends().length;
    deck.tap(text);
    await eventually(() => expect(deck.ends().length).toBeGreaterThan(before));
  }
  expect(deck.ends()).toEqual([true, true, true]);
  expect(deck.paired()).toBe(3);
});

test("a link with a script that is merely wrong is queued and fails there, as a card's does", async () => {
  const deck = await scriptDeck();
  deck.launch("**stopp", false);
  await eventually(() => expect(deck.ends()).toHaveLength(1));
  expect(deck.ends()[0]).toMatch(/knows no command \*\*stopp/);
});

test.each([
  ["**execute:ls", 403],
  ["**echo:a%7C%7C**http.get:http://localhost/", 403],
  ["**echo:a", 200],
  ["**stopp", 200],
])("GET /l/%s is answered with %i, on the device too", async (text, status) => {
  const deck = await scriptDeck();
  const endpoint = {
    launch: (token: { readonly text: string }, from: { readonly trusted: boolean }) =>
      deck.launch(token.text, from.trusted),
    allowLaunch: () => true,
    audit: silentAudit,
  };
  for (const access of ["device", "remote"] as const) {
    const request = new Request(`http://127.0.0.1/l/${text}`);
    const visit = { request, address: "127.0.0.1", access };
    expect(answerLaunch(endpoint, visit).status).toBe(status);
  }
});
