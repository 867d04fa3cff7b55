/**
 * Recovery of a CCID reader that does not answer, gentlest step first: abort its command (CCID 1.1, 5.3.1), power-cycle its
 * slot, reset its port. If all steps fail, the reader is given up, and its supervisor opens it again. A step has helped
 * only if the reader answers after it. Each step is logged with its outcome.
 */
import { messageOf } from "../../src/core/errors.ts";
import type { Log } from "../../src/core/log.ts";
import { readerFaults } from "../../src/core/reader-faults.ts";
import { UsbFault, type UsbLink } from "../io/links.ts";
import { abortRequest, abortValue, ccidOut, encodeCcid } from "../protocol/ccid.ts";
import type { Attempt } from "./order.ts";

const stepTimeoutMs = 250; // A working reader answers these commands at once, and switching a slot on takes some 100 ms.

const stepNames = ["abort", "slot power cycle", "USB reset", "re-open"] as const;

/** A reader on a USB link, and one of its slots. */
export interface CcidOptions {
  readonly link: UsbLink;
  /** The number of the slot, from 0. */
  readonly slot: number;
  readonly log: Log;
  /** Sets the reader up again after a recovery step that reset it. Throws if the reader does not answer. */
  readonly prepare: (command: Attempt) => Promise<void>;
}

interface RecoveryOptions extends CcidOptions {
  readonly attempt: Attempt;
  /** The sequence number of the command that hangs. */
  readonly sequence: () => number;
  /** Discards the state of all earlier transfers. */
  readonly forget: () => void;
}

/**
 * Returns a function that runs the steps, beginning with `from`, until one helps. Its result is the number of this step;
 * undefined if none helps. It throws if the reader went away or the signal aborted.
 */
export function createRecovery(options: RecoveryOptions) {
  const { link, slot, log, attempt, prepare } = options;
  const quick: Attempt = (order) => attempt({ ...order, timeoutMs: stepTimeoutMs });

  const steps: readonly (() => Promise<void>)[] = [
    async () => {
      const sequence = options.sequence();
      // Often only one endpoint is halted, or none if the reader was only silent. Clearing the other one may fail.
      await bestEffort(link.clearHalt("bulk-out"));
      await bestEffort(link.clearHalt("bulk-in"));
      // A reader that does not know the abort refuses it. The reader only has to answer afterwards.
      await bestEffort(link.controlOut(abortRequest, abortValue(slot, sequence), stepTimeoutMs));
      await link.bulkOut(encodeCcid(ccidOut.abort, slot, sequence), stepTimeoutMs);
      await quick({ type: ccidOut.slotStatus });
    },
    async () => {
      await quick({ type: ccidOut.powerOff });
      // Without a card the reader reports a failure, which is an answer.
      await quick({ type: ccidOut.powerOn });
      await prepare(quick);
    },
    async () => {
      await link.reset();
      options.forget();
      await prepare(quick);
    },
  ];
  return async (from: number, fault: UsbFault, signal?: AbortSignal): Promise<number | undefined> => {
    const facts = { path: link.path, fault: outcomeOf(fault) };
    for (let step = from; step < steps.length; step++) {
      signal?.throwIfAborted();
      // The first step only ends a command.
      if (step > 0) readerFaults.resets += 1;
      const about = { ...facts, step: stepNames[step] ?? "" };
      try {
        await steps[step]?.();
        log.warn("ccid", "a reader that did not answer does again", about);
        return step;
      } catch (error) {
        log.warn("ccid", "a reader does not answer", { ...about, outcome: outcomeOf(error) });
        if (error instanceof UsbFault && error.kind === "gone") throw error;
      }
    }
    const outcome = "given up, to be opened again";
    log.warn("ccid", "a reader does not answer", { ...facts, step: stepNames[steps.length] ?? "", outcome });
    return undefined;
  };
}

/** Runs a step whose failure is harmless. Throws only if the device is gone. */
async function bestEffort(step: Promise<void>): Promise<void> {
  try {
    await step;
  } catch (error) {
    if (error instanceof UsbFault && error.kind === "gone") throw error;
  }
}

/** The result of a failed transfer or step, for logs. */
export function outcomeOf(error: unknown): string {
  return error instanceof UsbFault ? `${error.kind}: ${error.message}` : messageOf(error);
}
