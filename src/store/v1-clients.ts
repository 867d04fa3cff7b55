/** Clients of the secure layer's version 1, and the salts of the sessions that they have opened. */
import type { Database } from "bun:sqlite";
import { ServiceError } from "../core/errors.ts";
import { v1ClientsMax, v1SaltsPerClientMax } from "../core/limits.ts";
import type { Guard } from "./durable.ts";

export interface StoredV1Client {
  readonly id: string;
  readonly name: string;
  /** It names the client on the wire, in cleartext. */
  readonly token: string;
  /** The pairing key, 64 hex characters. */
  readonly key: string;
  /** The address it last came from. */
  readonly address: string;
}

export interface V1Clients {
  list(): readonly StoredV1Client[];
  isFull(): boolean;
  find(token: string): StoredV1Client | undefined;
  /** On the disk when it returns. Throws `busy` where there are `v1ClientsMax` already. */
  add(client: StoredV1Client, addedMs: number): void;
  /** With its salts; on the disk when it returns. False where there is none with this id. */
  remove(id: string): boolean;
  seen(id: string, address: string): void;
  /**
   * Notes a salt and resolves once it is on the disk, which is waited for off the event loop. `known` for a salt that was
   * noted before, `full` where the client has used up its salts and has to be paired again.
   */
  remember(id: string, salt: Uint8Array): Promise<"new" | "known" | "full">;
}

const sql = {
  list: "SELECT id, name, token, key, address FROM v1_clients ORDER BY number",
  find: "SELECT id, name, token, key, address FROM v1_clients WHERE token = $token",
  number: "SELECT number FROM v1_clients WHERE id = $id",
  count: "SELECT count(*) AS count FROM v1_clients",
  add: `INSERT INTO v1_clients (id, name, token, key, address, added_ms)
        VALUES ($id, $name, $token, $key, $address, $addedMs)`,
  remove: "DELETE FROM v1_clients WHERE number = $number",
  forget: "DELETE FROM v1_salts WHERE client = $number",
  seen: "UPDATE v1_clients SET address = $address WHERE id = $id AND address <> $address",
  salts: "SELECT count(*) AS count FROM v1_salts WHERE client = $number",
  remember: "INSERT OR IGNORE INTO v1_salts (client, salt) VALUES ($number, $salt)",
} as const;

export interface V1ClientParts extends Pick<Guard, "durable" | "ask"> {
  /** Resolves once all that was committed so far is on the disk. */
  readonly onDisk: () => Promise<void>;
}

export function createV1Clients(database: Database, { durable, ask, onDisk }: V1ClientParts): V1Clients {
  const list = database.query<StoredV1Client, []>(sql.list);
  const find = database.query<StoredV1Client, { token: string }>(sql.find);
  const number = database.query<{ number: number }, { id: string }>(sql.number);
  const count = database.query<{ count: number }, []>(sql.count);
  const add = database.query(sql.add);
  const remove = database.query(sql.remove);
  const forget = database.query(sql.forget);
  const seen = database.query(sql.seen);
  const salts = database.query<{ count: number }, { number: number }>(sql.salts);
  const remember = database.query(sql.remember);
  const isFull = () => (ask(() => count.get())?.count ?? 0) >= v1ClientsMax;
  const numberOf = (id: string) => ask(() => number.get({ id }))?.number;
  /** Counted once a client and run, since the salts of a busy client are many. */
  const used = new Map<number, number>();

  return {
    list: () => ask(() => list.all()),
    isFull,
    find: (token) => ask(() => find.get({ token })) ?? undefined,
    add({ id, name, token, key, address }, addedMs) {
      if (isFull()) throw tooMany();
      durable(() => add.run({ id, name, token, key, address, addedMs }));
    },
    remove(id) {
      const own = numberOf(id);
      if (own === undefined) return false;
      durable(() =>
        database.transaction(() => {
          remove.run({ number: own });
          forget.run({ number: own });
        })(),
      );
      used.delete(own);
      return true;
    },
    seen(id, address) {
      ask(() => seen.run({ id, address }));
    },
    async remember(id, salt) {
      const own = numberOf(id);
      if (own === undefined) return "known";
      const before = used.get(own) ?? ask(() => salts.get({ number: own }))?.count ?? 0;
      if (before >= v1SaltsPerClientMax) return "full";
      if (ask(() => remember.run({ number: own, salt })).changes === 0) return "known";
      used.set(own, before + 1);
      await onDisk();
      return "new";
    },
  };
}

function tooMany(): ServiceError {
  const sentence = `there are ${v1ClientsMax} clients of version 1 already: delete one that is not used`;
  return new ServiceError("busy", sentence, { data: { limit: "v1ClientsMax" } });
}
