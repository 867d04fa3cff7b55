/** How this page comes in, and with which rights: as the client that it was paired as, without an identity, or not at all. */
import { type Calls, type Client, connect, type Identity, RpcError } from "../../client/client.ts";

export const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v0.1`;

export type Rights = Calls["rights"]["result"]["rights"];

export type Entry =
  /** `isPaired`: with an identity. */
  | { readonly kind: "in"; readonly client: Client; readonly rights: Rights; readonly isPaired: boolean }
  /** Paired before, and no longer known there. */
  | { readonly kind: "unknown" }
  /** The device grants a caller without an identity nothing from here. */
  | { readonly kind: "unpaired" };

const [forbidden, invalidRequest, encryptionRequired, secureFailure] = [2, -32600, -32002, -32003];
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
