/**
 * Restarts, stops and updates the machine. The service has no right to do so itself. On the SD image a root script reads words
 * from a pipe in the folder that TAPDECK_MACHINE names (`overlay/usr/lib/tapdeck/machine`). Below systemd the service can end,
 * and is started again. Elsewhere its owner restarts it.
 */
import { constants, readFileSync } from "node:fs";
import { open, readFile, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, sleep } from "../core/clock.ts";
import { updateBootBytesMax, updateFetchMsMax, updateRootBytesMax } from "../core/console-limits.ts";
import type { DeviceAction, UpdateState } from "../core/device-shapes.ts";
import { codeOf, failed, messageOf, ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Environment } from "./folders.ts";

interface MachineControlParts {
  readonly environment: Environment;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly log: Log;
  /** The orderly end of the service stops them, too, and waits for their saves. */
  readonly stopMedia: () => void;
  /** Called after each change of the state of an update. */
  readonly onUpdate: (state: UpdateState) => void;
}

export type MachineControl = ReturnType<typeof createMachineControl>;

export function createMachineControl(parts: MachineControlParts) {
  const { environment, dataFolder, clock, log, stopMedia, onUpdate } = parts;
  const folder = environment.TAPDECK_MACHINE ?? "";
  const bundle = join(dataFolder, "update.bundle");
  const actions: readonly DeviceAction[] =
    folder !== "" ? ["restart", "shutdown", "update"] : isRestarted(environment) ? ["restart"] : [];
  let updating: UpdateState | undefined;
  // After an update that worked, the machine restarts before its bundle is deleted.
  const cleaned = folder === "" ? undefined : rm(bundle, { force: true }).catch(() => {});
  const ending = new AbortController();
  const show = (state: UpdateState) => {
    if (Bun.deepEquals(state, updating)) return;
    updating = state;
    onUpdate(state);
  };
  const need = (action: DeviceAction) => {
    if (!actions.includes(action)) throw failed(refusals[action]);
    if (updating !== undefined && updating.step !== "failed")
      throw new ServiceError("conflict", "an update is being installed: wait until it has ended");
  };
  const update = async (url: string) => {
    show({ step: "fetching" });
    await cleaned;
    try {
      const stepOf = (percent: number) => show({ step: "fetching", percent });
      await fetchBundle(
        url,
        bundle,
        AbortSignal.any([ending.signal, AbortSignal.timeout(updateFetchMsMax)]),
        stepOf,
      );
      await ask(folder, "update");
      show({ step: "checking", percent: 0 });
      while (updating?.step !== "failed") {
        await sleep(clock, progressMs, ending.signal);
        // The script makes the file a moment after it reads the word.
        show(
          stateIn(await readFile(join(folder, "update"), "utf8").catch(() => "")) ?? {
            step: "checking",
            percent: 0,
          },
        );
      }
      log.warn("update", updating.why ?? "");
    } catch (error) {
      if (ending.signal.aborted) return;
      log.warn("update", "not installed", { error: messageOf(error) });
      show({ step: "failed", why: messageOf(error) });
    }
    // A leftover is overwritten by the next update.
    await rm(bundle, { force: true }).catch(() => {});
  };
  const stopAnd = (word: "restart" | "shutdown") => {
    stopMedia();
    return ask(folder, word);
  };
  return {
    actions,
    /** Undefined if none was begun since the start. */
    updating: () => updating,
    /** Restarts the machine, or below systemd the service. */
    async restart(): Promise<void> {
      need("restart");
      if (folder !== "") return stopAnd("restart");
      // After the answer.
      setTimeout(() => process.kill(process.pid, "SIGTERM"), restartMs);
    },
    async shutdown(): Promise<void> {
      need("shutdown");
      await stopAnd("shutdown");
    },
    /** Begins to fetch and install a bundle, and returns. */
    update(url: string): void {
      need("update");
      void update(url);
    },
    [Symbol.dispose]: () => ending.abort(),
  };
}

const progressMs = 500;
const restartMs = 200;
const freeBytesMin = 32 * 1024 * 1024; // The database and saves need some.

const refusals: Readonly<Record<DeviceAction, string>> = {
  restart: "the service was started by hand or by another program: stop it there, and start it again",
  shutdown: "the service may switch off only Tapdeck's own image: shut this system down by its own means",
  update: "the service updates only Tapdeck's own image: update the program here as you installed it",
};

/** Whether systemd starts the service again: its parent is then the watchdog, as in `packaging/systemd/tapdeck.service`. */
function isRestarted({ INVOCATION_ID }: Environment): boolean {
  if (INVOCATION_ID === undefined) return false;
  try {
    // A name there has 15 characters at most (proc_pid_comm(5)).
    return readFileSync(`/proc/${process.ppid}/comm`, "utf8").startsWith("tapdeck-watchdo");
  } catch {
    return false;
  }
}

/** Writes a word into the pipe. Rejects with `failed` if nobody reads it. */
async function ask(folder: string, word: string): Promise<void> {
  try {
    await using pipe = await open(join(folder, "requests"), constants.O_WRONLY | constants.O_NONBLOCK);
    await pipe.write(`${word}\n`);
  } catch (error) {
    throw failed(
      `the image did not take the request (${codeOf(error)}): restart it by its power switch`,
      error,
    );
  }
}

async function fetchBundle(
  url: string,
  path: string,
  signal: AbortSignal,
  progress: (percent: number) => void,
): Promise<void> {
  const response = await fetch(url, { signal });
  if (!response.ok || response.body === null)
    throw new Error(`${url}: the server answered ${response.status}`);
  const total = Number(response.headers.get("content-length") ?? "0");
  const { bavail, bsize } = await statfs(join(path, ".."));
  const most = Math.min(bavail * bsize - freeBytesMin, updateBootBytesMax + updateRootBytesMax);
  const tooLong = () => new Error(`the update has more than the ${Math.floor(most / 2 ** 20)} MiB that fit`);
  if (total > most) throw tooLong();
  await using file = await open(path, "w", 0o600);
  let done = 0;
  for await (const chunk of response.body) {
    done += chunk.length;
    if (done > most) throw tooLong();
    await file.writeFile(chunk);
    if (total > 0) progress(Math.floor((done / total) * 100));
  }
  await file.sync();
}

/** The state by the output of `tapdeck update`; undefined before its first line. */
export function stateIn(text: string): UpdateState | undefined {
  const lines = text.trimEnd().split("\n");
  const [last = "", before = ""] = lines.toReversed();
  const [, step, percent] = /^(checking|writing|reading back), (\d+) %$/.exec(last) ?? [];
  if (step === "checking" || step === "writing" || step === "reading back")
    return { step, percent: Number(percent) };
  if (last.startsWith("restarting")) return { step: "restarting" };
  if (/^exit \d+$/.test(last)) return { step: "failed", why: before.replace(/^tapdeck: /, "") };
  return undefined;
}
