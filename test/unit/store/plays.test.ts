/** The history of played media: pages, the newest row of each file, and its limit. */
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { playsRowsMax } from "../../../src/core/limits.ts";
import type { Store } from "../../../src/store/open.ts";
import type { PlaysPage, TopPlays } from "../../../src/store/plays.ts";
import { createStores } from "../../helpers/stores.ts";

const stores = createStores();
let folder = "";
let store: Store;
const reopen = () => {
  stores.close(store);
  store = stores.open(folder);
};
beforeEach(() => {
  folder = stores.newFolder();
  store = stores.open(folder);
});
afterEach(stores.clean);

const begin = (path: string, systemId: string, startedMs: number) =>
  store.plays.begin({ path, systemId, launcherId: "player", startedMs });
const page = (asked: Partial<PlaysPage> = {}) =>
  store.plays.list({ limit: 10, belowId: Number.MAX_SAFE_INTEGER, systems: [], isDistinct: false, ...asked });

test("the files that were played longest come first, each once, with the number of its starts", () => {
  begin("/m/short", "NES", 1000);
  store.plays.end(5);
  begin("/m/long", "SNES", 2000);
  store.plays.end(20);
  begin("/m/short", "NES", 3000);
  store.plays.end(4);
  begin("/m/playing", "SNES", 4000);
  const top = (asked: Partial<TopPlays> = {}) =>
    store.plays
      .top({ limit: 10, systems: [], sinceMs: 0, ...asked })
      .map(({ path, totalS, starts, startedMs }) => [path, totalS, starts, startedMs]);
  expect(top()).toEqual([
    ["/m/long", 20, 1, 2000],
    ["/m/short", 9, 2, 3000],
    ["/m/playing", 0, 1, 4000],
  ]);
  expect(top({ limit: 1 })).toEqual([["/m/long", 20, 1, 2000]]);
  expect(top({ systems: ["NES"], sinceMs: 1001 })).toEqual([["/m/short", 4, 1, 3000]]);
});

test("plays are listed from the newest on, in pages, by system, and each file once if that is asked", () => {
  begin("/m/a", "NES", 1000);
  store.plays.end(7);
  begin("/m/b", "SNES", 20_000);
  store.plays.end(8);
  begin("/m/a", "NES", 30_000);
  expect(page()).toEqual([
    { id: 3, path: "/m/a", systemId: "NES", launcherId: "player", startedMs: 30_000, playedS: null },
    { id: 2, path: "/m/b", systemId: "SNES", launcherId: "player", startedMs: 20_000, playedS: 8 },
    { id: 1, path: "/m/a", systemId: "NES", launcherId: "player", startedMs: 1000, playedS: 7 },
  ]);
  expect(page({ limit: 1, belowId: 3 }).map(({ id }) => id)).toEqual([2]);
  expect(page({ systems: ["NES"] }).map(({ id }) => id)).toEqual([3, 1]);
  expect(page({ isDistinct: true }).map(({ id }) => id)).toEqual([3, 2]);
  expect(page({ isDistinct: true, systems: ["NES", "Amiga"] }).map(({ id }) => id)).toEqual([3]);
});

test("a play that a power cut ended counts as ended after the next start, and the numbers go on", () => {
  begin("/m/a", "NES", 1000);
  reopen();
  begin("/m/b", "NES", 2000);
  expect(page().map(({ id, playedS }) => [id, playedS])).toEqual([
    [2, null],
    [1, 0],
  ]);
});

test("only the newest are kept", () => {
  for (let n = 1; n <= playsRowsMax + 5; n++) begin(`/m/${n}`, "NES", n);
  expect(page({ limit: playsRowsMax + 5 }).map(({ id }) => id)).toEqual(
    Array.from({ length: playsRowsMax }, (_, at) => playsRowsMax + 5 - at),
  );
  stores.close(store);
  using database = new Database(join(folder, "tapdeck.db"), { readonly: true });
  expect(database.query("SELECT count(*) AS count FROM plays").get()).toEqual({ count: playsRowsMax });
});
