/** The media that was started last, and the play time of each day: both count across restarts. */
import type { Database } from "bun:sqlite";
import { playDaysKeptMax } from "../core/limits.ts";
import type { StartedMedia } from "../core/media.ts";
import type { PlayRecord } from "../core/playback.ts";
import type { DurableWrites } from "./durable-writes.ts";
import type { History } from "./history.ts";

const sql = {
  media: "SELECT path, system_id AS systemId, launcher_id AS launcherId FROM last_media WHERE id = 1",
  saveMedia: `INSERT INTO last_media (id, path, system_id, launcher_id) VALUES (1, $path, $systemId, $launcherId)
              ON CONFLICT (id) DO UPDATE SET path = $path, system_id = $systemId, launcher_id = $launcherId`,
  days: "SELECT day, used_ms AS usedMs FROM play_days ORDER BY day",
  session: "SELECT day, used_ms AS sessionMs, seen_ms AS seenMs FROM play_session WHERE id = 1",
  saveDay: `INSERT INTO play_days (day, used_ms) VALUES ($day, $usedMs)
            ON CONFLICT (day) DO UPDATE SET used_ms = $usedMs WHERE used_ms <> $usedMs`,
  saveSession: `INSERT INTO play_session (id, day, used_ms, seen_ms) VALUES (1, $day, $usedMs, $seenMs)
                ON CONFLICT (id) DO UPDATE SET day = $day, used_ms = $usedMs, seen_ms = $seenMs`,
  prune: `DELETE FROM play_days WHERE day NOT IN (SELECT day FROM play_days ORDER BY day DESC LIMIT $kept)`,
} as const;

export type LastMedia = ReturnType<typeof createLastMedia>;

export function createLastMedia(
  database: Database,
  { ask }: DurableWrites,
  history: Pick<History, "beside">,
) {
  const read = database.query<StartedMedia, []>(sql.media);
  const save = database.query(sql.saveMedia);
  let last: StartedMedia | undefined;
  return {
    /** The media that were saved last, in this run or another; undefined if there are none. */
    read(): StartedMedia | undefined {
      if (last !== undefined) return last;
      return ask(() => read.get()) ?? undefined;
    },
    /** Notes the media. They are written a moment later, with the rows of the history. */
    save({ path, systemId, launcherId }: StartedMedia): void {
      last = { path, systemId, launcherId };
      history.beside(() => save.run({ path, systemId, launcherId }));
    },
  };
}

export function createPlayTimes(database: Database, { durableOnly, ask }: DurableWrites) {
  const days = database.query<{ day: string; usedMs: number }, []>(sql.days);
  const session = database.query<Omit<PlayRecord, "days">, []>(sql.session);
  const saveDay = database.query(sql.saveDay);
  const saveSession = database.query(sql.saveSession);
  const prune = database.query(sql.prune);
  const saveAll = database.transaction((record: PlayRecord) => {
    // The record has all days of this run. Older ones would be inserted and deleted at each save.
    const newest = [...record.days].sort(([a], [b]) => (a < b ? 1 : -1)).slice(0, playDaysKeptMax);
    for (const [day, usedMs] of newest) saveDay.run({ day, usedMs: Math.round(usedMs) });
    const { day, sessionMs, seenMs } = record;
    saveSession.run({ day, usedMs: Math.round(sessionMs), seenMs: Math.round(seenMs) });
    prune.run({ kept: playDaysKeptMax });
  });

  return {
    /** The saved record; undefined if there is none yet. */
    read(): PlayRecord | undefined {
      const last = ask(() => session.get());
      if (last === null) return undefined;
      return { ...last, days: new Map(ask(() => days.all()).map(({ day, usedMs }) => [day, usedMs])) };
    },
    /**
     * Saves the record, which is on the disk when the function returns, so a power cut does not extend the play time.
     * Keeps the newest `playDaysKeptMax` days. Throws `ServiceError("failed")` if the disk refuses.
     */
    save: (record: PlayRecord) => void durableOnly(() => saveAll(record)),
  };
}
