/** How a plain contactless reader speaks to the card behind its slot: PC/SC part 3, 3.2.2, and APDUs as they are. */
import {
  apduDone,
  cardKindOf,
  generalAuthenticate,
  getUid,
  loadKey,
  parseApdu,
  readBinary,
  sakByCard,
  updateBinary,
} from "../protocol/apdu.ts";
import { ccidOut } from "../protocol/ccid.ts";
import type { TagChannel, Target } from "../tags/tag-channel.ts";
import { isSameTarget } from "../tags/target-identity.ts";
import type { Send } from "./pn532-passthrough.ts";

const readBytes = 16;
const cardTimeoutMs = 1500; // A card that computes may take its time, and asks for more (ISO/IEC 14443-4, 7.3).
const sakOfProcessor = 0x20;
const sakUnknown = 0x40; // None of the bits by which families are told.
const felicaCards: readonly number[] = [0xf011, 0xf012, 0x003b];
const uidLengths: readonly number[] = [4, 7, 10];

/** Switches the slot on; undefined where no card answers that has a UID. */
export async function activate(send: Send, signal: AbortSignal): Promise<Target | undefined> {
  const { status, data: atr } = await send({ type: ccidOut.powerOn, timeoutMs: cardTimeoutMs }, signal);
  // Without a card some say so and send bytes all the same.
  if (status.command !== "done" || status.card !== "active") return undefined;
  const uid = await ask(send, getUid(), signal);
  if (uid === undefined) return undefined;
  const card = cardKindOf(atr);
  if (card?.kind === "storage" && felicaCards.includes(card.card) && uid.length === 8)
    return { kind: "felica", idm: uid, pmm: new Uint8Array() };
  if (!uidLengths.includes(uid.length)) return undefined;
  if (card?.kind === "storage") return { kind: "type-a", uid, sak: sakByCard.get(card.card) ?? sakUnknown };
  const historicalBytes = card?.historicalBytes ?? new Uint8Array();
  return { kind: "type-a", uid, sak: sakOfProcessor, historicalBytes };
}

export function pcscChannel(send: Send, target: Target): TagChannel {
  return {
    target,
    async read(block, signal) {
      const read = await ask(send, readBinary(block, readBytes), signal);
      return read?.length === readBytes ? read : undefined;
    },
    write: async (block, bytes, signal) =>
      (await ask(send, updateBinary(block, bytes), signal)) !== undefined,
    async authenticate(block, key, signal) {
      if ((await ask(send, loadKey(key.bytes), signal)) === undefined) return false;
      return (await ask(send, generalAuthenticate(block, key.kind), signal)) !== undefined;
    },
    async apdu(command, signal) {
      const order = { type: ccidOut.block, data: command, timeoutMs: cardTimeoutMs };
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

/** The data of an answer; undefined where the reader or the card refused. */
async function ask(send: Send, command: Uint8Array, signal: AbortSignal): Promise<Uint8Array | undefined> {
  const { status, data } = await send({ type: ccidOut.block, data: command }, signal);
  const answer = parseApdu(data);
  return status.command === "done" && answer?.status === apduDone ? answer.data : undefined;
}
