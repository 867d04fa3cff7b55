/**
 * One CCID reader on a USB link: sends a command, waits for the answer to that command, and starts recovery if none
 * comes. Commands run strictly one after another; every wait has a time-out.
 */
import { ccidExtensionsMax } from "../../src/core/limits.ts";
import { readerFaults } from "../../src/core/reader-faults.ts";
import { readerGone, UsbFault, type UsbLink } from "../io/links.ts";
import {
  type CcidMessage,
  ccidIn,
  ccidOut,
  createCcidAssembler,
  encodeCcid,
  statusOf,
} from "../protocol/ccid.ts";
import { ccidLogText } from "../protocol/log-redaction.ts";
import type { Attempt, CcidAnswer, CcidOrder } from "./order.ts";
import { type CcidOptions, createRecovery } from "./recovery.ts";

// A device accepts a block within a frame or two of USB, 1 ms each. The wait is longer because a game that starts may keep
// the machine busy.
const sendTimeoutMs = 250;
// The slowest exchange has three RF time-outs of 51 ms (PN532 UM0701-02, 7.3.1). The rest of this time is for a busy machine.
export const answerTimeoutMs = 500;
// At most this many answers to earlier commands are skipped. A reader that sends more of them in a row counts as broken.
const straysMax = 16;

export type Ccid = ReturnType<typeof createCcid>;

export function createCcid({ link, slot, log, prepare }: CcidOptions) {
  let assembler = assemblerOf(link);
  let sequence = 0;
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;

  const receive = async (expected: number, timeoutMs: number): Promise<CcidMessage> => {
    let wanted = link.packetBytes;
    for (let strays = 0; strays < straysMax; strays++) {
      const transfer = await link.bulkIn(wanted, timeoutMs);
      const cut = assembler.push(transfer);
      wanted = cut.kind === "need" && assembler.pendingBytes > 0 ? cut.bytes : link.packetBytes;
      if (cut.kind === "noise") {
        readerFaults.badFrames += 1;
        log.debug("ccid", "noise", { bytes: cut.bytes, why: cut.why });
      }
      if (log.debugging && cut.kind === "message") log.debug("ccid", `< ${ccidLogText(cut.message)}`);
      if (cut.kind === "message" && isAnswer(cut.message, { slot, sequence, type: expected }))
        return cut.message;
    }
    throw new UsbFault("failed", "the reader sends answers without commands");
  };
  const attempt: Attempt = async ({ type, data, timeoutMs = answerTimeoutMs, accepts = () => true }) => {
    sequence = (sequence + 1) & 0xff;
    const message = encodeCcid(type, slot, sequence, data);
    if (log.debugging) log.debug("ccid", `> ${ccidLogText({ type, data: data ?? new Uint8Array() })}`);
    await link.bulkOut(message, sendTimeoutMs);
    for (let extensions = 0; extensions <= ccidExtensionsMax; extensions++) {
      const answer = await receive(answerTo(type), timeoutMs);
      const status = statusOf(answer);
      if (status.command === "more-time") continue;
      if (accepts({ status, data: answer.data })) return { status, data: answer.data };
      throw new UsbFault("failed", "the reader refuses a mandatory command");
    }
    throw new UsbFault("failed", "the reader asks for ever more time");
  };
  const recover = createRecovery({
    link,
    slot,
    log,
    attempt,
    prepare,
    sequence: () => sequence,
    forget() {
      assembler = assemblerOf(link);
      sequence = 0;
    },
  });
  const run = async (order: CcidOrder, signal: AbortSignal | undefined): Promise<CcidAnswer> => {
    for (let step = 0; ; step++) {
      signal?.throwIfAborted();
      if (closed) throw readerGone(link.path, "it was closed");
      try {
        return await attempt(order);
      } catch (error) {
        const fault = faultOf(error, link.path);
        signal?.throwIfAborted();
        const reached = await recover(step, fault, signal).catch((ending: unknown) => {
          throw ending instanceof UsbFault ? faultOf(ending, link.path) : ending;
        });
        if (reached === undefined)
          throw readerGone(
            link.path,
            `the reader does not answer (${fault.message}): plug it in again`,
            fault,
          );
        step = reached;
      }
    }
  };
  return {
    /**
     * Returns the answer, even if it reports that the command failed. Rejects with `reader-gone` if no recovery step
     * brings an answer. Rejects with the signal's reason only between two commands.
     */
    command(order: CcidOrder, signal?: AbortSignal): Promise<CcidAnswer> {
      const result = last.then(() => run(order, signal));
      last = result.catch(() => {});
      return result;
    },
    /** Resolves once no command runs, and prevents further commands. */
    async close() {
      closed = true;
      await last;
    },
  };
}

/** The fault of a transfer; throws `reader-gone` if the reader went away. */
function faultOf(error: unknown, path: string): UsbFault {
  if (!(error instanceof UsbFault)) throw error;
  if (error.kind === "gone") throw readerGone(path, "the reader went away: is it plugged in?", error);
  return error;
}

function isAnswer(message: CcidMessage, expected: Pick<CcidMessage, "slot" | "sequence" | "type">): boolean {
  return (
    message.sequence === expected.sequence && message.slot === expected.slot && message.type === expected.type
  );
}

function answerTo(type: number): number {
  switch (type) {
    case ccidOut.powerOn:
    case ccidOut.block:
      return ccidIn.block;
    case ccidOut.escape:
      return ccidIn.escape;
    default:
      return ccidIn.slotStatus;
  }
}

function assemblerOf({ packetBytes, messageBytesMax }: UsbLink) {
  return createCcidAssembler({ types: Object.values(ccidIn), packetBytes, messageBytesMax });
}
