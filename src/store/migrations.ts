/**
 * The tables of the database: the schema, followed by the migrations in order. An earlier migration is never edited. A
 * start checks the file and runs the migrations that it lacks.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { messageOf } from "../core/errors.ts";

// The schema. Times are milliseconds since 1970, and days are local dates.
const schema = `
-- The launches. \`success\` is NULL while the launch runs.
CREATE TABLE history (
  id INTEGER PRIMARY KEY,
  time_ms INTEGER NOT NULL,
  type TEXT NOT NULL,
  uid TEXT NOT NULL,
  text TEXT NOT NULL,
  data TEXT NOT NULL,
  reader_id TEXT NOT NULL,
  script TEXT NOT NULL,
  success INTEGER,
  error TEXT
) STRICT;
CREATE INDEX history_time ON history (time_ms);

-- AUTOINCREMENT never reuses an id, so a client that deletes by a stale id deletes nothing.
CREATE TABLE mappings (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  added_ms INTEGER NOT NULL,
  enabled INTEGER NOT NULL,
  label TEXT NOT NULL,
  type TEXT NOT NULL,
  match TEXT NOT NULL,
  pattern TEXT NOT NULL,
  override TEXT NOT NULL
) STRICT;

-- Clients over the network. The secret is not hashed, because the handshake needs it. A time that is NULL means never.
CREATE TABLE clients (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  secret TEXT NOT NULL,
  address TEXT NOT NULL,
  added_ms INTEGER NOT NULL,
  role TEXT NOT NULL,
  last_used_ms INTEGER,
  expires_ms INTEGER
) STRICT;

-- The wrong guesses at pairing codes.
CREATE TABLE pairing_guesses (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  wrong INTEGER NOT NULL,
  last_ms INTEGER NOT NULL
) STRICT;

-- Clients of version 1 of the secure layer, and the salts of their sessions: each salt opens one session. They are not in
-- the backup copy, because a copy without the newest salts would accept a recorded session again.
CREATE TABLE v1_clients (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  token TEXT NOT NULL UNIQUE,
  key TEXT NOT NULL,
  address TEXT NOT NULL,
  added_ms INTEGER NOT NULL,
  last_used_ms INTEGER
) STRICT;
CREATE TABLE v1_salts (
  client INTEGER NOT NULL,
  salt BLOB NOT NULL,
  PRIMARY KEY (client, salt)
) STRICT, WITHOUT ROWID;

-- Play time of each day and of the last session.
CREATE TABLE play_days (
  day TEXT PRIMARY KEY,
  used_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE play_session (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  day TEXT NOT NULL,
  used_ms INTEGER NOT NULL,
  seen_ms INTEGER NOT NULL
) STRICT;

-- The media that was started last. \`path\` is empty for a system without a file.
CREATE TABLE last_media (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  path TEXT NOT NULL,
  system_id TEXT NOT NULL,
  launcher_id TEXT NOT NULL
) STRICT;

-- Played media. \`played_s\` is NULL while it plays; \`path\` is empty for a system without a file.
CREATE TABLE plays (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  system_id TEXT NOT NULL,
  launcher_id TEXT NOT NULL,
  started_ms INTEGER NOT NULL,
  played_s INTEGER
) STRICT;

-- Positions in sounds and films; \`item\` is the path at which a playlist goes on, and else empty. The order of the ids is
-- that of the last plays.
CREATE TABLE positions (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  position_ms INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  item TEXT NOT NULL
) STRICT;
`;

/** The version of the schema. Builds with a lower version were never published, so no migration leads from there. */
export const schemaVersionMin = 10;

/** The first entry makes version `schemaVersionMin`, and each one after it the next version. */
const migrations: readonly string[] = [
  schema,
  // The code of a failure. Rows of earlier versions and of successful launches have none.
  "ALTER TABLE history ADD COLUMN reason TEXT",
  `-- The order of the ids is that of the choices.
CREATE TABLE favourites (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  system_id TEXT NOT NULL,
  is_folder INTEGER NOT NULL
) STRICT;`,
];

/** The version of a database that is up to date. A backup states it. */
export const schemaVersion = schemaVersionMin + migrations.length - 1;

/** Makes the tables of a version in an empty database. */
export function createTables(database: Database, version = schemaVersion): void {
  for (const sql of migrations.slice(0, version - schemaVersionMin + 1)) database.run(sql);
  database.run(`PRAGMA user_version = ${version}`);
}

// A higher version number comes from damage, not from a newer program.
const versionsMax = 10_000;

// The columns are compared, not the text of the schema. The text of an altered table may change with the version of SQLite.
const columns = `
  SELECT json_array(tables.name, columns.name, columns.type, columns."notnull", columns.pk) AS facts
  FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'`;

/**
 * Runs the migrations that the file lacks. Returns the damage that it finds; undefined if the file is sound. Throws
 * for a file of a newer version, which stays unchanged.
 */
export function bringUpToDate(database: Database): string | undefined {
  const done = versionOf(database);
  if (done < 0 || done > versionsMax) return `its version cannot be true (${done})`;
  if (done > schemaVersion)
    throw new Error(`it was made by a newer version (${done}; this one knows ${schemaVersion})`);
  if (done > 0 && done < schemaVersionMin)
    throw new Error(
      `it was made by an unpublished build (${done}; this version reads ${schemaVersionMin} and later)`,
    );
  const check = database.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get()?.quick_check;
  if (check !== "ok") return check ?? "it cannot be checked";
  try {
    for (const [index, sql] of migrations.entries()) {
      const version = schemaVersionMin + index;
      if (version <= done) continue;
      // A migration and its version are written together or not at all.
      database.transaction(() => {
        database.run(sql);
        database.run(`PRAGMA user_version = ${version}`);
      })();
    }
    using fresh = new Database(":memory:");
    createTables(fresh);
    const there = new Set(columnsOf(database));
    return columnsOf(fresh).every((column) => there.has(column))
      ? undefined
      : "its tables are not what they were";
  } catch (error) {
    // The table of this migration exists already, so the version number in the file is wrong.
    if (error instanceof SQLiteError && error.code === "SQLITE_ERROR") return messageOf(error);
    throw error;
  }
}

/** The version of the file's tables; 0 for a new file. */
export function versionOf(database: Database): number {
  return database.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
}

function columnsOf(database: Database): readonly string[] {
  return database
    .query<{ facts: string }, []>(columns)
    .all()
    .map(({ facts }) => facts);
}
