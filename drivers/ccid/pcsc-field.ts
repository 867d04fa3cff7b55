/**
 * The field of any contactless CCID reader. Its slot is switched on, and the card is addressed by commands of PC/SC part 3
 * (3.2.2) and by plain APDUs.
 */
import {
  apduDone,
  cardKindOf,
  generalAuthenticate,
  getUid,
  loadKey,
  parseApdu,
  pcscReadBinary,
  pcscUpdateBinary,
  sakOfCard,
} from "../protocol/apdu.ts";
import { ccidOut } from "../protocol/ccid.ts";
import type { Field } from "../tags/field-session.ts";
import { cardAnswerMs, isSameTarget, type TagChannel, type Target } from "../tags/tag-channel.ts";
import type { Send } from "./order.ts";
import type { CcidSlot } from "./slot.ts";

const aliveMs = 1000; // The longest time until a reader that hangs is noticed.
const pollMs = 100; // The poll interval of a reader without change messages.

export function pcscField(send: Send, slot: CcidSlot): Field {
  let known: ReturnType<typeof pcscChannel> | undefined;

  const list: Field["list"] = async (signal) => {
    // Only the reader's own message reveals a card that was exchanged between two checks.
    const changed = slot.takeChange();
    const { status } = await send({ type: ccidOut.slotStatus }, signal);
    if (status.card === "none") known = undefined;
    else if (known === undefined || changed || status.card !== "active") {
      const target = await activate(send, signal);
      const isSame = target !== undefined && known !== undefined && isSameTarget(known.target, target);
      known = target && (isSame ? known : pcscChannel(send, target));
    }
    return known;
  };
  return {
    list,
    async wait(signal) {
      for (;;) {
        const tag = await list(signal);
        if (tag !== undefined) return tag;
        await slot.changed(slot.tells ? aliveMs : pollMs, signal);
      }
    },
  };
}

const readBytes = 16;
const sakOfProcessor = 0x20;
const sakUnknown = 0x40; // A SAK that has no bit of a known family.
const felicaCards: readonly number[] = [0xf011, 0xf012, 0x003b];
const uidLengths: readonly number[] = [4, 7, 10];

/** Switches the slot on, and returns the card; undefined if no card with a UID answers. */
async function activate(send: Send, signal: AbortSignal): Promise<Target | undefined> {
  const { status, data: atr } = await send({ type: ccidOut.powerOn, timeoutMs: cardAnswerMs }, signal);
  // Without a card, some readers report its absence and still send bytes.
  if (status.command !== "done" || status.card !== "active") return undefined;
  const uid = await ask(send, getUid, signal);
  if (uid === undefined) return undefined;
  const card = cardKindOf(atr);
  if (card?.kind === "storage" && felicaCards.includes(card.card) && uid.length === 8)
    return { kind: "felica", idm: uid, pmm: new Uint8Array() };
  if (!uidLengths.includes(uid.length)) return undefined;
  if (card?.kind === "storage") return { kind: "type-a", uid, sak: sakOfCard(card.card) ?? sakUnknown };
  const historicalBytes = card?.historicalBytes ?? new Uint8Array();
  return { kind: "type-a", uid, sak: sakOfProcessor, historicalBytes };
}

function pcscChannel(send: Send, target: Target): TagChannel {
  return {
    target,
    async read(block, signal) {
      const read = await ask(send, pcscReadBinary(block, readBytes), signal);
      return read?.length === readBytes ? read : undefined;
    },
    write: async (block, bytes, signal) =>
      (await ask(send, pcscUpdateBinary(block, bytes), signal)) !== undefined,
    async authenticate(block, key, signal) {
      if ((await ask(send, loadKey(key.bytes), signal)) === undefined) return false;
      return (await ask(send, generalAuthenticate(block, key.kind), signal)) !== undefined;
    },
    async apdu(command, signal) {
      const order = { type: ccidOut.block, data: command, timeoutMs: cardAnswerMs };
      const { status, data } = await send(order, signal);
      return status.command === "done" && data.length >= 2 ? data : undefined;
    },
    async reselect(signal) {
      await send({ type: ccidOut.powerOff }, signal);
      const found = await activate(send, signal);
      return found !== undefined && isSameTarget(found, target);
    },
  };
}

/** The data of an answer; undefined if the reader or the card refused. */
async function ask(send: Send, command: Uint8Array, signal: AbortSignal): Promise<Uint8Array | undefined> {
  const { status, data } = await send({ type: ccidOut.block, data: command }, signal);
  const answer = parseApdu(data);
  return status.command === "done" && answer?.status === apduDone ? answer.data : undefined;
}
