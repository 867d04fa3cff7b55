/** The history of played media: a row for each start of a player, the newest `playsRowsMax`. */
import type { Database } from "bun:sqlite";
import { playsRowsMax } from "../core/limits.ts";
import type { StartedMedia } from "../core/media.ts";
import type { DurableWrites } from "./durable-writes.ts";
import type { History } from "./history.ts";

const sql = {
  insert: `INSERT INTO plays (id, path, system_id, launcher_id, started_ms)
           VALUES ($id, $path, $systemId, $launcherId, $startedMs)`,
  finish: "UPDATE plays SET played_s = $playedS WHERE id = $id",
  prune: "DELETE FROM plays WHERE id <= $id",
  lastId: "SELECT max(id) AS id FROM plays",
  interrupted: "UPDATE plays SET played_s = 0 WHERE played_s IS NULL AND id <= $id",
  list: `SELECT id, path, system_id AS systemId, launcher_id AS launcherId, started_ms AS startedMs, played_s AS playedS
         FROM plays WHERE id < $belowId
         AND ($systems = '[]' OR system_id IN (SELECT value FROM json_each($systems)))
         AND (NOT $isDistinct OR id IN (SELECT max(id) FROM plays GROUP BY system_id, path))
         ORDER BY id DESC LIMIT $limit`,
  // A file that plays now counts as started. Its played time counts after its end.
  top: `SELECT path, system_id AS systemId, sum(coalesce(played_s, 0)) AS totalS, count(*) AS starts,
               max(started_ms) AS startedMs
        FROM plays WHERE started_ms >= $sinceMs
        AND ($systems = '[]' OR system_id IN (SELECT value FROM json_each($systems)))
        GROUP BY system_id, path ORDER BY totalS DESC, startedMs DESC LIMIT $limit`,
} as const;

export interface Play extends StartedMedia {
  readonly id: number;
  /** The start in milliseconds since 1970. */
  readonly startedMs: number;
  /** The played time in seconds; null while the file plays. */
  readonly playedS: number | null;
}

/** All plays of a file of a system. */
export interface PlayTotal extends Pick<Play, "path" | "systemId"> {
  /** The played time in seconds. */
  readonly totalS: number;
  readonly starts: number;
  /** The last start, in milliseconds since 1970. */
  readonly startedMs: number;
}

export interface TopPlays {
  readonly limit: number;
  /** Exact ids of systems; empty means all. */
  readonly systems: readonly string[];
  /** Limits the answer to starts at or after this time, in milliseconds since 1970. */
  readonly sinceMs: number;
}

export interface PlaysPage {
  readonly limit: number;
  /** Limits the answer to plays before the one with this id. */
  readonly belowId: number;
  /** Exact ids of systems; empty means all. */
  readonly systems: readonly string[];
  /** True to return only the newest play of each file of a system. */
  readonly isDistinct: boolean;
}

export type Plays = ReturnType<typeof createPlays>;

/**
 * The history of plays. Its writes are noted, and done a moment later with the rows of the history, so a tap does not
 * wait for the disk. The end of a play is synced, because a power cut would turn its time into zero.
 */
export function createPlays(
  database: Database,
  { ask }: Pick<DurableWrites, "ask">,
  history: Pick<History, "beside" | "besideSynced" | "flush">,
) {
  const [insert, finish, prune] = [sql.insert, sql.finish, sql.prune].map((one) => database.query(one));
  const list = database.query<Play, [Readonly<Record<string, string | number>>]>(sql.list);
  const top = database.query<PlayTotal, [Readonly<Record<string, string | number>>]>(sql.top);
  let lastId = database.query<{ id: number | null }, []>(sql.lastId).get()?.id ?? 0;
  // A power cut or a crash ended the plays that have no end yet.
  const first = lastId;
  history.beside(() => database.query(sql.interrupted).run({ id: first }));
  return {
    /** Notes a start, and the end of the play before it. */
    begin({ path, systemId, launcherId, startedMs }: Omit<Play, "id" | "playedS">): void {
      const id = ++lastId;
      history.beside(() => {
        insert?.run({ id, path, systemId, launcherId, startedMs });
        prune?.run({ id: id - playsRowsMax });
      });
    },
    /** Notes the end of the last start. */
    end(playedS: number): void {
      const id = lastId;
      history.besideSynced(() => finish?.run({ id, playedS }));
    },
    /** The plays, the newest first. */
    list({ limit, belowId, systems, isDistinct }: PlaysPage): readonly Play[] {
      history.flush();
      const asked = { limit, belowId, systems: JSON.stringify(systems), isDistinct: isDistinct ? 1 : 0 };
      return ask(() => list.all(asked));
    },
    /** The files that were played longest. Among files with equal times, the last played one comes first. */
    top({ limit, systems, sinceMs }: TopPlays): readonly PlayTotal[] {
      history.flush();
      const asked = { limit, sinceMs, systems: JSON.stringify(systems) };
      return ask(() => top.all(asked));
    },
  };
}
