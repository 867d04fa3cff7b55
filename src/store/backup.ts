/**
 * The copy of what people made: mappings and clients, in `tapdeck.db.backup`, itself a whole database.
 *
 * The history is left out: it is most of the bytes, it changes with each tap, and a copy of it would wear an SD card
 * for rows that nobody mourns. The copy is built in memory, a slice of rows at a time, so that no tap waits for it
 * longer than for one slice, and a Worker, with its memory, is not needed. It is written only where it differs from
 * the file that is there: rows alone decide, because a board without a clock of its own has no days to count.
 */
import { Database } from "bun:sqlite";
import { readFileSync, renameSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { lengthOf, moveDurably, syncFolderBehind, writeBehind, writeDurably } from "./database-files.ts";
import type { Guard } from "./durable.ts";
import { migrations } from "./migrations/index.ts";

export interface Backup {
  /** Something changed: it is copied within `copyDelayMs`, together with what else changes until then. */
  changed(): void;
  /** Something was taken away that must not come back: it is copied now, behind the caller. */
  removed(): void;
  /** Why the last copy failed; undefined where it did not. */
  fault(): string | undefined;
  /** Copies what was not yet, while the caller waits, and stops. */
  close(): void;
}

export interface BackupOptions {
  /** The database; the copy stands beside it. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Learns of damage that is found while copying; once there is any, the last good copy must not be replaced. */
  readonly guard: Pick<Guard, "ask" | "damage">;
}

// What is lost with a broken file is a minute's work at most, and a busy hour costs sixty writes at most.
export const copyDelayMs = 60_000;
// A disk that refused once, full or read-only, is asked again, but not worn out.
const retryDelayMs = 10 * 60_000;
// A slice takes 1 to 2 ms, the longest turn, which reads the written copy back, 5 ms (10,000 mappings, x86-64). The
// whole takes 30 ms: in one go it would be felt on a board that is ten times slower.
const rowsPerSlice = 1000;

/** The tables that people fill. */
const tables = ["mappings", "clients"] as const;

const sql = {
  attach: "ATTACH $path AS live",
  // Ids that were given are remembered too, so that none is given twice after a restore.
  sequence: `DELETE FROM main.sqlite_sequence;
             INSERT INTO main.sqlite_sequence SELECT * FROM live.sqlite_sequence`,
  last: (table: string) =>
    `SELECT max(rowid) AS rowid FROM
       (SELECT rowid FROM live.${table} WHERE rowid > $after ORDER BY rowid LIMIT ${rowsPerSlice})`,
  slice: (table: string) =>
    `INSERT INTO main.${table} SELECT * FROM live.${table} WHERE rowid > $after AND rowid <= $last ORDER BY rowid`,
} as const;

export const backupPathOf = (path: string): string => `${path}.backup`;

export function createBackup({ path, clock, log, guard }: BackupOptions): Backup {
  const sound = () => guard.damage() === undefined;
  let timer: Disposable | undefined;
  let copying = false;
  let stale = true; // Who knows how the last run ended: the first copy finds out.
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
      // The copy that `close` makes while this one waits is the newer one.
      await copyBetweenTurns(path, guard, () => closed || !sound());
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
    changed: () => schedule(copyDelayMs),
    removed() {
      timer?.[Symbol.dispose]();
      timer = undefined;
      urgent = true;
      schedule(0);
    },
    fault: () => fault,
    close() {
      closed = true;
      timer?.[Symbol.dispose]();
      if ((!stale && !copying) || !sound()) return;
      try {
        copyNow(path, guard);
        ended();
      } catch (error) {
        ended(error);
      }
    },
  };
}

/** Copies where the rows differ, a step in each turn of the event loop; gives up as soon as `stopped` says so. */
async function copyBetweenTurns(
  path: string,
  guard: BackupOptions["guard"],
  stopped: () => boolean,
): Promise<void> {
  const target = backupPathOf(path);
  const fresh = `${target}.new`;
  const bytes = await leisurely(copySteps(path, guard), stopped);
  if (bytes === undefined) return;
  if (lengthOf(target) === undefined ? !hasRows(bytes) : (await readFile(target)).equals(bytes)) return;
  await writeBehind(fresh, bytes);
  if (stopped()) return;
  verify(fresh);
  renameSync(fresh, target);
  await syncFolderBehind(dirname(target));
}

/** The same, in one go. */
function copyNow(path: string, guard: BackupOptions["guard"]): void {
  const steps = copySteps(path, guard);
  let step = steps.next();
  while (!step.done) step = steps.next();
  const bytes = step.value;
  const target = backupPathOf(path);
  if (lengthOf(target) === undefined ? !hasRows(bytes) : readFileSync(target).equals(bytes)) return;
  // Not the name that a copy under way may still be writing to.
  const fresh = `${target}.last`;
  writeDurably(fresh, bytes);
  verify(fresh);
  moveDurably(fresh, target);
}

/** Runs the steps with a turn of the event loop between them; undefined where `stopped` says so first. */
async function leisurely<T>(
  steps: Generator<undefined, T | undefined, undefined>,
  stopped: () => boolean,
): Promise<T | undefined> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await new Promise((resolve) => setImmediate(resolve));
    if (stopped()) {
      steps.return(undefined);
      return undefined;
    }
  }
}

/** The bytes of a database with the same rows, as of one moment; the same rows give the same bytes. */
function* copySteps(path: string, { ask }: Pick<Guard, "ask">): Generator<undefined, Uint8Array, undefined> {
  using copy = new Database(":memory:", { strict: true });
  for (const migration of migrations) copy.run(migration);
  copy.run(`PRAGMA user_version = ${migrations.length}`);
  ask(() => copy.query(sql.attach).run({ path }));
  // One transaction, so that what changes meanwhile is in the copy whole or not at all.
  copy.run("BEGIN");
  for (const table of tables) {
    const nextLast = copy.query<{ rowid: number | null }, { after: number }>(sql.last(table));
    const insert = copy.query(sql.slice(table));
    // Copies the slice behind `after`, and tells where it ended, or null behind the last one.
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

/** Where nobody has made anything yet, there is nothing to copy. */
function hasRows(bytes: Uint8Array): boolean {
  using copy = Database.deserialize(bytes);
  return tables.some((table) => copy.query(`SELECT 1 FROM ${table} LIMIT 1`).get() !== null);
}

/** Throws where the file is not a whole database that this version can use. */
export function verify(path: string): void {
  using copy = new Database(path, { readonly: true });
  const check = copy
    .query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)")
    .get()?.integrity_check;
  if (check !== "ok") throw new Error(`${basename(path)} is damaged: ${check}`);
  const made = copy.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
  if (made < 1 || made > migrations.length)
    throw new Error(`${basename(path)} is of another version (${made})`);
  for (const table of tables) copy.query(`SELECT count(*) FROM ${table}`).get();
}
