import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { playDaysKeptMax } from "../../../src/core/limits.ts";
import { createDurableWrites } from "../../../src/store/durable-writes.ts";
import { createTables } from "../../../src/store/migrations.ts";
import { createPlayTimes } from "../../../src/store/play-state.ts";

test("a service that runs for a year writes no day again that is kept no more", () => {
  using database = new Database(":memory:", { strict: true });
  createTables(database);
  const playTimes = createPlayTimes(
    database,
    createDurableWrites(database, { onWritten() {}, onDamage() {} }),
  );
  const days = new Map(
    Array.from({ length: 365 }, (_, day) => [
      new Date(Date.UTC(2031, 0, 1 + day)).toISOString().slice(0, 10),
      60_000,
    ]),
  );
  const changes = () =>
    database.query<{ count: number }, []>("SELECT total_changes() AS count").get()?.count ?? 0;
  playTimes.save({ day: "2031-12-31", days, sessionMs: 1, seenMs: 1 });
  expect([...(playTimes.read()?.days.keys() ?? [])]).toEqual([...days.keys()].slice(-playDaysKeptMax));
  const before = changes();
  playTimes.save({ day: "2031-12-31", days, sessionMs: 2, seenMs: 2 });
  // The row of the session is the only one that has changed.
  expect(changes() - before).toBe(1);
});
