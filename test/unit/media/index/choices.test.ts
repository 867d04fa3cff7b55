/**
 * Random choices from the index: every matching file is equally likely, and a choice delays no other work.
 * Covers: src/media/index/answers.ts.
 */
import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMediaLookup } from "../../../../src/launch/ports/media-lookup.ts";
import { chooseAny, type MediaSource } from "../../../../src/media/index/answers.ts";
import { indexPath, type LoadedIndex, openIndex } from "../../../../src/media/index/index-file.ts";
import type { RandomSource } from "../../../../src/script/command.ts";
import { libraryPaths, makeFiles } from "../../../helpers/library.ts";
import { mediaTrial, pathsOf, type Trial } from "../../../helpers/media.ts";

const files = [
  "SNES/Plain.sfc",
  "SNES/RPG/Star Quest.sfc",
  "SNES/RPG/Old/Star Quest II.sfc",
  "SNES/RPG2/Not In RPG.sfc",
  "SNES/rpg of others/Nor This.sfc",
  "NES/RPG/Final Star.nes",
  "NES/Other.nes",
];
const rpg: RandomSource = { kind: "folder", path: "SNES/RPG" };

async function trialWith(names: readonly string[]): Promise<Trial> {
  const trial = await mediaTrial();
  makeFiles(trial.root, names);
  await trial.media.index([]);
  return trial;
}

function lookupOf({ media, root }: Trial, random?: () => number) {
  return createMediaLookup(media, () => ({ roots: [root], own: [] }), random);
}

/** The results for each of `count` numbers that lie evenly between 0 and 1. */
async function drawn(trial: Trial, sources: readonly RandomSource[], count: number): Promise<string[]> {
  const paths: string[] = [];
  for (let n = 0; n < count; n++) paths.push(await lookupOf(trial, () => (n + 0.5) / count).random(sources));
  return paths.sort();
}

test.each<[string, readonly RandomSource[], readonly string[]]>([
  ["all", [{ kind: "all" }], files],
  ["a system", [{ kind: "system", system: "nes" }], files.filter((name) => name.startsWith("NES/"))],
  ["a folder and what is below it", [rpg], ["SNES/RPG/Old/Star Quest II.sfc", "SNES/RPG/Star Quest.sfc"]],
  [
    "a folder with a slash behind it",
    [{ kind: "folder", path: "Super Nintendo/RPG/Old/" }],
    [files[2] ?? ""],
  ],
  [
    "a system as a folder",
    [{ kind: "folder", path: "NES/" }],
    files.filter((name) => name.startsWith("NES/")),
  ],
  ["a search", [{ kind: "query", pattern: "*star*" }], [files[5] ?? "", files[2] ?? "", files[1] ?? ""]],
  ["two of them", [{ kind: "system", system: "NES" }, rpg], [...files.slice(5), ...files.slice(1, 3)]],
  ["the same twice", [rpg, rpg], [...files.slice(1, 3), ...files.slice(1, 3)]],
  ["nothing and something", [{ kind: "folder", path: "SNES/Nowhere" }, rpg], files.slice(1, 3)],
])("each file of %s comes once in a round", async (_, sources, expected) => {
  await using trial = await trialWith(files);
  expect(await drawn(trial, sources, expected.length)).toEqual(expected.toSorted());
});

test("an absolute folder also chose from the folders of its name in other media folders", async () => {
  const drive = await mkdtemp(join(tmpdir(), "tapdeck-drive-"));
  const own = [{ folder: drive, system: "NES" }];
  await using trial = await mediaTrial(own);
  await using _ = { [Symbol.asyncDispose]: () => rm(drive, { recursive: true }) };
  makeFiles(trial.root, files);
  makeFiles(drive, ["RPG/Drive.nes", "Top.nes"]);
  await trial.media.index([]);
  const folders = () => ({ roots: [trial.root], own });
  /** The results for each of eight numbers that lie evenly between 0 and 1. */
  const from = async (path: string) => {
    const paths = new Set<string>();
    for (let n = 0; n < 8; n++) {
      const { random } = createMediaLookup(trial.media, folders, () => (n + 0.5) / 8);
      paths.add(await random([{ kind: "folder", path }]));
    }
    return [...paths].sort();
  };
  expect(await from(`${trial.root}/SNES/RPG/Old/`)).toEqual(["SNES/RPG/Old/Star Quest II.sfc"]);
  expect(await from(`${trial.root}/NES/RPG`)).toEqual(["NES/RPG/Final Star.nes"]);
  expect(await from(`${trial.root}/NES`)).toEqual(["NES/Other.nes", "NES/RPG/Final Star.nes"]);
  expect(await from(`${drive}/RPG`)).toEqual(["NES/RPG/Drive.nes"]);
  expect(await from(drive)).toEqual(["NES/RPG/Drive.nes", "NES/Top.nes"]);
  expect(await from(trial.root)).toEqual(files.toSorted());
  for (const path of ["/mnt", `${drive}er/RPG`, `${trial.root}/../other`])
    await expect(from(path)).rejects.toThrow(`${path} is not below a media folder`);
});

test("if there is nothing to choose from it says so, and while the first index is made, that", async () => {
  await using trial = await trialWith(files);
  const { random } = lookupOf(trial);
  const nothing = "there is nothing in the media index to choose from";
  for (const source of [
    { kind: "folder", path: "SNES/rpg" },
    { kind: "folder", path: "Genesis/RPG" },
    { kind: "query", pattern: "no such name" },
  ] as const)
    await expect(random([source])).rejects.toThrow(nothing);
  await expect(random([{ kind: "system", system: "SNEZ" }])).rejects.toThrow("there is no system SNEZ");

  await using fresh = await mediaTrial();
  makeFiles(fresh.root, files);
  const indexing = fresh.media.index([]);
  const tooEarly = lookupOf(fresh).random([{ kind: "all" }]);
  await expect(tooEarly).rejects.toThrow("the media are being indexed: try again then");
  await indexing;
  expect(files).toContain(await lookupOf(fresh).random([{ kind: "all" }]));
});

test("of a library of 12,000 files no list is made, and no step of a choice looks at more than a part of them", async () => {
  await using trial = await trialWith([...new Set(libraryPaths(12_000, 1))]);
  const index = opened(indexPath(trial.data));
  const [one = ""] = pathsOf(trial.media, "", ["SNES"]).filter((path) => path.split("/").length > 3);
  const folder = one.split("/").slice(1, 2).join("/");
  const sources: readonly MediaSource[] = [
    { kind: "search", query: "", systems: [] },
    { kind: "search", query: "a", systems: ["SNES"] },
    { kind: "folder", system: "SNES", folder },
  ];
  let [listed, looked] = [0, 0];
  const watched: LoadedIndex = {
    ...index,
    search: (asked) => {
      listed = Math.max(listed, asked.maxResults);
      return index.search(asked);
    },
    filesIn: (...which) => {
      const within = index.filesIn(...which);
      return {
        count(first, span) {
          looked = Math.max(looked, span);
          return within.count(first, span);
        },
        at: within.at,
      };
    },
  };
  let seed = 0.5;
  const random = () => {
    seed = (seed * 16_807.123) % 1;
    return seed;
  };
  for (let n = 0; n < 20; n++) {
    const [, found] = lastOf(chooseAny(watched, sources, random));
    expect(found).toBeNumber();
  }
  const [steps] = lastOf(chooseAny(watched, sources.slice(2), () => 0));
  expect(listed).toBe(1);
  expect(looked).toBeLessThanOrEqual(10_000);
  expect(steps).toBeGreaterThan(Math.ceil(index.count / looked));
  index.close();
});

/** The number of steps, and the result. */
function lastOf<T>(steps: Generator<void, T, void>): readonly [number, T] {
  for (let count = 1; ; count++) {
    const { done, value } = steps.next();
    if (done) return [count, value];
  }
}

function opened(path: string): LoadedIndex {
  const [, index] = lastOf(openIndex(path));
  if (index === undefined) throw new Error("there is no index");
  return index;
}
