/**
 * The event bus: typed, in-process, synchronous. It logs an error of a listener and calls the next one. A listener may not emit
 * the event that it handles, because that would not end.
 */
import { assert, messageOf } from "./core/errors.ts";
import type { Log } from "./core/log.ts";
import type { EventName, Events } from "./events.ts";

type Listener<Name extends EventName> = (payload: Events[Name]) => void;

export interface Bus {
  /** Calls every listener of `name`, in the order in which they subscribed, before it returns. */
  emit<Name extends EventName>(name: Name, payload: Events[Name]): void;
  /** Subscribes until the returned handle is disposed. */
  on<Name extends EventName>(name: Name, listener: Listener<Name>): Disposable;
}

export function createBus(log: Log): Bus {
  const listeners = new Map<EventName, Set<(payload: never) => void>>();
  const emitting = new Set<EventName>();

  return {
    emit(name, payload) {
      assert(!emitting.has(name), `no listener of ${name} emits ${name}`);
      emitting.add(name);
      try {
        for (const listener of listeners.get(name) ?? []) {
          try {
            (listener as Listener<typeof name>)(payload);
          } catch (error) {
            // The other listeners still get the event.
            log.error("bus", "a listener failed", { event: name, error: messageOf(error) });
          }
        }
      } finally {
        emitting.delete(name);
      }
    },
    on(name, listener) {
      const set = listeners.get(name) ?? new Set();
      listeners.set(name, set);
      set.add(listener);
      return { [Symbol.dispose]: () => void set.delete(listener) };
    },
  };
}
