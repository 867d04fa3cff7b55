/** The change messages of a reader: a card came or went. Some clones send none and must be polled. */
import type { Clock } from "../../src/core/clock.ts";
import { messageOf } from "../../src/core/errors.ts";
import type { Log } from "../../src/core/log.ts";
import { readerFaults } from "../../src/core/reader-faults.ts";
import { createBell } from "../io/bell.ts";
import { UsbFault, type UsbLink } from "../io/links.ts";
import { parseInterrupt } from "../protocol/ccid.ts";

const interruptBytesMax = 16; // An interrupt message has two bits for each slot, or four bytes of a hardware error (CCID 1.1, 6.3).
// The time of one transfer is short, because a waiting transfer cannot be cancelled, and closing waits for it.
const listenMs = 250;
const failuresMax = 5;

export type CcidSlot = ReturnType<typeof watchSlot>;

/** Listens from now on; `slot` is counted from 0. */
export function watchSlot(link: UsbLink, slot: number, clock: Clock, log: Log) {
  let tells = false;
  const change = createBell(clock);
  let closed = false;

  const hear = (bytes: Uint8Array) => {
    const told = parseInterrupt(bytes, slot);
    if (told.kind === "slot-change") {
      tells = true;
      // Changes in other slots do not matter.
      if (!told.changed && slot > 0) return;
      change.ring();
    } else if (told.kind === "hardware-error")
      log.warn("ccid", "the reader reports a fault", { code: told.code });
    else {
      readerFaults.badFrames += 1;
      log.debug("ccid", "noise", { bytes: told.bytes });
    }
  };
  const listen = async (): Promise<void> => {
    for (let failures = 0; !closed && failures < failuresMax; ) {
      try {
        hear(await link.interruptIn(interruptBytesMax, listenMs));
        failures = 0;
      } catch (error) {
        if (!(error instanceof UsbFault)) throw error;
        if (error.kind === "timed-out") continue;
        if (error.kind === "gone") break;
        failures += 1;
        // An error here is ignored, because the next transfer then also fails.
        if (error.kind === "stalled") await link.clearHalt("interrupt-in").catch(() => {});
      }
    }
  };
  const listening = (link.hasInterrupts ? listen() : Promise.resolve())
    // No code awaits this promise while it runs, so an unexpected error is logged here and ends only the listening.
    .catch((error: unknown) => log.error("ccid", "cannot listen any more", { error: messageOf(error) }))
    .finally(() => {
      // From now on the reader must be polled.
      tells = false;
    });
  return {
    /** True after the first message about a change. Without such messages the reader must be polled. */
    get tells() {
      return tells;
    },
    /** True if there was a change since the last call. */
    takeChange: change.take,
    /** Resolves with true at the next change, or with false after `ms` milliseconds; rejects as the signal aborts. */
    changed: change.within,
    /** Stops listening. Resolves when no transfer runs any more. */
    async close() {
      closed = true;
      await listening;
    },
  };
}
