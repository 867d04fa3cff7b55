/**
 * The field of an ACR122U. The reader's own polling reports that a card came. The PN532 in it lists, reads and writes the
 * card with the same commands as one on a serial line (API 2.04, section 6.1).
 */
import { assert } from "../../src/core/errors.ts";
import type { ChipCaller } from "../pn532/chip.ts";
import { channelTo, listOneLike, recheckRetries, targetIn } from "../pn532/pn532-field.ts";
import {
  acrBuzzer,
  acrPolling,
  apduDone,
  directBytesMax,
  directTransmit,
  getResponse,
  parseApdu,
  pollFlags,
  waitingBytes,
} from "../protocol/apdu.ts";
import { ccidOut } from "../protocol/ccid.ts";
import { chipToHost, commandCodes, getFirmwareVersion, setMaxRetries } from "../protocol/pn532-commands.ts";
import type { Field } from "../tags/field-session.ts";
import type { Target } from "../tags/tag-channel.ts";
import { answerTimeoutMs } from "./exchange.ts";
import type { CcidAnswer, Send } from "./order.ts";
import type { CcidSlot } from "./slot.ts";

const aliveMs = 1000; // The longest time until a reader that hangs, or a dead chip, is noticed.
const pollMs = 100; // The poll interval of a reader without change messages.
const pollsPerListing = 5; // The chip lists tags at each fifth poll, even if the reader reports an empty field.

const flags =
  pollFlags.auto |
  pollFlags.iso14443Part4 |
  pollFlags.quarterSecond |
  pollFlags.felica424 |
  pollFlags.felica212 |
  pollFlags.typeA;

/** Configures the reader. A power-up resets its configuration. The buzzer sounds with each card if `sounds` is true. */
export async function prepareAcr(send: Send, sounds: boolean, signal?: AbortSignal): Promise<void> {
  // Readers answer these commands in different ways, some with the flags in the status bytes. Any answer is enough.
  await send({ type: ccidOut.block, data: acrPolling(flags) }, signal);
  await send({ type: ccidOut.block, data: acrBuzzer(sounds) }, signal);
  await tunnelTo(send).call(setMaxRetries(recheckRetries), signal);
}

interface AcrFieldOptions {
  readonly send: Send;
  readonly slot: CcidSlot;
  /** Called about once a second while the field is empty. */
  readonly whileIdle: (signal: AbortSignal) => Promise<void>;
}

export function acrField({ send, slot, whileIdle }: AcrFieldOptions): Field {
  const chip = tunnelTo(send);

  const listOne = (kind: Target["kind"], signal: AbortSignal, like?: Target) =>
    listOneLike(
      async (command) => {
        const answer = await chip.call(command, signal);
        // Some readers report an empty field by the same error as a dead chip, so the chip must answer another command.
        if (answer.length === 0) await chip.call(getFirmwareVersion, signal);
        return targetIn(kind, answer);
      },
      kind,
      like,
    );
  const list: Field["list"] = async (signal, like) => {
    const target =
      like === undefined
        ? ((await listOne("type-a", signal)) ?? (await listOne("felica", signal)))
        : await listOne(like.kind, signal, like);
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

/** Commands that fail if a tag has left. If the reader refuses any other command, the reader is at fault. */
const aboutTags: readonly number[] = [
  commandCodes.inDataExchange,
  commandCodes.inCommunicateThru,
  commandCodes.inListPassiveTarget,
];

/** Sends the chip's commands through the reader. `call` resolves with no bytes if the reader refused a command about a tag. */
export function tunnelTo(send: Send): ChipCaller {
  const call = async (command: Uint8Array, signal?: AbortSignal, waitMs = 0): Promise<Uint8Array> => {
    assert(command.length <= directBytesMax, "a command for the chip fits one APDU");
    const [, code = 0] = command;
    const accepts = (answer: CcidAnswer) => aboutTags.includes(code) || payloadOf(answer, code) !== undefined;
    const order = {
      type: ccidOut.block,
      data: directTransmit(command),
      timeoutMs: waitMs + answerTimeoutMs,
      accepts,
    };
    const waiting = fetchable(await send(order, signal));
    const answer =
      typeof waiting === "number"
        ? await send({ type: ccidOut.block, data: getResponse(waiting), accepts }, signal)
        : waiting;
    const payload = payloadOf(answer, code);
    return typeof payload === "object" ? payload : new Uint8Array();
  };
  return {
    call,
    callFor: (command, waitMs, signal) => call(command, signal, waitMs),
    abort: async () => {},
  };
}

function fetchable(answer: CcidAnswer): CcidAnswer | number {
  const apdu = parseApdu(answer.data);
  return (apdu && waitingBytes(apdu)) ?? answer;
}

/** The chip's answer; "waiting" if the answer must be fetched first; undefined if these bytes are no answer. */
function payloadOf(answer: CcidAnswer, code: number): Uint8Array | "waiting" | undefined {
  const apdu = parseApdu(answer.data);
  if (apdu === undefined) return undefined;
  if (waitingBytes(apdu) !== undefined) return "waiting";
  const isAnswer = apdu.status === apduDone && apdu.data[0] === chipToHost && apdu.data[1] === code + 1;
  return isAnswer ? apdu.data : undefined;
}
