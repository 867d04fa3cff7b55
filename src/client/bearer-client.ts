/** What a program sends with its HTTPS requests in place of a handshake: `Authorization: Bearer <this>`. */
import { bearerToken } from "../secure/bearer-token.ts";
import type { Identity } from "./identity.ts";

/**
 * The client's id and its token for the certificate with this SHA-256 fingerprint, in either case, with or without colons. It
 * is worth nothing to a device with another certificate. Throws `invalid-params` for a secret or fingerprint of another length.
 */
export function bearerOf({ id, secret }: Identity, fingerprint: string): string {
  return `${id}:${bearerToken(secret, fingerprint)}`;
}
