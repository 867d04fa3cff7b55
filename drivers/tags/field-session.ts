/**
 * The session of a tag reader: it waits for a tag, reads or writes it, and re-checks it until it leaves. The driver
 * supplies how its reader lists tags and how it waits for one.
 */
import { type Clock, sleep } from "../../src/core/clock.ts";
import { assert, ServiceError } from "../../src/core/errors.ts";
import { toHex } from "../../src/core/hex.ts";
import type { Sighting } from "../../src/core/token.ts";
import {
  type DriverContext,
  type ReaderSession,
  type Report,
  removalDebounceMs,
  type WriteOrder,
} from "../../src/readers/driver.ts";
import { isSameTarget, type TagChannel, type Target, uidOf } from "./tag-channel.ts";
import { readTag, writeTag } from "./tag-families.ts";

interface FieldParts {
  readonly info: string;
  readonly field: Field;
  /** Returns the error `reader-gone` of a session that was closed. */
  readonly closedError: () => Error;
  /** Closes the reader after the watch was aborted. */
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
      // Ends the command of a running watch, because two commands at once would get each other's answers.
      closing.abort(error);
      await close();
    },
  };
}

// The interval of looks at a present tag. Two looks may fail before a card counts as removed.
const recheckMs = removalDebounceMs / 3;

// A tag that is laid down slowly is selected before the field is strong enough for its memory. It is read again at this
// many looks.
const rereadsMax = 5;

/** A reader's field. Both functions reject with `reader-gone` if the reader fails. */
export interface Field {
  /** The present tag, selected; undefined if there is none. With `like`, only targets of the same kind need to be listed. */
  list(signal: AbortSignal, like?: Target): Promise<TagChannel | undefined>;
  /** The next tag, selected. The function waits without a limit, but detects a reader that died. */
  wait(signal: AbortSignal): Promise<TagChannel>;
}

interface Watched {
  readonly field: Field;
  readonly clock: Clock;
  readonly orders: Orders;
}

/** Reports tags and executes orders, until the signal aborts or the reader fails. In the second case it rejects. */
async function watchField(watched: Watched, report: Report, signal: AbortSignal): Promise<void> {
  const { field, orders } = watched;
  let tag = await field.list(signal);
  if (tag === undefined) report([]);
  for (;;) {
    tag ??= await field.wait(signal);
    const order = orders.claimed(toHex(uidOf(tag.target)));
    if (order !== undefined) {
      await carryOut(tag, order, signal);
      tag = await field.list(signal, tag.target);
      if (tag === undefined) report([]);
      continue;
    }
    const sighting = await readTag(tag, signal);
    if (sighting !== undefined) report([sighting]);
    // A tag that left during the read may have come back, and is then read again.
    tag =
      sighting === undefined
        ? await field.list(signal, tag.target)
        : await stayWith(watched, tag, sighting, report, signal);
    if (tag === undefined) report([]);
  }
}

/** Resolves after this tag has left or was written, with the tag that is present then, or undefined. */
async function stayWith(
  { field, clock, orders }: Watched,
  { target }: TagChannel,
  first: Sighting,
  report: Report,
  signal: AbortSignal,
): Promise<TagChannel | undefined> {
  let sighting = first;
  for (let looks = 1; ; looks++) {
    await sleep(clock, recheckMs, signal);
    const found = await field.list(signal, target);
    if (found === undefined || !isSameTarget(found.target, target)) return found;
    const order = orders.claimed(toHex(uidOf(found.target)));
    if (order !== undefined) {
      await carryOut(found, order, signal);
      return field.list(signal, found.target);
    }
    // A phone has another UID now.
    if (looks <= rereadsMax && isUnread(sighting))
      sighting = { ...((await readTag(found, signal)) ?? sighting), uid: sighting.uid };
    report([sighting]);
  }
}

function isUnread({ problem }: Sighting): boolean {
  return problem === "unreadable" || problem === "locked";
}

/** Writes, and settles the order. Rejects if the watch must also end. */
async function carryOut(tag: TagChannel, order: ClaimedOrder, signal: AbortSignal): Promise<void> {
  try {
    await writeTag(tag, order, signal);
    order.end();
  } catch (error) {
    order.end(error);
    // A tag's refusal concerns only the order.
    if (!(error instanceof ServiceError && error.code === "write-failed")) throw error;
  }
}

interface ClaimedOrder extends Pick<WriteOrder, "text" | "record" | "force"> {
  /** The write has ended, with success or with its error. */
  end(failure?: unknown): void;
}

type Orders = ReturnType<typeof createOrders>;

function createOrders() {
  let waiting: { readonly order: WriteOrder; readonly end: (failure?: unknown) => void } | undefined;
  let running: ClaimedOrder | undefined;
  let closed: { readonly reason: unknown } | undefined;

  return {
    /** Places an order. Resolves after the write, as `ReaderSession.write` does. */
    place: (order: WriteOrder, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        if (closed !== undefined) return reject(closed.reason);
        assert(waiting === undefined && running === undefined, "one order comes after another");
        const onAbort = () => {
          // A write that has begun is finished before the order ends.
          if (running === undefined) end(signal.reason);
        };
        const end = (failure?: unknown) => {
          waiting = undefined;
          running = undefined;
          signal.removeEventListener("abort", onAbort);
          if (failure === undefined) resolve();
          else reject(failure);
        };
        waiting = { order, end };
        signal.addEventListener("abort", onAbort, { once: true });
      }),
    /** The order that claims this tag. From now on the order can no longer be cancelled. */
    claimed(uid: string): ClaimedOrder | undefined {
      if (waiting === undefined || !waiting.order.claim(uid)) return undefined;
      const { order, end } = waiting;
      running = { text: order.text, record: order.record, force: order.force, end };
      waiting = undefined;
      return running;
    },
    /** Rejects the present order and all later ones. */
    close(reason: unknown) {
      closed ??= { reason };
      (running ?? waiting)?.end(reason);
    },
  };
}
