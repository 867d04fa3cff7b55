/** The page's search: names of systems as words, slips, and pages. */
import { expect, test } from "bun:test";
import { findMedia, isOneSlip } from "../../../src/client/finding.ts";

const systems = [
  { id: "SNES", name: "Super Nintendo Entertainment System", category: "Console" },
  { id: "GameBoy", name: "Game Boy", category: "Handheld" },
  { id: "GBA", name: "Game Boy Advance", category: "Handheld" },
];
const files = [
  "SNES/Star Garden",
  "SNES/Zelda",
  "GBA/Zelda Advance",
  "GBA/Game Boy Story",
  "GameBoy/Pokémon Red",
];

/** A device with these files, and the queries that reached it. */
function device() {
  const asked: string[] = [];
  const call = async (
    _method: string,
    params: { query?: string; systems?: string[]; maxResults?: number },
  ) => {
    const { query = "", systems: ids = [], maxResults = 250 } = params;
    asked.push(`${query}|${ids.join(",")}`);
    const words = query.toLowerCase().split(" ");
    const fitting = files.flatMap((path) => {
      const [id = "", name = ""] = path.split("/");
      const system = systems.find((one) => one.id === id);
      const isHere = ids.length === 0 || ids.includes(id);
      const isMeant = words.every((word) => name.toLowerCase().includes(word));
      return system !== undefined && isHere && isMeant
        ? [{ system, name, path, tags: [], zapScript: path }]
        : [];
    });
    return { results: fitting.slice(0, maxResults), total: fitting.length };
  };
  const find = async (query: string, most = 40) => {
    // The page calls `media.search` only.
    const found = await findMedia({ call: call as never }, query, systems, most);
    return { ...found, results: found.results.map(({ path }) => path) };
  };
  return { find, asked };
}

test("a system's id, its name, or the start of its name is a word of a search", async () => {
  const { find } = device();
  expect((await find("zelda gba")).results).toEqual(["GBA/Zelda Advance"]);
  expect((await find("super nintendo zelda")).results).toEqual(["SNES/Zelda"]);
  expect(await find("snes")).toEqual({ results: ["SNES/Star Garden", "SNES/Zelda"], total: 2 });
  // The query is the start of two system names and of a file name. That file comes first and is counted once.
  expect(await find("game boy")).toEqual({
    results: ["GBA/Game Boy Story", "GBA/Zelda Advance", "GameBoy/Pokémon Red"],
    total: 3,
  });
});

test("words that fit as they are cost one search", async () => {
  const { find, asked } = device();
  await find("star gard");
  expect(asked).toEqual(["star gard|"]);
});

test("a letter that is wrong, missing, added or exchanged is forgiven in one word, and the answer says so", async () => {
  const { find } = device();
  for (const slip of ["zelba", "zlda", "zellda", "ezlda", "zedla", "zeldaa"])
    expect(await find(slip)).toMatchObject({
      results: ["SNES/Zelda", "GBA/Zelda Advance"],
      instead: "zelda",
    });
  expect(await find("gba zelta")).toMatchObject({ results: ["GBA/Zelda Advance"], instead: "zelda" });
  expect(await find("zelda advence")).toMatchObject({
    results: ["GBA/Zelda Advance"],
    instead: "zelda advance",
  });
  expect(await find("xxlda")).toEqual({ results: [], total: 0 });
});

test("a search of many unknown words ends after a few requests", async () => {
  const { find, asked } = device();
  await find(Array.from({ length: 100 }, (_, at) => `unknown${at}`).join(" "));
  expect(asked.length).toBeLessThan(15);
});

test("a page has as many results as asked for, and the number of all", async () => {
  const { find } = device();
  expect(await find("zelda", 1)).toEqual({ results: ["SNES/Zelda"], total: 2 });
});

test("one slip is a single letter, or two neighbours", () => {
  for (const [a, b, isOne] of [
    ["star", "star", true],
    ["star", "stair", true],
    ["star", "sta", true],
    ["star", "tsar", true],
    ["star", "rats", false],
    ["star", "stones", false],
    ["star", "", false],
  ] as const)
    expect([a, b, isOneSlip(a, b)]).toEqual([a, b, isOne]);
});
