/** Which files are discs of one game, by their names. */
import { expect, test } from "bun:test";
import { discsOfGame, isNamedAsDisc, laterDiscs } from "../../../src/media/discs.ts";

const names = [
  "Quest (USA) (Disc 2).chd",
  "Quest (USA) (Disc 10).chd",
  "quest (usa) (disk 1).CHD",
  "Quest (USA) (Disc 1) (Bonus).chd",
  "Quest (USA) (Disc 2).cue",
  "Quest (Japan) (Disc 2).chd",
  "Quest (Disc).chd",
  "Discus (USA).chd",
];

test("the discs of a game are in the order of their numbers, whatever the word and the case", () => {
  const game = ["quest (usa) (disk 1).CHD", "Quest (USA) (Disc 2).chd", "Quest (USA) (Disc 10).chd"];
  expect(discsOfGame("Quest (USA) (Disc 2).chd", names)).toEqual(game);
  expect(laterDiscs(names)).toEqual(game.slice(1));
});

test("another ending, another region, and a game without its first disc are not of it", () => {
  for (const name of ["Quest (USA) (Disc 2).cue", "Quest (Japan) (Disc 2).chd", "Discus (USA).chd"])
    expect(discsOfGame(name, names)).toEqual([]);
  expect(discsOfGame("Quest (USA) (Disc 1) (Bonus).chd", names)).toEqual([]);
});

test("two files of one number count once", () => {
  const twice = ["A (Disc 1).chd", "A (CD 1).chd", "A (Disc 2).chd"];
  expect(discsOfGame("A (Disc 1).chd", twice)).toEqual(["A (Disc 1).chd", "A (Disc 2).chd"]);
});

test.each([
  ["A (Disc 1).chd", true],
  ["A (CD 2 of 3) (Rev 1).cue", true],
  ["A (Disk12).adf", true],
  ["A (Disc A).adf", false],
  ["A Disc 1.chd", false],
])("%p is the name of a disc: %p", (name, is) => expect(isNamedAsDisc(name)).toBe(is));
