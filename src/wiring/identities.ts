/** What a paired client may do, and how its bearer token proves it. */
import { timingSafeEqual } from "node:crypto";
import type { Bearer } from "../api/admission/admit.ts";
import { ServiceError } from "../core/errors.ts";
import { type Grant, grantOfRole } from "../core/rights.ts";
import { bearerToken } from "../secure/bearer-token.ts";
import type { Store } from "../store/open.ts";

/** `none` for a client that there is no more. Clients of version 1 are members. */
export function grantOfClient({ clients, v1Clients }: Store, id: string): Grant {
  const client = clients.get(id);
  if (client !== undefined) return grantOfRole[client.role];
  return v1Clients.list().some((one) => one.id === id) ? grantOfRole.member : "none";
}

export interface BearerParts {
  readonly store: Store;
  /** Of the certificate that is shown over TLS. */
  readonly fingerprint: () => string | undefined;
  /** A client has proved its token. Throws `ServiceError` if it may not come in all the same. */
  readonly onProved: (id: string, address: string) => void;
  /** What a client may do from now on. */
  readonly grantOf: (id: string) => () => Grant;
}

// `<client id>:<token>`; a token has 64 hex characters, and no id is longer than a UUID.
const form = /^Bearer +([0-9a-zA-Z-]{1,64}):([0-9a-f]{64})$/i;

/**
 * Takes an `Authorization` header (RFC 6750, 2.1). Undefined where its token is not that of a client. A client that there is
 * not takes as long as a wrong token.
 */
export function createBearerCheck({ store, fingerprint, onProved, grantOf }: BearerParts) {
  const proves = (id: string, address: string) => {
    try {
      onProved(id, address);
      return true;
    } catch (error) {
      if (error instanceof ServiceError) return false;
      throw error;
    }
  };
  return (authorization: string, address: string): Bearer | undefined => {
    const [, id = "", token = ""] = form.exec(authorization) ?? [];
    const print = fingerprint();
    if (id === "" || print === undefined) return undefined;
    const client = store.clients.get(id);
    const expected = bearerToken(client?.secret ?? nobodysSecret, print);
    const isRight = timingSafeEqual(Buffer.from(expected), Buffer.from(token.toLowerCase()));
    if (client === undefined || !isRight || !proves(id, address)) return undefined;
    return { id, grant: grantOf(id) };
  };
}

const nobodysSecret = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex");
