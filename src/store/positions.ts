/**
 * Positions in sounds, films and playlists, at which a later start resumes. Those of the `positionsMax` files that
 * played last are kept. All are in memory, so no tap waits for the disk. A write joins the rows of the history and their
 * sync in the background. A power cut therefore loses no more than the end of the process by KILL.
 */
import type { Database } from "bun:sqlite";
import { positionsMax } from "../core/limits.ts";
import type { DurableWrites } from "./durable-writes.ts";
import type { History } from "./history.ts";

const sql = {
  list: "SELECT path, position_ms AS positionMs, duration_ms AS durationMs, item FROM positions ORDER BY id",
  save: `INSERT INTO positions (path, position_ms, duration_ms, item) VALUES ($path, $positionMs, $durationMs, $item)
         ON CONFLICT (path) DO UPDATE SET position_ms = $positionMs, duration_ms = $durationMs, item = $item`,
  remove: "DELETE FROM positions WHERE path = $path",
  prune: "DELETE FROM positions WHERE id NOT IN (SELECT id FROM positions ORDER BY id DESC LIMIT $kept)",
} as const;

export interface StoredPosition {
  readonly positionMs: number;
  readonly durationMs: number;
  /** The path of the item of a playlist; empty for a sound or film. */
  readonly item: string;
}

export type Positions = ReturnType<typeof createPositions>;

export function createPositions(
  database: Database,
  { ask }: Pick<DurableWrites, "ask">,
  history: Pick<History, "besideSynced">,
) {
  const list = database.query<StoredPosition & { path: string }, []>(sql.list);
  const insert = database.query(sql.save);
  const drop = database.query(sql.remove);
  const prune = database.query(sql.prune);
  // The list is in the order of play, so its last file is the one that played last.
  const known = new Map<string, StoredPosition>(
    ask(() => list.all()).map(({ path, ...position }) => [path, position]),
  );
  let newest = [...known.keys()].at(-1);

  const remove = (path: string) => {
    if (known.delete(path)) history.besideSynced(() => drop.run({ path }));
  };
  return {
    get: (path: string): StoredPosition | undefined => known.get(path),
    save(path: string, { positionMs, durationMs, item }: StoredPosition): void {
      // The position gets a new row, so the order of the rows is that of the last plays.
      if (path !== newest) remove(path);
      newest = path;
      known.set(path, { positionMs, durationMs, item });
      history.besideSynced(() => insert.run({ path, positionMs, durationMs, item }));
      for (const oldest of known.keys()) {
        if (known.size <= positionsMax) break;
        known.delete(oldest);
      }
      // The table may have rows that are not known: a write that the disk refused may have been a removal.
      if (known.size === positionsMax) history.besideSynced(() => prune.run({ kept: positionsMax }));
    },
    /** Forgets a position. The next start then begins at the beginning. */
    forget: remove,
  };
}
