/**
 * Hooks: scripts of the config (`hooks.*`) that run at events.
 *
 *   on_scan, on_remove   a card came, or went         concurrently; a failure is logged
 *   before_start         a player is about to start   first; a failure prevents the start
 *   on_start, on_stop    a player started, or ended   concurrently; a failure is logged
 *
 * Media that a hook starts calls no hooks, neither at its start nor at its end.
 */
import type { Bus } from "../../bus.ts";
import type { Hooks } from "../../config/shape.ts";
import { messageOf, ServiceError } from "../../core/errors.ts";
import { hooksRunningMax } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import type { ActiveMedia, StartedMedia } from "../../core/media.ts";
import type { ScriptOrigin, ScriptPorts } from "../../script/command.ts";
import { readyScript } from "../../script/run-script.ts";
import { followDeviceReaders } from "../ports/device-ports.ts";
import type { HookEvent, RunContext } from "../run-context.ts";

interface HookRunnerParts {
  readonly hooks: () => Hooks;
  readonly bus: Bus;
  readonly log: Log;
  readonly portsOf: (run: RunContext) => ScriptPorts;
  readonly stopping: () => AbortSignal;
}

/** Listens until disposed. */
export function createHooks(parts: HookRunnerParts) {
  const { hooks, bus, log, portsOf, stopping } = parts;
  let running = 0;
  const readers = followDeviceReaders(bus);

  // A hook has no card, because the removal of a card never stops media of a hook.
  const run = (script: string, event: HookEvent, signal: AbortSignal, origin: ScriptOrigin) =>
    readyScript(script, origin).run(
      portsOf({ card: undefined, origin, isHook: true, signal, event }),
      signal,
    );
  /** The owner wrote the hook, so it is trusted, whatever event runs it. */
  const originOf = ({ token }: HookEvent): ScriptOrigin =>
    token !== undefined && readers.has(token.readerId) ? "reader" : "trusted";
  const beside = (name: keyof Hooks, event: HookEvent) => {
    const script = hooks()[name];
    if (script === undefined) return;
    const complain = (error: unknown) => {
      // The key as the config file names it, such as `on_scan`.
      const key = name.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`);
      log.warn("launch", `the hook ${key} failed`, { error: messageOf(error) });
    };
    if (running >= hooksRunningMax) return complain(new Error(`${hooksRunningMax} hooks run already`));
    running++;
    // The hook starts a microtask later, so it does not delay its tap.
    void Promise.resolve()
      .then(() => run(script, event, stopping(), originOf(event)))
      .catch(complain)
      .finally(() => {
        running--;
      });
  };
  const listening = [
    bus.on("tokens.added", (token) => beside("onScan", { token })),
    bus.on("tokens.removed", (token) => beside("onRemove", { token })),
  ];
  return {
    /** Runs the hook; undefined if there is none. Rejects with `ServiceError("forbidden")` if the hook failed. */
    before(launching: StartedMedia, { signal, origin }: RunContext): Promise<void> | undefined {
      const script = hooks().beforeStart;
      if (script === undefined) return undefined;
      const by = origin === "reader" ? origin : "trusted";
      return runBefore(() => run(script, { launching }, signal, by), signal);
    },
    started(media: ActiveMedia, { isHook }: RunContext) {
      if (!isHook) beside("onStart", { media });
    },
    ended(media: ActiveMedia, { isHook }: RunContext) {
      if (!isHook) beside("onStop", { media });
    },
    [Symbol.dispose]() {
      readers[Symbol.dispose]();
      for (const one of listening) one[Symbol.dispose]();
    },
  };
}

async function runBefore(run: () => Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await run();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError("forbidden", `the hook before_start did not let it start: ${error.message}`, {
      cause: error,
      reason: "hook-refused",
    });
  }
}
