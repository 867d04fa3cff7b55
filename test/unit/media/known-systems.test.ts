import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { nearest } from "../../../src/core/text.ts";
import { findMediaFile } from "../../../src/launch/media-file.ts";
import {
  kindOf,
  kinds,
  knownSystems,
  mediaExtensions,
  systemByFolder,
  systemById,
  systemByName,
  systemKeyOf,
  systemOfFile,
} from "../../../src/media/known-systems.ts";

const systems = knownSystems();
const table = readFileSync(join(import.meta.dir, "../../../src/media/systems.jsonl"), "utf8");

test("at least 190 systems are known", () => {
  expect(systems.length).toBeGreaterThanOrEqual(190);
});

test("every line of the table is one system, with the fields of one and no others", () => {
  const words = (value: unknown) => Array.isArray(value) && value.every((word) => typeof word === "string");
  const text = (value: unknown) => typeof value === "string" && value.trim() === value && value !== "";
  const fields: Record<string, (value: unknown) => boolean> = {
    id: text,
    name: text,
    category: (value) =>
      ["Console", "Handheld", "Computer", "Arcade", "Media", "Other"].includes(String(value)),
    manufacturer: text,
    aliases: words,
    folders: words,
    extensions: words,
    livesWith: words,
  };
  const needed = ["id", "name", "category", "aliases", "folders", "extensions"];
  const lines = table.trimEnd().split("\n");
  for (const line of lines) {
    const system: Record<string, unknown> = JSON.parse(line);
    const wrong = Object.entries(system).filter(([field, value]) => fields[field]?.(value) !== true);
    const missing = needed.filter((field) => !(field in system));
    expect({ line, wrong, missing }).toEqual({ line, wrong: [], missing: [] });
  }
  expect(lines).toHaveLength(systems.length - kinds.length);
});

test("the table is plain ASCII, which takes the least time to read", () => {
  expect(/[^\x20-\x7e\n]/.exec(table)).toBeNull();
});

test("an id is letters and digits, and belongs to one system", () => {
  const ids = systems.map(({ id }) => id);
  expect(ids.filter((id) => !/^[A-Za-z0-9]+$/.test(id))).toEqual([]);
  expect(repeated(ids.map((id) => id.toLowerCase()))).toEqual([]);
});

test("a name belongs to one system", () => {
  expect(repeated(systems.map(({ name }) => systemKeyOf(name)))).toEqual([]);
});

test("two systems share no id, name, folder, alias, or name without its maker", () => {
  const owners = new Map<string, string>();
  const shared: string[] = [];
  for (const { id, name, manufacturer = "", aliases, folders } of systems) {
    for (const called of [id, name, manufacturer + name, ...aliases, ...folders]) {
      const owner = owners.get(systemKeyOf(called)) ?? id;
      if (owner !== id) shared.push(`${called}: ${owner} and ${id}`);
      owners.set(systemKeyOf(called), owner);
    }
  }
  expect(shared).toEqual([]);
});

test("folders and aliases stand as they are looked up, and none says again what another says", () => {
  const all = systems.flatMap(({ aliases, folders }) => [...aliases, ...folders]);
  expect(all.filter((word) => systemKeyOf(word) !== word)).toEqual([]);
  const idle = systems.filter(({ id, name, manufacturer = "", aliases, folders }) => {
    const said = [systemKeyOf(id), systemKeyOf(name), systemKeyOf(manufacturer + name)];
    return repeated([...aliases, ...folders]).length > 0 || aliases.some((alias) => said.includes(alias));
  });
  expect(idle.map(({ id }) => id)).toEqual([]);
});

test("an extension is lower case behind its dot, and stands once in its system", () => {
  const wrong = systems.filter(
    ({ extensions }) =>
      repeated(extensions).length > 0 || extensions.some((extension) => !/^\.[a-z0-9]+$/.test(extension)),
  );
  expect(wrong.map(({ id }) => id)).toEqual([]);
});

test("a system that lives with another brings an extension that the other has not", () => {
  for (const { id, livesWith = [], extensions } of systems) {
    for (const hostId of livesWith) {
      const host = systemById(hostId);
      expect({ id, hostId, known: host !== undefined }).toEqual({ id, hostId, known: true });
      expect(extensions.some((extension) => host?.extensions.includes(extension) === false)).toBe(true);
    }
  }
});

test("in a shared folder, one extension points to one guest alone", () => {
  const claims = systems.flatMap(({ livesWith = [], extensions }) =>
    livesWith.flatMap((hostId) =>
      extensions
        .filter((extension) => systemById(hostId)?.extensions.includes(extension) === false)
        .map((extension) => `${hostId}/${extension}`),
    ),
  );
  expect(repeated(claims)).toEqual([]);
});

// The texts of existing cards.
const onCards = `
  SNES NES FDS Genesis MegaCD Sega32X MasterSystem GameGear SG1000 Saturn Dreamcast PSX PS2 PSP Gameboy GameboyColor GBA
  NDS 3DS Nintendo64 GameCube Wii VirtualBoy PokemonMini TurboGrafx16 TurboGrafx16CD SuperGrafx NeoGeo NeoGeoCD
  NeoGeoPocket NeoGeoPocketColor WonderSwan WonderSwanColor Atari2600 Atari5200 Atari7800 AtariLynx AtariST Jaguar
  ColecoVision Intellivision Vectrex Amiga AmigaCD32 C64 VIC20 MSX ZXSpectrum Amstrad PC88 PC98 X68000 DOS Arcade ScummVM
  Pico8 TIC80 Video Audio Image Movie TVShow TVEpisode MusicTrack`;

test("the ids of cards that people own are known", () => {
  const ids = onCards.trim().split(/\s+/);
  expect(ids.filter((id) => systemById(id)?.id !== id)).toEqual([]);
});

test("an id is spelt exactly, a name is not", () => {
  expect(systemById("snes")).toBeUndefined();
  expect(systemByName("snes")?.id).toBe("SNES");
});

const calls: readonly [called: string, id: string][] = [
  ["MegaDrive", "Genesis"],
  ["mega drive", "Genesis"],
  ["Sega Mega-CD", "MegaCD"],
  ["SegaCD", "MegaCD"],
  ["SuperNintendo", "SNES"],
  ["Super Famicom", "SNES"],
  ["Super Nintendo Entertainment System", "SNES"],
  ["PlayStation", "PSX"],
  ["PS1", "PSX"],
  ["N64", "Nintendo64"],
  ["GB", "Gameboy"],
  ["Game Boy Color", "GameboyColor"],
  ["Nintendo Game Boy Advance", "GBA"],
  ["PC Engine", "TurboGrafx16"],
  ["TGFX16-CD", "TurboGrafx16CD"],
  ["Master_System", "MasterSystem"],
  ["Pokemon Mini", "PokemonMini"],
  ["POKÉMON MINI", "PokemonMini"],
  ["TI-99_4A", "TI994A"],
  ["CD-i", "CDI"],
  ["MSX2+", "MSX2Plus"],
  ["ao486", "DOS"],
  ["PICO-8", "Pico8"],
  ["movies", "Movie"],
  ["TV", "TVEpisode"],
];

for (const [called, id] of calls) {
  test(`"${called}" is ${id}`, () => {
    expect(systemByName(called)?.id).toBe(id);
  });
}

const folders: readonly [firmware: string, folder: string, id: string][] = [
  ["MiSTer", "TGFX16", "TurboGrafx16"],
  ["MiSTer", "S32X", "Sega32X"],
  ["MiSTer", "_Arcade", "Arcade"],
  ["MiSTer", "Casio_PV-1000", "CasioPV1000"],
  ["Batocera", "megadrive", "Genesis"],
  ["Batocera", "c20", "VIC20"],
  ["Batocera", "wswanc", "WonderSwanColor"],
  ["RetroPie", "mame-libretro", "Arcade"],
  ["RetroPie", "atarilynx", "AtariLynx"],
  ["ES-DE", "n3ds", "3DS"],
  ["ES-DE", "tg-cd", "TurboGrafx16CD"],
  ["ES-DE", "sg-1000", "SG1000"],
  ["Onion", "SFC", "SNES"],
  ["Onion", "THIRTYTWOX", "Sega32X"],
  ["muOS", "Sega Game Gear", "GameGear"],
];

for (const [firmware, folder, id] of folders) {
  test(`the folder ${folder} of ${firmware} holds ${id}`, () => {
    expect(systemByFolder(folder)?.id).toBe(id);
  });
}

test("every system is found by all that it is called, in any spelling", () => {
  const spelling = fc.tuple(fc.constantFrom(..."_- "), fc.boolean(), fc.nat({ max: 40 }));
  const called = fc
    .constantFrom(...systems)
    .chain(({ id, name, aliases, folders }) =>
      fc.record({ id: fc.constant(id), name: fc.constantFrom(id, name, ...aliases, ...folders) }),
    );
  fc.assert(
    fc.property(called, spelling, ({ id, name }, [separator, upper, at]) => {
      const spelt = name.slice(0, at) + separator + name.slice(at);
      expect(systemByName(upper ? spelt.toUpperCase() : spelt.toLowerCase())?.id).toBe(id);
    }),
  );
});

test("any text may be asked for, and what is none of a system finds nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 100 }), (text) => {
      expect(systemByName(`${text}?`)).toBeUndefined();
      expect(systemByFolder(`${text}?`)).toBeUndefined();
    }),
  );
  for (const nothing of ["", " ", "_", "__proto__", "constructor"])
    expect(systemByName(nothing)).toBeUndefined();
});

test("an alias that no folder bears is not a folder", () => {
  expect(systemByName("VCS")?.id).toBe("Atari2600");
  expect(systemByFolder("VCS")).toBeUndefined();
});

test("an extension tells the systems that it may belong to", () => {
  expect(systemsWith(".gbc").map(({ id }) => id)).toContain("GameboyColor");
  expect(systemsWith(".sfc").map(({ id }) => id)).toEqual(["SNES", "SNESMSU1"]);
  expect(systemsWith(".chd").length).toBeGreaterThan(10);
  expect(systemsWith(".nope")).toEqual([]);
});

const shared: readonly [folder: string, extension: string, id: string | undefined][] = [
  ["GAMEBOY", ".gb", "Gameboy"],
  ["GAMEBOY", ".gbc", "GameboyColor"],
  ["SMS", ".gg", "GameGear"],
  ["SMS", ".sg", "SG1000"],
  ["Coleco", ".sg", "SG1000"],
  ["NES", ".fds", "FDS"],
  ["NES", ".nsf", "NESMusic"],
  ["TGFX16", ".sgx", "SuperGrafx"],
  ["ATARI7800", ".a26", "Atari2600"],
  ["WonderSwan", ".wsc", "WonderSwanColor"],
  ["NEOGEO", ".cue", "NeoGeoCD"],
  ["SNES", ".txt", undefined],
  ["Homework", ".sfc", undefined],
];

for (const [folder, extension, id] of shared) {
  test(`a ${extension} in ${folder} is ${id ?? "of no system"}`, () => {
    expect(systemOfFile(folder, extension)?.id).toBe(id);
  });
}

test("sound, films and pictures are recognized by their extension", () => {
  expect(kindOf(".mp3")).toEqual({ id: "Audio", name: "Audio", category: "Media" });
  expect(kindOf(".mkv")).toEqual({ id: "Video", name: "Video", category: "Media" });
  expect(kindOf(".png")).toEqual({ id: "Image", name: "Image", category: "Media" });
  expect(kindOf(".sfc")).toBeUndefined();
});

test("the kinds are systems of the table, and share no extension among them", () => {
  expect(kinds.map(({ id }) => systemById(id))).toEqual([...kinds]);
  expect(repeated(kinds.flatMap(({ extensions }) => extensions))).toEqual([]);
  expect(mediaExtensions).toEqual(kinds.flatMap(({ extensions }) => extensions));
});

test("a slip of the fingers is near the id that was meant", () => {
  const ids = systems.map(({ id }) => id);
  expect(nearest("Genesys", ids)).toBe("Genesis");
});

const root = mkdtempSync(join(tmpdir(), "tapdeck-systems-"));
afterAll(() => rmSync(root, { recursive: true }));

const launches: readonly [file: string, players: readonly string[], id: string, name: string][] = [
  ["Super Nintendo Entertainment System/Game.sfc", ["SNES"], "SNES", "Super Nintendo Entertainment System"],
  ["sfc/Game.sfc", ["snes"], "snes", "Super Nintendo Entertainment System"],
  ["genesis/Game.md", ["MegaDrive"], "MegaDrive", "Genesis"],
  ["GAMEBOY/Game.gbc", ["Gameboy"], "Gameboy", "Game Boy"],
  ["GAMEBOY/Game.gbc", ["Gameboy", "GameboyColor"], "GameboyColor", "Game Boy Color"],
  ["GAMEBOY/Game.gbc", [], "GameboyColor", "Game Boy Color"],
  ["snes/Readme.txt", [], "SNES", "Super Nintendo Entertainment System"],
  ["snes/Intro.mp4", [], "Video", "Video"],
  ["Homework/Essay.txt", [], "Homework", "Homework"],
  ["Homework/Essay.txt", ["homework"], "homework", "homework"],
];

for (const [file, players, id, name] of launches) {
  test(`${file} is launched as ${id} where ${players.join(" and ") || "nothing"} can be played`, async () => {
    mkdirSync(join(root, file, ".."), { recursive: true });
    writeFileSync(join(root, file), "");
    expect((await findMediaFile(file, { roots: [root], own: [] }, players)).system).toMatchObject({
      id,
      name,
    });
  });
}

test("a card that names the system by another name is understood", async () => {
  writeFileSync(join(root, "Game.bin"), "");
  const { system } = await findMediaFile("Game.bin", { roots: [root], own: [] }, [], "Mega Drive");
  expect(system).toEqual({ id: "Genesis", name: "Genesis", category: "Console" });
});

function repeated(words: readonly string[]): readonly string[] {
  return words.filter((word, index) => words.indexOf(word) !== index);
}

function systemsWith(extension: string) {
  return knownSystems().filter(({ extensions }) => extensions.includes(extension));
}
