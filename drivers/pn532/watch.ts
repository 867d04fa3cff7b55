/** What a PN532 does for as long as it is watched: waits for a tag, reads or writes it, and stays with it until it leaves. */
import { type Clock, sleep } from "../../src/core/clock.ts";
import { ServiceError } from "../../src/core/errors.ts";
import type { Report } from "../../src/readers/contract.ts";
import {
  commandCodes,
  type FelicaTarget,
  getFirmwareVersion,
  listOneFelica,
  listOneTypeA,
  parseFelicaTarget,
  parseTypeATarget,
  setMaxRetries,
  type TypeATarget,
} from "../protocol/pn532-commands.ts";
import { readTag } from "../tags/read.ts";
import { writeTag } from "../tags/write.ts";
import { channelTo } from "./channel.ts";
import type { Chip } from "./chip.ts";
import type { ClaimedOrder, Orders } from "./orders.ts";
import { isSameTarget, type ListedTarget, listLike, uidOf } from "./target.ts";

// A chip that died while it waited is found out within this, and a FeliCa, which it does not wait for, is seen.
const waitMs = 500;
const recheckMs = 100; // A third of the debounce of removals.
const foreverRetries = 0xff;
const oneRound = 0x00;
/** Rounds of looking for a tag that lies there: one at the edge of the field may miss one. */
export const recheckRetries = 0x02;

export interface Watched {
  readonly chip: Chip;
  readonly clock: Clock;
  readonly orders: Orders;
}

/** Reports, and carries out orders, until the signal aborts or the chip fails; then it rejects. */
export async function watchField(
  { chip, clock, orders }: Watched,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  let target: ListedTarget | undefined = await listOnce(chip, signal);
  if (target === undefined) report([]);
  for (;;) {
    if (target === undefined) {
      await chip.call(setMaxRetries(foreverRetries), signal);
      target = await waitForTarget(chip, clock, signal);
    }
    const order = orders.claimed(uidOf(target));
    if (order !== undefined) {
      await carryOut(chip, target, order, signal);
      await chip.call(setMaxRetries(recheckRetries), signal);
      target = await listLike(chip, target, signal);
      if (target === undefined) report([]);
      continue;
    }
    const sighting = await readTag(channelTo(chip, target), signal);
    if (sighting !== undefined) report([sighting]);
    await chip.call(setMaxRetries(recheckRetries), signal);
    // A tag that left during the read may be back already, and is read anew then.
    target =
      sighting === undefined
        ? await listLike(chip, target, signal)
        : await stayWith({ chip, clock, orders }, target, () => report([sighting]), signal);
    if (target === undefined) report([]);
  }
}

/** The chip waits for a target of type A; now and then it is made sure that it does, and a FeliCa is looked for. */
async function waitForTarget(chip: Chip, clock: Clock, signal: AbortSignal): Promise<ListedTarget> {
  for (;;) {
    const waited = await chip.callFor(listOneTypeA, waitMs, signal);
    const answer = waited ?? (await stopWaiting(chip, signal));
    const found = answer === undefined ? await lookForFelica(chip, signal) : parseTypeATarget(answer);
    if (typeof found === "object") return found;
    // A chip that does not wait, whatever it was told, must not keep the line and this machine busy.
    if (answer !== undefined) await sleep(clock, recheckMs, signal);
  }
}

/** The chip waits for one kind of target at a time. */
async function lookForFelica(chip: Chip, signal: AbortSignal): Promise<FelicaTarget | undefined> {
  await chip.call(setMaxRetries(oneRound), signal);
  const found = parseFelicaTarget(await chip.call(listOneFelica, signal));
  if (typeof found === "object") return found;
  await chip.call(setMaxRetries(foreverRetries), signal);
  return undefined;
}

/** Ends the chip's wait and hears whether it is alive; the answer of a target that came at this very moment. */
async function stopWaiting(chip: Chip, signal: AbortSignal): Promise<Uint8Array | undefined> {
  await chip.abort();
  await chip.call(getFirmwareVersion, signal);
  return chip.takeStray(commandCodes.inListPassiveTarget);
}

/** Resolves when this target has left, or was written: with the one that lies there then, or undefined. */
async function stayWith(
  { chip, clock, orders }: Watched,
  target: ListedTarget,
  seenAgain: () => void,
  signal: AbortSignal,
): Promise<ListedTarget | undefined> {
  for (;;) {
    await sleep(clock, recheckMs, signal);
    const found = await listLike(chip, target, signal);
    if (found === undefined || !isSameTarget(found, target)) return found;
    const order = orders.claimed(uidOf(found));
    if (order !== undefined) {
      await carryOut(chip, found, order, signal);
      return listLike(chip, found, signal);
    }
    seenAgain();
  }
}

async function listOnce(chip: Chip, signal: AbortSignal): Promise<TypeATarget | undefined> {
  const found = parseTypeATarget(await chip.call(listOneTypeA, signal));
  return typeof found === "object" ? found : undefined;
}

/** Writes, and tells whoever asked for it; rejects where the watch must end, too. */
async function carryOut(
  chip: Chip,
  target: ListedTarget,
  order: ClaimedOrder,
  signal: AbortSignal,
): Promise<void> {
  try {
    await writeTag(channelTo(chip, target), order, signal);
    order.end();
  } catch (error) {
    order.end(error);
    // What a tag refuses is the caller's matter alone.
    if (!(error instanceof ServiceError && error.code === "write-failed")) throw error;
  }
}
