/** The clients that may come from afar, of either version of the secure layer, as the API lists and changes them. */
import type { Client, ClientService } from "../api/services.ts";
import type { Audit, PairedBy } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { toHex } from "../core/hex.ts";
import type { Store } from "../store/open.ts";

const secretBytes = 32;

export interface ClientParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly audit: Audit;
  /** Ends the live sessions of a client. */
  readonly cut: (id: string) => void;
}

export interface Clients extends Omit<ClientService, "add"> {
  add(name: string, by: PairedBy): Client;
}

export function createClientService({ store, clock, audit, cut }: ClientParts): Clients {
  const { clients, v1Clients } = store;
  const list = () => [
    ...clients.list(),
    // Their keys were agreed on, and are nobody's to read.
    ...v1Clients.list().map(({ id, name, address }) => ({ id, name, secret: "", address })),
  ];
  return {
    list,
    add(name, by) {
      const secret = toHex(crypto.getRandomValues(new Uint8Array(secretBytes)));
      const client = { id: crypto.randomUUID(), name, secret, address: "" };
      clients.add(client, clock.now());
      audit.note({ event: "paired", client: client.id, name, by });
      return client;
    },
    remove(id) {
      const name = list().find((client) => client.id === id)?.name ?? "";
      if (!clients.remove(id) && !v1Clients.remove(id))
        throw new ServiceError("not-found", "there is no client with this id");
      cut(id);
      audit.note({ event: "revoked", client: id, name });
    },
  };
}

/** Notes where a client came from. */
export function seenIn({ clients, v1Clients }: Store): (id: string, address: string) => void {
  return (id, address) => {
    clients.seen(id, address);
    v1Clients.seen(id, address);
  };
}
