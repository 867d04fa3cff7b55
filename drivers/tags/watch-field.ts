/**
 * What a reader does for as long as it is watched: waits for a tag, reads or writes it, and stays with it until it leaves.
 * How it lists and how it waits is the driver's own.
 */
import { type Clock, sleep } from "../../src/core/clock.ts";
import { ServiceError } from "../../src/core/errors.ts";
import { toHex } from "../../src/core/hex.ts";
import type { Report } from "../../src/readers/driver.ts";
import type { ClaimedOrder, Orders } from "./pending-write.ts";
import { readTag } from "./read-tag.ts";
import type { TagChannel, Target } from "./tag-channel.ts";
import { isSameTarget, uidOf } from "./target-identity.ts";
import { writeTag } from "./write-tag.ts";

const recheckMs = 100; // A third of the debounce of removals.

/** A reader's field, as its driver sees it. Both reject with `reader-gone` where the reader fails. */
export interface Field {
  /**
   * The tag that lies there now, selected; undefined where none does. Where one is told that lay there, only its kind
   * need be looked for.
   */
  list(signal: AbortSignal, like?: Target): Promise<TagChannel | undefined>;
  /** The next tag, selected; however long it takes, a reader that died meanwhile is found out. */
  wait(signal: AbortSignal): Promise<TagChannel>;
}

export interface Watched {
  readonly field: Field;
  readonly clock: Clock;
  readonly orders: Orders;
}

/** Reports, and carries out orders, until the signal aborts or the reader fails; then it rejects. */
export async function watchField(watched: Watched, report: Report, signal: AbortSignal): Promise<void> {
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
    // A tag that left during the read may be back already, and is read anew then.
    tag =
      sighting === undefined
        ? await field.list(signal, tag.target)
        : await stayWith(watched, tag, () => report([sighting]), signal);
    if (tag === undefined) report([]);
  }
}

/** Resolves when this tag has left, or was written: with the one that lies there then, or undefined. */
async function stayWith(
  { field, clock, orders }: Watched,
  { target }: TagChannel,
  seenAgain: () => void,
  signal: AbortSignal,
): Promise<TagChannel | undefined> {
  for (;;) {
    await sleep(clock, recheckMs, signal);
    const found = await field.list(signal, target);
    if (found === undefined || !isSameTarget(found.target, target)) return found;
    const order = orders.claimed(toHex(uidOf(found.target)));
    if (order !== undefined) {
      await carryOut(found, order, signal);
      return field.list(signal, found.target);
    }
    seenAgain();
  }
}

/** Writes, and tells whoever asked for it; rejects where the watch must end, too. */
async function carryOut(tag: TagChannel, order: ClaimedOrder, signal: AbortSignal): Promise<void> {
  try {
    await writeTag(tag, order, signal);
    order.end();
  } catch (error) {
    order.end(error);
    // What a tag refuses is the caller's matter alone.
    if (!(error instanceof ServiceError && error.code === "write-failed")) throw error;
  }
}
