/**
 * The field of an ACR122U: its own polling tells that a card came, and the PN532 in it lists, reads and writes the card,
 * as fast and with the same words as one on a line.
 */

import { channelTo } from "../pn532/pn532-channel.ts";
import { recheckRetries } from "../pn532/pn532-field.ts";
import { targetIn } from "../pn532/target.ts";
import { acrBuzzer, acrPolling, pollFlags } from "../protocol/apdu.ts";
import { ccidOut } from "../protocol/ccid.ts";
import {
  getFirmwareVersion,
  listOneFelica,
  listOneTypeA,
  setMaxRetries,
} from "../protocol/pn532-commands.ts";
import type { Target } from "../tags/tag-channel.ts";
import type { Field } from "../tags/watch-field.ts";
import { type Send, tunnelTo } from "./pn532-passthrough.ts";
import type { Slot } from "./slot.ts";

const aliveMs = 1000; // A reader that hangs or whose chip died is found out within this.
const pollMs = 100; // Of a reader that tells nothing by itself.
const pollsPerListing = 5; // Also where the reader says that nothing lies there.

const flags =
  pollFlags.auto |
  pollFlags.iso14443Part4 |
  pollFlags.quarterSecond |
  pollFlags.felica424 |
  pollFlags.felica212 |
  pollFlags.typeA;

/** Sets the reader up, as after power-up. Its buzzer sounds with a card only where `sounds`. */
export async function prepareAcr(send: Send, sounds: boolean, signal?: AbortSignal): Promise<void> {
  // Readers answer these in several ways, with the flags among the status bytes; that they answer is enough.
  await send({ type: ccidOut.block, data: acrPolling(flags) }, signal);
  await send({ type: ccidOut.block, data: acrBuzzer(sounds) }, signal);
  await tunnelTo(send).call(setMaxRetries(recheckRetries), signal);
}

export interface AcrFieldOptions {
  readonly send: Send;
  readonly slot: Slot;
  /** Called now and then while nothing lies there. */
  readonly whileIdle: (signal: AbortSignal) => Promise<void>;
}

export function acrField({ send, slot, whileIdle }: AcrFieldOptions): Field {
  const chip = tunnelTo(send);

  const listOne = async (kind: Target["kind"], signal: AbortSignal) => {
    const answer = await chip.call(kind === "felica" ? listOneFelica : listOneTypeA, signal);
    // Some say with an error that nothing lies there, as they do where the chip is dead: it must prove itself.
    if (answer.length === 0) await chip.call(getFirmwareVersion, signal);
    return targetIn(kind, answer);
  };
  const list: Field["list"] = async (signal, like) => {
    const target =
      like === undefined
        ? ((await listOne("type-a", signal)) ?? (await listOne("felica", signal)))
        : await listOne(like.kind, signal);
    return target && channelTo(chip, target);
  };
  const liesThere = async (signal: AbortSignal) => {
    const { status } = await send({ type: ccidOut.slotStatus }, signal);
    return status.card !== "none";
  };
  return {
    list,
    async wait(signal) {
      for (let polls = 1; ; polls++) {
        const changed = await slot.changed(slot.tells ? aliveMs : pollMs, signal);
        const isDue = changed || slot.tells || polls % pollsPerListing === 0;
        if (!isDue && !(await liesThere(signal))) continue;
        const tag = await list(signal);
        if (tag !== undefined) return tag;
        await whileIdle(signal);
      }
    },
  };
}
