/** How long was played. What is saved is on the disk when the call returns: pulling the plug wins no time. */
import type { Database } from "bun:sqlite";
import { playDaysKeptMax } from "../core/limits.ts";
import type { PlayRecord } from "../core/playback.ts";
import type { Guard } from "./durable.ts";

export interface PlayTimes {
  /** Undefined where nothing was saved yet. */
  read(): PlayRecord | undefined;
  /** Throws `ServiceError("failed")` where the disk refuses. Only the newest `playDaysKeptMax` days are kept. */
  save(record: PlayRecord): void;
}

const sql = {
  days: "SELECT day, used_ms FROM play_days ORDER BY day",
  session: "SELECT day, used_ms, seen_ms FROM play_session WHERE id = 1",
  saveDay: `INSERT INTO play_days (day, used_ms) VALUES ($day, $usedMs)
            ON CONFLICT (day) DO UPDATE SET used_ms = $usedMs WHERE used_ms <> $usedMs`,
  saveSession: `INSERT INTO play_session (id, day, used_ms, seen_ms) VALUES (1, $day, $usedMs, $seenMs)
                ON CONFLICT (id) DO UPDATE SET day = $day, used_ms = $usedMs, seen_ms = $seenMs`,
  prune: `DELETE FROM play_days WHERE day NOT IN (SELECT day FROM play_days ORDER BY day DESC LIMIT $kept)`,
} as const;

interface DayRow {
  readonly day: string;
  readonly used_ms: number;
}

export function createPlayTimes(database: Database, { durableOnly, ask }: Guard): PlayTimes {
  const days = database.query<DayRow, []>(sql.days);
  const session = database.query<DayRow & { readonly seen_ms: number }, []>(sql.session);
  const saveDay = database.query(sql.saveDay);
  const saveSession = database.query(sql.saveSession);
  const prune = database.query(sql.prune);
  const saveAll = database.transaction((record: PlayRecord) => {
    for (const [day, usedMs] of record.days) saveDay.run({ day, usedMs: Math.round(usedMs) });
    const { day, sessionMs, seenMs } = record;
    saveSession.run({ day, usedMs: Math.round(sessionMs), seenMs: Math.round(seenMs) });
    prune.run({ kept: playDaysKeptMax });
  });

  return {
    read() {
      const last = ask(() => session.get());
      if (last === null) return undefined;
      return {
        day: last.day,
        sessionMs: last.used_ms,
        seenMs: last.seen_ms,
        days: new Map(ask(() => days.all()).map(({ day, used_ms }) => [day, used_ms])),
      };
    },
    save: (record) => void durableOnly(() => saveAll(record)),
  };
}
