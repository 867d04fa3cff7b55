/** Clients that may come from afar: an id, the secret both sides know, a role, and the last use. */
import type { Database } from "bun:sqlite";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { clientsMax, pairingLinkMs } from "../core/limits.ts";
import type { Role } from "../core/rights.ts";
import { createClientUses } from "./client-uses.ts";
import type { Guard } from "./durable.ts";

/** Absent texts are empty. */
export interface NewClient {
  readonly id: string;
  readonly name: string;
  /** 64 hex characters. */
  readonly secret: string;
  /** The address it last came from. */
  readonly address: string;
  readonly role: Role;
}

/** Times are RFC 3339. */
export interface StoredClient extends NewClient {
  readonly added: string;
  /** Absent if never. */
  readonly lastUsed?: string;
  /** Of a pairing link that nobody has used yet; absent for all others, which stay. */
  readonly expires?: string;
}

export interface Clients {
  /** In the order in which they were added, without expired ones. */
  list(): readonly StoredClient[];
  /** Undefined for an expired one too. */
  get(id: string): StoredClient | undefined;
  /**
   * On the disk when it returns. A client with `expiresMs` ends then, unless `seen` comes first. Throws `busy` if there are
   * `clientsMax` already, `conflict` for an id in use.
   */
  add(client: NewClient, addedMs: number, expiresMs?: number): void;
  /** On the disk when it returns; false where there is none with this id. */
  remove(id: string): boolean;
  /** Deletes expired ones, on the disk when it returns, and returns them. */
  expire(): readonly Pick<StoredClient, "id" | "name">[];
  /** When the next one expires, in milliseconds since 1970; undefined if none does. */
  nextExpiryMs(): number | undefined;
  /**
   * Notes a use of a client that has proved its secret; false if there is no such client. The first use makes a client
   * permanent, on the disk when it returns. Time and address of a use may be lost with the power (`client-uses.ts`).
   */
  seen(id: string, address: string): boolean;
  /** Saves the last uses. */
  close(): void;
}

const columns = "id, name, secret, address, role, added_ms, last_used_ms, expires_ms";
const isAlive = "(expires_ms IS NULL OR expires_ms > $nowMs)";
const sql = {
  list: `SELECT ${columns} FROM clients WHERE ${isAlive} ORDER BY rowid`,
  get: `SELECT ${columns} FROM clients WHERE id = $id AND ${isAlive}`,
  count: `SELECT count(*) AS clients FROM clients WHERE ${isAlive}`,
  add: `INSERT INTO clients (id, name, secret, address, role, added_ms, expires_ms)
        VALUES ($id, $name, $secret, $address, $role, $addedMs, $expiresMs)`,
  remove: "DELETE FROM clients WHERE id = $id",
  // One far ahead was made before the clock was set back, and would stay for as long.
  expired: "SELECT id, name FROM clients WHERE expires_ms <= $nowMs OR expires_ms > $nowMs + $aheadMsMax",
  nextExpiry: "SELECT min(expires_ms) AS ms FROM clients",
  keep: "UPDATE clients SET expires_ms = NULL WHERE id = $id",
  use: "UPDATE clients SET address = $address, last_used_ms = $lastUsedMs WHERE id = $id",
} as const;

interface Row extends NewClient {
  readonly added_ms: number;
  readonly last_used_ms: number | null;
  readonly expires_ms: number | null;
}

export function createClients(
  database: Database,
  { durable, ask }: Guard,
  clock: Pick<Clock, "now">,
): Clients {
  const list = database.query<Row, { nowMs: number }>(sql.list);
  const get = database.query<Row, { id: string; nowMs: number }>(sql.get);
  const count = database.query<{ clients: number }, { nowMs: number }>(sql.count);
  const add = database.query(sql.add);
  const remove = database.query(sql.remove);
  const expired = database.query<{ id: string; name: string }, { nowMs: number; aheadMsMax: number }>(
    sql.expired,
  );
  const nextExpiry = database.query<{ ms: number | null }, []>(sql.nextExpiry);
  const keep = database.query(sql.keep);
  const use = database.query(sql.use);
  const row = (id: string) => ask(() => get.get({ id, nowMs: clock.now() })) ?? undefined;
  const uses = createClientUses({
    clock,
    savedMs: (id) => row(id)?.last_used_ms ?? undefined,
    save: (id, { address, lastUsedMs }) => void ask(() => use.run({ id, address, lastUsedMs })),
  });
  const clientOf = ({ added_ms, last_used_ms, expires_ms, ...rest }: Row): StoredClient => {
    const used = uses.of(rest.id);
    const lastUsedMs = used?.lastUsedMs ?? last_used_ms;
    return {
      ...rest,
      address: used?.address ?? rest.address,
      added: rfc3339(added_ms),
      ...(lastUsedMs === null ? {} : { lastUsed: rfc3339(lastUsedMs) }),
      ...(expires_ms === null ? {} : { expires: rfc3339(expires_ms) }),
    };
  };

  return {
    list: () => ask(() => list.all({ nowMs: clock.now() })).map(clientOf),
    get(id) {
      const found = row(id);
      return found && clientOf(found);
    },
    add({ id, name, secret, address, role }, addedMs, expiresMs) {
      if ((ask(() => count.get({ nowMs: clock.now() }))?.clients ?? 0) >= clientsMax) throw tooMany();
      if (row(id) !== undefined) throw new ServiceError("conflict", "a client with this id exists");
      durable(() => add.run({ id, name, secret, address, role, addedMs, expiresMs: expiresMs ?? null }));
    },
    remove(id) {
      uses.forget(id);
      return durable(() => remove.run({ id })).changes > 0;
    },
    expire() {
      const gone = ask(() => expired.all({ nowMs: clock.now(), aheadMsMax: 2 * pairingLinkMs }));
      if (gone.length > 0)
        durable(() => database.transaction(() => gone.forEach(({ id }) => void remove.run({ id })))());
      return gone;
    },
    nextExpiryMs: () => ask(() => nextExpiry.get())?.ms ?? undefined,
    seen(id, address) {
      const found = row(id);
      if (found === undefined) return false;
      if (found.expires_ms !== null) durable(() => keep.run({ id }));
      uses.note(id, address);
      return true;
    },
    close: uses.close,
  };
}

function tooMany(): ServiceError {
  return new ServiceError("busy", `there are ${clientsMax} clients already: delete one that is not used`, {
    data: { limit: "clientsMax" },
  });
}
