/** Programs that a card runs: without a shell, to their end, in a process group of their own that ends with them. */
import { failed } from "../core/errors.ts";
import { executeMsMax, executeOutputBytesMax } from "../core/limits.ts";
import { confined } from "./confine.ts";
import { playerEnvironment, sendSignal, startFaultOf } from "./start-process.ts";

export interface ProgramEnd {
  /** The exit code; null if a signal ended the program. */
  readonly exitCode: number | null;
  /** The first `executeOutputBytesMax` bytes of its output and its error output. */
  readonly output: string;
}

// The time to read the output of an ended program, which is in the pipe already. Another process may hold the pipe open.
const drainMsMax = 200;

/**
 * Runs `argv` and resolves when it has ended. Throws `ServiceError("failed")` if it cannot be started or runs for longer than
 * `msMax`, and the signal's reason if that aborts. In both cases its group has been killed.
 */
export async function runProgram(
  argv: readonly string[],
  signal: AbortSignal,
  msMax = executeMsMax,
): Promise<ProgramEnd> {
  signal.throwIfAborted();
  const child = spawn(argv);
  const endGroup = () => sendSignal(-child.pid, "SIGKILL");
  let late = false;
  let drained: NodeJS.Timeout | undefined;
  const timer = setTimeout(() => {
    late = true;
    endGroup();
  }, msMax);
  signal.addEventListener("abort", endGroup, { once: true });
  const reading = new AbortController();
  const outputs = [child.stdout, child.stderr].map((stream) =>
    head(stream, executeOutputBytesMax / 2, reading.signal),
  );
  try {
    await child.exited;
    // Kills the remaining children. A child that left the group continues, and its output is dropped.
    endGroup();
    drained = setTimeout(() => reading.abort(), drainMsMax);
    const output = (await Promise.all(outputs)).join("");
    signal.throwIfAborted();
    if (late) throw failed(`${argv[0]} ran for longer than ${msMax / 1000} s and was ended`);
    return { exitCode: child.signalCode === null ? child.exitCode : null, output };
  } finally {
    clearTimeout(timer);
    clearTimeout(drained);
    signal.removeEventListener("abort", endGroup);
    reading.abort();
  }
}

function spawn(argv: readonly string[]) {
  try {
    return Bun.spawn([...confined(argv, "network", { path: playerEnvironment.PATH })], {
      stdio: ["ignore", "pipe", "pipe"],
      env: playerEnvironment,
      detached: true,
    });
  } catch (error) {
    throw failed(`${argv[0]} could not be started: ${startFaultOf(error)}`, error);
  }
}

/** Reads a stream to its end, or until `signal` aborts, and keeps its first `bytesMax` bytes. */
async function head(
  stream: ReadableStream<Uint8Array>,
  bytesMax: number,
  signal: AbortSignal,
): Promise<string> {
  const reader = stream.getReader();
  const kept: Uint8Array[] = [];
  let bytes = 0;
  signal.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    if (bytes < bytesMax) kept.push(read.value.subarray(0, bytesMax - bytes));
    bytes += read.value.length;
  }
  return Buffer.concat(kept).toString("utf8");
}
