/** Stop 7 of a tap: each event in its public form, to each connection that may hear it. */
import type { Bus } from "../bus.ts";
import type { EventName } from "../events.ts";
import type { Connection } from "./connection.ts";
import { notificationText } from "./envelope.ts";

/** Every event, by its wire name; the compiler asks for a new one here. */
const names: Readonly<Record<EventName, true>> = {
  "readers.added": true,
  "readers.removed": true,
  "tokens.added": true,
  "tokens.removed": true,
  running: true,
  "media.started": true,
  "media.stopped": true,
  "launch.finished": true,
};

/** Forwards until disposed. An event's text is made once, however many hear it, and not at all where nobody does. */
export function forwardEvents(bus: Bus, listeners: ReadonlySet<Connection>): Disposable {
  const subscriptions = Object.keys(names).map((name) =>
    bus.on(name as EventName, (payload) => {
      if (listeners.size === 0) return;
      const text = notificationText(name, payload);
      for (const connection of listeners) connection.notify(text);
    }),
  );
  return {
    [Symbol.dispose]: () => {
      for (const subscription of subscriptions) subscription[Symbol.dispose]();
    },
  };
}
