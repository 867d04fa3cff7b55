/**
 * A simulated reader for people without a reader: a PN532 on a real pty, read by the real driver. `simulated:`, with any
 * name after the colon. The API puts cards on it. These can be written, and lose their content when they are removed.
 */
import type { Driver, ReaderSession } from "../src/readers/driver.ts";
import { openSerial } from "./io/serial.ts";
import { openPn532 } from "./pn532-uart.ts";
import { createSimulatedChip, type SimulatedChip } from "./simulated/simulated-chip.ts";
import { createSimulatedTag } from "./simulated/simulated-tag.ts";

const firstBaudRate = 115_200;

export const simulated = {
  id: "simulated",
  capabilities: ["read", "write", "removable"],
  async open(_name, context, signal) {
    const chip = createSimulatedChip();
    try {
      const link = await openSerial(chip.path, { baudRate: firstBaudRate });
      const session = await openPn532(link, context, signal);
      return withCards(session, chip);
    } catch (error) {
      await chip.close();
      throw error;
    }
  },
} as const satisfies Driver;

function withCards(session: ReaderSession, chip: SimulatedChip): ReaderSession {
  let leaving: NodeJS.Timeout | undefined;
  return {
    info: `${session.info} (simulated)`,
    watch: session.watch,
    ...(session.write === undefined ? {} : { write: session.write }),
    tap(card, durationMs) {
      const tag = createSimulatedTag(card);
      clearTimeout(leaving);
      chip.put(tag);
      leaving = setTimeout(() => chip.take(tag), durationMs);
    },
    untap() {
      clearTimeout(leaving);
      chip.take();
    },
    async close() {
      clearTimeout(leaving);
      await session.close();
      await chip.close();
    },
  };
}
