/** Every table of the database is in a backup, or is left out for a reason that is stated here. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { backupTables } from "../../../src/store/backup-rows.ts";
import { copiedTables } from "../../../src/store/database-copy.ts";
import { createTables } from "../../../src/store/migrations.ts";

/** `tapdeck backup` leaves these out, as docs/BACKUP.md states. */
const notInBackup: Readonly<Record<string, string>> = {
  play_days: "Play time that is used up belongs to the device: a restore must not give a day back.",
  play_session: "As the days.",
  pairing_guesses: "A restore must not forget the wrong guesses of an attacker.",
  v1_clients: "A copy without the newest salts would accept a recorded session again.",
  v1_salts: "As the clients of version 1.",
};

/** The copy beside the database leaves these out: it replaces a damaged file, and each copy costs writes to an SD card. */
const notInCopy: Readonly<Record<string, string>> = {
  ...notInBackup,
  history: "It is most of the bytes, and each tap changes it.",
  plays: "As the history.",
  positions: "They change every 5 s during play.",
  last_media: "It changes at each start of media.",
};

function tablesOfSchema(): readonly string[] {
  using database = new Database(":memory:");
  createTables(database);
  return database
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .all()
    .map(({ name }) => name)
    .toSorted();
}

test("a new table was in no backup, and a restore lost its rows: it is in one, or it says here why not", () => {
  expect([...Object.keys(backupTables), ...Object.keys(notInBackup)].toSorted()).toEqual([
    ...tablesOfSchema(),
  ]);
});

test("a new table was not in the copy beside the database: it is, or it says here why not", () => {
  expect([...copiedTables, ...Object.keys(notInCopy)].toSorted()).toEqual([...tablesOfSchema()]);
});
