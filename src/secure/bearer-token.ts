/**
 * The bearer token of a client, for HTTP over TLS (docs/SECURE.md, "A bearer token"). It depends on the certificate's
 * fingerprint, so a machine in the middle with another certificate gets no token that the device accepts.
 */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { clean } from "@noble/hashes/utils.js";
import { ServiceError } from "../core/errors.ts";
import { fromHex, toHex } from "../core/hex.ts";
import { keyBytes } from "./primitives.ts";

/**
 * The token as 64 hex characters. `secretHex` has 64 hex characters. `fingerprint` is the certificate's SHA-256 in
 * either case, with or without colons. Throws `invalid-params` for anything else.
 */
export function bearerToken(secretHex: string, fingerprint: string): string {
  const secret = fromHex(secretHex);
  const print = fromHex(fingerprint);
  if (secret?.length !== keyBytes || print?.length !== sha256.outputLen)
    throw new ServiceError(
      "invalid-params",
      "a bearer token needs a secret and a fingerprint of 32 bytes each",
    );
  const message = new TextEncoder().encode(`tapdeck-bearer:${toHex(print)}`);
  const token = toHex(hmac(sha256, secret, message));
  clean(secret);
  return token;
}
