/** Players as data: RetroArch and its cores, the place of our options, and the description of each. */

import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LauncherConfig } from "../../../src/config/launcher-settings.ts";
import { faultSentence } from "../../../src/core/faults.ts";
import {
  availableLaunchers,
  chooseLauncher,
  describeLaunchers,
  missingPrograms,
} from "../../../src/launch/launchers.ts";
import type { MediaFile } from "../../../src/launch/media-file.ts";
import { systemById } from "../../../src/media/known-systems.ts";
import { coredSystems, coreFolders, findCores } from "../../../src/players/retroarch-cores.ts";
import { makeDeck } from "../../helpers/launch-harness.ts";
import { launcher } from "../../helpers/launcher-config.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

const cores = new Map([
  ["nestopia", "/cores/nestopia_libretro.so"],
  ["snes9x", "/cores/snes9x_libretro.so"],
]);
const installed = (program: string) => {
  const name = program.replace("/usr/bin/", "");
  return ["retroarch", "mpv"].includes(name) ? `/usr/bin/${name}` : null;
};
const game = (path: string, id: string): MediaFile => ({
  path,
  system: { id, name: id, category: "Console" },
});

test("RetroArch plays the systems whose cores are installed, with the core of each, and no picture beside a game", () => {
  const launchers = availableLaunchers([], installed, () => cores);
  const { launcherId, argv, optionsAt } = chooseLauncher(game("/NES/a.nes", "NES"), launchers, undefined);
  expect(launcherId).toBe("retroarch");
  expect(argv).toEqual([
    "/usr/bin/retroarch",
    "--fullscreen",
    "-L",
    "/cores/nestopia_libretro.so",
    "/NES/a.nes",
  ]);
  expect(optionsAt).toBe(4);
  expect(chooseLauncher(game("/SNES/a.sfc", "SNES"), launchers, undefined).argv[3]).toBe(
    "/cores/snes9x_libretro.so",
  );
  expect(chooseLauncher(game("/NES/a.png", "NES"), launchers, undefined).launcherId).toBe("mpv");
  expect(() => chooseLauncher(game("/GBA/a.gba", "GBA"), launchers, undefined)).toThrow(
    /no player is set up/,
  );
  expect(availableLaunchers([], installed, () => new Map()).map(({ id }) => id)).toEqual(["mpv"]);
});

test("options of ours stand before the file, whatever starts the player", () => {
  const at = (...command: readonly string[]) =>
    chooseLauncher(game("/a.mp3", "Audio"), [launcher("x", { command, kind: "mpv" })], undefined).optionsAt;
  expect(at("mpv", "{path}")).toBe(1);
  expect(at("mpv", "--fs", "--", "{path}")).toBe(2);
  expect(at("gamescope", "--", "mpv", "--fs", "{path}", "--mute=yes")).toBe(4);
});

test("a core is the owner's by name or by file, and a missing one is reported with what to do", () => {
  const order = (some: Partial<LauncherConfig>, system = "NES") => {
    const own = launcher("own", { kind: "retroarch", command: ["retroarch", "{path}"], ...some });
    return chooseLauncher(
      game("/a.bin", system),
      availableLaunchers([own], installed, () => cores),
      "own",
    ).argv[2];
  };
  expect(order({ core: "snes9x" })).toBe("/cores/snes9x_libretro.so");
  expect(order({ core: "snes9x_libretro.so" })).toBe("/cores/snes9x_libretro.so");
  expect(order({ core: "/own/x_libretro.so" })).toBe("/own/x_libretro.so");
  expect(order({}, "Super Nintendo Entertainment System")).toBe("/cores/snes9x_libretro.so");
  expect(() => order({ core: "mgba" })).toThrow(/^there is no libretro core mgba: install it/);
  expect(() => order({}, "GBA")).toThrow(
    /^no libretro core for GBA is installed: install one, such as mgba$/,
  );
  expect(() => order({}, "Switch")).toThrow(/^no libretro core is known for Switch: name one with core = /);
});

test("each launcher says of which kind it is, and what it lacks", () => {
  const own = [
    launcher("a", { kind: "retroarch", command: ["retroarch", "{path}"], core: "mgba" }),
    launcher("b", { command: ["no-such-player", "{path}"] }),
  ];
  expect(describeLaunchers(own, installed, () => new Map())).toMatchObject([
    { id: "a", kind: "retroarch", available: false, reason: "there is no libretro core mgba" },
    { id: "b", kind: "process", available: false, reason: "there is no program no-such-player" },
    { id: "mpv", kind: "mpv", available: true },
    {
      id: "retroarch",
      kind: "retroarch",
      available: false,
      reason: "none of the libretro cores for its systems is installed",
    },
  ]);
});

test("a program that is not installed counts only if media need it, and by the launcher that would play them", () => {
  const nothing = () => null;
  const own = { id: "own", systems: ["snes"], extensions: [], command: ["snes9x", "{path}"] };
  const missing = (own: readonly LauncherConfig[], systems: readonly string[]) =>
    missingPrograms(own, nothing, systems).map((fault) => faultSentence(fault));
  expect(missingPrograms([], nothing, [])).toEqual([]);
  expect(missing([own], ["NES"])).toEqual([
    "there is no program retroarch, which the launcher retroarch needs for NES",
  ]);
  expect(missing([own], ["Audio", "SNES", "Video"])).toEqual([
    "there is no program mpv, which the launcher mpv needs for Audio, Video",
    "there is no program snes9x, which the launcher own needs for SNES",
  ]);
  // The program of the built-in launcher is not needed for systems that the owner's launcher plays.
  expect(missingPrograms([own], (name) => (name === "snes9x" ? name : null), ["SNES", "Unknown"])).toEqual(
    [],
  );
  const menu = { id: "menu", systems: ["SNES"], extensions: [], command: ["menu"] };
  const songs = { id: "songs", systems: [], extensions: [".mp3"], command: ["player", "{path}"] };
  const isThere = (name: string) => (name === "menu" ? null : name);
  expect(missingPrograms([menu, songs], isThere, ["SNES", "Audio"])).toEqual([]);
  expect(missing([songs], ["Audio"])).toEqual([
    "there is no program player, which the launcher songs needs for Audio",
  ]);
});

test("every system of the table of cores is one that we know", () => {
  expect(coredSystems.filter((id) => systemById(id) === undefined)).toEqual([]);
  expect(new Set(coredSystems).size).toBe(coredSystems.length);
});

test("cores are found in the folder of RetroArch's own settings first, and in no folder that is not there", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-cores-"));
  try {
    await mkdir(join(folder, "retroarch/cores"), { recursive: true });
    await mkdir(join(folder, "mine"));
    await writeFile(join(folder, "retroarch/retroarch.cfg"), `libretro_directory = "~/mine"\n`);
    await writeFile(join(folder, "mine/x_libretro.so"), "");
    await writeFile(join(folder, "retroarch/cores/x_libretro.so"), "");
    await writeFile(join(folder, "retroarch/cores/readme.txt"), "");
    const folders = coreFolders({ HOME: folder, XDG_CONFIG_HOME: folder });
    expect(folders[0]).toBe(join(folder, "mine"));
    const found = findCores([...folders.slice(0, 3), "/no/such/folder"]);
    expect(found.get("x")).toBe(join(folder, "mine/x_libretro.so"));
    expect(found.has("readme.txt")).toBe(false);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a core that was installed while the service ran was missed until its next start", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-cores-"));
  const before = process.env.XDG_CONFIG_HOME;
  process.env.XDG_CONFIG_HOME = folder;
  try {
    await using deck = await makeDeck({
      clock: createManualClock(),
      launchers: () => [
        { id: "games", systems: [], extensions: [], kind: "retroarch", command: ["true", "{path}"] },
      ],
    });
    await deck.file("Vectrex/game.vec");
    expect(await deck.run("Vectrex/game.vec")).toContain("no libretro core for Vectrex is installed");
    await mkdir(join(folder, "retroarch/cores"), { recursive: true });
    await writeFile(join(folder, "retroarch/cores/vecx_libretro.so"), "");
    expect(await deck.run("Vectrex/game.vec")).toBe(true);
    expect(await deck.run("**launch.last")).toBe(true);
  } finally {
    if (before === undefined) delete process.env.XDG_CONFIG_HOME;
    else process.env.XDG_CONFIG_HOME = before;
    await rm(folder, { recursive: true });
  }
});
