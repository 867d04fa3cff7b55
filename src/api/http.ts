/** What the parts of the HTTP side share: a request with its caller, and answers of one sentence. */
import type { Grant } from "../core/rights.ts";
import type { Access } from "./admission/access.ts";

/** A request whose Host and Origin were found good. */
export interface Visit {
  readonly request: Request;
  /** Path of the request's URL, not decoded. */
  readonly path: string;
  readonly address: string;
  readonly access: Access;
  readonly isTls: boolean;
  /** Nobody on the way can read it: TLS, or a door on the device itself. A remote caller that lacks this must be sealed. */
  readonly isPrivate: boolean;
  /** Whether the settings, and the addresses of this device, still let it in as what it came in as. */
  readonly isAdmitted: () => boolean;
  /** What the caller may do now; `none` for a caller that must be sealed, until it is. */
  readonly grant: () => Grant;
  /** The id of a paired client, shown by its bearer token. */
  readonly client?: string;
  /** The page of a known phone app: it may pair by PIN and use version 1 of the secure layer, and nothing else. */
  readonly isV1App: boolean;
}

/** Requests that wait behind this one on its connection are not even looked at. */
export const hangUp = { connection: "close" } as const;

const plain = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };

export function sentence(status: number, text: string, headers: Readonly<Record<string, string>> = {}) {
  return new Response(`${text}\n`, { status, headers: { ...plain, ...headers } });
}

export function json(status: number, text: string, more: Readonly<Record<string, string>> = {}): Response {
  const headers = { "content-type": "application/json", "cache-control": "no-store", ...more };
  return new Response(text, { status, headers });
}
