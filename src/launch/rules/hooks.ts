/**
 * Hooks: scripts of the config that run when something happens (decisions, "The config file", `hooks.*`).
 *
 *   on_scan, on_remove   a card came, or went       beside everything else; a failure is logged
 *   before_start         something is to be started  before it; a failure is why it does not start
 *   on_start, on_stop    it was started, or ended    beside everything else; a failure is logged
 *
 * What a hook starts calls no hooks, neither when it starts nor when it ends.
 */
import type { Bus } from "../../bus.ts";
import type { Hooks } from "../../config/shape.ts";
import { messageOf, ServiceError } from "../../core/errors.ts";
import { hooksRunningMax } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import type { ScriptOrigin, ScriptPorts } from "../../script/command.ts";
import { readyScript } from "../../script/run-script.ts";
import { followDeviceReaders } from "../ports/device-readers.ts";
import type { HookEvent, Launching, RunContext } from "../run-context.ts";

export interface HookRunnerParts {
  readonly hooks: () => Hooks;
  readonly bus: Bus;
  readonly log: Log;
  readonly portsOf: (run: RunContext) => ScriptPorts;
  /** Aborts when all scripts are to be stopped. */
  readonly stopping: () => AbortSignal;
  /** On whose behalf the player runs that was started last. */
  readonly startedBy: () => RunContext | undefined;
}

export interface HookRunner extends Disposable {
  /** Undefined where there is no such hook. Rejects with `ServiceError("forbidden")` where it failed. */
  before(what: Launching, run: RunContext): Promise<void> | undefined;
}

const keys = {
  onScan: "on_scan",
  onRemove: "on_remove",
  beforeStart: "before_start",
  onStart: "on_start",
  onStop: "on_stop",
} as const satisfies Record<keyof Hooks, string>;

/** Listens until disposed. */
export function createHooks(parts: HookRunnerParts): HookRunner {
  const { hooks, bus, log, portsOf, stopping, startedBy } = parts;
  let running = 0;

  const readers = followDeviceReaders(bus);

  // What a hook starts is no card's: taking one off never stops it.
  const run = (script: string, event: HookEvent, signal: AbortSignal, origin: ScriptOrigin) =>
    readyScript(script, origin).run(
      portsOf({ card: undefined, origin, isHook: true, signal, event }),
      signal,
    );
  /** The hook's words are the owner's, whatever runs it. */
  const originOf = ({ token }: HookEvent): ScriptOrigin =>
    token !== undefined && readers.has(token.readerId) ? "reader" : "trusted";
  const beside = (name: keyof Hooks, event: HookEvent) => {
    const script = hooks()[name];
    if (script === undefined) return;
    const complain = (error: unknown) =>
      log.warn("launch", `the hook ${keys[name]} failed`, { error: messageOf(error) });
    if (running >= hooksRunningMax) return complain(new Error(`${hooksRunningMax} hooks run already`));
    running++;
    // A step later, so that the hook of a tap costs the tap nothing.
    void Promise.resolve()
      .then(() => run(script, event, stopping(), originOf(event)))
      .catch(complain)
      .finally(() => {
        running--;
      });
  };
  const isHooks = () => startedBy()?.isHook === true;
  const listening = [
    bus.on("tokens.added", (token) => beside("onScan", { token })),
    bus.on("tokens.removed", (token) => beside("onRemove", { token })),
    bus.on("media.started", (media) => {
      if (!isHooks()) beside("onStart", { media });
    }),
    bus.on("media.stopped", (media) => {
      if (!isHooks()) beside("onStop", { media });
    }),
  ];
  return {
    before(launching, { signal, origin }) {
      const script = hooks().beforeStart;
      if (script === undefined) return undefined;
      const by = origin === "reader" ? origin : "trusted";
      return runBefore(() => run(script, { launching }, signal, by), signal);
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
    });
  }
}
