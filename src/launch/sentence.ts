/** What people are told of a launch that failed. */
import { ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

/** The sentence of a refusal; a fault of ours goes to the log. */
export function sentenceOf(error: unknown, log: Log): string {
  if (error instanceof ServiceError) return error.message;
  log.error("launch", "internal error", {
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return "internal error: see the log";
}
