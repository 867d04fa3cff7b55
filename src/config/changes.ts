/** The settings that are in use, and who is told when they change. */
import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Config } from "./shape.ts";

export type SettingsListener = (now: Config, before: Config) => void;

export interface Changes {
  current(): Config;
  onChange(listener: SettingsListener): Disposable;
  /** Asks for the wanted settings and, where they are others, puts them in use and tells the listeners. */
  settle(): void;
}

/** Starts with `first`; `wanted` says what the settings should be now. A listener's fault hurts nobody else. */
export function createChanges(first: Config, wanted: () => Config, log: Log): Changes {
  const listeners = new Set<SettingsListener>();
  let now = first;
  let settling = false;

  const tell = (before: Config) => {
    const after = now;
    for (const listener of listeners) {
      try {
        listener(after, before);
      } catch (error) {
        // One listener's fault must not keep the others on old settings.
        log.error("config", "a listener failed", { error: messageOf(error) });
      }
    }
  };
  return {
    current: () => now,
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    settle() {
      // A listener that changes settings in its turn is answered by the loop, so that all hear of changes in their order.
      if (settling) return;
      settling = true;
      try {
        for (let next = wanted(); !isDeepStrictEqual(next, now); next = wanted()) {
          const before = now;
          now = next;
          logRestart(first, before, now, log);
          tell(before);
        }
      } finally {
        settling = false;
      }
    },
  };
}

/** What was opened at the start stays open: says so once for each change that asks for another. */
function logRestart(first: Config, before: Config, now: Config, log: Log): void {
  const keys = ["port", "listen", "tlsPort"] as const;
  const isNews = (key: (typeof keys)[number]) =>
    !isDeepStrictEqual(now.api[key], before.api[key]) && !isDeepStrictEqual(now.api[key], first.api[key]);
  if (keys.some(isNews))
    log.warn("config", "api.port, api.listen and api.tls_port take effect at the next start");
}
