/** The paired clients, of both versions of the secure layer, as the API lists and changes them. */
import type { ClientEntry, ClientService } from "../api/services.ts";
import type { Audit, PairedBy } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";
import { assert, coded, failed, messageOf, publicError, ServiceError } from "../core/errors.ts";
import { toHex } from "../core/hex.ts";
import { clientNameCharsMax, pairingLinkMs, revocationUndoMs } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { Role } from "../core/rights.ts";
import { SecureFailure } from "../secure/failure.ts";
import type { StoredClient } from "../store/client-table.ts";
import type { Store } from "../store/open.ts";

const secretBytes = 32;
/** The id of the client that `staff_key` of `tapdeck.conf` makes; other ids are UUIDs. */
const staffId = "staff";

interface ClientParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Audit;
  /** Called when a client was deleted, or its link has expired. */
  readonly onRevoked: (id: string) => void;
  /** Called when a client has another role. */
  readonly onRole: (id: string, role: Role) => void;
}

/** Deletes expired links, now and when they expire, until disposed. */
export function createClientRegistry({ store, clock, log, audit, onRevoked, onRole }: ClientParts) {
  const { clients, v1Clients } = store;
  let timer: Disposable | undefined;
  /** Removed clients that can still be restored; each is dropped when its timer ends. */
  const removed = new Map<string, { readonly client: StoredClient; readonly forgetting: Disposable }>();
  const list = (): readonly ClientEntry[] => [
    ...clients.list(),
    // A client of version 1 and the device agreed on the key themselves, so the API need not show it.
    ...v1Clients.list().map(({ token: _token, key: _key, ...shown }) => {
      return { ...shown, secret: "", role: "member" } as const;
    }),
  ];
  const expire = () => {
    timer?.[Symbol.dispose]();
    timer = undefined;
    try {
      for (const { id, name } of clients.expire()) {
        onRevoked(id);
        audit.note({ event: "expired", client: id, name });
      }
      const nextMs = clients.nextExpiryMs();
      if (nextMs !== undefined) timer = clock.after(Math.max(0, nextMs - clock.now()), expire);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      // The store never returns an expired client. A link that cannot be deleted because the disk is full therefore still
      // admits nobody.
      log.warn("clients", "expired pairing links could not be deleted", { error: messageOf(error) });
      timer = clock.after(pairingLinkMs, expire);
    }
  };
  const keep = (name: string, role: Role, by: PairedBy, isLink = false): ClientEntry => {
    const secret = toHex(crypto.getRandomValues(new Uint8Array(secretBytes)));
    const id = crypto.randomUUID();
    // The clock is read once, so the link lasts exactly its time.
    const nowMs = clock.now();
    const expiresMs = isLink ? nowMs + pairingLinkMs : undefined;
    clients.add({ id, name, secret, address: "", role }, nowMs, expiresMs);
    audit.note({ event: "paired", client: id, name, by });
    const kept = clients.get(id);
    assert(kept !== undefined, "a client is there once it was added");
    return kept;
  };
  const remove = (id: string) => {
    const name = list().find((client) => client.id === id)?.name ?? "";
    const client = clients.get(id);
    if (!clients.remove(id) && !v1Clients.remove(id)) throw noClient();
    if (client !== undefined && client.expires === undefined) {
      const forgetting = clock.after(revocationUndoMs, () => removed.delete(id));
      removed.set(id, { client, forgetting });
    }
    onRevoked(id);
    audit.note({ event: "revoked", client: id, name });
  };
  const refuseTaken = (name: string, id?: string) => {
    const holder = list().find((client) => client.id !== id && isSameName(client.name, name));
    if (holder !== undefined) throw nameInUse(holder.name);
  };

  expire();
  return {
    list,
    add({ name, role, isLink }: Parameters<ClientService["add"]>[0]) {
      expire();
      const wanted = name.trim();
      const holder = list().find((client) => isSameName(client.name, wanted));
      // A second link for the same phone replaces the unused first one.
      if (holder?.expires !== undefined && isLink) remove(holder.id);
      else refuseTaken(wanted);
      const made = keep(wanted, role, "secret", isLink);
      expire();
      return made;
    },
    /** Adds a client that has chosen its name; a name in use gets a number. */
    addPaired: (name: string, role: Role) => keep(freeName(name, list()), role, "code"),
    remove,
    update(id: string, changes: Parameters<ClientService["update"]>[1]) {
      const client = list().find((one) => one.id === id);
      if (client === undefined) throw noClient();
      const { role = client.role } = changes;
      const name = changes.name?.trim() ?? client.name;
      if (client.role === role && client.name === name) return;
      if (clients.get(id) === undefined)
        throw coded(
          "client-by-pin",
          failed("an app that was paired by a PIN keeps its name, and is always a member: revoke it instead"),
        );
      refuseTaken(name, id);
      clients.update(id, name, role);
      if (client.role === role) return;
      onRole(id, role);
      audit.note({ event: "role-changed", client: id, name, role });
    },
    restore(id: string) {
      const found = removed.get(id);
      if (found === undefined)
        throw coded(
          "client-gone",
          new ServiceError("not-found", "this client was not revoked, or too long ago: pair it again"),
        );
      const { client, forgetting } = found;
      clients.add({ ...client, name: freeName(client.name, list()) }, Date.parse(client.added));
      forgetting[Symbol.dispose]();
      removed.delete(id);
      onRole(id, client.role);
      audit.note({ event: "paired", client: id, name: client.name, by: "undo" });
    },
    isRestorable: (id: string) => removed.has(id),
    refuseLastOwner(id: string) {
      const owners = list().filter(isOwner);
      if (owners.length === 1 && owners[0]?.id === id)
        throw coded(
          "client-last-owner",
          publicError("forbidden", "this is the last owner: only the device itself can change or revoke it"),
        );
    },
    /** Whether a client is an owner. A link that nobody has used is not a client yet. */
    hasOwner: () => list().some(isOwner),
    /**
     * Makes the client `staff` with this secret, a member, or deletes it if there is no secret. Call it at the start,
     * before any session. A `staff` client that was revoked during the last run then exists again.
     */
    keepStaff(secret: string | undefined): void {
      try {
        if (clients.get(staffId)?.secret === secret) return;
        clients.remove(staffId);
        if (secret === undefined) return;
        const name = freeName(staffId, list());
        clients.add({ id: staffId, name, secret, address: "", role: "member" }, clock.now());
        audit.note({ event: "paired", client: staffId, name, by: "secret" });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        log.error("clients", "the client of staff_key was not changed", { error: messageOf(error) });
      }
    },
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]();
      for (const { forgetting } of removed.values()) forgetting[Symbol.dispose]();
    },
  };
}

const isOwner = ({ role, expires }: ClientEntry) => role === "owner" && expires === undefined;

function nameInUse(name: string): ServiceError {
  const sentence = `there is a client with the name ${name} already: choose another name, or revoke that client first (tapdeck pair --revoke)`;
  return coded("client-name-taken", new ServiceError("conflict", sentence), { name });
}

const noClient = () => coded("client-gone", new ServiceError("not-found", "there is no client with this id"));

/**
 * Notes a use of a client that has proved its secret. Throws `SecureFailure` if the client was deleted, or its link has
 * expired, since its handshake began.
 */
export function seenIn({ clients, v1Clients }: Store): (id: string, address: string) => void {
  return (id, address) => {
    if (!clients.seen(id, address) && !v1Clients.seen(id, address)) throw new SecureFailure();
  };
}

/** The chosen name, or, if that is in use, the name with the first free number from 2. */
export function freeName(chosen: string, taken: readonly Pick<ClientEntry, "name">[]): string {
  const wanted = chosen.trim();
  const isTaken = (name: string) => taken.some((client) => isSameName(client.name, name));
  let free = wanted;
  for (let number = 2; isTaken(free); number++) {
    const suffix = ` ${number}`;
    // The name is cut by code points, because half of a surrogate pair is no text.
    let kept = wanted;
    while (kept.length + suffix.length > clientNameCharsMax) kept = [...kept].slice(0, -1).join("");
    free = kept + suffix;
  }
  return free;
}

/** Empty names are never the same, so several clients may have none. */
function isSameName(one: string, other: string): boolean {
  return one !== "" && foldedName(one) === foldedName(other);
}

function foldedName(name: string): string {
  return name.trim().normalize("NFC").toLowerCase().normalize("NFC");
}
