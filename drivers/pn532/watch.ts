/** What a PN532 does for as long as it is watched: waits for a tag, reads or writes it, and stays with it until it leaves. */
import { type Clock, sleep } from "../../src/core/clock.ts";
import { ServiceError } from "../../src/core/errors.ts";
import { toHex } from "../../src/core/hex.ts";
import type { Report } from "../../src/readers/contract.ts";
import {
  commandCodes,
  getFirmwareVersion,
  listOneTypeA,
  parseTypeATarget,
  setMaxRetries,
  type TypeATarget,
} from "../protocol/pn532-commands.ts";
import { readTag } from "../tags/read.ts";
import { writeTag } from "../tags/write.ts";
import { channelTo } from "./channel.ts";
import type { Chip } from "./chip.ts";
import type { ClaimedOrder, Orders } from "./orders.ts";
import { isSameTarget } from "./target.ts";

const aliveMs = 1000; // A chip that died while it waited is found out within this.
const recheckMs = 100; // A third of the debounce of removals.
const foreverRetries = 0xff;
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
  let target = await listOnce(chip, signal);
  if (target === undefined) report([]);
  for (;;) {
    if (target === undefined) {
      await chip.call(setMaxRetries(foreverRetries), signal);
      target = await waitForTarget(chip, clock, signal);
    }
    const order = orders.claimed(toHex(target.uid));
    if (order !== undefined) {
      await carryOut(chip, target, order, signal);
      await chip.call(setMaxRetries(recheckRetries), signal);
      target = await listOnce(chip, signal);
      if (target === undefined) report([]);
      continue;
    }
    const sighting = await readTag(channelTo(chip, target), signal);
    if (sighting !== undefined) report([sighting]);
    await chip.call(setMaxRetries(recheckRetries), signal);
    // A tag that left during the read may be back already, and is read anew then.
    target =
      sighting === undefined
        ? await listOnce(chip, signal)
        : await stayWith({ chip, clock, orders }, target, () => report([sighting]), signal);
    if (target === undefined) report([]);
  }
}

/** The chip waits for a target; the driver only makes sure, once a second, that the chip still does. */
async function waitForTarget(chip: Chip, clock: Clock, signal: AbortSignal): Promise<TypeATarget> {
  for (;;) {
    const answer = (await chip.callFor(listOneTypeA, aliveMs, signal)) ?? (await stopWaiting(chip, signal));
    const found = answer === undefined ? undefined : parseTypeATarget(answer);
    if (typeof found === "object") return found;
    // A chip that does not wait, whatever it was told, must not keep the line and this machine busy.
    if (answer !== undefined) await sleep(clock, recheckMs, signal);
  }
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
  target: TypeATarget,
  seenAgain: () => void,
  signal: AbortSignal,
): Promise<TypeATarget | undefined> {
  for (;;) {
    await sleep(clock, recheckMs, signal);
    const found = await listOnce(chip, signal);
    if (found === undefined || !isSameTarget(found, target)) return found;
    const order = orders.claimed(toHex(found.uid));
    if (order !== undefined) {
      await carryOut(chip, found, order, signal);
      return listOnce(chip, signal);
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
  target: TypeATarget,
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
