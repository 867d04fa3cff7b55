/** The session of a reader of tags: what it reports, the write that it carries out, and its end. */
import type { DriverContext, ReaderSession } from "../../src/readers/driver.ts";
import { createOrders } from "./pending-write.ts";
import { type Field, watchField } from "./watch-field.ts";

export interface FieldParts {
  /** What the reader says of itself. */
  readonly info: string;
  readonly field: Field;
  /** The `reader-gone` of a session that was closed. */
  readonly closedError: () => Error;
  /** Closes the reader, once the watch was told to end. */
  readonly close: () => Promise<unknown>;
}

export function createFieldSession(
  { info, field, closedError, close }: FieldParts,
  { clock }: Pick<DriverContext, "clock">,
): ReaderSession {
  const closing = new AbortController();
  const orders = createOrders();
  return {
    info,
    write: orders.place,
    async watch(report, signal) {
      const ending = AbortSignal.any([signal, closing.signal]);
      try {
        await watchField({ field, clock, orders }, report, ending);
      } catch (error) {
        orders.close(ending.aborted ? closedError() : error);
        if (!ending.aborted) throw error;
      }
    },
    async close() {
      if (closing.signal.aborted) return;
      const error = closedError();
      orders.close(error);
      // Ends the command of a watch that still runs: two at once would answer each other.
      closing.abort(error);
      await close();
    },
  };
}
