/** Clients that connect over a network: an id, a shared secret, a role, the last use; and wrong guesses at pairing codes. */
import type { Database } from "bun:sqlite";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { limitReached, ServiceError } from "../core/errors.ts";
import { clientsMax, clientUseSavedMs, pairingLinkMs } from "../core/limits.ts";
import type { Role } from "../core/rights.ts";
import type { DurableWrites } from "./durable-writes.ts";

/** A row for a new client. Absent texts are empty. */
export interface NewClientRow {
  readonly id: string;
  readonly name: string;
  /** The secret as 64 hex characters. */
  readonly secret: string;
  /** The address of the last connection. */
  readonly address: string;
  readonly role: Role;
}

/** A client as it is stored. Times are RFC 3339. */
export interface StoredClient extends NewClientRow {
  readonly added: string;
  /** The last use; absent if there was none. */
  readonly lastUsed?: string;
  /** The end of a pairing link that is not used yet; absent for other clients. */
  readonly expires?: string;
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
  update: "UPDATE clients SET name = $name, role = $role WHERE id = $id",
  // If the clock was set back, a time of expiry may be far in the future. It counts as past, because it was stored before
  // the clock was set back.
  expired: "SELECT id, name FROM clients WHERE expires_ms <= $nowMs OR expires_ms > $nowMs + $aheadMsMax",
  nextExpiry: "SELECT min(expires_ms) AS ms FROM clients",
  keep: "UPDATE clients SET expires_ms = NULL WHERE id = $id",
  use: "UPDATE clients SET address = $address, last_used_ms = $lastUsedMs WHERE id = $id",
  guesses: "SELECT wrong, last_ms AS lastMs FROM pairing_guesses WHERE id = 1",
  saveGuesses: `INSERT INTO pairing_guesses (id, wrong, last_ms) VALUES (1, $wrong, $lastMs)
                ON CONFLICT (id) DO UPDATE SET wrong = $wrong, last_ms = $lastMs`,
} as const;

interface Row extends NewClientRow {
  readonly added_ms: number;
  readonly last_used_ms: number | null;
  readonly expires_ms: number | null;
}

export function createClientTable(
  database: Database,
  { durable, ask }: DurableWrites,
  clock: Pick<Clock, "now">,
) {
  const list = database.query<Row, { nowMs: number }>(sql.list);
  const get = database.query<Row, { id: string; nowMs: number }>(sql.get);
  const count = database.query<{ clients: number }, { nowMs: number }>(sql.count);
  const add = database.query(sql.add);
  const remove = database.query(sql.remove);
  const update = database.query(sql.update);
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
  const clientOf = ({ added_ms, last_used_ms, expires_ms, ...rest }: Row): StoredClient => ({
    ...rest,
    added: rfc3339(added_ms),
    ...uses.latest(rest, last_used_ms),
    ...(expires_ms === null ? {} : { expires: rfc3339(expires_ms) }),
  });

  return {
    /** The clients in the order in which they were added, without expired ones. */
    list: (): readonly StoredClient[] => ask(() => list.all({ nowMs: clock.now() })).map(clientOf),
    /** The client; undefined for an unknown or an expired one. */
    get(id: string) {
      const found = row(id);
      return found && clientOf(found);
    },
    /**
     * Adds a client, which is on the disk when the function returns. A client with `expiresMs` expires at that time,
     * unless `seen` is called before. Throws `busy` if there are `clientsMax` already, and `conflict` for an id in use.
     */
    add({ id, name, secret, address, role }: NewClientRow, addedMs: number, expiresMs?: number): void {
      if ((ask(() => count.get({ nowMs: clock.now() }))?.clients ?? 0) >= clientsMax) {
        throw limitReached(
          "clientsMax",
          `there are ${clientsMax} clients already: delete one that is not used`,
        );
      }
      if (row(id) !== undefined) throw new ServiceError("conflict", "a client with this id exists");
      durable(() => add.run({ id, name, secret, address, role, addedMs, expiresMs: expiresMs ?? null }));
    },
    /** Removes a client. The removal is on the disk when the function returns. Returns false if no client has this id. */
    remove(id: string): boolean {
      uses.forget(id);
      return durable(() => remove.run({ id })).changes > 0;
    },
    /** Changes a client. The change is on the disk when the function returns. */
    update: (id: string, name: string, role: Role) => void durable(() => update.run({ id, name, role })),
    /** Deletes expired clients, and returns them. The deletion is on the disk when the function returns. */
    expire() {
      const gone = ask(() => expired.all({ nowMs: clock.now(), aheadMsMax: 2 * pairingLinkMs }));
      if (gone.length > 0)
        durable(() => database.transaction(() => gone.forEach(({ id }) => void remove.run({ id })))());
      return gone;
    },
    /** The time at which the next client expires, in milliseconds since 1970; undefined if no client expires. */
    nextExpiryMs: () => ask(() => nextExpiry.get())?.ms ?? undefined,
    /**
     * Notes a use of a client that has proved its secret. Returns false if there is no such client. The first use makes a
     * client permanent, and this is on the disk when the function returns. A power cut may lose the time and address of a
     * use (`createClientUses`).
     */
    seen(id: string, address: string): boolean {
      const found = row(id);
      if (found === undefined) return false;
      if (found.expires_ms !== null) durable(() => keep.run({ id }));
      uses.note(id, address);
      return true;
    },
    /** Saves the last uses. */
    close: uses.close,
  };
}

interface ClientUse {
  readonly address: string;
  readonly lastUsedMs: number;
}

interface NotedUse extends ClientUse {
  /** The time at which the use was saved, or at which the save failed. */
  readonly savedMs: number | undefined;
  readonly isSaved: boolean;
}

/**
 * The last uses of clients. Uses are exact in memory. They are saved at most once in `clientUseSavedMs` for each client,
 * and at the end. `savedMs` returns the time of the saved use.
 */
export function createClientUses({
  clock,
  savedMs,
  save,
}: {
  readonly clock: Pick<Clock, "now">;
  readonly savedMs: (id: string) => number | undefined;
  readonly save: (id: string, use: ClientUse) => void;
}) {
  const uses = new Map<string, NotedUse>();
  const isSaved = (id: string, use: ClientUse) => {
    try {
      save(id, use);
      return true;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      // A full disk must not keep a client out. The next write is tried an hour later, and at the end.
      return false;
    }
  };
  return {
    /** Notes a use from now. The client exists. */
    note(id: string, address: string): void {
      const nowMs = clock.now();
      const before = uses.get(id);
      const lastMs = before === undefined ? savedMs(id) : before.savedMs;
      const use = { address, lastUsedMs: nowMs };
      // The absolute difference counts, because a clock that was set back must not delay the write for long.
      const isDue = lastMs === undefined || Math.abs(nowMs - lastMs) >= clientUseSavedMs;
      uses.set(
        id,
        isDue
          ? { ...use, savedMs: nowMs, isSaved: isSaved(id, use) }
          : { ...use, savedMs: lastMs, isSaved: false },
      );
    },
    /** The address and the last use: those of this run if there are any, otherwise the saved ones. */
    latest(saved: { readonly id: string; readonly address: string }, savedUseMs: number | null) {
      const used = uses.get(saved.id);
      const lastUsedMs = used?.lastUsedMs ?? savedUseMs;
      return {
        address: used?.address ?? saved.address,
        ...(lastUsedMs === null ? {} : { lastUsed: rfc3339(lastUsedMs) }),
      };
    },
    forget: (id: string) => void uses.delete(id),
    /** Saves the uses that are not on the disk yet. */
    close() {
      for (const [id, use] of uses) if (!use.isSaved) isSaved(id, use);
    },
  };
}

/** Wrong guesses at pairing codes. They count across restarts. */
export type PairingGuesses = ReturnType<typeof createPairingGuesses>;

interface GuessRecord {
  readonly wrong: number;
  /** The time of the last guess, in milliseconds since 1970. */
  readonly lastMs: number;
}

export function createPairingGuesses(database: Database, { durableOnly, ask }: DurableWrites) {
  const read = database.query<GuessRecord, []>(sql.guesses);
  const save = database.query(sql.saveGuesses);
  return {
    /** The saved record; undefined if there is none yet. */
    read: (): GuessRecord | undefined => ask(() => read.get()) ?? undefined,
    /** Saves the record, which is on the disk when this returns. Throws `ServiceError("failed")` if the disk refuses. */
    save: ({ wrong, lastMs }: GuessRecord) => void durableOnly(() => save.run({ wrong, lastMs })),
  };
}
