/** What the API may ask of the rest of the service. `main.ts` builds one; each method's handler picks what it needs. */
import type { ActiveMedia } from "../core/media.ts";
import type { Reader, Token, TokenParams } from "../core/token.ts";

export interface Services {
  readonly platform: string;
  readonly version: string;
  /** Queues a launch and returns; throws `ServiceError("busy")` where the queue is full. */
  launch(token: TokenParams): void;
  /** Stops what plays, empties the queue, and returns at once. */
  stop(): void;
  /**
   * Lays a virtual token on a reader for `durationMs`: on the simulated reader with this id, or, where none is given,
   * on the API's own virtual one. Throws `not-found` for an unknown reader and `invalid-params` for a real one.
   */
  scan(token: TokenParams, durationMs: number, readerId: string | undefined): void;
  tokens(): { readonly active: readonly Token[]; readonly last: Token | undefined };
  history(page: HistoryPage): readonly LaunchEntry[];
  readers(): readonly Reader[];
  activeMedia(): ActiveMedia | undefined;
  health(): Health;
}

export interface HistoryPage {
  readonly limit: number;
  /** Only launches before this time, in milliseconds since 1970. */
  readonly beforeMs?: number;
}

/** A row of the token history (contract, Launch entry). */
export interface LaunchEntry {
  readonly type: string;
  readonly uid: string;
  readonly text: string;
  readonly data: string;
  readonly success: boolean;
  /** RFC 3339. */
  readonly time: string;
  readonly readerId?: string;
  /** The text after mapping. */
  readonly script?: string;
  /** A sentence; only where `success` is false. */
  readonly error?: string;
}

export interface Health {
  readonly status: "ok" | "degraded";
  readonly readers: { readonly connected: number; readonly configured: number };
  /** Seconds since the start. */
  readonly uptime: number;
  readonly checks: readonly HealthCheck[];
}

export interface HealthCheck {
  readonly name: "readers" | "database" | "disk";
  readonly ok: boolean;
  /** A sentence; only where it is not well. */
  readonly reason?: string;
}
