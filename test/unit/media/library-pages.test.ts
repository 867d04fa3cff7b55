/** The library as its screens show it: folders page by page, tags and lookups, each in short steps. */
import { expect, spyOn, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tagsPerTypeMax } from "../../../src/core/limits.ts";
import type { BrowseQuery } from "../../../src/core/media.ts";
import { type FolderContent, folderContent, tagsOfNames } from "../../../src/media/index/folder.ts";
import { buildMediaIndex } from "../../../src/media/index/index-build.ts";
import { type LoadedIndex, openIndex } from "../../../src/media/index/index-file.ts";
import { browse, lookUp, tagsOf } from "../../../src/media/library-pages.ts";
import type { MediaLibrary } from "../../../src/media/media-library.ts";
import { ScanResult } from "../../../src/media/scan/scan-result.ts";
import { joinedCounts, joinedFolder, joinedFolders } from "../../../src/media/sticks/joined.ts";
import { makeFiles } from "../../helpers/library.ts";
import { mediaTrial, type Trial } from "../../helpers/media.ts";

type Browsed = Pick<MediaLibrary, "folder" | "filesOfSystems">;

const page = (library: Browsed, query: Partial<BrowseQuery> = {}) =>
  browse(library, {
    path: "",
    systems: [],
    maxResults: 100,
    cursor: undefined,
    tags: [],
    letter: undefined,
    isDescending: false,
    ...query,
  });

/** The names of all pages, each page of `maxResults`. */
async function allNames(library: Browsed, query: Partial<BrowseQuery>): Promise<readonly string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { entries, pagination } = await page(library, { ...query, cursor });
    expect(pagination.hasNextPage).toBe(pagination.nextCursor !== undefined);
    names.push(...entries.map(({ name }) => name));
    cursor = pagination.nextCursor;
    if (cursor === undefined) return names;
    expect(entries.length).toBe(query.maxResults ?? 100);
  }
}

async function trialWith(files: readonly string[]): Promise<Trial> {
  const trial = await mediaTrial();
  makeFiles(trial.root, files);
  await trial.media.index([]);
  return trial;
}

const files = [
  "SNES/Zelda (USA) (Rev 1).sfc",
  "SNES/Élan (Europe) (En,Fr).sfc",
  "SNES/apple.sfc",
  "SNES/7 Wonders (Beta).sfc",
  "SNES/RPG/Star Quest (USA).sfc",
  "SNES/RPG/Old/Star Quest II (Japan).sfc",
  "SNES/rpg of others/Nor This (Disc 2).sfc",
  "SNES/Überfolder/Über.sfc",
  "gb/Tetris.gb",
  "gb/Tetris DX (World).gbc",
  "SNES/notes.txt",
];

test("the first level lists the systems with their files, by name, or those that are asked for", async () => {
  await using trial = await trialWith(files);
  const root = (id: string, name: string, fileCount: number, category: string) => ({
    type: "root",
    name,
    path: id,
    fileCount,
    systemId: id,
    systemIds: [id],
    category,
  });
  const [boy, color, snes] = [
    root("Gameboy", "Game Boy", 1, "Handheld"),
    root("GameboyColor", "Game Boy Color", 1, "Handheld"),
    root("SNES", "Super Nintendo Entertainment System", 8, "Console"),
  ] as const;
  const counts = { totalFiles: 0, totalDirs: 3 };
  const pagination = { hasNextPage: false, pageSize: 100 };
  const whole: unknown = await page(trial.media);
  expect(whole).toEqual({ path: "", entries: [boy, color, snes], ...counts, pagination });
  expect((await page(trial.media, { systems: ["SNES", "NES"] })).entries).toEqual([
    { ...snes, type: "root", systemIds: ["SNES"] },
  ]);
  expect(await allNames(trial.media, { isDescending: true, maxResults: 1 })).toEqual([
    snes.name,
    color.name,
    boy.name,
  ]);
});

test("a folder lists its folders and then its files, each with what a client needs to go on", async () => {
  await using trial = await trialWith(files);
  const { entries, ...rest } = await page(trial.media, { path: "SNES/", systems: ["SNES"] });
  expect(entries.map(({ type, name, path }) => [type, name, path])).toEqual([
    ["directory", "RPG", "SNES/RPG"],
    ["directory", "rpg of others", "SNES/rpg of others"],
    ["directory", "Überfolder", "SNES/Überfolder"],
    ["media", "7 Wonders (Beta)", "SNES/7 Wonders (Beta).sfc"],
    ["media", "apple", "SNES/apple.sfc"],
    ["media", "Élan (Europe) (En,Fr)", "SNES/Élan (Europe) (En,Fr).sfc"],
    ["media", "Zelda (USA) (Rev 1)", "SNES/Zelda (USA) (Rev 1).sfc"],
  ]);
  expect(rest).toEqual({
    path: "SNES",
    totalFiles: 4,
    totalDirs: 3,
    pagination: { hasNextPage: false, pageSize: 100 },
  });
  const [rpg, last] = [entries[0], entries.at(-1)];
  expect(rpg).toMatchObject({ fileCount: 2, systemId: "SNES", systemIds: ["SNES"] });
  expect(last).toEqual({
    type: "media",
    name: "Zelda (USA) (Rev 1)",
    path: "SNES/Zelda (USA) (Rev 1).sfc",
    systemId: "SNES",
    systemName: "Super Nintendo Entertainment System",
    zapScript: "SNES/Zelda (USA) (Rev 1).sfc",
    tags: [
      { type: "region", tag: "usa" },
      { type: "rev", tag: "rev 1" },
    ],
  });
  // A folder that holds files of two systems shows the files of each under its own system.
  expect((await page(trial.media, { path: "GameboyColor" })).entries.map(({ path }) => path)).toEqual([
    "GameboyColor/Tetris DX (World).gbc",
  ]);
  expect((await page(trial.media, { path: "SNES", systems: ["NES"] })).entries).toEqual([]);
});

test("pages of any size, in either order, give each entry once", async () => {
  await using trial = await trialWith(files);
  const up = (await page(trial.media, { path: "SNES" })).entries;
  const [folders, media] = [
    up.filter(({ type }) => type !== "media"),
    up.filter(({ type }) => type === "media"),
  ];
  const down = [...folders.toReversed(), ...media.toReversed()];
  for (let maxResults = 1; maxResults <= up.length; maxResults++) {
    const query = { path: "SNES", maxResults };
    expect(await allNames(trial.media, query)).toEqual(up.map(({ name }) => name));
    expect(await allNames(trial.media, { ...query, isDescending: true })).toEqual(
      down.map(({ name }) => name),
    );
  }
});

test("a page goes on at its place after files came and went", async () => {
  await using trial = await trialWith(["NES/a.nes", "NES/c.nes", "NES/e.nes"]);
  const first = await page(trial.media, { path: "NES", maxResults: 2 });
  expect(first.entries.map(({ name }) => name)).toEqual(["a", "c"]);
  await rm(join(trial.root, "NES/c.nes"));
  makeFiles(trial.root, ["NES/b.nes", "NES/d.nes"]);
  await trial.media.index([]);
  const cursor = first.pagination.nextCursor;
  expect((await page(trial.media, { path: "NES", cursor })).entries.map(({ name }) => name)).toEqual([
    "d",
    "e",
  ]);
});

test("letters and tags narrow a folder, and the totals are those of what is left", async () => {
  await using trial = await trialWith(files);
  const names = async (query: Partial<BrowseQuery>) => {
    const { entries, totalFiles, totalDirs } = await page(trial.media, { path: "SNES", ...query });
    expect(entries.length).toBe(totalFiles + totalDirs);
    return entries.map(({ name }) => name);
  };
  const folders = ["RPG", "rpg of others", "Überfolder"];
  expect(await names({ letter: "E" })).toEqual(["Élan (Europe) (En,Fr)"]);
  expect(await names({ letter: "u" })).toEqual(["Überfolder"]);
  expect(await names({ letter: "0-9" })).toEqual(["7 Wonders (Beta)"]);
  expect(await names({ letter: "#" })).toEqual([]);
  expect(await names({ tags: ["region:usa"] })).toEqual([...folders, "Zelda (USA) (Rev 1)"]);
  expect(await names({ tags: ["~region:USA", "~lang:fr"] })).toEqual([
    ...folders,
    "Élan (Europe) (En,Fr)",
    "Zelda (USA) (Rev 1)",
  ]);
  expect(await names({ tags: ["-status:beta", "+lang:en", "lang:fr"], letter: "é" })).toEqual([
    "Élan (Europe) (En,Fr)",
  ]);
  expect(await allNames(trial.media, { path: "SNES", tags: ["-lang:en"], maxResults: 1 })).toEqual([
    ...folders,
    "7 Wonders (Beta)",
    "apple",
    "Zelda (USA) (Rev 1)",
  ]);
  await expect(page(trial.media, { path: "SNES", tags: ["usa"] })).rejects.toMatchObject({
    code: "invalid-params",
    message: 'tags: a condition is written type:tag, such as "region:usa"',
  });
});

test("nothing outside the index is ever shown, whatever the path and the cursor", async () => {
  const outside = await mkdtemp(join(tmpdir(), "outside-"));
  makeFiles(outside, ["SNES/Secret.sfc", "Secret.sfc"]);
  const trial = await mediaTrial();
  try {
    makeFiles(trial.root, ["SNES/Game.sfc"]);
    symlinkSync(outside, join(trial.root, "SNES/way out"));
    symlinkSync(join(outside, "Secret.sfc"), join(trial.root, "SNES/Secret.sfc"));
    await trial.media.index([]);
    expect((await page(trial.media, { path: "SNES" })).entries.map(({ name }) => name)).toEqual(["Game"]);
    for (const path of [
      "SNES/way out",
      "SNES/..",
      "..",
      "/etc",
      outside,
      "SNES/../SNES",
      "NES",
      "snes",
      "SNES//",
    ])
      if (path !== "SNES//")
        await expect(page(trial.media, { path })).rejects.toMatchObject({
          code: "not-found",
          isPublic: true,
        });
    for (const cursor of [
      "x",
      "W10",
      Buffer.from('["root","a","b"]').toString("base64url"),
      "a".repeat(9000),
    ])
      await expect(page(trial.media, { path: "SNES", cursor })).rejects.toMatchObject({
        code: "invalid-params",
        message: "cursor: it must be the nextCursor of an earlier page",
      });
  } finally {
    await trial[Symbol.asyncDispose]();
    await rm(outside, { recursive: true });
  }
});

test("without an index there are no systems and no folders", async () => {
  await using trial = await mediaTrial();
  expect((await page(trial.media)).entries).toEqual([]);
  await expect(page(trial.media, { path: "SNES" })).rejects.toMatchObject({ code: "not-found" });
  expect(await tagsOf(trial.media, [])).toEqual([]);
});

test("two libraries look like one, page by page", async () => {
  const [one, other] = [
    ["a", "B", "dir/x", "Dir2/z", "7", "ß"],
    ["b (USA)", "Ä", "a", "dir/x", "dir/y", "New/w"],
  ].map((names) => names.map((name) => `NES/${name}.nes`));
  await using here = await trialWith(one ?? []);
  await using stick = await trialWith(other ?? []);
  await using both = await trialWith([...(one ?? []), ...(other ?? [])]);
  const libraries = [here.media, stick.media];
  const joined: Browsed = {
    folder: (query) => joinedFolder(libraries, query),
    filesOfSystems: () => joinedCounts(libraries.map((library) => library.filesOfSystems())),
  };
  for (const path of ["", "NES", "NES/dir"]) {
    for (const maxResults of [1, 2, 3, 100]) {
      const query = { path, maxResults };
      const expected = await allNames(both.media, query);
      expect(await allNames(joined, query)).toEqual(expected);
      const down = await allNames(both.media, { ...query, isDescending: true });
      expect(await allNames(joined, { ...query, isDescending: true })).toEqual(down);
    }
  }
  expect((await page(joined, { path: "NES" })).entries.find(({ name }) => name === "dir")).toMatchObject({
    fileCount: 3,
  });
  expect((await joinedCounts(libraries.map(({ tags }) => tags([]))))?.get("USA")).toBe(1);
});

test("tags come by type, the most frequent first, of all systems or of some", async () => {
  await using trial = await trialWith(files);
  expect(await tagsOf(trial.media, [])).toEqual([
    { type: "region", tag: "usa" },
    { type: "region", tag: "europe" },
    { type: "region", tag: "japan" },
    { type: "region", tag: "world" },
    { type: "lang", tag: "en" },
    { type: "lang", tag: "fr" },
    { type: "rev", tag: "rev 1" },
    { type: "disc", tag: "disc 2" },
    { type: "status", tag: "beta" },
  ]);
  expect(await tagsOf(trial.media, ["GameboyColor"])).toEqual([{ type: "region", tag: "world" }]);
  expect(await tagsOf(trial.media, ["NES"])).toEqual([]);
  // The counts belong to the index, and a new index has other counts.
  makeFiles(
    trial.root,
    Array.from({ length: 150 }, (_, at) => `NES/Song (feat. ${at}).nes`),
  );
  await trial.media.index([]);
  expect((await tagsOf(trial.media, ["NES"])).length).toBe(tagsPerTypeMax);
});

test("a lookup finds a title by another spelling and with slips, and says how sure it is", async () => {
  await using trial = await trialWith([...files, "SNES/Super Mario World (USA).sfc"]);
  const found = async (name: string, system = "snes") => {
    const match = await lookUp(trial.media, system, name);
    return match && [match.path, match.confidence];
  };
  expect(await found("Super Mario World")).toEqual(["SNES/Super Mario World (USA).sfc", 1]);
  expect(await found("super mario world")).toEqual(["SNES/Super Mario World (USA).sfc", 0.95]);
  const [path, confidence] = (await found("Supr Mario World")) ?? [];
  expect(path).toBe("SNES/Super Mario World (USA).sfc");
  expect(confidence).toBe(0.84);
  expect(await found("Something Else Entirely")).toBeUndefined();
  await expect(found("Game", "SNNES")).rejects.toMatchObject({ code: "not-found" });
});

test("the name of each folder and file of a long list is folded once, not in each comparison", async () => {
  const count = 2000;
  const names = Array.from({ length: count }, (_, at) => `Folder ${(at * 997) % count}`);
  const content: FolderContent = {
    durationMs: 0,
    isThere: true,
    files: [],
    total: 0,
    folders: new Map(names.map((name) => [name, 1])),
  };
  const none = async () => new Map<string, number>();
  const system = { id: "NES", name: "NES", category: "" };
  const files = names.map((name) => ({ system, name, path: `NES/${name}.nes`, tags: [], zapScript: "" }));
  const query = { system: "NES", path: "", way: 1, after: undefined, most: count, keeps: undefined } as const;
  const stick = { folder: async () => ({ ...content, files }) };
  const made = spyOn(Buffer, "from");
  try {
    const { entries } = await page({ folder: async () => content, filesOfSystems: none }, { path: "NES" });
    expect([entries.length, entries[2]?.name]).toEqual([100, "Folder 2"]);
    expect(made.mock.calls.length).toBeLessThan(2 * count);
    made.mockClear();
    const joined = await joinedFolder([stick, stick], query);
    expect([joined?.files.length, joined?.files[2]?.name]).toEqual([count, "Folder 2"]);
    expect(made.mock.calls.length).toBeLessThan(2 * count);
  } finally {
    made.mockRestore();
  }
});

test("a step of a folder or of the tags reads a few hundred rows, however many there are", async () => {
  const folder = await mkdtemp(join(tmpdir(), "large-"));
  try {
    const found = new ScanResult();
    const nes = found.system("NES");
    const flat = found.folder("/media/NES", "");
    for (let at = 0; at < 6000; at++) found.file(`Song ${at} (Take ${at % 300}).nes`, flat, nes);
    for (let at = 0; at < 3000; at++) found.file("Game.nes", found.folder("/media/NES", `Game ${at}`), nes);
    expect(buildMediaIndex(join(folder, "media.db"), found)).toBe(9000);
    const index = opened(join(folder, "media.db"));
    let rows = 0;
    const noted = <T extends { readonly length: number }>(list: T): T => {
      rows += list.length;
      return list;
    };
    const watched: LoadedIndex = {
      ...index,
      holdings: (...asked) => noted(index.holdings(...asked)),
      listed: (...asked) => noted(index.listed(...asked)),
      names: (...asked) => noted(index.names(...asked)),
    };
    const walk = <T>(steps: Generator<void, T, void>) => {
      const read: number[] = [];
      for (;;) {
        rows = 0;
        const step = steps.next();
        read.push(rows);
        if (step.done === true)
          return { value: step.value, most: Math.max(...read), all: read.reduce((a, b) => a + b) };
      }
    };
    const query = { system: "NES", path: "", way: 1, after: undefined, most: 101, keeps: undefined } as const;
    const plain = walk(folderContent(watched, query));
    expect([plain.value.folders.size, plain.value.files.length, plain.value.total]).toEqual([
      3000, 101, 6000,
    ]);
    const after = { name: "Song 5000 (Take 200)", tie: "Song 5000 (Take 200).nes" };
    const middle = walk(folderContent(watched, { ...query, after, way: -1 }));
    expect(middle.value.files[0]?.name).toBe("Song 4999 (Take 199)");
    const filtered = walk(folderContent(watched, { ...query, keeps: (name) => name.includes("Take 7)") }));
    expect([filtered.value.files.length, filtered.value.total]).toEqual([20, 20]);
    const tags = walk(tagsOfNames(watched, []));
    expect(tags.value.get("Take 7")).toBe(20);
    for (const { most } of [plain, middle, filtered, tags]) expect(most).toBeLessThanOrEqual(500);
    // A page in the middle reads only that page, and not the pages before it.
    expect(middle.all).toBeLessThan(3001 + 501);
    // The tags are counted once for an index.
    expect(walk(tagsOfNames(watched, ["NES"])).all).toBe(0);
    index.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});

function opened(path: string): LoadedIndex {
  for (const reading = openIndex(path); ; ) {
    const { done, value } = reading.next();
    if (done !== true) continue;
    if (value === undefined) throw new Error("there is no index");
    return value;
  }
}

test("folders are found by each word of their own name, in any case, in natural order, and those of a stick count in", async () => {
  await using one = await trialWith([
    "Audio/Album 10/1.mp3",
    "Audio/Album 2/1.mp3",
    "Audio/Album 2/CD 1/1.mp3",
    "Audio/Album 10/CD 1/1.mp3",
    "Audio/Others/Élan Album/1.mp3",
    "SNES/RPG/Game.sfc",
  ]);
  await using other = await trialWith(["Audio/Album 2/2.mp3", "Audio/Album 3/1.mp3"]);
  const found = async (query: string) =>
    (await joinedFolders([one.media, other.media], query))?.map(
      ({ systemId, path, files }) => `${systemId}/${path} ${files}`,
    );
  expect(await found("ALBUM")).toEqual([
    "Audio/Album 2 3",
    "Audio/Album 3 1",
    "Audio/Album 10 2",
    "Audio/Others/Élan Album 1",
  ]);
  expect(await found("album elan")).toEqual(["Audio/Others/Élan Album 1"]);
  expect(await found("cd")).toEqual(["Audio/Album 2/CD 1 1", "Audio/Album 10/CD 1 1"]);
  // Only a folder above the album has the word.
  expect(await found("others album")).toEqual([]);
  expect(await found("rpg")).toEqual(["SNES/RPG 1"]);
});

test("files of one name are in the natural order of their folders", async () => {
  const songs = ["2/1", "10/1", "1/11", "1/9", "01/1", "1/1"].map((path) => `Audio/Disc ${path}.mp3`);
  await using trial = await trialWith(songs);
  const { results } = trial.media.search({ query: "1", systems: [], maxResults: 10 });
  expect(results.map(({ path }) => path)).toEqual([
    "Audio/Disc 01/1.mp3",
    "Audio/Disc 1/1.mp3",
    "Audio/Disc 2/1.mp3",
    "Audio/Disc 10/1.mp3",
    "Audio/Disc 1/11.mp3",
  ]);
});
