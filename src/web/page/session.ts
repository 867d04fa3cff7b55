/** How this page comes in: sealed where it was paired, plainly where the device asks for no more, or not at all. */
import { type Client, connect, type Identity, RpcError } from "../../client/client.ts";

export const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v0.1`;

export type Entry =
  /** `isDevice`: opened at the device itself. */
  | { readonly kind: "in"; readonly client: Client; readonly isDevice: boolean }
  /** Paired before, and no longer known there. */
  | { readonly kind: "unknown" }
  | { readonly kind: "unpaired" };

const [encryptionRequired, secureFailure] = [-32002, -32003];
const isCode = (error: unknown, code: number) => error instanceof RpcError && error.code === code;

/** Rejects where nobody answers. */
export async function enter(identity: Identity | undefined): Promise<Entry> {
  const isSealed = identity !== undefined && location.protocol === "http:" && !isLoopback();
  if (isSealed) {
    try {
      return {
        kind: "in",
        client: await connect(address, { ...identity, reconnect: true }),
        isDevice: false,
      };
    } catch (error) {
      if (isCode(error, secureFailure)) return { kind: "unknown" };
      // At the device itself nothing is sealed, whatever its address: that is told as a refusal of the hello.
      if (!(error instanceof RpcError)) throw error;
    }
  }
  const client = await connect(address, { reconnect: true });
  try {
    return { kind: "in", client, isDevice: await isAtDevice(client) };
  } catch (error) {
    client.close();
    if (isCode(error, encryptionRequired)) return { kind: "unpaired" };
    throw error;
  }
}

async function isAtDevice(client: Client): Promise<boolean> {
  try {
    await client.call("pairing");
    return true;
  } catch (error) {
    if (isCode(error, 2)) return false;
    throw error;
  }
}

function isLoopback(): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(location.hostname);
}
