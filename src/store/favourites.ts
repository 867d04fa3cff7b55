/** The favourites of the device: files and folders of the library, in the order in which they were chosen. */
import type { Database } from "bun:sqlite";
import type { DurableWrites } from "./durable-writes.ts";

const sql = {
  list: "SELECT path, system_id AS systemId, is_folder AS isFolder FROM favourites ORDER BY id",
  count: "SELECT count(*) AS count FROM favourites",
  add: `INSERT INTO favourites (path, system_id, is_folder) VALUES ($path, $systemId, $isFolder)
        ON CONFLICT (path) DO NOTHING`,
  remove: "DELETE FROM favourites WHERE path = $path",
  move: "UPDATE OR REPLACE favourites SET path = $to, system_id = $systemId WHERE path = $path",
} as const;

export interface Favourite {
  /** The path as `media.browse` names it. */
  readonly path: string;
  readonly systemId: string;
  readonly isFolder: boolean;
}

export type Favourites = ReturnType<typeof createFavourites>;

export function createFavourites(
  database: Database,
  { durable, ask }: Pick<DurableWrites, "durable" | "ask">,
) {
  const list = database.query<Omit<Favourite, "isFolder"> & { isFolder: number }, []>(sql.list);
  const count = database.query<{ count: number }, []>(sql.count);
  const add = database.query(sql.add);
  const remove = database.query(sql.remove);
  const move = database.query(sql.move);
  return {
    list: (): readonly Favourite[] =>
      ask(() => list.all()).map(({ isFolder, ...row }) => ({ ...row, isFolder: isFolder === 1 })),
    count: () => ask(() => count.get())?.count ?? 0,
    /**
     * Adds a favourite, which is on the disk when the function returns. A favourite that exists already stays at its
     * place.
     */
    add({ path, systemId, isFolder }: Favourite): void {
      durable(() => add.run({ path, systemId, isFolder: Number(isFolder) }));
    },
    /** Removes a favourite. The removal is on the disk when the function returns. */
    remove(path: string): void {
      durable(() => remove.run({ path }));
    },
    /** Changes the path of a favourite whose file was moved to another system. */
    move(path: string, to: string, systemId: string): void {
      durable(() => move.run({ path, to, systemId }));
    },
  };
}
