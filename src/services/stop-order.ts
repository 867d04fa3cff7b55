/** Stops the parts of the service in a fixed order. */
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

/** The order of the stop. No part calls another one that has stopped already. */
const stopOrder = [
  "menu",
  "buttons",
  "launching",
  "players",
  "saves",
  "spare player",
  "code",
  "devices",
  "play time",
  "quiet hours",
  "sound places",
  "sleep timer",
  "television",
  "play history",
  "readers",
  "MQTT",
  "Wi-Fi",
  "Bluetooth",
  "lights",
  "share for PCs",
  "screen",
  "certificates",
  "pairing",
  "metrics",
  "shared cards",
  "update server",
  "machine",
  "connections",
  "uploads",
  "mappings",
  "media folders",
  "USB sticks",
  "media",
  "settings",
  "audit log",
  "database",
] as const;

type Closable = { close(): Promise<void> | void } | Disposable;

export type Stops = ReturnType<typeof createStops>;

export function createStops(log: Log) {
  /** The parts that have started. */
  const started = new Map<string, Closable>();
  return {
    /** Adds a part, and returns it. */
    add<Part extends Closable>(what: (typeof stopOrder)[number], part: Part): Part {
      started.set(what, part);
      return part;
    },
    /** Stops each part, even if others fail. */
    async run() {
      for (const what of stopOrder) {
        const part = started.get(what);
        if (part === undefined) continue;
        try {
          await ("close" in part ? part.close() : part[Symbol.dispose]());
        } catch (error) {
          log.error("service", "could not stop in order", { what, error: messageOf(error) });
        }
      }
    },
  };
}
