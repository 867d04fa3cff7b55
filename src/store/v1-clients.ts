/** Clients of version 1 of the secure layer, and the salts of their sessions. */
import type { Database } from "bun:sqlite";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { limitReached } from "../core/errors.ts";
import { v1ClientsMax, v1SaltsPerClientMax } from "../core/limits.ts";
import { createClientUses, type NewClientRow, type StoredClient } from "./client-table.ts";
import type { DurableWrites } from "./durable-writes.ts";

export interface NewV1ClientRow extends Pick<NewClientRow, "id" | "name" | "address"> {
  /** The text that names the client on the wire, in cleartext. */
  readonly token: string;
  /** The pairing key as 64 hex characters. */
  readonly key: string;
}

export type StoredV1Client = NewV1ClientRow & Pick<StoredClient, "added" | "lastUsed">;

const columns = "id, name, token, key, address, added_ms, last_used_ms";
const sql = {
  list: `SELECT ${columns} FROM v1_clients ORDER BY number`,
  find: `SELECT ${columns} FROM v1_clients WHERE token = $token`,
  number: "SELECT number FROM v1_clients WHERE id = $id",
  count: "SELECT count(*) AS count FROM v1_clients",
  add: `INSERT INTO v1_clients (id, name, token, key, address, added_ms)
        VALUES ($id, $name, $token, $key, $address, $addedMs)`,
  remove: "DELETE FROM v1_clients WHERE number = $number",
  forget: "DELETE FROM v1_salts WHERE client = $number",
  lastUsed: "SELECT last_used_ms FROM v1_clients WHERE id = $id",
  use: "UPDATE v1_clients SET address = $address, last_used_ms = $lastUsedMs WHERE id = $id",
  salts: "SELECT count(*) AS count FROM v1_salts WHERE client = $number",
  remember: "INSERT OR IGNORE INTO v1_salts (client, salt) VALUES ($number, $salt)",
} as const;

interface Row extends NewV1ClientRow {
  readonly added_ms: number;
  readonly last_used_ms: number | null;
}

/** Makes the table. `onDisk` resolves once all that was committed so far is on the disk. */
export function createV1Clients(
  database: Database,
  { durable, ask }: DurableWrites,
  clock: Pick<Clock, "now">,
  onDisk: () => Promise<void>,
) {
  const list = database.query<Row, []>(sql.list);
  const find = database.query<Row, { token: string }>(sql.find);
  const number = database.query<{ number: number }, { id: string }>(sql.number);
  const count = database.query<{ count: number }, []>(sql.count);
  const add = database.query(sql.add);
  const remove = database.query(sql.remove);
  const forget = database.query(sql.forget);
  const lastUsed = database.query<{ last_used_ms: number | null }, { id: string }>(sql.lastUsed);
  const use = database.query(sql.use);
  const salts = database.query<{ count: number }, { number: number }>(sql.salts);
  const remember = database.query(sql.remember);
  const isFull = () => (ask(() => count.get())?.count ?? 0) >= v1ClientsMax;
  const numberOf = (id: string) => ask(() => number.get({ id }))?.number;
  /**
   * The number of salts of each client. The number is counted in the table once in a run, because a busy client has many
   * salts.
   */
  const used = new Map<number, number>();
  const uses = createClientUses({
    clock,
    savedMs: (id) => ask(() => lastUsed.get({ id }))?.last_used_ms ?? undefined,
    save: (id, { address, lastUsedMs }) => void ask(() => use.run({ id, address, lastUsedMs })),
  });
  const clientOf = ({ added_ms, last_used_ms, ...rest }: Row): StoredV1Client => ({
    ...rest,
    added: rfc3339(added_ms),
    ...uses.latest(rest, last_used_ms),
  });

  return {
    list: (): readonly StoredV1Client[] => ask(() => list.all()).map(clientOf),
    isFull,
    find(token: string) {
      const found = ask(() => find.get({ token }));
      return found === null ? undefined : clientOf(found);
    },
    /** Adds a client, which is on the disk when the function returns. Throws `busy` if there are `v1ClientsMax` already. */
    add({ id, name, token, key, address }: NewV1ClientRow, addedMs: number): void {
      if (isFull()) {
        const sentence = `there are ${v1ClientsMax} clients of version 1 already: delete one that is not used`;
        throw limitReached("v1ClientsMax", sentence);
      }
      durable(() => add.run({ id, name, token, key, address, addedMs }));
    },
    /**
     * Removes a client and its salts. The removal is on the disk when this returns. Returns false if no client has this
     * id.
     */
    remove(id: string): boolean {
      const own = numberOf(id);
      if (own === undefined) return false;
      durable(() =>
        database.transaction(() => {
          remove.run({ number: own });
          forget.run({ number: own });
        })(),
      );
      used.delete(own);
      uses.forget(id);
      return true;
    },
    /** Notes a use (`createClientUses`). Returns false if there is no such client. */
    seen(id: string, address: string): boolean {
      if (numberOf(id) === undefined) return false;
      uses.note(id, address);
      return true;
    },
    /**
     * Notes a salt and resolves once it is on the disk, without blocking the event loop. The result is `known` for a salt
     * that was noted before, and `full` if the client has used up its salts and must pair again.
     */
    async remember(id: string, salt: Uint8Array): Promise<"new" | "known" | "full"> {
      const own = numberOf(id);
      if (own === undefined) return "known";
      const before = used.get(own) ?? ask(() => salts.get({ number: own }))?.count ?? 0;
      if (before >= v1SaltsPerClientMax) return "full";
      if (ask(() => remember.run({ number: own, salt })).changes === 0) return "known";
      used.set(own, before + 1);
      await onDisk();
      return "new";
    },
    /** Saves the last uses. */
    close: uses.close,
  };
}
