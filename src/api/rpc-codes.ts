/** The wire's number of each error (decisions, "Errors"). */
import type { ErrorCode } from "../core/errors.ts";

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
} as const satisfies Record<ErrorCode, number>;
