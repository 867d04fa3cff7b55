/** Several libraries that answer as one, beside one library of all their files. */
import { expect, test } from "bun:test";
import {
  joinedAny,
  joinedFilteredSearch,
  joinedSearch,
  joinedStatus,
  joinedTitle,
} from "../../../../src/media/sticks/joined.ts";
import { defaultConfig } from "../../../helpers/defaults.ts";
import { makeFiles } from "../../../helpers/library.ts";
import { mediaTrial, pathsOf, type Trial } from "../../../helpers/media.ts";

const { prefer } = defaultConfig.systems;
const [here, there] = [
  ["SNES/Mario Paint.sfc", "SNES/Super Mario World (USA).sfc", "SNES/Pokémario.sfc", "SNES/Zelda.sfc"],
  ["SNES/Mario.sfc", "SNES/Mario Kart.sfc", "NES/Xmario.nes", "NES/Super Mario Bros (Europe).nes"],
];

async function trialWith(files: readonly string[]): Promise<Trial> {
  const trial = await mediaTrial();
  makeFiles(trial.root, files);
  await trial.media.index([]);
  return trial;
}

test("the results of two libraries come in the order that one library of both gives", async () => {
  await using first = await trialWith(here);
  await using second = await trialWith(there);
  await using both = await trialWith([...here, ...there]);
  const libraries = [first.media, second.media];
  for (const query of [
    "mario",
    "m",
    "super mario",
    "mario super",
    "zelda",
    "nothing at all",
    "SNES",
    "(usa)",
  ]) {
    for (const maxResults of [1, 3, 1000]) {
      const asked = { query, systems: [], maxResults };
      expect([query, joinedSearch(libraries, asked)]).toEqual([query, both.media.search(asked)]);
      const second = { ...asked, skip: maxResults };
      expect([query, joinedSearch(libraries, second)]).toEqual([query, both.media.search(second)]);
    }
  }
  expect(pathsOf(both.media, "mario")).toHaveLength(7);
  expect(joinedStatus(libraries)).toMatchObject({ exists: true, indexing: false, totalMedia: 8 });
});

test("the results that a filter keeps are those of one library of both", async () => {
  await using first = await trialWith(here);
  await using second = await trialWith(there);
  await using both = await trialWith([...here, ...there]);
  const keeps = (name: string) => name.includes("(");
  for (const skip of [0, 1, 2]) {
    const asked = { query: "mario", systems: [], skip, maxResults: 1 };
    const expected = await both.media.filteredSearch(asked, keeps);
    expect(expected.total).toBe(2);
    expect(expected.results).toHaveLength(skip < 2 ? 1 : 0);
    expect(await joinedFilteredSearch([first.media, second.media], asked, keeps)).toEqual(expected);
  }
});

test("a file that both have is shown once, and the title that is spelt right comes before one that is nearly so", async () => {
  await using first = await trialWith(["SNES/Chrono Trigge.sfc", "SNES/Same.sfc"]);
  await using second = await trialWith(["SNES/Chrono Trigger.sfc", "SNES/Same.sfc"]);
  const libraries = [first.media, second.media];
  const { results } = joinedSearch(libraries, { query: "same", systems: [], maxResults: 10 });
  expect(results.map(({ path }) => path)).toEqual(["SNES/Same.sfc"]);
  expect((await joinedTitle(libraries, "SNES", "Chrono Trigger", prefer))?.media.path).toBe(
    "SNES/Chrono Trigger.sfc",
  );
  expect(await joinedTitle(libraries, "SNES", "Another Title", prefer)).toBeUndefined();
});

test("of the titles of two libraries the one is chosen that one library of both gives", async () => {
  await using first = await trialWith(["SNES/Quest (Japan).sfc", "SNES/Chrono Triggxy.sfc", "SNES/Both.sfc"]);
  await using second = await trialWith(["SNES/Quest (USA).sfc", "SNES/Chrono Triggex.sfc", "SNES/Both.sfc"]);
  const named = async (title: string) =>
    (await joinedTitle([first.media, second.media], "SNES", title, prefer))?.media.name;
  expect(await named("Quest (USA)")).toBe("Quest (USA)");
  expect(await named("Quest (Japan)")).toBe("Quest (Japan)");
  expect(await named("Quest (-Japan)")).toBe("Quest (USA)");
  expect(await named("Chrono Trigger")).toBe("Chrono Triggex");
  expect(await named("Both")).toBe("Both");
});

test("a random choice gives each file of all libraries the same odds", async () => {
  await using first = await trialWith(here);
  await using second = await trialWith(there);
  await using none = await trialWith([]);
  const drawn: string[] = [];
  for (let at = 0; at < 8; at++) {
    // The first draw chooses the library, the second draw one of its files.
    const draws = [(at + 0.5) / 8, ((at % 4) + 0.5) / 4];
    const found = await joinedAny(
      [none.media, first.media, second.media],
      [{ kind: "search", query: "", systems: [] }],
      () => draws.shift() ?? 0,
    );
    drawn.push(found?.path ?? "");
  }
  expect(drawn.toSorted()).toEqual([...here, ...there].toSorted());
});
