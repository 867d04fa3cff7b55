/**
 * The PN532 in an ACR122U, spoken to through the reader (API 2.04, section 6.1), in the form in which the drivers of that
 * chip know it. The reader waits for each answer, so a command must be one that ends by itself.
 */
import { assert } from "../../src/core/errors.ts";
import type { Caller } from "../pn532/chip.ts";
import {
  apduDone,
  directBytesMax,
  directTransmit,
  getResponse,
  parseApdu,
  waitingBytes,
} from "../protocol/apdu.ts";
import { ccidOut } from "../protocol/ccid.ts";
import { chipToHost, commandCodes } from "../protocol/pn532-commands.ts";
import type { CcidAnswer, CcidOrder } from "./exchange.ts";

/** Sends an order to the reader, on the ladder or on one of its rungs. */
export type Send = (order: CcidOrder, signal?: AbortSignal) => Promise<CcidAnswer>;

/** Commands that fail where a tag left; each other one that the reader refuses is a fault of the reader. */
const aboutTags: readonly number[] = [
  commandCodes.inDataExchange,
  commandCodes.inCommunicateThru,
  commandCodes.inListPassiveTarget,
  commandCodes.inSelect,
  commandCodes.inDeselect,
  commandCodes.inRelease,
];

/** `call` resolves with no bytes at all where the reader refused a command about a tag. */
export function tunnelTo(send: Send): Caller {
  const call = async (command: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> => {
    assert(command.length <= directBytesMax, "a command for the chip fits one APDU");
    const [, code = 0] = command;
    const accepts = (answer: CcidAnswer) => aboutTags.includes(code) || payloadOf(answer, code) !== undefined;
    const waiting = fetchable(
      await send({ type: ccidOut.block, data: directTransmit(command), accepts }, signal),
    );
    const answer =
      typeof waiting === "number"
        ? await send({ type: ccidOut.block, data: getResponse(waiting), accepts }, signal)
        : waiting;
    const payload = payloadOf(answer, code);
    return typeof payload === "object" ? payload : new Uint8Array();
  };
  return {
    call,
    // The reader ends a listing by itself, soon.
    callFor: (command, _waitMs, signal) => call(command, signal),
    abort: async () => {},
  };
}

function fetchable(answer: CcidAnswer): CcidAnswer | number {
  const apdu = parseApdu(answer.data);
  return (apdu && waitingBytes(apdu)) ?? answer;
}

/** The chip's answer, "waiting" where it must be fetched first, or undefined where it is none. */
function payloadOf(answer: CcidAnswer, code: number): Uint8Array | "waiting" | undefined {
  const apdu = parseApdu(answer.data);
  if (apdu === undefined) return undefined;
  if (waitingBytes(apdu) !== undefined) return "waiting";
  const isAnswer = apdu.status === apduDone && apdu.data[0] === chipToHost && apdu.data[1] === code + 1;
  return isAnswer ? apdu.data : undefined;
}
