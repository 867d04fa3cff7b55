/** Favourites: in the order of their choice, kept over a restart, and following a file that is moved. */
import { afterEach, expect, test } from "bun:test";
import { createStores } from "../../helpers/stores.ts";

const stores = createStores();
afterEach(stores.clean);

test("favourites keep their order over a restart, and follow a moved file", () => {
  const folder = stores.newFolder();
  const first = stores.open(folder);
  const game = { path: "SNES/Game.sfc", systemId: "SNES", isFolder: false };
  const album = { path: "Audio/Album", systemId: "Audio", isFolder: true };
  const disc = { path: "PSX/Disc.chd", systemId: "PSX", isFolder: false };
  for (const one of [game, album, disc, game]) first.favourites.add(one);
  expect(first.favourites.count()).toBe(3);
  stores.close(first);
  const { favourites } = stores.open(folder);
  expect(favourites.list()).toEqual([game, album, disc]);
  favourites.move(disc.path, "Saturn/Disc.chd", "Saturn");
  favourites.remove(game.path);
  favourites.remove("SNES/Unknown.sfc");
  expect(favourites.list()).toEqual([album, { ...disc, path: "Saturn/Disc.chd", systemId: "Saturn" }]);
});
