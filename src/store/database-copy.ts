/**
 * The backup copy of mappings, clients and favourites: `tapdeck.db.backup`, itself a whole database.
 *
 * The history is left out. The history has most of the bytes and changes with each tap, so a copy of it would wear out an
 * SD card. The copy is built in memory, a slice of rows at a time, so a tap waits for one slice at most. It is
 * written only if its bytes differ from the file. Time does not decide this, because a board may have no clock of its own.
 */
import { Database } from "bun:sqlite";
import { readFileSync, renameSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { nextTurn } from "../core/long-lists.ts";
import { lengthOf, moveDurably, syncFolderAsync, writeBehind, writeDurably } from "./database-files.ts";
import type { DurableWrites } from "./durable-writes.ts";
import { createTables, schemaVersion, schemaVersionMin, versionOf } from "./migrations.ts";

// A broken file loses at most one minute of changes, and a busy hour causes at most sixty writes.
export const copyDelayMs = 60_000;
// The wait after a failed copy, for example on a full disk.
const retryDelayMs = 10 * 60_000;
// A slice takes 1 to 2 ms; reading the written copy back takes 5 ms (10,000 mappings, x86-64). The whole copy takes 30 ms,
// which is too long in one turn on a board that is ten times slower.
const rowsPerSlice = 1000;

/** The tables of the copy. */
export const copiedTables = ["mappings", "clients", "favourites"] as const;

const sql = {
  attach: "ATTACH $path AS live",
  // The last ids are kept, so no id is used again after a restore.
  sequence: `DELETE FROM main.sqlite_sequence;
             INSERT INTO main.sqlite_sequence SELECT * FROM live.sqlite_sequence`,
  last: (table: string) =>
    `SELECT max(rowid) AS rowid FROM
       (SELECT rowid FROM live.${table} WHERE rowid > $after ORDER BY rowid LIMIT ${rowsPerSlice})`,
  slice: (table: string) =>
    `INSERT INTO main.${table} SELECT * FROM live.${table} WHERE rowid > $after AND rowid <= $last ORDER BY rowid`,
} as const;

export const backupPathOf = (path: string): string => `${path}.backup`;

type Writes = Pick<DurableWrites, "ask" | "damage">;

interface BackupParts {
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly writes: Writes;
}

/**
 * Copies the database at `path` to a file beside it. `writes` reports damage that a copy finds. After any damage the
 * last good copy is never replaced.
 */
export function createBackup({ path, clock, log, writes }: BackupParts) {
  const sound = () => writes.damage() === undefined;
  let timer: Disposable | undefined;
  let copying = false;
  let stale = true; // The last run may have ended before its copy.
  let urgent = false;
  let closed = false;
  let fault: string | undefined;

  const schedule = (delayMs: number) => {
    stale = true;
    timer ??= clock.after(delayMs, start);
  };
  const start = () => {
    timer = undefined;
    if (!closed && !copying) void copy();
  };
  const ended = (error?: unknown) => {
    fault = error === undefined ? undefined : `the backup copy could not be written: ${messageOf(error)}`;
    if (fault !== undefined) log.warn("store", fault);
  };
  const copy = async () => {
    copying = true;
    stale = false;
    urgent = false;
    try {
      // If `close` has made a copy meanwhile, that copy is the newer one.
      await copyInTurns(path, writes, () => closed || !sound());
      ended();
    } catch (error) {
      ended(error);
      if (!closed) schedule(retryDelayMs);
    } finally {
      copying = false;
      if (stale && !closed) schedule(urgent ? 0 : copyDelayMs);
    }
  };

  schedule(copyDelayMs);
  return {
    /** Call it after a change. It copies within `copyDelayMs`, together with later changes. */
    changed: () => schedule(copyDelayMs),
    /** Call it after a removal that a restore must not undo. It copies at once, in the background. */
    removed() {
      timer?.[Symbol.dispose]();
      timer = undefined;
      urgent = true;
      schedule(0);
    },
    /** The error of the last copy; undefined if it succeeded. */
    fault: () => fault,
    /** Makes the copy that is due, which blocks the caller, and stops. */
    close() {
      closed = true;
      timer?.[Symbol.dispose]();
      if ((!stale && !copying) || !sound()) return;
      try {
        copyNow(path, writes);
        ended();
      } catch (error) {
        ended(error);
      }
    },
  };
}

/** Copies if the rows differ, a step in each turn of the event loop. It gives up once `stopped` returns true. */
async function copyInTurns(path: string, writes: Writes, stopped: () => boolean): Promise<void> {
  const target = backupPathOf(path);
  const fresh = `${target}.new`;
  const steps = copySteps(path, writes);
  let step = steps.next();
  for (; !step.done; step = steps.next()) {
    await nextTurn();
    // `using` in the steps closes the copy.
    if (stopped()) return void steps.return(new Uint8Array());
  }
  const bytes = step.value;
  if (lengthOf(target) === undefined ? !hasRows(bytes) : (await readFile(target)).equals(bytes)) return;
  await writeBehind(fresh, bytes);
  if (stopped()) return;
  verify(fresh);
  renameSync(fresh, target);
  await syncFolderAsync(dirname(target));
}

/** Does the same in one turn of the event loop. */
function copyNow(path: string, writes: Writes): void {
  const steps = copySteps(path, writes);
  let step = steps.next();
  while (!step.done) step = steps.next();
  const bytes = step.value;
  const target = backupPathOf(path);
  if (lengthOf(target) === undefined ? !hasRows(bytes) : readFileSync(target).equals(bytes)) return;
  // This name differs from that of `copyInTurns`, which may still be writing.
  const fresh = `${target}.last`;
  writeDurably(fresh, bytes);
  verify(fresh);
  moveDurably(fresh, target);
}

/** The bytes of a database with the same rows, in their state at one moment. Equal rows give equal bytes. */
function* copySteps(path: string, { ask }: Writes): Generator<undefined, Uint8Array, undefined> {
  using copy = new Database(":memory:", { strict: true });
  createTables(copy);
  ask(() => copy.query(sql.attach).run({ path }));
  // One transaction gives the copy the state at one moment.
  copy.run("BEGIN");
  for (const table of copiedTables) {
    const nextLast = copy.query<{ rowid: number | null }, { after: number }>(sql.last(table));
    const insert = copy.query(sql.slice(table));
    // Copies the slice after the row `after`. Returns its last row; null if there are no more rows.
    const copySlice = (after: number) => {
      const last = nextLast.get({ after })?.rowid ?? null;
      if (last !== null) insert.run({ after, last });
      return last;
    };
    for (let after: number | null = 0; after !== null; ) {
      const from: number = after;
      after = ask(() => copySlice(from));
      yield;
    }
  }
  ask(() => copy.run(sql.sequence));
  copy.run("COMMIT");
  copy.run("DETACH live");
  yield;
  return copy.serialize();
}

/** False for a copy without rows, which need not be written. */
function hasRows(bytes: Uint8Array): boolean {
  using copy = Database.deserialize(bytes);
  return copiedTables.some((table) => copy.query(`SELECT 1 FROM ${table} LIMIT 1`).get() !== null);
}

/** Throws if the file is not a whole database that this version can use. */
export function verify(path: string): void {
  using copy = new Database(path, { readonly: true });
  const check = copy
    .query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)")
    .get()?.integrity_check;
  if (check !== "ok") throw new Error(`${basename(path)} is damaged: ${check}`);
  const made = versionOf(copy);
  if (made < schemaVersionMin || made > schemaVersion)
    throw new Error(`${basename(path)} is of another version (${made})`);
  for (const table of copiedTables) copy.query(`SELECT count(*) FROM ${table}`).get();
}
