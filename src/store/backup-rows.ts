/**
 * The rows of a backup. The rows are read in their state at one moment, staged in a database of their own, and replace
 * the present rows in one transaction. A staged database begins with the schema of the backup, and the later migrations
 * bring it up to date.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { rmSync } from "node:fs";
import { backupHistoryBytesMax } from "../core/console-limits.ts";
import { ServiceError } from "../core/errors.ts";
import {
  clientsMax,
  favouritesMax,
  historyRowsMax,
  launchErrorCharsMax,
  mappingsMax,
  mediaMsMax,
  playsRowsMax,
  positionsMax,
  scriptBytesMax,
} from "../core/limits.ts";
import { nextTurn } from "../core/long-lists.ts";
import { clipped } from "../core/text.ts";
import type { MappingParams } from "../core/token.ts";
import { backupPathOf } from "./database-copy.ts";
import { syncPath } from "./database-files.ts";
import { bringUpToDate, createTables, schemaVersion } from "./migrations.ts";

/** The tables of a backup, with the maximum of rows for each. Their order is that of the file. */
export const backupTables = {
  mappings: mappingsMax,
  history: historyRowsMax,
  plays: playsRowsMax,
  positions: positionsMax,
  favourites: favouritesMax,
  last_media: 1,
  clients: clientsMax,
} as const;

export type BackupTable = keyof typeof backupTables;
type Value = string | number | null;
export type BackupRow = Readonly<Record<string, Value>>;

const sql = {
  // An unused pairing link expires within minutes.
  rows: (table: BackupTable) =>
    `SELECT * FROM ${table} ${table === "clients" ? "WHERE expires_ms IS NULL" : ""} ORDER BY rowid`,
  newest: "SELECT * FROM history ORDER BY id DESC",
  history: "SELECT * FROM history WHERE id >= $id ORDER BY id",
  count: (table: BackupTable) => `SELECT count(*) AS count FROM ${table}`,
  columns: "SELECT name FROM pragma_table_info($table)",
  mappings: `SELECT enabled, label, type, "match", pattern, override FROM mappings ORDER BY id`,
  roles: "SELECT count(*) AS count FROM clients WHERE role NOT IN ('member', 'player', 'owner')",
} as const;

/**
 * Reads the rows of a database, also while a service uses it. All tables are read in their state at one moment, until disposed.
 */
export function readBackupRows(path: string) {
  const database = new Database(path, { readonly: true, strict: true });
  database.run("PRAGMA busy_timeout = 2000");
  database.run("BEGIN");
  const firstHistoryId = async (breathe: () => Promise<void>) => {
    // The size of the row in the file, where a control character of a text has six bytes.
    let bytes = 0;
    let first = 0;
    for (const row of database.query<BackupRow & { id: number }, []>(sql.newest).iterate()) {
      bytes += Buffer.byteLength(JSON.stringify(row));
      if (bytes > backupHistoryBytesMax) break;
      first = row.id;
      await breathe();
    }
    return first;
  };
  return {
    /**
     * The rows in order. Of the history only the newest rows are returned, up to `backupHistoryBytesMax`. Awaits
     * `breathe` often.
     */
    async *rows(table: BackupTable, breathe: () => Promise<void>): AsyncGenerator<BackupRow> {
      const found =
        table === "history"
          ? database
              .query<BackupRow, { id: number }>(sql.history)
              .iterate({ id: await firstHistoryId(breathe) })
          : database.query<BackupRow, []>(sql.rows(table)).iterate();
      for (const row of found) {
        yield row;
        await breathe();
      }
    },
    [Symbol.dispose]: () => database.close(),
  };
}

/** The number of rows in each table. */
export function countRows(path: string): Readonly<Record<BackupTable, number>> {
  using database = new Database(path, { readonly: true, strict: true });
  return countsIn(database);
}

function countsIn(database: Database): Record<BackupTable, number> {
  const counts = {
    mappings: 0,
    history: 0,
    plays: 0,
    positions: 0,
    favourites: 0,
    last_media: 0,
    clients: 0,
  };
  for (const table of tablesOf(counts))
    counts[table] = database.query<{ count: number }, []>(sql.count(table)).get()?.count ?? 0;
  return counts;
}

function tablesOf(counts: Readonly<Record<BackupTable, number>>): readonly BackupTable[] {
  return Object.keys(counts).filter(isBackupTable);
}

export function isBackupTable(name: unknown): name is BackupTable {
  return typeof name === "string" && Object.hasOwn(backupTables, name);
}

/** A new database at `path` with the tables of the version `schema`. */
export function stageRows(path: string, schema: number) {
  const database = new Database(path, { create: true, strict: true });
  database.run("PRAGMA journal_mode = OFF");
  database.run("PRAGMA synchronous = OFF");
  createTables(database, schema);
  database.run("BEGIN");
  const columns = new Map<string, ReadonlySet<string>>();
  const counts = new Map<string, number>();
  const columnsOf = (table: BackupTable) => {
    const known = columns.get(table) ?? new Set(columnNames(database, table));
    columns.set(table, known);
    return known;
  };
  return {
    /** Adds a row. Throws a sentence for a row that the table cannot hold. */
    add(table: BackupTable, given: BackupRow): void {
      const row = asStoredNow(given);
      const names = Object.keys(row);
      const wrong = names.find((name) => !columnsOf(table).has(name));
      if (columnsOf(table).size === 0 || wrong !== undefined)
        throw new Error(`the table ${table} has no ${wrong ?? "rows"} in this format`);
      const count = (counts.get(table) ?? 0) + 1;
      if (count > backupTables[table])
        throw new Error(`it has more than ${backupTables[table]} rows of ${table}`);
      counts.set(table, count);
      for (const [name, value] of Object.entries(row)) checkValue(`${table}.${name}`, name, value);
      const list = names.map((name) => `"${name}"`).join(", ");
      const places = names.map((name) => `$${name}`).join(", ");
      inWords(table, () => database.query(`INSERT INTO ${table} (${list}) VALUES (${places})`).run(row));
    },
    /**
     * Brings the rows up to date and writes them to the disk, a step in each turn of the event loop. Returns their
     * numbers and the mappings.
     */
    async finish(breathe: () => Promise<void>) {
      database.run("COMMIT");
      await nextTurn();
      const fault = bringUpToDate(database);
      if (fault !== undefined) throw new Error(fault);
      if (database.query<{ count: number }, []>(sql.roles).get()?.count !== 0)
        throw new Error("clients.role: there is no such role");
      await nextTurn();
      const mappings: MappingParams[] = [];
      for (const row of database.query<StoredMapping, []>(sql.mappings).iterate()) {
        mappings.push(mappingOf(row));
        await breathe();
      }
      const made = { counts: countsIn(database), mappings };
      database.close();
      syncPath(path);
      return made;
    },
    [Symbol.dispose]: () => database.close(),
  };
}

function columnNames(database: Database, table: BackupTable): readonly string[] {
  return database
    .query<{ name: string }, { table: string }>(sql.columns)
    .all({ table })
    .map(({ name }) => name);
}

interface StoredMapping extends Omit<MappingParams, "enabled"> {
  readonly enabled: number;
}

function mappingOf({ enabled, ...row }: StoredMapping): MappingParams {
  return { ...row, enabled: enabled === 1 };
}

const idMax = 2 ** 48; // Ids stay below the ranks that mappings in files have.
const playedSecondsMax = 2 ** 40; // With this limit the end of a play is always a valid Date, whenever the play began.

const boundsOf: Readonly<Record<string, readonly [number, number]>> = {
  id: [1, idMax],
  played_s: [0, playedSecondsMax],
};

/** Throws for a value that the service would not have written. SQLite checks the types. */
function checkValue(place: string, name: string, value: Value): void {
  if (typeof value === "string") {
    // A byte is written as two hex digits.
    if (value.length > 2 * scriptBytesMax) throw new Error(`${place}: it is too long`);
  } else if (value !== null) {
    const [min, max] = boundsOf[name] ?? [0, mediaMsMax];
    if (!Number.isSafeInteger(value) || value < min || value > max)
      throw new Error(`${place}: ${value} cannot be true`);
  }
}

/**
 * The row as the service writes it now. Earlier versions stored the reason of a failed launch whole, up to 256 KiB, and a
 * played time below 0 if the clock was set back while media played.
 */
function asStoredNow(row: BackupRow): BackupRow {
  const { error, played_s: playedS } = row;
  return {
    ...row,
    ...(typeof error === "string" && { error: clipped(error, launchErrorCharsMax) }),
    ...(typeof playedS === "number" && { played_s: Math.max(0, playedS) }),
  };
}

function inWords(table: string, run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (
      !(error instanceof SQLiteError) ||
      error.code === "SQLITE_FULL" ||
      error.code?.startsWith("SQLITE_IOERR")
    )
      throw error;
    throw new Error(`a row of ${table} is not valid: ${error.message}`, { cause: error });
  }
}

/**
 * Replaces the rows of the database at `path` by those of the staged tables. This is one transaction, which is on the
 * disk when the function returns. All other tables stay unchanged. No other connection may be open. Throws without a
 * change.
 */
export function replaceRows(path: string, staged: string, tables: readonly BackupTable[]): void {
  using database = new Database(path, { strict: true });
  database.run("PRAGMA synchronous = FULL");
  database.query("ATTACH $staged AS staged").run({ staged });
  const damage = database
    .query<{ quick_check: string }, []>("PRAGMA staged.quick_check(1)")
    .get()?.quick_check;
  const version = database
    .query<{ user_version: number }, []>("PRAGMA staged.user_version")
    .get()?.user_version;
  if (damage !== "ok" || version !== schemaVersion)
    throw new ServiceError("failed", `the staged rows cannot be used (${damage}, version ${version})`);
  database.transaction(() => {
    for (const table of tables) {
      const columns = columnNames(database, table)
        .map((name) => `"${name}"`)
        .join(", ");
      database.run(`DELETE FROM main.${table}`);
      database.run(
        `INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM staged.${table} ORDER BY rowid`,
      );
    }
  })();
  database.run("DETACH staged");
  database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  // After damage, a copy of the present rows would bring back the earlier mappings.
  rmSync(backupPathOf(path), { force: true });
}
