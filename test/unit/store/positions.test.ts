/** Positions in sounds and films: they outlast a restart, their number is limited, and they reach the disk. */
import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { positionsMax } from "../../../src/core/limits.ts";
import { createTables } from "../../../src/store/migrations.ts";
import { createPositions } from "../../../src/store/positions.ts";
import { createStores } from "../../helpers/stores.ts";

const stores = createStores();
afterEach(stores.clean);

const at = (positionMs: number) => ({ positionMs, durationMs: 3_600_000, item: "" });

test("a position outlasts a restart, and a forgotten one does not come back", () => {
  const folder = stores.newFolder();
  const first = stores.open(folder);
  first.positions.save("/m/film", at(1000));
  first.positions.save("/m/film", at(2000));
  first.positions.save("/m/song", at(3000));
  first.positions.save("/m/album", { ...at(0), item: "/m/album/2" });
  first.positions.forget("/m/song");
  first.positions.forget("/m/unknown");
  expect(first.positions.get("/m/film")).toEqual(at(2000));
  stores.close(first);
  const second = stores.open(folder);
  expect(second.positions.get("/m/film")).toEqual(at(2000));
  expect(second.positions.get("/m/song")).toBeUndefined();
  expect(second.positions.get("/m/album")?.item).toBe("/m/album/2");
});

test("a position is in the log of the database once the store has settled, and not only in memory", async () => {
  const folder = stores.newFolder();
  const store = stores.open(folder);
  store.positions.save("/m/film", at(2000));
  await store.settle();
  using database = new Database(join(folder, "tapdeck.db"), { readonly: true });
  expect(database.query("SELECT path, position_ms FROM positions").all()).toEqual([
    { path: "/m/film", position_ms: 2000 },
  ]);
});

test("the files that played last are kept, also by a later run, and the table has no other rows", () => {
  const folder = stores.newFolder();
  const first = stores.open(folder);
  for (let n = 1; n <= positionsMax; n++) first.positions.save(`/m/${n}`, at(n));
  // The oldest file plays again, so the second one is now the oldest.
  first.positions.save("/m/1", at(7));
  stores.close(first);
  const second = stores.open(folder);
  second.positions.save("/m/new", at(8));
  expect(["/m/1", "/m/2", "/m/3"].map((path) => second.positions.get(path)?.positionMs)).toEqual([
    7,
    undefined,
    3,
  ]);
  stores.close(second);
  using database = new Database(join(folder, "tapdeck.db"), { readonly: true });
  expect(database.query("SELECT count(*) AS count FROM positions").get()).toEqual({ count: positionsMax });
});

test("a write that the disk refuses leaves no more rows than a restore accepts", () => {
  const folder = stores.newFolder();
  const first = stores.open(folder);
  for (let n = 1; n <= positionsMax; n++) first.positions.save(`/m/${n}`, at(n));
  first.history.flush();
  using other = new Database(join(folder, "tapdeck.db"));
  other.run("BEGIN IMMEDIATE");
  first.positions.save("/m/new", at(1));
  // The database is locked, so the new row and the removal of the oldest one are lost.
  expect(() => first.history.check()).toThrow("the database cannot be used now");
  other.run("ROLLBACK");
  first.positions.save("/m/new", at(2));
  first.positions.save("/m/newer", at(3));
  first.history.flush();
  expect(other.query("SELECT count(*) AS count FROM positions").get()).toEqual({ count: positionsMax });
  expect(other.query("SELECT path FROM positions ORDER BY id DESC LIMIT 2").all()).toEqual([
    { path: "/m/newer" },
    { path: "/m/new" },
  ]);
  stores.close(first);
});

test("each write asks for a sync", () => {
  using database = new Database(":memory:", { strict: true });
  createTables(database);
  let synced = 0;
  const positions = createPositions(
    database,
    { ask: (run) => run() },
    {
      besideSynced(write) {
        write();
        synced++;
      },
    },
  );
  positions.save("/m/film", at(5000));
  positions.save("/m/film", at(10_000));
  positions.forget("/m/film");
  expect(synced).toBe(3);
});
