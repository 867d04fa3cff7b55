/** Clients that may come from afar: an id, the secret both sides know, and where they were last seen. */
import type { Database } from "bun:sqlite";
import { ServiceError } from "../core/errors.ts";
import { clientsMax } from "../core/limits.ts";
import type { Guard } from "./durable.ts";

/** Absent texts are empty. */
export interface StoredClient {
  readonly id: string;
  readonly name: string;
  /** 64 hex characters. */
  readonly secret: string;
  /** The address it last came from. */
  readonly address: string;
}

export interface Clients {
  /** In the order in which they were added. */
  list(): readonly StoredClient[];
  get(id: string): StoredClient | undefined;
  /** On the disk when it returns. Throws `busy` where there are `clientsMax` already, `conflict` for an id in use. */
  add(client: StoredClient, addedMs: number): void;
  /** On the disk when it returns; false where there is none with this id. */
  remove(id: string): boolean;
  /** Notes where a client came from. It may be lost with the power, and writes nothing where it is known already. */
  seen(id: string, address: string): void;
}

const sql = {
  list: "SELECT id, name, secret, address FROM clients ORDER BY rowid",
  get: "SELECT id, name, secret, address FROM clients WHERE id = $id",
  count: "SELECT count(*) AS clients FROM clients",
  add: `INSERT INTO clients (id, name, secret, address, added_ms)
        VALUES ($id, $name, $secret, $address, $addedMs)`,
  remove: "DELETE FROM clients WHERE id = $id",
  seen: "UPDATE clients SET address = $address WHERE id = $id AND address <> $address",
} as const;

export function createClients(database: Database, { durable, ask }: Guard): Clients {
  const list = database.query<StoredClient, []>(sql.list);
  const get = database.query<StoredClient, { id: string }>(sql.get);
  const count = database.query<{ clients: number }, []>(sql.count);
  const add = database.query(sql.add);
  const remove = database.query(sql.remove);
  const seen = database.query(sql.seen);
  const one = (id: string) => ask(() => get.get({ id })) ?? undefined;

  return {
    list: () => ask(() => list.all()),
    get: one,
    add({ id, name, secret, address }, addedMs) {
      if ((ask(() => count.get())?.clients ?? 0) >= clientsMax) throw tooMany();
      if (one(id) !== undefined) throw new ServiceError("conflict", "a client with this id exists");
      durable(() => add.run({ id, name, secret, address, addedMs }));
    },
    remove: (id) => durable(() => remove.run({ id })).changes > 0,
    seen(id, address) {
      ask(() => seen.run({ id, address }));
    },
  };
}

function tooMany(): ServiceError {
  return new ServiceError("busy", `there are ${clientsMax} clients already: delete one that is not used`, {
    data: { limit: "clientsMax" },
  });
}
