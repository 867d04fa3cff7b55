/** Pairing by the short code that a device shows: a client gets its id and secret, for `connect`. */
import { readCode, startPairing } from "../secure/pairing.ts";
import { deferred } from "./deferred.ts";
import type { Identity } from "./identity.ts";
import { openLink } from "./link.ts";
import { readProtocolError } from "./rpc-error.ts";

export interface PairOptions {
  /** By which the device's owner will know this client; at most 255 characters. */
  readonly name?: string;
  readonly signal?: AbortSignal;
}

/**
 * Pairs with the device at `ws://` or `wss://host:port/api/v0.1` by the code that `tapdeck pair --code` shows there. Keep what it
 * resolves with, as a password. Rejects with `RpcError` where the device refuses: no pairing is open there, or the code is
 * another; it takes three tries in all.
 */
export async function pair(url: string, code: string, options: PairOptions = {}): Promise<Identity> {
  const digits = readCode(code);
  if (digits === undefined)
    throw new Error("a code has six digits: tapdeck pair --code shows one on the device");
  const pairing = await startPairing(digits, options.name ?? "");
  const granted = deferred<Identity>();
  let isProved = false;
  const link = await openLink(url, {
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
  const giveUp = () => granted.reject(options.signal?.reason);
  options.signal?.addEventListener("abort", giveUp, { once: true });
  try {
    link.send(pairing.hello);
    return await granted.promise;
  } finally {
    options.signal?.removeEventListener("abort", giveUp);
    link.close();
  }
}
