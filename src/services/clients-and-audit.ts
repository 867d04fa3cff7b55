/** Clients of both versions of the secure layer, their grants and bearer tokens, pairing by PIN, and the audit log. */
import { timingSafeEqual } from "node:crypto";
import type { BearerClient } from "../api/admission/admission.ts";
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { type Grant, grantOfRole, type Role } from "../core/rights.ts";
import { isOwnerAct, type ShownAct } from "../screen/picture.ts";
import { bearerToken } from "../secure/bearer-token.ts";
import type { Store } from "../store/open.ts";
import { createAuditLog } from "../system/audit-log.ts";
import { acceptHellos, createPairByPin } from "../v1/v1-clients-service.ts";
import { createClientRegistry, freeName, seenIn } from "./client-registry.ts";

interface ClientAccessParts {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly dataFolder: string;
  /** The current value of `api.allow_v1_clients`. */
  readonly isV1Allowed: () => boolean;
  /** True if TAPDECK_FIRST_OWNER is set. The image sets it unless `tapdeck.conf` has `first_owner=no`. */
  readonly isFirstOwner: boolean;
  /** The fingerprint of the TLS certificate. */
  readonly fingerprint: () => string | undefined;
  /** The digits that let a caller over TLS read the metrics, and nothing else; undefined for none. */
  readonly metricsKey: string | undefined;
}

export type ClientAccess = ReturnType<typeof createClientAccess>;

export function createClientAccess(parts: ClientAccessParts) {
  const { store, bus, clock, log, dataFolder, isV1Allowed } = parts;
  const auditLog = createAuditLog({ folder: dataFolder, clock, log });
  const audit: typeof auditLog = {
    ...auditLog,
    note(entry) {
      auditLog.note(entry);
      if (entry.event === "paired" && (entry.by === "code" || entry.by === "pin"))
        bus.emit("clients.paired", { clientId: entry.client, clientName: entry.name });
    },
    changed(from, change) {
      const name = from.client === undefined ? undefined : store.clients.get(from.client)?.name;
      auditLog.changed({ ...from, name }, change);
      if (isOwnerAct(change.method))
        for (const listener of actListeners)
          listener({ act: change.method, name: name ?? from.client ?? from.address });
    },
  };
  const actListeners: ((act: ShownAct) => void)[] = [];
  const changeListeners: ((id: string) => void)[] = [];
  // Clients that changed in this run. Their launches may outlive their connections, and get the new grant of the client
  // from this map.
  const changed = new Map<string, Grant>();
  const change = (id: string, grant: Grant) => {
    changed.set(id, grant);
    for (const listener of changeListeners) listener(id);
  };
  const grantOf = (id: string) => {
    const grant = grantOfClient(store, id);
    return () => changed.get(id) ?? grant;
  };
  const onRevoked = (id: string) => change(id, "none");
  const onRole = (id: string, role: Role) => change(id, grantOfRole[role]);
  const clients = createClientRegistry({ store, clock, log, audit, onRevoked, onRole });
  const nameFor = (name: string) => freeName(name, clients.list());
  const v1 = { store, clock, log, audit, nameFor, isAllowed: isV1Allowed };
  const onProved = seenIn(store);
  return {
    ...acceptHellos(v1),
    clients,
    audit,
    /** The role of a phone that pairs by the code of the device's own screen: on an image, the first one is its owner. */
    roleByScreen: (): Role => (parts.isFirstOwner && !clients.hasOwner() ? "owner" : "member"),
    pairByPin: createPairByPin(v1),
    grantOf,
    onProved,
    bearer: createBearerCheck(parts, onProved, grantOf),
    /**
     * Calls the listener with the id of each client that is deleted or gets another role. The listener ends all its
     * running work.
     */
    onChanged: (listener: (id: string) => void) => void changeListeners.push(listener),
    /** Calls the listener when an owner over the network has administered the device. */
    onOwnerAct: (listener: (act: ShownAct) => void) => void actListeners.push(listener),
    /** Writes the entries that the audit log has not written yet. */
    async close() {
      clients[Symbol.dispose]();
      await audit.close();
    },
  };
}

/** The grant of a client; `none` for a deleted one. Clients of version 1 are members. */
function grantOfClient({ clients, v1Clients }: Store, id: string): Grant {
  const client = clients.get(id);
  if (client !== undefined) return grantOfRole[client.role];
  return v1Clients.list().some((one) => one.id === id) ? grantOfRole.member : "none";
}

// The form `<client id>:<token>`. A token has 64 hex characters, and no id is longer than a UUID.
const form = /^Bearer +([0-9a-zA-Z-]{1,64}):([0-9a-f]{64})$/i;

/**
 * Checks an `Authorization` header (RFC 6750, 2.1). The result is undefined if its token is not that of a client. An
 * unknown client takes as long as a wrong token.
 */
function createBearerCheck(
  { store, fingerprint, metricsKey }: ClientAccessParts,
  onProved: ReturnType<typeof seenIn>,
  grantOf: (id: string) => () => Grant,
) {
  const proves = (id: string, address: string) => {
    try {
      onProved(id, address);
      return true;
    } catch (error) {
      if (error instanceof ServiceError) return false;
      throw error;
    }
  };
  return (authorization: string, address: string): BearerClient | undefined => {
    const [, id = "", token = ""] = form.exec(authorization) ?? [];
    if (id === metricsId && metricsKey !== undefined)
      return isSame(metricsKey, token) ? { id, path: "/metrics", grant: () => "look" } : undefined;
    const print = fingerprint();
    if (id === "" || print === undefined) return undefined;
    const client = store.clients.get(id);
    const expected = bearerToken(client?.secret ?? nobodysSecret, print);
    if (!isSame(expected, token) || client === undefined || !proves(id, address)) return undefined;
    return { id, grant: grantOf(id) };
  };
}

const isSame = (expected: string, token: string) =>
  timingSafeEqual(Buffer.from(expected), Buffer.from(token.toLowerCase()));

/** The id in the token of `metrics_key`; those of other clients are UUIDs, or that of the staff. */
const metricsId = "metrics";
const nobodysSecret = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex");
