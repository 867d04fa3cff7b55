/** Mappings made over the API. Those of mapping files are not stored here. */
import type { Database } from "bun:sqlite";
import { rfc3339 } from "../core/clock.ts";
import type { Mapping, MappingParams } from "../core/token.ts";
import type { DurableWrites } from "./durable-writes.ts";

export type Mappings = ReturnType<typeof createMappings>;

export type MappingChanges = { readonly [Key in keyof MappingParams]?: MappingParams[Key] | undefined };

const columns = `id, added_ms, enabled, label, type, "match", pattern, override`;

const sql = {
  list: `SELECT ${columns} FROM mappings ORDER BY id`,
  get: `SELECT ${columns} FROM mappings WHERE id = $id`,
  size: `SELECT count(*) AS mappings, coalesce(sum(length(label) + length(pattern) + length(override)), 0) AS chars
         FROM mappings`,
  add: `INSERT INTO mappings (added_ms, enabled, label, type, "match", pattern, override)
        VALUES ($addedMs, $enabled, $label, $type, $match, $pattern, $override)`,
  update: `UPDATE mappings SET enabled = coalesce($enabled, enabled), label = coalesce($label, label),
             type = coalesce($type, type), "match" = coalesce($match, "match"),
             pattern = coalesce($pattern, pattern), override = coalesce($override, override)
           WHERE id = $id`,
  removeAll: "DELETE FROM mappings",
  remove: "DELETE FROM mappings WHERE id = $id",
} as const;

interface Row extends Omit<Mapping, "added" | "enabled"> {
  readonly added_ms: number;
  readonly enabled: number;
}

export function createMappings(database: Database, { durable, ask }: Pick<DurableWrites, "durable" | "ask">) {
  const list = database.query<Row, []>(sql.list);
  const get = database.query<Row, { id: number }>(sql.get);
  const size = database.query<{ mappings: number; chars: number }, []>(sql.size);
  const add = database.query(sql.add);
  const update = database.query(sql.update);
  const remove = database.query(sql.remove);
  const removeAll = database.query(sql.removeAll);
  const addOne = ({ enabled, ...fields }: MappingParams, addedMs: number) =>
    Number(add.run({ ...fields, enabled: Number(enabled), addedMs }).lastInsertRowid);
  const addAll = database.transaction(
    (mappings: readonly MappingParams[], addedMs: number, replace: boolean) => {
      if (replace) removeAll.run();
      return mappings.map((mapping) => addOne(mapping, addedMs));
    },
  );

  return {
    /** The mappings in the order of creation, which is the order of matching. */
    list: (): readonly Mapping[] => ask(() => list.all()).map(mappingOf),
    get(id: number): Mapping | undefined {
      const row = ask(() => get.get({ id }));
      return row === null ? undefined : mappingOf(row);
    },
    /** The number of mappings, and of the characters in their labels, patterns and overrides. */
    size: () => ask(() => size.get()) ?? { mappings: 0, chars: 0 },
    /** Adds a mapping, which is on the disk when the function returns the new id. An id is never used again. */
    add: (mapping: MappingParams, addedMs: number): number => durable(() => addOne(mapping, addedMs)),
    /**
     * Adds mappings in their order; with `replace`, all others are deleted. When the function returns, either everything
     * is on the disk, or nothing has changed. Returns the new ids.
     */
    addAll: (mappings: readonly MappingParams[], addedMs: number, replace: boolean): readonly number[] =>
      durable(() => addAll(mappings, addedMs, replace)),
    /**
     * Changes only the given fields. The change is on the disk when the function returns. Returns false if no mapping has
     * this id.
     */
    update(id: number, { enabled, label, type, match, pattern, override }: MappingChanges): boolean {
      const changes = {
        enabled: enabled === undefined ? null : Number(enabled),
        label: label ?? null,
        type: type ?? null,
        match: match ?? null,
        pattern: pattern ?? null,
        override: override ?? null,
      };
      return durable(() => update.run({ id, ...changes })).changes > 0;
    },
    /** Removes a mapping. The removal is on the disk when the function returns. Returns false if no mapping has this id. */
    remove: (id: number) => durable(() => remove.run({ id })).changes > 0,
  };
}

function mappingOf({ added_ms, enabled, ...row }: Row): Mapping {
  return { ...row, added: rfc3339(added_ms), enabled: enabled === 1 };
}
