/**
 * Restarts, stops and updates the machine. The service itself has no right to do so. On the SD image a root script
 * reads words from a pipe (`overlay/usr/lib/tapdeck/machine`) and reports in the folder that TAPDECK_MACHINE names. The
 * pipe is the standard input of the service. Root has opened it for writing, so no other process of this user can open
 * it. Below systemd the service replaces itself, because systemd would count an end, and not start it a fifth time within
 * five minutes. On other machines its owner restarts it.
 */
import { readFileSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import type { DeviceAction, UpdateState } from "../core/device-shapes.ts";
import { failed, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Environment } from "./folders.ts";
import { ask, createUpdateEngine, refuseNoPipe } from "./update-engine.ts";

interface MachineControlParts {
  readonly environment: Environment;
  /** The descriptor of the pipe. */
  readonly pipe: number;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Stops the media, and resolves once their positions and saves are stored. */
  readonly stopMedia: () => Promise<void>;
  /** Closes the service, and replaces it by a fresh start of the program. */
  readonly restart: () => void;
  /** Shows on the screen that the machine ends, and resolves once that is visible. It waits for the end of the media. */
  readonly onEnding?: (how: "restart" | "shutdown") => Promise<void>;
  /** Called after each change of the state of an update. */
  readonly onUpdate: (state: UpdateState) => void;
}

export type MachineControl = ReturnType<typeof createMachineControl>;

export function createMachineControl(parts: MachineControlParts) {
  const { environment, pipe, stopMedia, onEnding = async () => {}, clock, log } = parts;
  const folder = environment.TAPDECK_MACHINE ?? "";
  const actions: readonly DeviceAction[] =
    folder !== "" ? ["restart", "shutdown", "update"] : isRestarted(environment) ? ["restart"] : [];
  const engine = createUpdateEngine({ ...parts, folder });
  const need = (action: DeviceAction) => {
    if (!actions.includes(action)) throw failed(refusals[action]);
    engine.refuseBusy();
  };
  /** Neither a player that does not end nor a screen that cannot be drawn prevents the end. */
  const inTime = async (step: Promise<void>) => {
    const late = Promise.withResolvers<void>();
    using _late = clock.after(endingMsMax, late.resolve);
    await Promise.race([step.catch(() => {}), late.promise]);
  };
  /**
   * Resolves once the end is certain: root takes words, and a power cut would lose no position and no save. The machine
   * ends when the screen shows it.
   */
  const stopAnd = async (word: "restart" | "shutdown") => {
    refuseNoPipe(pipe);
    const stopped = inTime(stopMedia());
    const shown = inTime(onEnding(word));
    const end = async () => {
      await Promise.all([stopped, shown]);
      await ask(pipe, word);
    };
    end().catch((error: unknown) => log.error("machine", messageOf(error)));
    await stopped;
  };
  return {
    actions,
    /** The state of the update; undefined if no update has begun since the start. */
    updating: engine.updating,
    engine,
    /** Restarts the machine, or below systemd the service. */
    async restart(): Promise<void> {
      need("restart");
      if (folder !== "") return stopAnd("restart");
      await inTime(stopMedia());
      // The end comes after the answer.
      clock.after(restartMs, parts.restart);
    },
    async shutdown(): Promise<void> {
      need("shutdown");
      await stopAnd("shutdown");
    },
    /** Begins to fetch and install a bundle, and returns. */
    update(url: string): void {
      need("update");
      // The engine logs a failure, and shows it.
      void engine.install({ url }, async () => {}, new AbortController().signal).catch(() => {});
    },
    [Symbol.dispose]: engine[Symbol.dispose],
  };
}

const restartMs = 200;
const endingMsMax = 20_000; // A busy board takes 5 s to save a game, and the same time to draw.

const refusals: Readonly<Record<DeviceAction, string>> = {
  restart: "the service was started by hand or by another program: stop it there, and start it again",
  shutdown: "the service may switch off only Tapdeck's own image: shut this system down by its own means",
  update: "the service updates only Tapdeck's own image: update the program here as you installed it",
};

/** Whether systemd starts the service again: its parent is then the watchdog, as in `packaging/systemd/tapdeck.service`. */
function isRestarted({ INVOCATION_ID }: Environment): boolean {
  if (INVOCATION_ID === undefined) return false;
  try {
    // A name in this file has at most 15 characters (proc_pid_comm(5)).
    return readFileSync(`/proc/${process.ppid}/comm`, "utf8").startsWith("tapdeck-watchdo");
  } catch {
    return false;
  }
}
