/** Shared by the HTTP endpoints: an admitted request, short answers, and the end of a revoked client's requests. */
import type { Grant } from "../core/rights.ts";
import type { Access } from "./admission/access.ts";

/** A request whose Host and Origin are admitted. */
export interface Visit {
  readonly request: Request;
  /** Path of the request's URL, not decoded. */
  readonly path: string;
  readonly address: string;
  readonly access: Access;
  readonly isTls: boolean;
  /** True if nobody on the way can read the request: over TLS, or within the device. Any other remote caller must seal. */
  readonly isPrivate: boolean;
  /** Whether the settings, and this device's addresses, still admit the caller as they did at first. */
  readonly isAdmitted: () => boolean;
  /** The caller's present right; `none` until a caller that must seal has done so. */
  readonly grant: () => Grant;
  /** Gives the token of the rate limit back, for a request that has brought bytes of an upload. */
  readonly refund: () => void;
  /** The caller has flooded its connection, so its address loses the tokens of a whole burst of requests. */
  readonly penalize: () => void;
  /** The id of a paired client, proved by its bearer token. */
  readonly client?: string;
  /** The page of a known phone app: it may pair by PIN and use version 1 of the secure layer, and nothing else. */
  readonly isV1App: boolean;
}

/** Bun drops the further requests on this connection unread. */
export const hangUp = { connection: "close" } as const;

const plain = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };

export function sentence(status: number, text: string, headers: Readonly<Record<string, string>> = {}) {
  return new Response(`${text}\n`, { status, headers: { ...plain, ...headers } });
}

/** Refuses a caller that may try again after `waitMs`. */
export function tooMany(text: string, waitMs: number, headers: Readonly<Record<string, string>> = {}) {
  return sentence(429, text, { "retry-after": String(Math.ceil(waitMs / 1000)), ...headers });
}

export function json(status: number, text: string, more: Readonly<Record<string, string>> = {}): Response {
  const headers = { "content-type": "application/json", "cache-control": "no-store", ...more };
  return new Response(text, { status, headers });
}

/** Whether the request declares a JSON body. */
export function isJson({ headers }: Request): boolean {
  return /^application\/json\s*(;|$)/i.test(headers.get("content-type") ?? "");
}

export type Revocation = ReturnType<typeof createRevocation>;

/** Ends the HTTP requests of a client when it is revoked. sockets.ts closes its sockets. */
export function createRevocation() {
  const watched = new Map<string, Set<() => void>>();
  return {
    /** Calls `end` when the client is revoked, until disposed. */
    watch(clientId: string, end: () => void) {
      const ends = watched.get(clientId) ?? new Set();
      watched.set(clientId, ends);
      ends.add(end);
      return {
        [Symbol.dispose]() {
          ends.delete(end);
          if (ends.size === 0 && watched.get(clientId) === ends) watched.delete(clientId);
        },
      };
    },
    cut(clientId: string) {
      for (const end of [...(watched.get(clientId) ?? [])]) end();
    },
  };
}
