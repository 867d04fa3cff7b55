/** The write that waits for its tag, of a reader that is watched: at most one. */
import { assert } from "../../src/core/errors.ts";
import type { WriteOrder } from "../../src/readers/driver.ts";

/** An order whose tag was found. */
export interface ClaimedOrder extends Pick<WriteOrder, "text" | "record" | "force"> {
  /** The write has ended: well, or with what it failed with. */
  end(failure?: unknown): void;
}

export interface Orders {
  /** Resolves when it was carried out; as `ReaderSession.write`. */
  place(order: WriteOrder, signal: AbortSignal): Promise<void>;
  /** The order that wants this tag; from now on it can no longer be called off. */
  claimed(uid: string): ClaimedOrder | undefined;
  /** Nobody carries orders out any more: ends the one there is, and each one to come. */
  close(reason: unknown): void;
}

export function createOrders(): Orders {
  let waiting: { readonly order: WriteOrder; readonly end: (failure?: unknown) => void } | undefined;
  let running: ClaimedOrder | undefined;
  let closed: { readonly reason: unknown } | undefined;

  return {
    place: (order, signal) =>
      new Promise<void>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        if (closed !== undefined) return reject(closed.reason);
        assert(waiting === undefined && running === undefined, "one order comes after another");
        const onAbort = () => {
          // A write that has begun is carried out.
          if (running === undefined) end(signal.reason);
        };
        const end = (failure?: unknown) => {
          [waiting, running] = [undefined, undefined];
          signal.removeEventListener("abort", onAbort);
          if (failure === undefined) resolve();
          else reject(failure);
        };
        waiting = { order, end };
        signal.addEventListener("abort", onAbort, { once: true });
      }),
    claimed(uid) {
      if (waiting === undefined || !waiting.order.claim(uid)) return undefined;
      const { order, end } = waiting;
      running = { text: order.text, record: order.record, force: order.force, end };
      waiting = undefined;
      return running;
    },
    close(reason) {
      closed ??= { reason };
      (running ?? waiting)?.end(reason);
    },
  };
}
