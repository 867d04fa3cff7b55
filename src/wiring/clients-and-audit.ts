/** Who comes in, and what is noted of it: clients of both versions of the secure layer, pairing by PIN, and the audit log. */
import type { ApiOptions } from "../api/server.ts";
import type { Client, Services } from "../api/services.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Role } from "../core/rights.ts";
import type { Store } from "../store/open.ts";
import { heldAddresses } from "../system/addresses.ts";
import { createAuditLog } from "../system/audit-log.ts";
import { createDescriptors } from "../system/descriptor-reserve.ts";
import { acceptHellos, createPairByPin } from "../v1/v1-clients-service.ts";
import { createClientService, freeName, seenIn } from "./client-registry.ts";
import { createBearerCheck, grantOfClient } from "./identities.ts";

export interface GuardParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly dataFolder: string;
  /** What `api.allow_v1_clients` says now. */
  readonly isV1Allowed: () => boolean;
  /** Ends the live sessions of a client. */
  readonly cut: (id: string) => void;
  /** Of the certificate that is shown over TLS. */
  readonly fingerprint: () => string | undefined;
}

export interface Guards {
  readonly services: Pick<Services, "clients" | "pairByPin" | "audit">;
  readonly doors: Pick<
    ApiOptions,
    | "accept"
    | "acceptV1"
    | "grantOf"
    | "bearer"
    | "pairByPin"
    | "audit"
    | "ownAddresses"
    | "onProved"
    | "descriptors"
  >;
  /** For a phone that was typed the short code of the device. */
  readonly addByCode: (name: string, role: Role) => Client;
  /** Writes what the audit log has not yet. */
  close(): Promise<void>;
}

export function createGuards(parts: GuardParts): Guards {
  const { store, clock, log, dataFolder, isV1Allowed, cut, fingerprint } = parts;
  const audit = createAuditLog({ folder: dataFolder, clock, log });
  // Of this run: what they began may outlive their connections.
  const revoked = new Set<string>();
  const revoke = (id: string) => {
    revoked.add(id);
    cut(id);
  };
  const grantOf = (id: string) => {
    const grant = grantOfClient(store, id);
    return () => (revoked.has(id) ? "none" : grant);
  };
  const clients = createClientService({ store, clock, log, audit, cut: revoke });
  const nameFor = (name: string) => freeName(name, clients.list());
  const v1 = { store, clock, log, audit, nameFor, isAllowed: isV1Allowed };
  const pairByPin = createPairByPin(v1);
  const onProved = seenIn(store);
  return {
    services: {
      clients,
      pairByPin,
      audit: audit.read,
    },
    doors: {
      ...acceptHellos(v1),
      grantOf,
      bearer: createBearerCheck({ store, fingerprint, onProved, grantOf }),
      pairByPin,
      audit,
      ownAddresses: heldAddresses,
      onProved,
      descriptors: createDescriptors(),
    },
    addByCode: clients.addPaired,
    async close() {
      clients[Symbol.dispose]();
      await audit.close();
    },
  };
}
