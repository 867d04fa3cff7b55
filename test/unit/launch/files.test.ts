// Covers: src/launch/media-file.ts.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { LauncherConfig } from "../../../src/config/launcher-settings.ts";
import { availableLaunchers, chooseLauncher } from "../../../src/launch/launchers.ts";
import { asStored, createNames, findMediaFile, type MediaFile } from "../../../src/launch/media-file.ts";
import { launcher } from "../../helpers/launcher-config.ts";
import { mostInOneTurn } from "../../helpers/turns.ts";

let folder = "";
let roots: readonly string[] = [];

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "tapdeck-files-")));
  roots = [join(folder, "one"), join(folder, "two")];
  const files = [
    "one/SNES/Game.sfc",
    "one/SNES/Theme.mp3",
    "one/Loose.mp3",
    "one/Loose.sfc",
    "two/SNES/Game.sfc",
    "two/NES/Deep/Er/Game.nes",
    "secret/Private.mp3",
    "one-more/SNES/Game.sfc",
  ];
  for (const file of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), "x");
  }
  await symlink(join(folder, "secret/Private.mp3"), join(folder, "one/SNES/Link.mp3"));
  await symlink(join(folder, "secret"), join(folder, "one/Out"));
  await symlink(join(folder, "two/NES/Deep/Er/Game.nes"), join(folder, "one/SNES/Fine.nes"));
});
afterAll(() => rm(folder, { recursive: true }));

const find = (wanted: string, systemId?: string, known: readonly string[] = ["SNES"]) =>
  findMediaFile(wanted, { roots, own: [] }, known, systemId);
const below = async (wanted: string) => {
  const { path, system } = await find(wanted);
  return [path.slice(folder.length + 1), system.id];
};

test("a relative path is looked for below the media folders, the first one first", async () => {
  expect(await below("SNES/Game.sfc")).toEqual(["one/SNES/Game.sfc", "SNES"]);
  expect(await below("NES/Deep/Er/Game.nes")).toEqual(["two/NES/Deep/Er/Game.nes", "NES"]);
});

test("a system's folder may be spelt with other capitals", async () => {
  expect(await below("snes/Game.sfc")).toEqual(["one/SNES/Game.sfc", "SNES"]);
});

test("names differ in capitals, and accents stand apart, on other machines; the very name comes first", async () => {
  const library = join(folder, "loose");
  const decomposed = "Pok\u0065\u0301mon.wav";
  for (const file of ["Audio/A.wav", "Audio/a.WAV", "Audio/Deep/B.WAV", `Audio/${decomposed}`]) {
    await mkdir(dirname(join(library, file)), { recursive: true });
    await writeFile(join(library, file), "x");
  }
  const named = async (wanted: string) =>
    (await findMediaFile(wanted, { roots: [library], own: [] }, [])).path.slice(library.length + 1);
  expect(await named("Audio/Pok\u00e9mon.wav")).toBe(`Audio/${decomposed}`);
  expect(await named("audio/deep/b.wav")).toBe("Audio/Deep/B.WAV");
  expect(await named("Audio/a.WAV")).toBe("Audio/a.WAV");
  expect(await named("AUDIO/A.WAV")).toBe("Audio/A.wav");
  for (const wanted of ["Audio/pokemon.wav", "audio/../../two/snes/game.sfc"])
    await expect(named(wanted)).rejects.toThrow();
  await expect(named("https://example.com/a.mp3")).rejects.toThrow("is an address and no file");
});

test("a file system that ignores capitals gives a file one path, however a card spells it", async () => {
  const folders: Readonly<Record<string, readonly string[]>> = {
    "/stick": ["SNES", "Audio"],
    "/stick/SNES": ["Sub"],
    "/stick/SNES/Sub": ["Game.sfc", "Game.sav"],
  };
  const listed: string[] = [];
  const list = async (at: string) => {
    listed.push(at);
    return folders[at] ?? [];
  };
  const stored = (path: string) => asStored(path, "/stick", createNames(list), async () => true);
  for (const spelling of ["SNES/Sub/Game.sfc", "snes/SUB/gAME.sfc", "SNES/Sub/GAME.SFC"])
    expect(await stored(`/stick/${spelling}`)).toBe("/stick/SNES/Sub/Game.sfc");
  // FAT also knows a file by a short name, which no folder lists.
  expect(await stored("/stick/snes/sub/GAMESF~1.SAV")).toBe("/stick/SNES/Sub/GAMESF~1.SAV");
  listed.length = 0;
  const asIs = await asStored("/disk/snes/Game.sfc", "/disk", createNames(list), async () => false);
  expect([asIs, listed]).toEqual(["/disk/snes/Game.sfc", []]);
});

test("a no-break space that a phone put into a path found nothing, and nobody saw why", async () => {
  const library = join(folder, "unseen");
  for (const file of ["SNES/Super Game.sfc", "SNES/Odd\u00a0Name.sfc", "SNES/Odd Name.sfc"]) {
    await mkdir(dirname(join(library, file)), { recursive: true });
    await writeFile(join(library, file), "x");
  }
  const named = async (wanted: string) =>
    (await findMediaFile(wanted, { roots: [library], own: [] }, [])).path.slice(library.length + 1);
  expect(await named("SNES/Super\u00a0Game.sfc")).toBe("SNES/Super Game.sfc");
  expect(await named("SNES/Su\u200bper\u2009Game.sfc\ufeff")).toBe("SNES/Super Game.sfc");
  expect(await named("SNES/Odd\u00a0Name.sfc")).toBe("SNES/Odd\u00a0Name.sfc");
  expect(await named("SNES/Odd Name.sfc")).toBe("SNES/Odd Name.sfc");
  await expect(named("SNES/Other\u00a0Game.sfc")).rejects.toThrow(
    "its character 11 is not a plain blank but U+00A0: write the card again without it",
  );
  await expect(named("SNES/Other Game.sfc")).rejects.not.toThrow("plain blank");
});

test("a folder of thousands is looked through a slice at a time, and others have their turns in between", async () => {
  const library = join(folder, "thousands");
  await mkdir(join(library, "SNES"), { recursive: true });
  for (let game = 0; game < 5000; game++) await writeFile(join(library, `SNES/Game ${game}.sfc`), "");
  const normalize = String.prototype.normalize;
  const most = await mostInOneTurn(async (count) => {
    String.prototype.normalize = function (...form) {
      count();
      return normalize.apply(this, form);
    };
    try {
      const { path } = await findMediaFile("SNES/GAME 4321.SFC", { roots: [library], own: [] }, []);
      expect(path).toBe(join(library, "SNES/Game 4321.sfc"));
    } finally {
      String.prototype.normalize = normalize;
    }
  });
  expect(most).toBeWithin(1000, 1500);
});

test("one search lists each folder once, and one that cannot be read as empty", async () => {
  const listed: string[] = [];
  const names = createNames(async (path) => {
    listed.push(path);
    if (path === "/gone") throw new Error("ENOENT");
    return ["a"];
  });
  const found = await Promise.all([names("/there"), names("/gone"), names("/there"), names("/gone")]);
  expect(found).toEqual([["a"], [], ["a"], []]);
  expect(listed).toEqual(["/there", "/gone"]);
});

test("a file that the index calls by its system is found in every folder that has it", async () => {
  const library = join(folder, "batocera");
  for (const file of ["megadrive/Game.md", "gb/deep/Colour.gbc"]) {
    await mkdir(dirname(join(library, file)), { recursive: true });
    await writeFile(join(library, file), "x");
  }
  const folders = { roots: [library], own: [] };
  expect(await findMediaFile("Genesis/Game.md", folders, [])).toMatchObject({
    path: join(library, "megadrive/Game.md"),
    system: { id: "Genesis" },
  });
  expect(await findMediaFile("GameboyColor/deep/Colour.gbc", folders, [])).toMatchObject({
    path: join(library, "gb/deep/Colour.gbc"),
    system: { id: "GameboyColor" },
  });
});

test("a system may have a folder of its own, wherever it lies", async () => {
  const elsewhere = join(folder, "secret");
  const folders = { roots, own: [{ system: "Super Nintendo", folder: elsewhere }] };
  await writeFile(join(elsewhere, "Hack.sfc"), "x");
  expect(await findMediaFile("snes/Hack.sfc", folders, [])).toMatchObject({
    path: join(elsewhere, "Hack.sfc"),
    system: { id: "SNES" },
  });
  expect((await findMediaFile(join(elsewhere, "Hack.sfc"), folders, [])).system.id).toBe("SNES");
  // The folders below a media folder come first.
  expect((await findMediaFile("SNES/Game.sfc", folders, [])).path).toBe(join(folder, "one/SNES/Game.sfc"));
  await expect(findMediaFile("NES/Hack.sfc", folders, [])).rejects.toThrow("there is no file NES/Hack.sfc");
  await expect(
    findMediaFile("snes/../two/SNES/Game.sfc", { roots: [], own: folders.own }, []),
  ).rejects.toThrow("not below a media folder");
});

test("an absolute path is taken as it is where it lies below a media folder", async () => {
  expect(await below(join(folder, "two/SNES/Game.sfc"))).toEqual(["two/SNES/Game.sfc", "SNES"]);
});

test("a file in the folder of a known system has that system, whatever its extension", async () => {
  expect((await find("SNES/Theme.mp3")).system.id).toBe("SNES");
  expect((await find("SNES/Theme.mp3", undefined, ["snes"])).system.id).toBe("snes");
});

test("a file in no known system plays by its extension", async () => {
  expect((await find("SNES/Theme.mp3", undefined, [])).system).toMatchObject({ id: "Audio", name: "Audio" });
  expect((await find("Loose.mp3")).system.id).toBe("Audio");
  expect((await find("Loose.sfc")).system.id).toBe("Unknown");
});

test("the card may name the system", async () => {
  expect((await find("Loose.mp3", "Jukebox", ["Jukebox"])).system.id).toBe("Jukebox");
  expect(await find("Loose.sfc", "snes")).toMatchObject({
    system: { id: "SNES" },
    ownSystem: { id: "Unknown" },
  });
  expect(await find("SNES/Game.sfc", "SNES")).not.toHaveProperty("ownSystem");
});

test("a card names no system that neither the table nor a launcher has", async () => {
  await expect(find("Loose.mp3", "Jukebox")).rejects.toThrow("there is no system Jukebox");
  await expect(find("Loose.mp3", "SNSE")).rejects.toThrow("did you mean SNES?");
});

test("of nested media folders the inner one tells the system", async () => {
  const { system } = await findMediaFile(
    "one/SNES/Game.sfc",
    { roots: [folder, join(folder, "one")], own: [] },
    [],
  );
  expect(system.id).toBe("SNES");
});

test("the whole file system may be a media folder", async () => {
  expect((await findMediaFile(join(folder, "one/Loose.mp3"), { roots: ["/"], own: [] }, [])).system.id).toBe(
    "Audio",
  );
});

test("a link that stays below the media folders is followed", async () => {
  expect(await below("SNES/Fine.nes")).toEqual(["two/NES/Deep/Er/Game.nes", "NES"]);
});

test.each([
  "../secret/Private.mp3",
  "SNES/../../secret/Private.mp3",
  "snes/../../secret/Private.mp3",
  "SNES/Link.mp3",
  "Out/Private.mp3",
  "../one-more/SNES/Game.sfc",
])("%p is refused: it leaves the media folders", async (wanted) => {
  await expect(find(wanted)).rejects.toThrow(`${wanted} is not below a media folder`);
});

test("an absolute path outside of the media folders is refused with what to do", async () => {
  const wanted = join(folder, "secret/Private.mp3");
  await expect(find(wanted)).rejects.toThrow("add its folder to systems.root_folders");
  await expect(find("/etc/passwd")).rejects.toThrow("is not below a media folder");
  await expect(find(roots[0] ?? "")).rejects.toThrow("is not below a media folder");
});

test("a path outside of all media folders does not reveal whether there is such a file", async () => {
  const up = "../".repeat(40);
  const outside = ["/nowhere/at/all", "/etc/passwd", "/etc/shadow/none"];
  const byDots = ["etc/passwd", "etc/none"].flatMap((path) => [
    `${up}${path}`,
    `SNES/${up}${path}`,
    `${roots[0]}/${up}${path}`,
  ]);
  for (const wanted of [...outside, ...byDots, "..", "SNES/../.."])
    await expect(find(wanted)).rejects.toThrow(`${wanted} is not below a media folder`);
  await expect(find("SNES/../None.sfc")).rejects.toThrow("there is no file");
});

test.each(["SNES/None.sfc", "None/Game.sfc", "SNES/Game.sfc/more"])(
  "%p is refused: there is no such file",
  async (wanted) => {
    await expect(find(wanted)).rejects.toThrow(`there is no file ${wanted}`);
  },
);

test.each(["", "a\0b"])("%p names no file", async (wanted) => {
  await expect(find(wanted)).rejects.toThrow("the card names no file");
});

test("a media folder that is not there hurts nobody", async () => {
  const { path } = await findMediaFile("SNES/Game.sfc", { roots: ["/nowhere", ...roots], own: [] }, []);
  expect(path).toBe(join(folder, "one/SNES/Game.sfc"));
});

const file = (path: string, system = "SNES"): MediaFile => ({
  path,
  system: { id: system, name: system, category: "Unknown" },
});
const none = () => null;
const chosen = (
  configured: readonly LauncherConfig[],
  media: MediaFile,
  wanted?: string,
  which: (program: string) => string | null = none,
) => chooseLauncher(media, availableLaunchers(configured, which), wanted).launcherId;

test("a launcher plays the systems and extensions that it names", () => {
  const both = launcher("both", { systems: ["SNES"], extensions: [".sfc"] });
  expect(chosen([both], file("/a.sfc"))).toBe("both");
  expect(chosen([both], file("/a.SFC"))).toBe("both");
  expect(() => chosen([both], file("/a.smc"))).toThrow("no player is set up for .smc in SNES");
  expect(() => chosen([both], file("/a.sfc", "NES"))).toThrow("no player is set up for .sfc in NES");
});

test("the launcher that says most about a file plays it, and of equals the first", () => {
  const any = launcher("any");
  const byExtension = launcher("by-extension", { extensions: [".sfc"] });
  const bySystem = launcher("by-system", { systems: ["SNES"] });
  const byBoth = launcher("by-both", { systems: ["SNES"], extensions: [".sfc"] });
  expect(chosen([any, byExtension, bySystem, byBoth], file("/a.sfc"))).toBe("by-both");
  expect(chosen([any, byExtension, bySystem], file("/a.sfc"))).toBe("by-system");
  expect(chosen([any, byExtension], file("/a.sfc"))).toBe("by-extension");
  expect(chosen([any, byExtension], file("/a.smc"))).toBe("any");
  expect(chosen([launcher("first"), launcher("second")], file("/a.sfc"))).toBe("first");
});

test("the card may name a launcher, among those that take the file", () => {
  const other = launcher("other", { systems: ["SNES"] });
  expect(chosen([launcher("first", { systems: ["SNES"] }), other], file("/a.sfc"), "other")).toBe("other");
  const shell = launcher("shell", { systems: ["Scripts"] });
  const movies = launcher("movies", { extensions: [".mp4", ".mkv"] });
  const menu = { ...launcher("menu", { systems: ["SNES"] }), command: ["menu"] };
  const all = [launcher("any"), shell, movies, menu];
  for (const [wanted, why] of [
    ["shell", "the launcher shell does not take .toml in SNES: it takes the usual files in Scripts"],
    ["movies", "the launcher movies does not take .toml in SNES: it takes .mp4, .mkv"],
    ["menu", "the launcher menu does not take .toml in SNES: it takes no file in SNES"],
  ] as const)
    expect(() => chosen(all, file("/SNES/config.toml"), wanted)).toThrow(why);
  expect(() => chosen([other], file("/a.sfc"), "none")).toThrow(
    "there is no launcher none: add one to the config file under [[launchers]]",
  );
});

describe("a card that names the system", () => {
  const called = (path: string, system: string, told: string): MediaFile => ({
    ...file(path, system),
    ownSystem: file(path, told).system,
  });
  const emulator = launcher("emulator", { systems: ["SNES"] });
  const shell = launcher("shell", { systems: ["Scripts"] });

  test("plays what that system is known to have, and what a launcher states", () => {
    expect(chosen([emulator], called("/games/x.sfc", "SNES", "Unknown"))).toBe("emulator");
    expect(chosen([emulator], called("/games/x.ZIP", "SNES", "Unknown"))).toBe("emulator");
    const stated = launcher("stated", { systems: ["Scripts"], extensions: [".run"] });
    expect(chosen([stated], called("/games/x.run", "Scripts", "Unknown"))).toBe("stated");
  });

  test("does not turn another file into a game", () => {
    for (const wanted of [undefined, "emulator"])
      expect(() => chosen([emulator], called("/media/config.toml", "SNES", "Unknown"), wanted)).toThrow(
        /no player is set up for|does not take/,
      );
    for (const wanted of [undefined, "shell"])
      expect(() => chosen([shell], called("/media/config.toml", "Scripts", "Unknown"), wanted)).toThrow(
        /no player is set up for|does not take/,
      );
  });

  test("plays what the same launcher takes without that name", () => {
    const both = launcher("both", { systems: ["SNES", "Scripts"] });
    expect(chosen([both], called("/Scripts/a.odd", "SNES", "Scripts"))).toBe("both");
    expect(chosen([launcher("any")], called("/a.odd", "SNES", "Unknown"))).toBe("any");
  });

  test("does not load another file into a core", () => {
    const [retroarch] = availableLaunchers(
      [{ id: "ra", systems: [], extensions: [], command: ["retroarch", "{path}"], kind: "retroarch" }],
      none,
      () => new Map([["snes9x", "/cores/snes9x_libretro.so"]]),
    );
    if (retroarch === undefined) throw new Error("there is no launcher");
    const argv = (media: MediaFile) => chooseLauncher(media, [retroarch], "ra").argv;
    expect(argv(called("/games/x.sfc", "SNES", "Unknown"))).toContain("/cores/snes9x_libretro.so");
    expect(() => argv(called("/games/config.toml", "SNES", "Unknown"))).toThrow(
      "does not take .toml in SNES",
    );
  });
});

test("mpv plays sound, films and pictures where it is installed, behind the launchers of the config", () => {
  const installed = (program: string) => `/usr/bin/${program}`;
  for (const path of ["/a.mp3", "/a.MKV", "/a.png"])
    expect(chosen([], file(path), undefined, installed)).toBe("mpv");
  expect(chosen([launcher("any")], file("/a.mp3"), undefined, installed)).toBe("any");
  expect(() => chosen([], file("/a.sfc"), undefined, installed)).toThrow("[[launchers]]");
  expect(() => chosen([], file("/a.mp3"))).toThrow("[[launchers]]");
});

test("a launcher of the config that is named mpv takes the place of the built-in one", () => {
  const own = launcher("mpv", { extensions: [".mp3"] });
  const { argv } = chooseLauncher(
    file("/a.mp3"),
    availableLaunchers([own], () => "/usr/bin/mpv"),
    undefined,
  );
  expect(argv).toEqual(["mpv", "/a.mp3"]);
});

test("the path stands where {path} stood, as it is", () => {
  const command = ["x", "--a={path}", "{path}{path}", "path"];
  const path = "/a b/$&$1 {path}.sfc";
  const { argv } = chooseLauncher(file(path), [launcher("x", { command })], undefined);
  expect(argv).toEqual(["x", `--a=${path}`, path + path, "path"]);
});

test("mpv takes a file whose name looks like an option for a file", () => {
  const { argv } = chooseLauncher(
    file("/a.mp3"),
    availableLaunchers([], () => "/usr/bin/mpv"),
    undefined,
  );
  expect(argv[0]).toBe("/usr/bin/mpv");
  expect(argv.slice(-2)).toEqual(["--", "/a.mp3"]);
});
