/**
 * The connection of this page: paired, without an identity, or refused; and the credentials that the browser keeps for
 * this address of the device.
 */
import { type Calls, type Client, connect, type Identity, RpcError } from "../../client/client.ts";
import { readCodeHash, readPairingHash } from "../../core/pairing-link.ts";

export const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v0.1`;

export type Rights = Calls["rights"]["result"]["rights"];

export type Entry =
  /** `isPaired`: with an identity. */
  | { readonly kind: "in"; readonly client: Client; readonly rights: Rights; readonly isPaired: boolean }
  /** The device has revoked the credentials. */
  | { readonly kind: "unknown" }
  /** The device grants nothing to callers without an identity. */
  | { readonly kind: "unpaired" };

const forbidden = 2;
const invalidRequest = -32600;
const encryptionRequired = -32002;
const secureFailure = -32003;
const isCode = (error: unknown, code: number) => error instanceof RpcError && error.code === code;

/** Rejects if the device does not answer. */
export async function enter(identity: Identity | undefined): Promise<Entry> {
  if (identity !== undefined) {
    try {
      return await ask(await connect(address, { ...identity, reconnect: true }), true);
    } catch (error) {
      if (isCode(error, secureFailure)) return { kind: "unknown" };
      // A browser on the device has all rights without a handshake, so the device refuses its hello.
      if (!isCode(error, invalidRequest)) throw error;
    }
  }
  return ask(await connect(address, { reconnect: true }), false);
}

async function ask(client: Client, isPaired: boolean): Promise<Entry> {
  try {
    const { rights } = await client.call("rights");
    return { kind: "in", client, rights, isPaired };
  } catch (error) {
    client.close();
    if (isCode(error, encryptionRequired) || isCode(error, forbidden)) return { kind: "unpaired" };
    throw error;
  }
}

const key = "tapdeck.client";

/** Moves the secret of a pairing link from the address into storage; false if there is none. */
export function takeFromAddress(): boolean {
  const found = readPairingHash(location.hash);
  if (found === undefined) return false;
  history.replaceState(null, "", location.pathname);
  keep(found);
  return true;
}

/** Removes the digits of a code from the address, and returns them. A link on the device's screen has such digits. */
export function takeCodeFromAddress(): string | undefined {
  const code = readCodeHash(location.hash);
  if (code !== undefined) history.replaceState(null, "", location.pathname);
  return code;
}

export function keep(identity: Identity): void {
  localStorage.setItem(key, JSON.stringify(identity));
}

export function kept(): Identity | undefined {
  const value: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
  if (typeof value !== "object" || value === null || !("id" in value) || !("secret" in value))
    return undefined;
  const { id, secret } = value;
  return typeof id === "string" && typeof secret === "string" ? { id, secret } : undefined;
}

export function forget(): void {
  localStorage.removeItem(key);
}
