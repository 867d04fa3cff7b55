/** The credentials of a client: pairing by the short code that a device shows, and bearer tokens for HTTPS. */

import { bearerToken } from "../secure/bearer-token.ts";
import { readCode, startPairing } from "../secure/pairing.ts";
import type { Identity } from "./link.ts";
import { abortable, deferred, openPlainLink, readProtocolError } from "./link.ts";

export interface PairOptions {
  /** The name of this client in the owner's list; at most 255 characters. */
  readonly name?: string;
  readonly signal?: AbortSignal;
}

/**
 * Pairs with the device at `ws://` or `wss://host:port/api/v0.1` by the code that `tapdeck pair --code` shows on the
 * device. The caller keeps the result like a password. Rejects with `RpcError` if no pairing is open or the code is
 * wrong; a device accepts three tries in total.
 */
export async function pair(url: string, code: string, options: PairOptions = {}): Promise<Identity> {
  const digits = readCode(code);
  if (digits === undefined)
    throw new Error("a code has six digits: tapdeck pair --code shows one on the device");
  const pairing = await startPairing(digits, options.name ?? "");
  const granted = deferred<Identity>();
  let isProved = false;
  const link = await openPlainLink(url, {
    heartbeatMs: 0,
    signal: options.signal,
    onMessage(text) {
      try {
        const refusal = readProtocolError(text);
        if (refusal !== undefined) throw refusal;
        if (isProved) return granted.resolve(pairing.finish(text));
        isProved = true;
        link.send(pairing.prove(text));
      } catch (error) {
        granted.reject(error);
      }
    },
  });
  void link.ended.then(granted.reject);
  try {
    link.send(pairing.hello);
    return await abortable(granted.promise, options.signal);
  } finally {
    link.close();
  }
}

/**
 * The value of `Authorization: Bearer`, for HTTPS requests: the client's id, and its token for the certificate with this
 * SHA-256 fingerprint. Its hex digits may be in either case, with or without colons. A device with another certificate
 * rejects the token. Throws `invalid-params` for a secret or fingerprint of another length.
 */
export function bearerOf({ id, secret }: Identity, fingerprint: string): string {
  return `${id}:${bearerToken(secret, fingerprint)}`;
}
