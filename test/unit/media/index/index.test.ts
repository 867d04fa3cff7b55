// Covers: src/media/index.
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { indexPath } from "../../../../src/media/index/index-file.ts";
import { makeFiles } from "../../../helpers/library.ts";
import { contentOf, heldTrial, mediaTrial, pathsOf, runHere } from "../../../helpers/media.ts";
import { eventually } from "../../../helpers/processes.ts";

describe("the walk", () => {
  test("takes the files of each system by its folder and extensions, in order of their names", async () => {
    await using trial = await mediaTrial();
    makeFiles(trial.root, [
      "SNES/Zelda (USA).sfc",
      "snes/B/Mario.smc",
      "megadrive/Sonic.md",
      "SNES/notes.txt",
      "gb/Tetris.gb",
      "gb/Tetris DX.gbc",
      "Nowhere/Lost.sfc",
      "loose.sfc",
      "SNES/pack.zip",
    ]);
    await trial.media.index([]);
    expect(pathsOf(trial.media)).toEqual([
      "SNES/B/Mario.smc",
      "SNES/pack.zip",
      "Genesis/Sonic.md",
      "Gameboy/Tetris.gb",
      "GameboyColor/Tetris DX.gbc",
      "SNES/Zelda (USA).sfc",
    ]);
    expect(trial.media.systems().map(({ id }) => id)).toEqual(["Gameboy", "GameboyColor", "Genesis", "SNES"]);
    expect(trial.media.search({ query: "zelda", systems: [], maxResults: 1 }).results[0]).toEqual({
      system: { id: "SNES", name: "Super Nintendo Entertainment System", category: "Console" },
      name: "Zelda (USA)",
      path: "SNES/Zelda (USA).sfc",
      tags: [{ type: "region", tag: "usa" }],
      zapScript: "SNES/Zelda (USA).sfc",
    });
  });

  test("track 10 came before track 2", async () => {
    await using trial = await mediaTrial();
    makeFiles(trial.root, [
      "Audio/Track 10.mp3",
      "Audio/Track 2.mp3",
      "Audio/track 1.mp3",
      "Audio/Track 02.ogg",
    ]);
    await trial.media.index([]);
    const inOrder = ["Audio/track 1.mp3", "Audio/Track 02.ogg", "Audio/Track 2.mp3", "Audio/Track 10.mp3"];
    expect(pathsOf(trial.media, "track")).toEqual(inOrder);
    expect(pathsOf(trial.media, "track 1")).toEqual(["Audio/track 1.mp3", "Audio/Track 10.mp3"]);
  });

  test("leaves out what is hidden, and trees that bear the mark", async () => {
    await using trial = await mediaTrial();
    makeFiles(trial.root, [
      "SNES/a.sfc",
      "SNES/.b.sfc",
      "SNES/.hidden/c.sfc",
      "SNES/draft/.tapdeckignore",
      "SNES/draft/d.sfc",
      "SNES/draft/deep/e.sfc",
      "NES/.tapdeckignore",
      "NES/f.nes",
    ]);
    await trial.media.index([]);
    expect(pathsOf(trial.media)).toEqual(["SNES/a.sfc"]);
  });

  test("playlists and sheets stand for what they list", async () => {
    await using trial = await mediaTrial();
    makeFiles(trial.root, {
      "PSX/Quest.m3u": "#EXTM3U\r\nQuest (Disc 1).chd\r\n./discs/quest (disc 2).CHD\r\n../../NES/x.nes\r\n",
      "PSX/Quest (Disc 1).chd": "",
      "PSX/discs/Quest (Disc 2).chd": "",
      "PSX/discs/Other.chd": "",
      "PSX/Race.cue": 'FILE "Race.iso" BINARY\n  TRACK 01 MODE2/2352\n',
      "PSX/Race.iso": "",
      "PSX/Ring.m3u": "Ring.m3u\nRing2.m3u\n",
      "PSX/Ring2.m3u": "Ring.m3u\n",
    });
    await trial.media.index([]);
    expect(pathsOf(trial.media)).toEqual([
      "PSX/discs/Other.chd",
      "PSX/Quest.m3u",
      "PSX/Race.cue",
      "PSX/Ring.m3u",
      "PSX/Ring2.m3u",
    ]);
    writeFileSync(join(trial.root, "PSX/Quest.m3u"), "Quest (Disc 1).chd\n");
    await trial.media.index([]);
    expect(pathsOf(trial.media, "disc")).toEqual(["PSX/discs/Quest (Disc 2).chd"]);
  });

  test("a sheet from Windows names its track with umlauts, and the track was shown beside the game", async () => {
    await using trial = await mediaTrial();
    makeFiles(trial.root, ["PSX/Über (Track 1).iso"]);
    const odd = Buffer.concat([
      Buffer.from(`${trial.root}/PSX/`),
      Buffer.from("Früh (Track 1).iso", "latin1"),
    ]);
    writeFileSync(odd, "");
    for (const name of ["Über", "Früh"]) {
      const sheet = `FILE "${name} (Track 1).iso" BINARY\r\n  TRACK 01 MODE2/2352\r\n`;
      writeFileSync(join(trial.root, `PSX/${name}.cue`), Buffer.from(sheet, "latin1"));
    }
    await trial.media.index([]);
    expect(pathsOf(trial.media)).toEqual(["PSX/Früh.cue", "PSX/Über.cue"]);
  });

  test("the first disc of a game stands for the others, in systems whose games have discs", async () => {
    await using trial = await mediaTrial();
    makeFiles(trial.root, {
      "PSX/Quest (USA) (Disc 1).chd": "",
      "PSX/Quest (USA) (Disc 2).chd": "",
      "PSX/Quest (Europe) (Disc 2).chd": "",
      "PSX/deep/Race (CD 1).cue": 'FILE "Race (CD 1).bin" BINARY\n',
      "PSX/deep/Race (CD 1).bin": "",
      "PSX/deep/Race (CD 2).cue": 'FILE "Race (CD 2).bin" BINARY\n',
      "PSX/deep/Race (CD 2).bin": "",
      "Amiga/Island (Disk 1 of 2).adf": "",
      "Amiga/Island (Disk 2 of 2).adf": "",
      "SNES/Card (Disc 1).sfc": "",
      "SNES/Card (Disc 2).sfc": "",
      "Audio/Album (Disc 1).mp3": "",
      "Audio/Album (Disc 2).mp3": "",
    });
    await trial.media.index([]);
    const first = [
      "Amiga/Island (Disk 1 of 2).adf",
      "Audio/Album (Disc 1).mp3",
      "Audio/Album (Disc 2).mp3",
      "PSX/deep/Race (CD 1).cue",
      "PSX/Quest (Europe) (Disc 2).chd",
      "PSX/Quest (USA) (Disc 1).chd",
      "SNES/Card (Disc 1).sfc",
      "SNES/Card (Disc 2).sfc",
    ];
    expect([...pathsOf(trial.media)].sort()).toEqual(first.toSorted());
    rmSync(join(trial.root, "PSX/Quest (USA) (Disc 1).chd"));
    await trial.media.index([]);
    expect(pathsOf(trial.media, "usa")).toEqual(["PSX/Quest (USA) (Disc 2).chd"]);
  });

  test("follows links inside the media folders only, and ends where they go round", async () => {
    await using trial = await mediaTrial();
    const outside = join(trial.data, "../outside");
    makeFiles(outside, ["secret.sfc"]);
    makeFiles(trial.root, ["SNES/a/one.sfc", "SNES/b/two.sfc", "store/three.sfc"]);
    symlinkSync(outside, join(trial.root, "SNES/out"));
    symlinkSync(join(outside, "secret.sfc"), join(trial.root, "SNES/secret.sfc"));
    symlinkSync("../store", join(trial.root, "SNES/in"));
    symlinkSync("a/one.sfc", join(trial.root, "SNES/uno.sfc"));
    symlinkSync("..", join(trial.root, "SNES/a/up"));
    symlinkSync("../b", join(trial.root, "SNES/a/across"));
    symlinkSync("../a", join(trial.root, "SNES/b/back"));
    symlinkSync("nowhere", join(trial.root, "SNES/dangling.sfc"));
    symlinkSync("self.sfc", join(trial.root, "SNES/self.sfc"));
    symlinkSync("SNES", join(trial.root, "Genesis"));
    await trial.media.index([]);
    const paths = pathsOf(trial.media);
    expect(paths).toContain("SNES/in/three.sfc");
    expect(paths).toContain("SNES/uno.sfc");
    expect(paths.filter((path) => path.includes("secret"))).toEqual([]);
    expect(paths.length).toBeLessThan(12);
  });

  test("names that are not UTF-8 are indexed, below folders of such names too", async () => {
    await using trial = await mediaTrial();
    const odd = Buffer.from(`${trial.root}/SNES/\xff\xe9`, "latin1");
    mkdirSync(odd, { recursive: true });
    writeFileSync(Buffer.concat([odd, Buffer.from("/Caf\xe9.sfc", "latin1")]), "");
    writeFileSync(Buffer.concat([odd, Buffer.from("/Caf\xea.sfc", "latin1")]), "");
    makeFiles(trial.root, ["SNES/Plain.sfc"]);
    await trial.media.index([]);
    expect(pathsOf(trial.media, "caf")).toEqual(["SNES/��/Caf�.sfc", "SNES/��/Caf�.sfc"]);
    expect(trial.media.search({ query: "", systems: [], maxResults: 10 }).total).toBe(3);
    expect(
      runHere({ path: indexPath(trial.data), folders: { roots: [trial.root], own: [] }, systems: [] }).at(-1),
    ).toMatchObject({
      changed: false,
    });
  });

  test("a folder that cannot be read is reported in the log and costs nothing else", async () => {
    await using trial = await mediaTrial();
    makeFiles(trial.root, ["SNES/a.sfc", "SNES/locked/b.sfc"]);
    // A folder with subfolders that are too deep replaces a forbidden one, because root may read all folders.
    makeFiles(trial.root, [`NES/${"d/".repeat(70)}deep.nes`]);
    chmodSync(join(trial.root, "SNES/locked"), 0);
    await trial.media.index([]);
    chmodSync(join(trial.root, "SNES/locked"), 0o700);
    expect(pathsOf(trial.media)).toContain("SNES/a.sfc");
    expect(trial.logged.filter((line) => line.includes("left out of the index")).length).toBeGreaterThan(0);
  });

  test("folders of single systems are indexed beside the roots, and nothing twice", async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "tapdeck-own-"));
    const own = [
      { system: "Super Nintendo", folder: elsewhere },
      { system: "No Such", folder: elsewhere },
      { system: "NES", folder: join(elsewhere, "nowhere") },
    ];
    await using trial = await mediaTrial(own);
    makeFiles(elsewhere, ["Hack.sfc", "deep/Other.smc", "Not.nes"]);
    makeFiles(trial.root, ["snes/Plain.sfc", "snes/more/Twice.sfc"]);
    own.push({ system: "SNES", folder: join(trial.root, "snes/more") });
    await trial.media.index([]);
    expect(pathsOf(trial.media)).toEqual([
      "SNES/Hack.sfc",
      "SNES/deep/Other.smc",
      "SNES/Plain.sfc",
      "SNES/more/Twice.sfc",
    ]);
    expect(trial.logged.join("\n")).toContain("there is no system No Such");
    rmSync(elsewhere, { recursive: true });
  });

  test("of two roots with the same file, the first one's counts", () => {
    const folder = mkdtempSync(join(tmpdir(), "tapdeck-media-"));
    makeFiles(folder, ["one/SNES/a.sfc", "two/snes/a.sfc", "two/snes/b.sfc"]);
    const roots = [join(folder, "one"), join(folder, "two")];
    runHere({ path: indexPath(folder), folders: { roots, own: [] }, systems: [] });
    expect(contentOf(folder)).toEqual(["SNES/a.sfc", "SNES/b.sfc"]);
    rmSync(folder, { recursive: true });
  });
});

describe("a run", () => {
  test("reports its start, each system and its end, and numbers that grow", async () => {
    await using trial = await mediaTrial();
    makeFiles(trial.root, ["SNES/a.sfc", "NES/b.nes", "gb/c.gb"]);
    expect(trial.media.status()).toEqual({ exists: false, indexing: false, optimizing: false });
    await trial.media.index([]);
    expect(trial.told[0]).toEqual({ exists: false, indexing: true, optimizing: false, totalFiles: 0 });
    expect(trial.told.map(({ currentStepDisplay }) => currentStepDisplay)).toEqual(
      expect.arrayContaining([
        "Game Boy",
        "Nintendo Entertainment System",
        "Super Nintendo Entertainment System",
      ]),
    );
    const end = { exists: true, indexing: false, optimizing: false, totalFiles: 3, totalMedia: 3 };
    expect(trial.told.at(-1)).toEqual(end);
    expect(trial.media.status()).toEqual(end);
  });

  test("of listed systems leaves the others as they are", async () => {
    await using trial = await mediaTrial();
    makeFiles(trial.root, ["SNES/a.sfc", "NES/b.nes", "gb/c.gb", "gb/d.gbc"]);
    await trial.media.index([]);
    rmSync(join(trial.root, "NES"), { recursive: true });
    makeFiles(trial.root, ["SNES/e.sfc", "gb/f.gb", "gb/g.gbc"]);
    await trial.media.index(["GameboyColor", "SNES"]);
    expect(pathsOf(trial.media)).toEqual([
      "SNES/a.sfc",
      "NES/b.nes",
      "Gameboy/c.gb",
      "GameboyColor/d.gbc",
      "SNES/e.sfc",
      "GameboyColor/g.gbc",
    ]);
    await trial.media.index(["NES"]);
    expect(pathsOf(trial.media, "b")).toEqual([]);
    await trial.media.index([]);
    expect(pathsOf(trial.media)).toEqual([
      "SNES/a.sfc",
      ...["Gameboy/c.gb", "GameboyColor/d.gbc", "SNES/e.sfc"],
      "Gameboy/f.gb",
      "GameboyColor/g.gbc",
    ]);
  });

  test("refuses a second one, an unknown system, and says that it was cancelled", async () => {
    await using trial = await heldTrial();
    makeFiles(trial.root, ["SNES/a.sfc"]);
    await trial.media.index([]);
    makeFiles(trial.root, ["SNES/b.sfc"]);
    await trial.hold();
    const run = trial.media.index([]);
    expect(trial.media.index([])).rejects.toMatchObject({ code: "conflict" });
    trial.media.cancel();
    expect(run).rejects.toMatchObject({ code: "failed", message: expect.stringContaining("cancelled") });
    await run.catch(() => {});
    expect(pathsOf(trial.media)).toEqual(["SNES/a.sfc"]);
    expect(trial.told.at(-1)).toMatchObject({ indexing: false, exists: true });
    expect(trial.media.index(["Snes"])).rejects.toMatchObject({ code: "not-found" });
    await trial.release();
    await trial.media.index([]);
    expect(pathsOf(trial.media)).toEqual(["SNES/a.sfc", "SNES/b.sfc"]);
  });

  test("lets the old index be searched throughout, and after it was cancelled", async () => {
    await using trial = await heldTrial();
    makeFiles(trial.root, ["SNES/old.sfc"]);
    await trial.media.index([]);
    makeFiles(
      trial.root,
      Array.from({ length: 2000 }, (_, number) => `SNES/new ${number}.sfc`),
    );
    const seen = new Set<number>();
    await trial.hold();
    const run = trial.media.index([]);
    const over = run.then(() => true);
    while (!(await Promise.race([over, Bun.sleep(1).then(() => false)]))) {
      // A search finds the files of the old index or of the new one, and never none.
      const total = trial.media.search({ query: "", systems: ["SNES"], maxResults: 1 }).total;
      if (trial.media.status().indexing) seen.add(total);
      if (seen.size > 0) await trial.release();
      expect((await trial.media.findTitle("SNES", "Old"))?.media.path).toBe("SNES/old.sfc");
    }
    expect(seen.has(1)).toBe(true);
    expect([...seen].filter((total) => total !== 1 && total !== 2001)).toEqual([]);
    expect(pathsOf(trial.media, "new 1999")).toEqual(["SNES/new 1999.sfc"]);

    makeFiles(trial.root, ["SNES/newest.sfc"]);
    await trial.hold();
    const cancelled = trial.media.index([]);
    expect(pathsOf(trial.media, "old")).toEqual(["SNES/old.sfc"]);
    trial.media.cancel();
    await cancelled.catch(() => {});
    expect(pathsOf(trial.media, "old")).toEqual(["SNES/old.sfc"]);
    expect(pathsOf(trial.media, "newest")).toEqual([]);
  });

  test("writes nothing where nothing changed", async () => {
    await using trial = await mediaTrial();
    makeFiles(trial.root, ["SNES/a.sfc", "NES/b.nes"]);
    const job = { path: indexPath(trial.data), folders: { roots: [trial.root], own: [] }, systems: [] };
    mkdirSync(trial.data);
    expect(runHere(job).at(-1)).toEqual({ kind: "done", files: 2, changed: true, songs: 0 });
    expect(runHere(job).at(-1)).toEqual({ kind: "done", files: 2, changed: false, songs: 0 });
    renameSync(join(trial.root, "SNES/a.sfc"), join(trial.root, "SNES/A.sfc"));
    expect(runHere(job).at(-1)).toEqual({ kind: "done", files: 2, changed: true, songs: 0 });
  });

  test.each([
    ["gone", undefined],
    ["damaged", "this is not an index"],
  ])("for one system leaves no other one out, if the index is %s", async (_, text) => {
    await using trial = await mediaTrial();
    makeFiles(trial.root, ["SNES/a.sfc", "NES/b.nes"]);
    mkdirSync(trial.data);
    if (text !== undefined) writeFileSync(indexPath(trial.data), text);
    runHere({ path: indexPath(trial.data), folders: { roots: [trial.root], own: [] }, systems: ["NES"] });
    expect(contentOf(trial.data)).toEqual(["SNES/a.sfc", "NES/b.nes"]);
  });

  test("after random changes gives what a fresh one gives", () => {
    const path = fc
      .tuple(
        fc.constantFrom("SNES", "nes", "gb", "PSX"),
        fc.constantFrom("", "A/", "A/B/", "é/"),
        fc.nat(12),
        fc.constantFrom("sfc", "nes", "gb", "gbc", "chd", "zip", "txt"),
      )
      .map(([system, folder, number, extension]) => `${system}/${folder}Gamé ${number}.${extension}`);
    fc.assert(
      fc.property(
        fc.uniqueArray(path, { maxLength: 30 }),
        fc.array(fc.tuple(path, fc.boolean()), { maxLength: 20 }),
        fc.subarray(["SNES", "NES", "Gameboy", "GameboyColor", "PSX"]),
        (before, changes, some) => {
          const folder = mkdtempSync(join(tmpdir(), "tapdeck-media-"));
          const root = join(folder, "media");
          makeFiles(root, [".keep", ...before]);
          runHere({ path: indexPath(folder), folders: { roots: [root], own: [] }, systems: [] });
          for (const [file, kept] of changes) {
            if (kept) makeFiles(root, [file]);
            else rmSync(join(root, file), { force: true });
          }
          runHere({ path: indexPath(folder), folders: { roots: [root], own: [] }, systems: some });
          runHere({ path: indexPath(folder), folders: { roots: [root], own: [] }, systems: [] });
          const again = contentOf(folder);
          rmSync(indexPath(folder));
          runHere({ path: indexPath(folder), folders: { roots: [root], own: [] }, systems: [] });
          expect(again).toEqual(contentOf(folder) ?? []);
          rmSync(folder, { recursive: true });
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe("a damaged index", () => {
  test.each([
    ["no database at all", () => Buffer.from("this is not an index")],
    ["cut short", (whole: Buffer) => whole.subarray(0, whole.length / 2)],
    [
      "its pages overwritten",
      (whole: Buffer) => Buffer.concat([whole.subarray(0, 4096), Buffer.alloc(whole.length - 4096, 0x5a)]),
    ],
    ["empty", () => Buffer.alloc(0)],
  ])("is made anew by itself: %s", async (_, damage) => {
    await using trial = await mediaTrial();
    makeFiles(
      trial.root,
      Array.from({ length: 300 }, (_, number) => `SNES/Game ${number}.sfc`),
    );
    const path = indexPath(trial.data);
    mkdirSync(trial.data, { recursive: true });
    runHere({ path, folders: { roots: [trial.root], own: [] }, systems: [] });
    writeFileSync(path, damage(readFileSync(path)));
    // The first caller finds the damage.
    try {
      trial.media.search({ query: "game", systems: [], maxResults: 1 });
    } catch {
      // The error says that the index is being made again.
    }
    await eventually(() => expect(trial.media.status()).toMatchObject({ indexing: false, exists: true }));
    expect(trial.media.search({ query: "game", systems: [], maxResults: 1 }).total).toBe(300);
    expect(contentOf(trial.data)?.length).toBe(300);
  });
});
