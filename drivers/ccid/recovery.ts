/**
 * Recovery of a CCID reader that does not answer, gentlest step first: abort its command (CCID 1.1, 5.3.1), switch its
 * slot off and on, reset its port. If all fail, it is given up and its supervisor opens it again. Each step counts only
 * after the reader answers, and is logged with its outcome.
 */

import { messageOf } from "../../src/core/errors.ts";
import type { Log } from "../../src/core/log.ts";
import { UsbFault, type UsbLink } from "../io/links.ts";
import { abortRequest, abortValue, ccidOut, encodeCcid } from "../protocol/ccid.ts";
import type { Attempt } from "./exchange.ts";

const stepTimeoutMs = 250; // A reader that is well answers these at once; switching a slot on takes some 100 ms.

const rungs = ["abort", "slot power cycle", "USB reset", "re-open"] as const;

interface LadderOptions {
  readonly link: UsbLink;
  readonly slot: number;
  readonly log: Log;
  readonly attempt: Attempt;
  readonly prepare: (command: Attempt) => Promise<void>;
  /** Of the command that hangs. */
  readonly sequence: () => number;
  /** Nothing that was sent or received counts any more. */
  readonly forget: () => void;
}

export interface Ladder {
  /**
   * Runs the steps from this one on until one helps, and returns its number; undefined if none does. Throws if the
   * reader went away or the signal aborted.
   */
  climb(from: number, fault: UsbFault, signal?: AbortSignal): Promise<number | undefined>;
}

export function createLadder(options: LadderOptions): Ladder {
  const { link, slot, log, attempt, prepare } = options;
  const quick: Attempt = (order) => attempt({ ...order, timeoutMs: stepTimeoutMs });

  const steps: readonly (() => Promise<void>)[] = [
    async () => {
      const sequence = options.sequence();
      // Only one of the two may be halted, and none is after a mere silence.
      await bestEffort(link.clearHalt("bulk-out"));
      await bestEffort(link.clearHalt("bulk-in"));
      // Readers that know no abort refuse it; what counts is that they answer afterwards.
      await bestEffort(link.controlOut(abortRequest, abortValue(slot, sequence), stepTimeoutMs));
      await link.bulkOut(encodeCcid(ccidOut.abort, slot, sequence), stepTimeoutMs);
      await quick({ type: ccidOut.slotStatus });
    },
    async () => {
      await quick({ type: ccidOut.powerOff });
      // Without a card it says that it cannot, which is an answer.
      await quick({ type: ccidOut.powerOn });
      await prepare(quick);
    },
    async () => {
      await link.reset();
      options.forget();
      await prepare(quick);
    },
  ];
  return {
    async climb(from, fault, signal) {
      for (let rung = from; rung < steps.length; rung++) {
        signal?.throwIfAborted();
        const facts = { path: link.path, fault: outcomeOf(fault), step: rungs[rung] ?? "" };
        try {
          await steps[rung]?.();
          log.warn("ccid", "a reader that did not answer does again", facts);
          return rung;
        } catch (error) {
          log.warn("ccid", "a reader does not answer", { ...facts, outcome: outcomeOf(error) });
          if (error instanceof UsbFault && error.kind === "gone") throw error;
        }
      }
      log.warn("ccid", "a reader does not answer", {
        path: link.path,
        fault: outcomeOf(fault),
        step: rungs[steps.length] ?? "",
        outcome: "given up, to be opened anew",
      });
      return undefined;
    },
  };
}

/** Runs a step that may fail without harm; still throws if the device is gone. */
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
