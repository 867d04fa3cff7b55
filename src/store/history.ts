/**
 * The history of launches. A row is noted in memory on the tap's way and written behind it, in order, a moment later;
 * whoever reads sees all that was noted.
 */
import type { Database, Statement } from "bun:sqlite";
import { rfc3339 } from "../core/clock.ts";
import { historyPageCharsMax, historyRowsMax } from "../core/limits.ts";
import type { LaunchEntry } from "../core/playback.ts";
import type { Guard } from "./durable.ts";

export interface LaunchRow {
  readonly timeMs: number;
  readonly type: string;
  readonly uid: string;
  readonly text: string;
  readonly data: string;
  readonly readerId: string;
  readonly script: string;
}

export interface History {
  /** Notes a launch that begins; returns its number. */
  open(row: LaunchRow): number;
  /** Notes how it ended: without `error`, well. */
  finish(id: number, error?: string): void;
  /** Notes a write of another table, which goes with the rows. */
  beside(write: () => void): void;
  /**
   * Newest first; fewer than `limit`, but at least one, where their texts have more than `historyPageCharsMax`. `beforeMs`:
   * only what began earlier. A launch that still runs counts as not successful.
   */
  list(page: { readonly limit: number; readonly beforeMs?: number }): readonly LaunchEntry[];
  /** Throws what the last write failed with, where it did. */
  check(): void;
  /** Writes what is noted; before the database is closed. */
  close(): void;
}

const sql = {
  insert: `INSERT INTO history (id, time_ms, type, uid, text, data, reader_id, script)
           VALUES ($id, $timeMs, $type, $uid, $text, $data, $readerId, $script)`,
  finish: "UPDATE history SET success = $success, error = $error WHERE id = $id",
  list: "SELECT * FROM history WHERE time_ms < $beforeMs AND id < $belowId ORDER BY id DESC LIMIT $limit",
  lastId: "SELECT max(id) AS id FROM history",
  prune: `DELETE FROM history WHERE id IN
            (SELECT id FROM history WHERE id <= $id ORDER BY id LIMIT $rows)`,
  interrupted:
    "UPDATE history SET success = 0, error = 'the service ended before the script did' WHERE success IS NULL",
} as const;

// Far behind the spawn of the player, near enough to be there when somebody asks.
const writeDelayMs = 50;
// A step takes 2 ms on a PC (measured with 20,000 rows on x86-64); what is left goes with the next one.
const pruneRowsMax = 500;
// Rows that are read in one go: with the longest texts, 800 KB.
const readRowsMax = 16;

interface Row {
  readonly id: number;
  readonly time_ms: number;
  readonly type: string;
  readonly uid: string;
  readonly text: string;
  readonly data: string;
  readonly reader_id: string;
  readonly script: string;
  readonly success: number | null;
  readonly error: string | null;
}

export function createHistory(database: Database, guard: Guard): History {
  const { insert, finish, list, prune } = prepare(database);
  let notes: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  let fault: unknown;
  let closed = false;
  let behind = false; // More rows than are kept: the next step is due.
  let lastId = database.query<{ id: number | null }, []>(sql.lastId).get()?.id ?? 0;

  const writeAll = database.transaction(() => {
    for (const write of notes) write();
    return prune.run({ id: lastId - historyRowsMax, rows: pruneRowsMax }).changes;
  });
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (notes.length === 0 && !behind) return;
    try {
      const pruned = guard.ask(writeAll);
      fault = undefined;
      behind = pruned >= pruneRowsMax;
    } catch (error) {
      // A full disk must not stop taps. The rows are lost, and `health` says why.
      fault = error;
      behind = false;
    }
    notes = [];
    if (behind && !closed) timer = setTimeout(flush, writeDelayMs);
  };
  const note = (write: () => void) => {
    notes.push(write);
    timer ??= setTimeout(flush, writeDelayMs);
  };

  // A launch that was open when the power went has ended with it. Written like the rest, for a full disk must not
  // keep the service from starting.
  note(() => database.run(sql.interrupted));

  return {
    open(row) {
      const id = ++lastId;
      note(() => insert.run({ id, ...row }));
      return id;
    },
    finish(id, error) {
      note(() => finish.run({ id, success: error === undefined ? 1 : 0, error: error ?? null }));
    },
    beside: note,
    list({ limit, beforeMs = Number.MAX_SAFE_INTEGER }) {
      flush();
      return guard.ask(() => readPage(list, limit, beforeMs)).map(entryOf);
    },
    check() {
      flush();
      if (fault !== undefined) throw fault;
    },
    close() {
      closed = true;
      flush();
    },
  };
}

function prepare(database: Database) {
  return {
    insert: database.query(sql.insert),
    finish: database.query(sql.finish),
    list: database.query<Row, Page>(sql.list),
    prune: database.query(sql.prune),
  };
}

type Page = { readonly beforeMs: number; readonly belowId: number; readonly limit: number };

function readPage(list: Statement<Row, [Page]>, limit: number, beforeMs: number): readonly Row[] {
  const rows: Row[] = [];
  let [chars, belowId, isMore] = [0, Number.MAX_SAFE_INTEGER, true];
  while (isMore && rows.length < limit) {
    const some = list.all({ beforeMs, belowId, limit: Math.min(readRowsMax, limit - rows.length) });
    for (const row of some) {
      chars += row.text.length + row.data.length + row.script.length;
      if (chars > historyPageCharsMax && rows.length > 0) return rows;
      rows.push(row);
      belowId = row.id;
    }
    isMore = some.length === readRowsMax;
  }
  return rows;
}

function entryOf(row: Row): LaunchEntry {
  const success = row.success === 1;
  return {
    type: row.type,
    uid: row.uid,
    text: row.text,
    data: row.data,
    success,
    time: rfc3339(row.time_ms),
    ...(row.reader_id === "" ? {} : { readerId: row.reader_id }),
    ...(row.script === "" ? {} : { script: row.script }),
    ...(success ? {} : { error: row.error ?? "it is still running" }),
  };
}
