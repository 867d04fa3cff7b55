/** Stops the parts of the service in a fixed order. */
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

/** The order of the stop: no part calls another that has stopped already. */
const stopOrder = [
  "launching",
  "players",
  "saves",
  "spare player",
  "devices",
  "play time",
  "readers",
  "screen",
  "certificates",
  "pairing",
  "connections",
  "mappings",
  "media folders",
  "USB sticks",
  "media",
  "settings",
  "audit log",
  "database",
] as const;

type Closable = { close(): Promise<void> | void } | Disposable;

/** The parts that have started. */
export interface Stops {
  /** Returns the part. */
  add<Part extends Closable>(what: (typeof stopOrder)[number], part: Part): Part;
  /** Stops each part, even if others fail. */
  run(): Promise<void>;
}

export function createStops(log: Log): Stops {
  const started = new Map<string, Closable>();
  return {
    add(what, part) {
      started.set(what, part);
      return part;
    },
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
