/** The field of a PN532 on a line: the chip itself waits for a tag, and the driver makes sure that it still does. */
import { type Clock, sleep } from "../../src/core/clock.ts";
import { commandCodes, getFirmwareVersion, listOneTypeA, setMaxRetries } from "../protocol/pn532-commands.ts";
import type { Target } from "../tags/tag-channel.ts";
import type { Field } from "../tags/watch-field.ts";
import type { Chip } from "./chip.ts";
import { channelTo } from "./pn532-channel.ts";
import { listOne, targetIn } from "./target.ts";

// A chip that died while it waited is found out within this, and a FeliCa, which it does not wait for, is seen.
const waitMs = 500;
const refusedMs = 100; // Between two tries of a chip that does not wait as it was told.
const foreverRetries = 0xff;
const oneRound = 0x00;
/** Rounds of looking for a tag that lies there: one at the edge of the field may miss one. */
export const recheckRetries = 0x02;

/** The field of a chip whose retries are `recheckRetries`. */
export function fieldOf(chip: Chip, clock: Clock): Field {
  let waited = false;
  return {
    async list(signal, like) {
      if (waited) await chip.call(setMaxRetries(recheckRetries), signal);
      waited = false;
      const target = await listOne(chip, like?.kind ?? "type-a", signal);
      return target && channelTo(chip, target);
    },
    async wait(signal) {
      waited = true;
      await chip.call(setMaxRetries(foreverRetries), signal);
      return channelTo(chip, await nextTarget(chip, clock, signal));
    },
  };
}

/** The chip waits for a target of type A; now and then it is made sure that it does, and a FeliCa is looked for. */
async function nextTarget(chip: Chip, clock: Clock, signal: AbortSignal): Promise<Target> {
  for (;;) {
    const answer = (await chip.callFor(listOneTypeA, waitMs, signal)) ?? (await stopWaiting(chip, signal));
    const found = answer === undefined ? await lookForFelica(chip, signal) : targetIn("type-a", answer);
    if (found !== undefined) return found;
    // A chip that does not wait, whatever it was told, must not keep the line and this machine busy.
    if (answer !== undefined) await sleep(clock, refusedMs, signal);
  }
}

/** The chip waits for one kind of target at a time. */
async function lookForFelica(chip: Chip, signal: AbortSignal): Promise<Target | undefined> {
  await chip.call(setMaxRetries(oneRound), signal);
  const found = await listOne(chip, "felica", signal);
  if (found === undefined) await chip.call(setMaxRetries(foreverRetries), signal);
  return found;
}

/** Ends the chip's wait and hears whether it is alive; the answer of a target that came at this very moment. */
async function stopWaiting(chip: Chip, signal: AbortSignal): Promise<Uint8Array | undefined> {
  await chip.abort();
  await chip.call(getFirmwareVersion, signal);
  return chip.takeStray(commandCodes.inListPassiveTarget);
}
