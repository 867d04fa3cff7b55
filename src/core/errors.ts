/** What can go wrong, as one literal per kind. The wire's number of each stands in `src/api/rpc-codes.ts`. */
export type ErrorCode =
  | "parse-error"
  | "invalid-request"
  | "method-not-found"
  | "invalid-params"
  | "internal-error"
  | "busy"
  | "unsupported-secure-version"
  | "encryption-required"
  | "secure-failure"
  | "failed"
  | "forbidden"
  | "not-found"
  | "no-reader"
  | "write-failed"
  | "conflict"
  | "reader-gone";

interface ServiceErrorOptions {
  readonly cause?: unknown;
  /** Facts for programs (`data` of the wire's error object), such as `{ limit: "batch" }`. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The sentence names no file, card or setting and holds no words of a player, so every caller may read it. */
  readonly isPublic?: true;
}

/**
 * The world refused: unplugged, read-only, forbidden, too much. Thrown once where it is known, caught once where
 * someone can answer. `message` is a sentence for the person at the other end: no secret, path of ours, or stack.
 */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  /** Whether a caller that may not see paths, cards and settings may read the sentence. */
  readonly isPublic: boolean;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.data = options.data;
    this.isPublic = options.isPublic === true;
  }
}

/** Exit codes of the program, after sysexits(3) where that has one. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 64,
  unavailable: 69,
  internal: 70,
  cannotCreate: 73,
  config: 78,
} as const;

/** The program cannot start: one sentence for the person at the terminal, and the code to exit with. */
export class StartError extends Error {
  override readonly name = "StartError";
  readonly exitCode: number;

  constructor(exitCode: number, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
  }
}

/** A fault of ours, never of the caller: ends the request, is logged with its stack, and stays off the wire. */
export function assert(condition: boolean, whatMustHold: string): asserts condition {
  if (!condition) throw new Error(`must hold: ${whatMustHold}`);
}

/** The sentence of an unknown thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
