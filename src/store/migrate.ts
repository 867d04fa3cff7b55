/** A database file is looked over and brought to the newest of the numbered migrations. */
import { Database, SQLiteError } from "bun:sqlite";
import { messageOf } from "../core/errors.ts";
import { migrations } from "./migrations/index.ts";

// More than there will ever be: a number above it was not written by a newer version, but by a fault.
const versionsMax = 10_000;

// Not the text of the schema: how SQLite writes down an altered table may change with its version.
const columns = `
  SELECT json_array(tables.name, columns.name, columns.type, columns."notnull", columns.pk) AS facts
  FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'`;

/**
 * Runs the migrations that the file has not seen. Returns why it cannot be what this program left, or undefined where
 * it is whole. Throws for a file of a newer version, which is left as it is.
 */
export function bringUpToDate(database: Database): string | undefined {
  const done = database.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
  if (done < 0 || done > versionsMax) return `its version cannot be true (${done})`;
  if (done > migrations.length)
    throw new Error(`it was made by a newer version (${done}; this one knows ${migrations.length})`);
  const check = database.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get()?.quick_check;
  if (check !== "ok") return check ?? "it cannot be checked";
  try {
    migrate(database, done);
    const there = new Set(columnsOf(database));
    return expectedColumns().every((column) => there.has(column))
      ? undefined
      : "its tables are not what they were";
  } catch (error) {
    // A table that is there before its migration: the version in the file is not the one it was left with.
    if (error instanceof SQLiteError && error.code === "SQLITE_ERROR") return messageOf(error);
    throw error;
  }
}

/** Runs each migration that the file has not seen, together with its number or not at all. */
function migrate(database: Database, done: number): void {
  for (const [index, sql] of migrations.entries()) {
    if (index < done) continue;
    database.transaction(() => {
      database.run(sql);
      database.run(`PRAGMA user_version = ${index + 1}`);
    })();
  }
}

function expectedColumns(): readonly string[] {
  using empty = new Database(":memory:");
  for (const sql of migrations) empty.run(sql);
  return columnsOf(empty);
}

function columnsOf(database: Database): readonly string[] {
  return database
    .query<{ facts: string }, []>(columns)
    .all()
    .map(({ facts }) => facts);
}
