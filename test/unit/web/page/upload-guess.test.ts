/** The places of chosen files in the library. */
import { expect, test } from "bun:test";
import { knownSystems } from "../../../../src/media/known-systems.ts";
import { coverPlace, isLoosePicture, placeOf, systemsFor } from "../../../../src/web/page/upload-guess.ts";

const systems = knownSystems().map(({ id, name, folders, extensions }) => ({
  id,
  name,
  folders,
  extensions,
}));

test.each([
  ["Game.sfc", "SNES", "Game.sfc"],
  ["Games/Super Nintendo Entertainment System/RPG/Game.bin", "SNES", "RPG/Game.bin"],
  ["Song.mp3", "Audio", "Song.mp3"],
  ["Film.mkv", "Video", "Film.mkv"],
])("%s belongs to %s without a question", (path, system, below) => {
  expect(placeOf(path, systems, "")).toEqual({ system, path: below });
});

test("a kind of file of several systems is asked about, and the systems of the library are the first guesses", () => {
  expect(placeOf("Disc.chd", systems, "")).toBeUndefined();
  expect(placeOf("Disc.chd", systems, "PSX")).toEqual({ system: "PSX", path: "Disc.chd" });
  const guesses = systemsFor(".chd", systems, ["Saturn"]).map(({ id }) => id);
  expect(guesses[0]).toBe("Saturn");
  expect(guesses.length).toBeGreaterThan(2);
  expect(systemsFor(".unheard", systems, [])).toEqual([]);
});

test("a picture becomes the cover of media with its name, which come with it or are in the library", async () => {
  const results = [
    { name: "Star Garden", system: { id: "Image" } },
    { name: "Star Garden", system: { id: "SNES" } },
    { name: "Star Garden 2", system: { id: "GBA" } },
  ];
  const client = { call: async () => ({ results }) } as unknown as Parameters<typeof coverPlace>[0];
  const beside = [{ system: "PSX", path: "RPG/Some Disc.chd" }];
  expect(await coverPlace(client, "Pictures/star garden.PNG", beside)).toEqual({
    system: "SNES",
    path: "covers/star garden.PNG",
  });
  expect(await coverPlace(client, "Some Disc.jpg", beside)).toEqual({
    system: "PSX",
    path: "covers/Some Disc.jpg",
  });
  expect(await coverPlace(client, "Star.png", beside)).toBeUndefined();
  expect(isLoosePicture("Some Disc.jpg", systems)).toBe(true);
  expect(isLoosePicture("Image/Some Disc.jpg", systems)).toBe(false);
  expect(isLoosePicture("Some Disc.chd", systems)).toBe(false);
});
