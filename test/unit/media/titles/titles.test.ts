import { expect, test } from "bun:test";
import { titleTagsMax } from "../../../../src/core/limits.ts";
import { titleKey } from "../../../../src/media/titles/title-key.ts";
import { chooseTitle, mediaTagOf, splitTitle } from "../../../../src/media/titles/titles.ts";
import { defaultConfig } from "../../../helpers/defaults.ts";
import { makeFiles } from "../../../helpers/library.ts";
import { mediaTrial } from "../../../helpers/media.ts";

test.each([
  ["Super Mario World (USA) (Rev 1) [!]", "Super Mario World", ["USA", "Rev 1", "!"]],
  ["Quest (En,Fr,De)", "Quest", ["En", "Fr", "De"]],
  ["(untitled)", "(untitled)", []],
  ["Plain", "Plain", []],
  ["Broken (USA", "Broken", []],
])("%s is a title with tags", (name, title, tags) => expect(splitTitle(name)).toEqual({ title, tags }));

test.each([
  ["region", ["USA", "Europe", "Hong Kong", "DE", "JUE", "W"]],
  ["lang", ["En", "De", "de", "Zh-Hans", "en-fr", "En+Ja"]],
  ["rev", ["Rev 1", "Rev B", "REV01", "v1.1"]],
  ["disc", ["Disc 1", "Disk 2 of 3", "CD2", "Side A"]],
  ["status", ["Beta", "Proto 2", "Demo", "!", "b1", "a", "Alt", "Unl", "Aftermarket"]],
  ["unknown", ["Virtual Console", "SGB Enhanced", "NP", "Side Story", "Sidecar", "Revised", ""]],
] as const)("a tag of the type %s is recognized", (type, tags) => {
  for (const tag of tags) expect(mediaTagOf(tag)).toEqual({ type, tag: tag.toLowerCase() });
});

test("titles of one key differ in spelling only", () => {
  for (const spelling of [
    "The Legend of Zelda",
    "Legend of Zelda, The",
    "legend-of zelda",
    "LEGEND OF ZÉLDA",
  ])
    expect(titleKey(spelling)).toBe("legendofzelda");
  expect(titleKey("Sonic & Knuckles")).toBe(titleKey("Sonic and Knuckles"));
});

test.each([
  ["Game", ["Game (Japan)", "Game (Europe)", "Game (USA)"], "Game (USA)"],
  ["Game (Europe)", ["Game (Japan)", "Game (Europe)", "Game (USA)"], "Game (Europe)"],
  // Tags as the known app writes them: a type and a value, and a sign.
  ["Game (region:eu)", ["Game (Japan)", "Game (Europe)", "Game (USA)"], "Game (Europe)"],
  ["Game (region:br)", ["Game (USA)", "Game (Brazil)"], "Game (Brazil)"],
  ["Game (lang:de)", ["Game (Germany) (En)", "Game (Europe) (En,De)"], "Game (Europe) (En,De)"],
  ["Game (disc:2)", ["Game (Disc 1)", "Game (Disc 2)"], "Game (Disc 2)"],
  ["Game (rev:a)", ["Game (Rev B)", "Game (Rev A)"], "Game (Rev A)"],
  ["Game (+unfinished:demo)", ["Game (USA)", "Game (Demo 1)"], "Game (Demo 1)"],
  ["Game (-region:us)", ["Game (USA)", "Game (Japan)"], "Game (Japan)"],
  ["Game (-USA)", ["Game (USA)", "Game (Japan)"], "Game (Japan)"],
  ["Game (~region:jp) (~region:br)", ["Game (USA)", "Game (Brazil)"], "Game (Brazil)"],
  ["Game (~region:us) (~lang:fr)", ["Game (USA)", "Game (Fr)"], "Game (USA)"],
  ["Game (region:xx)", ["Game (Japan)", "Game (USA)"], "Game (USA)"],
  ["Game (a:b:c)", ["Game (USA)"], "Game (USA)"],
  ["Game", ["Game (USA) (Beta)", "Game (Japan)"], "Game (Japan)"],
  ["Game", ["Game (USA)", "Game (USA) (Rev 1)", "Game (USA) (Rev A)"], "Game (USA) (Rev 1)"],
  ["Game", ["Game (USA) (Disc 1)", "Game (USA) (Disc 2)"], "Game (USA) (Disc 1)"],
  ["Game", ["Game (USA) [b1]", "Game (Germany) [!]"], "Game (Germany) [!]"],
  ["Game 2", ["Game", "Game 2", "Game 3"], "Game 2"],
  ["game 2", ["Game", "GAME: 2", "Game 3"], "GAME: 2"],
  ["Supr Mario World", ["Super Mario Kart", "Super Mario World (USA)"], "Super Mario World (USA)"],
  ["Tetris", ["Columns"], undefined],
  ["Final Fantasy 6", ["Final Fantasy 5 (USA)"], undefined],
  ["Final Fantasy 5", ["Final Fantasy IV", "Final Fantasy V", "Final Fantasy VI"], "Final Fantasy V"],
  ["Final Fantasy V", ["Final Fantasy 4", "Final Fantasy 5"], "Final Fantasy 5"],
  ["Final Fantasy III", ["Final Fantasy II"], undefined],
  ["Final Fantsy III", ["Final Fantasy II", "Final Fantasy 3 (USA)"], "Final Fantasy 3 (USA)"],
  ["Street Fighter", ["Street Fighter 2"], undefined],
  ["Street Fighter 2", ["Street Fighter"], undefined],
  ["Championship Golf 1998", ["Championship Golf 1999"], undefined],
  ["Pokemon X", ["Pokemon Y"], undefined],
  ["megamanx", ["Mega Man X"], "Mega Man X"],
  ["Mega Man X2", ["Mega Man X3", "Mega Man X"], undefined],
  ["Yoshis Iland", ["Yoshi's Island (USA)"], "Yoshi's Island (USA)"],
  ["X-Men", ["10-Men"], undefined],
])("%s of %p is %s", (wanted, names, chosen) => {
  const choice = chooseTitle(wanted, names, defaultConfig.systems.prefer);
  expect(choice === undefined ? undefined : names[choice.place]).toBe(chosen);
});

test("only so many tags of a title count, because each is compared with those of 250 files", () => {
  const prefer = { regions: ["USA"], languages: [] };
  const others = (count: number) => Array.from({ length: count }, (_, n) => `(tag ${n})`).join("");
  const choice = (count: number) =>
    chooseTitle(`Game ${others(count)}(Japan)`, ["Game (USA)", "Game (Japan)"], prefer)?.place;
  expect(choice(titleTagsMax - 1)).toBe(1);
  expect(choice(titleTagsMax)).toBe(0);
});

test("a title is found in the index of its system, and the choice explained", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, [
    "SNES/Spider-Man (USA).sfc",
    "SNES/Spider-Man (Japan).sfc",
    "NES/Spider-Man (World).nes",
  ]);
  await trial.media.index([]);
  expect(await trial.media.findTitle("Super Nintendo", "spiderman")).toMatchObject({
    media: { path: "SNES/Spider-Man (USA).sfc" },
    file: `${trial.root}/SNES/Spider-Man (USA).sfc`,
    how: "folded",
    rivals: 1,
    why: "spiderman is SNES/Spider-Man (USA).sfc, the same but for its spelling, the best of 2 files of that title",
  });
  // Among files of all systems, the region decides.
  expect(await trial.media.findTitle(undefined, "spiderman")).toMatchObject({
    media: { path: "NES/Spider-Man (World).nes" },
    rivals: 2,
  });
  expect(await trial.media.findTitle(undefined, "spiderman (japan)")).toMatchObject({
    media: { path: "SNES/Spider-Man (Japan).sfc" },
  });
  expect(await trial.media.findTitle(undefined, "Spyder Man")).toMatchObject({ how: "close" });
  expect(await trial.media.findTitle(undefined, "Metroid")).toBeUndefined();
  expect(await trial.media.findTitle("NES", "Metroid")).toBeUndefined();
  expect(await trial.media.findTitle("NES", "Spyder Man")).toMatchObject({ how: "close" });
  expect(trial.media.findTitle("SNEZ", "Metroid")).rejects.toThrow("there is no system SNEZ; did you mean");
});
