/** Mappings made over the API. Those of mapping files are not stored here. */
import type { Database } from "bun:sqlite";
import { rfc3339 } from "../core/clock.ts";
import type { Mapping, MappingMatch, MappingParams, MappingType } from "../core/token.ts";
import type { DurableWrites } from "./durable-writes.ts";

export interface Mappings {
  /** In the order of creation, which is the order of matching. */
  list(): readonly Mapping[];
  get(id: number): Mapping | undefined;
  /** The number of mappings, and of the characters in their labels, patterns and overrides. */
  size(): MappingsSize;
  /** On the disk when it returns the new id. An id is never reused. */
  add(params: MappingParams, addedMs: number): number;
  /** Changes only the given fields; on the disk when it returns. False if no mapping has this id. */
  update(id: number, changes: MappingChanges): boolean;
  /** On the disk when it returns. False if no mapping has this id. */
  remove(id: number): boolean;
}

interface MappingsSize {
  readonly mappings: number;
  readonly chars: number;
}

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
  remove: "DELETE FROM mappings WHERE id = $id",
} as const;

interface Row {
  readonly id: number;
  readonly added_ms: number;
  readonly enabled: number;
  readonly label: string;
  readonly type: MappingType;
  readonly match: MappingMatch;
  readonly pattern: string;
  readonly override: string;
}

export function createMappings(
  database: Database,
  { durable, ask }: Pick<DurableWrites, "durable" | "ask">,
): Mappings {
  const list = database.query<Row, []>(sql.list);
  const get = database.query<Row, { id: number }>(sql.get);
  const size = database.query<MappingsSize, []>(sql.size);
  const add = database.query(sql.add);
  const update = database.query(sql.update);
  const remove = database.query(sql.remove);

  return {
    list: () => ask(() => list.all()).map(mappingOf),
    get(id) {
      const row = ask(() => get.get({ id }));
      return row === null ? undefined : mappingOf(row);
    },
    size: () => ask(() => size.get()) ?? { mappings: 0, chars: 0 },
    add: ({ enabled, label, type, match, pattern, override }, addedMs) =>
      Number(
        durable(() => add.run({ addedMs, enabled: enabled ? 1 : 0, label, type, match, pattern, override }))
          .lastInsertRowid,
      ),
    update(id, { enabled, label, type, match, pattern, override }) {
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
    remove: (id) => durable(() => remove.run({ id })).changes > 0,
  };
}

function mappingOf({ added_ms, enabled, ...row }: Row): Mapping {
  return { ...row, added: rfc3339(added_ms), enabled: enabled === 1 };
}
