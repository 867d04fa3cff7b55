/** Runs of the index, seen from the service. Each is a child process. */
import { join } from "node:path";
import { failed, messageOf, ServiceError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { gently, giveInput, jobEnvironment, ownCommand } from "../../system/own-program.ts";
import type { IndexJob, JobLine } from "./index-job.ts";

export interface RunOptions {
  /** The command of the job; if absent, this program itself. */
  readonly command?: readonly string[] | undefined;
  readonly log: Log;
  readonly onLine: (line: JobLine) => void;
}

export type Run = ReturnType<typeof startRun>;

/** The argument of the compiled program that starts a run instead of the service. */
export const jobArgument = "index-job";

/** Starts a run. Call it for one run at a time, because two would write the same file. */
export function startRun(job: IndexJob, { command, log, onLine }: RunOptions) {
  const child = spawnGently(command);
  void giveInput(child, JSON.stringify(job));
  let cancelled = false;
  const follow = async () => {
    let last: JobLine | undefined;
    for await (const line of linesOf<JobLine>(child.stdout)) {
      last = line;
      if (line.kind === "complaint")
        log.warn("media", "left out of the index", { path: line.path, why: line.why });
      if (line.kind === "complaints")
        log.warn("media", "more were left out of the index", { count: line.more });
      onLine(line);
    }
    await child.exited;
    if (last?.kind === "done") return last;
    if (cancelled) throw failed("the index was cancelled: the old index stays in use");
    const why =
      last?.kind === "failed" ? last.why : `its process ended with ${child.signalCode ?? child.exitCode}`;
    throw failed(`the media could not be indexed: ${why}`);
  };
  return {
    /** Resolves when the new index is in its place; rejects with `ServiceError("failed")`. */
    done: follow(),
    isCancelled: () => cancelled,
    /** Ends the run at any moment; the old index stays. */
    cancel() {
      cancelled = true;
      child.kill("SIGKILL");
    },
  };
}

const jobSource = join(import.meta.dir, "index-job-main.ts");

/** Starts a run at low priority; throws `ServiceError("failed")`. */
function spawnGently(command: readonly string[] = ownCommand(jobArgument, jobSource)) {
  try {
    return Bun.spawn([...gently, ...command], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
      env: jobEnvironment,
    });
  } catch (error) {
    const sentence = `the media cannot be indexed: the process could not be started: ${messageOf(error)}`;
    throw failed(sentence, error);
  }
}

/** The output of a job, which has one line of JSON for each event. */
async function* linesOf<Line>(stream: ReadableStream<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}

/** The part of a media library that a watch uses. */
export interface Indexed {
  /** The same as the option of `createMedia`. */
  index(systems: readonly string[]): Promise<void>;
}

/** The time between two attempts while another run is in progress. */
const againMs = 2000;

/** Like `media.index`, but waits while another run is in progress. It does nothing once `isOver` returns true. */
export async function indexWhenFree(
  media: Indexed,
  systems: readonly string[],
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    try {
      return await media.index(systems);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === "conflict")) throw error;
      await Bun.sleep(againMs);
    }
  }
}
