/** What was started last and played, over restarts: one row, written with the history's rows, behind the tap. */
import type { Database } from "bun:sqlite";
import type { StartedMedia } from "../core/media.ts";
import type { Guard } from "./durable.ts";
import type { History } from "./history.ts";

export interface LastMedia {
  /** As it was saved last, in this run or another; undefined where nothing was. */
  read(): StartedMedia | undefined;
  /** Notes it; it is on the disk a moment later. */
  save(media: StartedMedia): void;
}

const sql = {
  read: "SELECT path, system_id, launcher_id FROM last_media WHERE id = 1",
  save: `INSERT INTO last_media (id, path, system_id, launcher_id) VALUES (1, $path, $systemId, $launcherId)
         ON CONFLICT (id) DO UPDATE SET path = $path, system_id = $systemId, launcher_id = $launcherId`,
} as const;

interface Row {
  readonly path: string;
  readonly system_id: string;
  readonly launcher_id: string;
}

export function createLastMedia(
  database: Database,
  { ask }: Guard,
  history: Pick<History, "beside">,
): LastMedia {
  const read = database.query<Row, []>(sql.read);
  const save = database.query(sql.save);
  let last: StartedMedia | undefined;
  return {
    read() {
      if (last !== undefined) return last;
      const row = ask(() => read.get());
      return row === null
        ? undefined
        : { path: row.path, systemId: row.system_id, launcherId: row.launcher_id };
    },
    save({ path, systemId, launcherId }) {
      last = { path, systemId, launcherId };
      history.beside(() => save.run({ path, systemId, launcherId }));
    },
  };
}
