/**
 * Runs and observes real processes, and polls for conditions that have no event. A wait that gives up reports the last
 * state.
 */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";

/** Runs a command to its end, and returns its output, trimmed. */
export async function run(command: readonly string[]) {
  const child = Bun.spawn([...command], { stdio: ["ignore", "pipe", "pipe"] });
  const [out, error] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { out: out.trim(), error: error.trim(), code: await child.exited };
}

/** The output of a command; throws if it fails. */
export async function printed(command: readonly string[]): Promise<string> {
  const { out, error, code } = await run(command);
  if (code !== 0) throw new Error(`${command.join(" ")}: exit code ${code}: ${error}`);
  return out;
}

/** The process ids of the living members of a process group, without zombies. */
export async function liveMembers(group: number): Promise<readonly number[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const living = await Promise.all(
    ids.map(async (id) => {
      // The process may end between the two reads.
      const stat = await readFile(`/proc/${id}/stat`, "latin1").catch(() => "");
      const [state = "Z", , pgrp] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(pgrp) === group && !"ZX".includes(state);
    }),
  );
  return ids.filter((_, index) => living[index]).map(Number);
}

/**
 * The process whose command line ends with this path; 0 if there is none. A child has our own command line until it becomes
 * the player.
 */
export async function processOf(path: string): Promise<number> {
  for (const id of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    // The process may end between the two reads.
    const line = await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "");
    if (line.endsWith(`\0${path}\0`)) return Number(id);
  }
  return 0;
}

/**
 * The first and the longest pause between two looks, in milliseconds. Between these two limits a pause is a twentieth of
 * the wait.
 */
const [pauseMsMin, pauseMsMax] = [2, 20];

type Assertion = () => void;
/**
 * A condition or an assertion may return nothing else, so the compiler refuses a function that returns a found value.
 */
type Outcome = boolean | ReturnType<Assertion>;

/**
 * Resolves as soon as `holds`, which is a condition or an assertion, neither throws nor resolves with false. It rejects
 * after `msMax`, a minute, with the last failure of the assertion and the newest log lines of the processes under test. The
 * last look may take `lookMsMax` longer.
 */
export async function eventually(
  holds: () => Outcome | Promise<Outcome>,
  msMax = 60_000,
  lookMsMax = 60_000,
): Promise<void> {
  const begunMs = performance.now();
  const hanging = Promise.withResolvers<never>();
  const timer = setTimeout(() => hanging.reject(new Error("the last look does not end")), msMax + lookMsMax);
  try {
    for (let looks = 1; ; looks++) {
      let failure: unknown;
      try {
        if ((await Promise.race([holds(), hanging.promise])) !== false) return;
      } catch (error) {
        failure = error;
      }
      const elapsedMs = performance.now() - begunMs;
      if (elapsedMs > msMax) {
        const last = failure === undefined ? "" : `\n\n${messageOf(failure)}`;
        const summary = `did not hold within ${(elapsedMs / 1000).toFixed(1)} s, ${looks} looks: ${holds}`;
        throw new Error(`${summary}${last}${newestLines()}`, { cause: failure });
      }
      await Bun.sleep(Math.min(Math.max(elapsedMs / 20, pauseMsMin), pauseMsMax));
    }
  } finally {
    clearTimeout(timer);
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Resolves as soon as this file or folder exists. The rejection lists the folder above it. */
export async function eventuallyExists(path: string, msMax?: number): Promise<void> {
  await eventually(async () => {
    if (existsSync(path)) return;
    const names = await readdir(dirname(path)).catch(messageOf);
    throw new Error(`${path} does not exist; beside it: ${Array.isArray(names) ? names.join(" ") : names}`);
  }, msMax);
}

/** Resolves as soon as there is no such process. A zombie still counts as a process. The rejection shows its state. */
export async function eventuallyReaped(pid: number, msMax?: number): Promise<void> {
  await eventually(async () => {
    if (!existsSync(`/proc/${pid}`)) return;
    // The process may end between the two looks.
    throw new Error(`still there: ${await readFile(`/proc/${pid}/stat`, "latin1").catch(messageOf)}`);
  }, msMax);
}

/**
 * Resolves with the promise. After `msMax`, a minute, it rejects with `what`, which names the awaited thing, with the
 * result of `seen`, and with the newest log lines.
 */
export async function within<Value>(
  what: string,
  promise: Promise<Value>,
  { seen, msMax = 60_000 }: { readonly seen?: () => unknown; readonly msMax?: number } = {},
): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const instead = seen === undefined ? "" : `; seen: ${Bun.inspect(seen())}`;
    late.reject(new Error(`no ${what} within ${msMax / 1000} s${instead}${newestLines()}`));
  }, msMax);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when the socket is open; rejects if it closes before. */
export async function opened(socket: WebSocket): Promise<void> {
  const open = new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve(), { once: true });
    socket.addEventListener("close", ({ code }) => reject(new Error(`${socket.url} closed with ${code}`)), {
      once: true,
    });
  });
  await within(`connection to ${socket.url}`, open);
}

const [logLinesMax, logsMax] = [20, 4];
const logs = new Set<{ readonly name: string; readonly text: () => string }>();

/** If the waits of this file give up, they show the newest lines of this log, until the result is disposed. */
export function showLog(name: string, text: () => string): Disposable {
  const log = { name, text };
  logs.add(log);
  return { [Symbol.dispose]: () => void logs.delete(log) };
}

/** The newest lines of the newest logs, each under its name; empty if there are none. */
export function newestLines(): string {
  return [...logs]
    .slice(-logsMax)
    .map(({ name, text }) => {
      const lines = text().trimEnd().split("\n").slice(-logLinesMax);
      return `\n\nlog of ${name}, newest ${logLinesMax} lines:\n${lines.join("\n")}`;
    })
    .join("");
}
