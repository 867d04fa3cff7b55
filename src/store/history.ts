/**
 * The history of launches. A tap notes its row in memory; all rows noted within 50 ms are then written in order, in one
 * transaction. A row is lost if the process dies before that. The end of a launch is synced after its transaction, in the
 * background. A power cut therefore loses only launches that still run, and the last moment before the cut. A start is
 * not synced: the player reads the disk at that moment. A read writes the noted rows first, so it returns all rows.
 */
import type { Database, Statement } from "bun:sqlite";
import { rfc3339 } from "../core/clock.ts";
import { historyPageCharsMax, historyRowsMax } from "../core/limits.ts";
import type { LaunchEntry } from "../core/playback.ts";
import type { LaunchFinished, TappedCard } from "../core/shapes.ts";
import type { DurableWrites } from "./durable-writes.ts";

export interface LaunchRow {
  readonly timeMs: number;
  readonly type: string;
  readonly uid: string;
  readonly text: string;
  readonly data: string;
  readonly readerId: string;
  readonly script: string;
}

export type History = ReturnType<typeof createHistory>;

// A phone, a reader and a person write the UID of one card differently. `keyOf` returns the same key.
const uidKey = "lower(replace(replace(uid, ' ', ''), ':', ''))";

/** The key of a UID. SQLite's `lower` changes the letters of ASCII only, but an app sends any scanned code as the UID. */
function keyOf(uid: string): string {
  return uid.replace(/[ :]/g, "").replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

const sql = {
  insert: `INSERT INTO history (id, time_ms, type, uid, text, data, reader_id, script)
           VALUES ($id, $timeMs, $type, $uid, $text, $data, $readerId, $script)`,
  finish: "UPDATE history SET success = $success, error = $error, reason = $reason WHERE id = $id",
  list: `SELECT id, time_ms AS timeMs, type, uid, text, data, reader_id AS readerId, script, success, error, reason
         FROM history WHERE time_ms < $beforeMs AND id < $belowId AND ($uid = '' OR ${uidKey} = $uid) ORDER BY id DESC LIMIT $limit`,
  // Only the texts of the newest launches are read.
  cards: `WITH newest AS (SELECT max(id) AS id, count(*) AS taps FROM history WHERE uid <> '' GROUP BY ${uidKey}
                          ORDER BY max(id) DESC LIMIT $limit)
          SELECT uid, text, script, time_ms AS timeMs, taps FROM newest JOIN history USING (id) ORDER BY id DESC`,
  lastId: "SELECT max(id) AS id FROM history",
  prune: `DELETE FROM history WHERE id IN
            (SELECT id FROM history WHERE id <= $id ORDER BY id LIMIT $rows)`,
} as const;

// The write comes long after the spawn of the player, so a tap does not wait for the disk.
const writeDelayMs = 50;
// Deleting this many rows takes 2 ms in a transaction (measured with 20,000 rows on x86-64). The next transaction
// deletes the rest.
const pruneRowsMax = 500;
// The texts of this many rows have 1 MB if all texts have their greatest length.
const readRowsMax = 16;

interface Row extends LaunchRow {
  readonly id: number;
  readonly success: number | null;
  readonly error: string | null;
  readonly reason: string | null;
}

/** Makes the history. `syncLater` requests a sync of everything committed so far. */
export function createHistory(
  database: Database,
  { ask }: Pick<DurableWrites, "ask">,
  syncLater: () => void,
) {
  const insert = database.query(sql.insert);
  const finish = database.query(sql.finish);
  const list = database.query<Row, Page>(sql.list);
  const cards = database.query<CardRow, { limit: number }>(sql.cards);
  const prune = database.query(sql.prune);
  /** Launches of this process without an end. Any other row without an end was interrupted by a power cut or a crash. */
  const running = new Set<number>();
  let notes: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  let fault: unknown;
  let closed = false;
  let wantsSync = false; // True if one of the notes must be synced.
  let isExcess = false; // True if there are more rows than `historyRowsMax`.
  let lastId = database.query<{ id: number | null }, []>(sql.lastId).get()?.id ?? 0;

  const writeAll = database.transaction(() => {
    for (const write of notes) write();
    return prune.run({ id: lastId - historyRowsMax, rows: pruneRowsMax }).changes;
  });
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (notes.length === 0 && !isExcess) return;
    try {
      const pruned = ask(writeAll);
      fault = undefined;
      isExcess = pruned >= pruneRowsMax;
      if (wantsSync) syncLater();
    } catch (error) {
      // A full disk must not stop taps. The rows are lost, and `health` reports the error.
      fault = error;
      isExcess = false;
    }
    notes = [];
    wantsSync = false;
    if (isExcess && !closed) timer = setTimeout(flush, writeDelayMs);
  };
  const note = (write: () => void, isSynced = false) => {
    notes.push(write);
    wantsSync ||= isSynced;
    timer ??= setTimeout(flush, writeDelayMs);
  };

  return {
    /** Notes a launch that begins, and returns its number. */
    open(row: LaunchRow): number {
      const id = ++lastId;
      running.add(id);
      note(() => insert.run({ id, ...row }));
      return id;
    },
    /** Notes the end of a launch, with its error if it failed. */
    finish(id: number, { error, reason }: Failed = {}): void {
      running.delete(id);
      const success = error === undefined ? 1 : 0;
      note(() => finish.run({ id, success, error: error ?? null, reason: reason ?? null }), true);
    },
    /** Writes the noted rows. */
    flush,
    /** Notes a write to another table, in the same transaction. */
    beside: (write: () => void): void => note(write),
    /** Like `beside`, with a sync after the transaction. */
    besideSynced: (write: () => void): void => note(write, true),
    /**
     * The launches that began before `beforeMs`, the newest first; of one card if `uid` is not empty. If their texts exceed
     * `historyPageCharsMax`, fewer than `limit` are returned, but at least one. A launch that still runs is shown as a success,
     * because known clients show no state. `nextId` is the `belowId` of the next page, or absent on the last one. `belowId` is
     * needed, because launches may have the same millisecond, or a later time from before the clock was set back.
     */
    page({ limit, beforeMs = idMax, belowId = idMax, uid = "" }: PageParams) {
      flush();
      const { rows, hasMore } = ask(() => readPage(list, { limit, beforeMs, belowId, uid: keyOf(uid) }));
      const entries: readonly LaunchEntry[] = rows.map((row) => entryOf(row, running.has(row.id)));
      const nextId = hasMore ? rows.at(-1)?.id : undefined;
      return { entries, nextId };
    },
    /**
     * The cards of the launches, the newest first. Fewer than `limit` are returned if their texts exceed `historyPageCharsMax`.
     */
    cards(limit: number): readonly TappedCard[] {
      flush();
      let chars = 0;
      return ask(() => cards.all({ limit }))
        .filter(({ uid, text, script }, at) => {
          chars += uid.length + text.length + script.length;
          return at === 0 || chars <= historyPageCharsMax;
        })
        .map(({ timeMs, ...card }) => ({ ...card, lastTap: rfc3339(timeMs) }));
    },
    /** Throws the error of the last write, if it failed. */
    check(): void {
      flush();
      if (fault !== undefined) throw fault;
    },
    /** Writes the noted rows. Call it before the database is closed. */
    close(): void {
      closed = true;
      flush();
    },
  };
}

interface CardRow extends Omit<TappedCard, "lastTap"> {
  readonly timeMs: number;
}
type Failed = Partial<Pick<LaunchFinished, "error" | "reason">>;
type Page = {
  readonly beforeMs: number;
  readonly belowId: number;
  readonly uid: string;
  readonly limit: number;
};
type PageParams = Pick<Page, "limit"> & Partial<Page>;
const idMax = Number.MAX_SAFE_INTEGER;

function readPage(list: Statement<Row, [Page]>, { limit, belowId: below, ...asked }: Page) {
  const rows: Row[] = [];
  let chars = 0;
  let belowId = below;
  let count: number;
  let some: readonly Row[];
  do {
    count = Math.min(readRowsMax, limit + 1 - rows.length);
    some = list.all({ ...asked, belowId, limit: count });
    for (const row of some) {
      if (rows.length === limit) return { rows, hasMore: true };
      chars +=
        row.uid.length + row.text.length + row.data.length + row.script.length + (row.error?.length ?? 0);
      if (chars > historyPageCharsMax && rows.length > 0) return { rows, hasMore: true };
      rows.push(row);
      belowId = row.id;
    }
  } while (some.length === count);
  return { rows, hasMore: false };
}

function entryOf(
  { id: _id, timeMs, readerId, script, error, reason, ...row }: Row,
  isRunning: boolean,
): LaunchEntry {
  const state = isRunning ? "running" : row.success === 1 ? "done" : "failed";
  const success = state !== "failed";
  return {
    ...row,
    success,
    state,
    time: rfc3339(timeMs),
    ...(readerId === "" ? {} : { readerId }),
    ...(script === "" ? {} : { script }),
    ...(success ? {} : failureOf(error, reason)),
  };
}

function failureOf(error: string | null, reason: string | null): Pick<LaunchEntry, "error" | "reason"> {
  if (error === null) return { error: "the service ended before the script did", reason: "interrupted" };
  return { error, ...(reason === null ? {} : { reason }) };
}
