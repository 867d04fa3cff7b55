/** Runs of the index, seen from the service: starts the process, tells how far it is, and ends it. */
import { join } from "node:path";
import { messageOf, ServiceError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { gently, jobEnvironment, ownCommand } from "../../system/own-program.ts";
import type { Job, JobLine } from "./index-job.ts";

export interface RunOptions {
  /** The program and its arguments; absent: this program's own. */
  readonly command?: readonly string[] | undefined;
  readonly log: Log;
  readonly onLine: (line: JobLine) => void;
}

export interface Run {
  /** Resolves when the new index stands in its place; throws `ServiceError("failed")`. */
  readonly done: Promise<{ readonly files: number; readonly changed: boolean }>;
  /** Ends it, at any moment: the old index stays as it is. */
  cancel(): void;
}

/** The arguments that make the compiled program run the index, or watch the folders, rather than be the service. */
export const jobArgument = "index-job";
export const watchArgument = "watch-job";

/** Starts a run. At most one at a time: two would write the same file. */
export function startRun(job: Job, { command, log, onLine }: RunOptions): Run {
  const child = spawnGently(jobArgument, command);
  child.stdin.write(JSON.stringify(job));
  child.stdin.end();
  let cancelled = false;
  const follow = async () => {
    let last: JobLine | undefined;
    for await (const line of linesOf<JobLine>(child.stdout)) {
      last = line;
      logLine(log, line);
      onLine(line);
    }
    await child.exited;
    if (last?.kind === "done") return { files: last.files, changed: last.changed };
    if (cancelled)
      throw new ServiceError("failed", "the index was cancelled: what was indexed before is still there");
    const why =
      last?.kind === "failed" ? last.why : `its process ended with ${child.signalCode ?? child.exitCode}`;
    throw new ServiceError("failed", `the media could not be indexed: ${why}`);
  };
  return {
    done: follow(),
    cancel() {
      cancelled = true;
      child.kill("SIGKILL");
    },
  };
}

const jobSource = join(import.meta.dir, "index-job-main.ts");

/** Starts this program anew, or the one given, for a job of low priority; throws `ServiceError("failed")`. */
export function spawnGently(argument: string, command: readonly string[] = ownCommand(argument, jobSource)) {
  try {
    return Bun.spawn([...gently, ...command], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
      env: jobEnvironment,
    });
  } catch (error) {
    const sentence = `the media cannot be looked after: their process could not be started: ${messageOf(error)}`;
    throw new ServiceError("failed", sentence, { cause: error });
  }
}

/** What a process of ours tells, a line of JSON each. */
export async function* linesOf<Line>(stream: ReadableStream<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}

function logLine(log: Log, line: JobLine): void {
  if (line.kind === "complaint")
    log.warn("media", "left out of the index", { path: line.path, why: line.why });
  if (line.kind === "complaints") log.warn("media", "more were left out of the index", { count: line.more });
}
