/** Errors: refusals with their codes, failed starts with their exit codes, and faults of the service. */
import type { LaunchReason } from "./faults.ts";
import type * as limits from "./limits.ts";
import type { RefusalCode } from "./refusals.ts";

/** The kinds of errors, with the number of each on the wire. */
export const rpcCodes = {
  "parse-error": -32700,
  "invalid-request": -32600,
  "method-not-found": -32601,
  "invalid-params": -32602,
  "internal-error": -32603,
  busy: -32000,
  "unsupported-secure-version": -32001,
  "encryption-required": -32002,
  "secure-failure": -32003,
  failed: 1,
  forbidden: 2,
  "not-found": 3,
  "no-reader": 4,
  "write-failed": 5,
  conflict: 6,
  "reader-gone": 1,
} as const;
export type ErrorCode = keyof typeof rpcCodes;

interface ServiceErrorOptions {
  readonly cause?: unknown;
  /** Facts for programs, in `data` of the error on the wire, such as `{ limit: "batch" }`. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The reason why a launch failed. Without it, the reason has the same name as the code. */
  readonly reason?: LaunchReason;
  /** The subject of that reason, such as a USB stick. */
  readonly subject?: string;
  /** The sentence names no file, card or setting, and quotes no player, so every caller may read it. */
  readonly isPublic?: true;
}

/**
 * A refusal by the outside world: unplugged, read-only, forbidden, too much. It is thrown once, and caught once by the
 * code that answers the caller. `message` is a sentence for a person, without secrets, paths of the service, or a stack.
 */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  readonly reason: LaunchReason | undefined;
  readonly subject: string | undefined;
  /** True if the sentence may be read by a caller that must not see paths, cards and settings. */
  readonly isPublic: boolean;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.data = options.data;
    this.reason = options.reason;
    this.subject = options.subject;
    this.isPublic = options.isPublic === true;
  }
}

/** A refusal at a limit of limits.ts, whose name is `data.limit`. */
export function limitReached(limit: keyof typeof limits, message: string): ServiceError {
  return new ServiceError("busy", message, { data: { limit } });
}

/** A refusal with the code `failed`. */
export function failed(message: string, cause?: unknown): ServiceError {
  return new ServiceError("failed", message, { cause });
}

/** A refusal whose sentence every caller may read (`isPublic`). */
export function publicError(code: ErrorCode, message: string, reason?: LaunchReason): ServiceError {
  return new ServiceError(code, message, { isPublic: true, ...(reason && { reason }) });
}

/**
 * The error with the code of its refusal and the facts of that refusal. The page makes a sentence in its own language
 * from both.
 */
export function coded(
  refusal: RefusalCode,
  error: ServiceError,
  facts: Readonly<Record<string, string | number>> = {},
): ServiceError {
  const { code, message, cause, data, reason, subject, isPublic } = error;
  return new ServiceError(code, message, {
    cause,
    data: { refusal, ...facts, ...data },
    ...(reason !== undefined && { reason }),
    ...(subject !== undefined && { subject }),
    ...(isPublic && { isPublic }),
  });
}

/** A refusal of a launch, with the code `failed`. */
export function launchFailed(
  reason: LaunchReason,
  message: string,
  options: Omit<ServiceErrorOptions, "reason"> = {},
): ServiceError {
  return new ServiceError("failed", message, { ...options, reason });
}

/** A refusal of a script that cannot be run as it is written. */
export function wrongScript(message: string): ServiceError {
  return launchFailed("script-invalid", message);
}

/** Exit codes of the program. They are those of sysexits(3) where it has one. */
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

/** The program has failed: exit code 1. */
export function exitFailure(message: string, cause?: unknown): StartError {
  return new StartError(exitCodes.failed, message, cause);
}

/**
 * Throws if the condition does not hold, which is a fault of the service. The error ends the request, is logged with
 * its stack, and does not reach the wire.
 */
export function assert(condition: boolean, whatMustHold: string): asserts condition {
  if (!condition) throw new Error(`must hold: ${whatMustHold}`);
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The system's code of an error, such as `ENOENT`; empty if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** The value of the promise; undefined if it rejects because there is no such file. */
export async function ifThere<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
