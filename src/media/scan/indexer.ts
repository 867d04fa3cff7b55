/** Jobs of the media, seen from the service: runs of the index, and a watch on the media folders. Each is a child process. */
import { join } from "node:path";
import { failed, messageOf, ServiceError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { MediaFolders } from "../../core/media.ts";
import { gently, giveInput, jobEnvironment, ownCommand } from "../../system/own-program.ts";
import type { IndexJob, JobLine } from "./index-job.ts";
import type { WatchLine } from "./watch-job.ts";

export interface RunOptions {
  /** The command of the job; this program's own if absent. */
  readonly command?: readonly string[] | undefined;
  readonly log: Log;
  readonly onLine: (line: JobLine) => void;
}

export type Run = ReturnType<typeof startRun>;

/** The argument of the compiled program that starts a job instead of the service. */
export const jobArgument = "index-job";
export const watchArgument = "watch-job";

/** Starts a run. At most one at a time, because two would write the same file. */
export function startRun(job: IndexJob, { command, log, onLine }: RunOptions) {
  const child = spawnGently(jobArgument, command);
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
    if (last?.kind === "done") return { files: last.files, changed: last.changed };
    if (cancelled) throw failed("the index was cancelled: the old index stays in use");
    const why =
      last?.kind === "failed" ? last.why : `its process ended with ${child.signalCode ?? child.exitCode}`;
    throw failed(`the media could not be indexed: ${why}`);
  };
  return {
    /** Resolves when the new index is in its place; rejects with `ServiceError("failed")`. */
    done: follow(),
    /** Ends the run at any moment; the old index stays. */
    cancel() {
      cancelled = true;
      child.kill("SIGKILL");
    },
  };
}

const jobSource = join(import.meta.dir, "index-job-main.ts");

/** Starts a job at low priority; throws `ServiceError("failed")`. */
function spawnGently(argument: string, command: readonly string[] = ownCommand(argument, jobSource)) {
  try {
    return Bun.spawn([...gently, ...command], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
      env: jobEnvironment,
    });
  } catch (error) {
    const sentence = `the media cannot be looked after: their process could not be started: ${messageOf(error)}`;
    throw failed(sentence, error);
  }
}

/** The output of a job: a line of JSON each. */
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
interface Indexed {
  /** As in `createMedia`. */
  index(systems: readonly string[]): Promise<void>;
}

interface WatchOptions {
  readonly media: Indexed;
  /** After a change of the settings the caller starts a new watch. */
  readonly folders: MediaFolders;
  readonly log: Log;
  /** The command of the job; this program's own if absent. */
  readonly command?: readonly string[];
}

/** Indexes the systems of changed folders, until disposed. If the kernel has no room for the watches, it only logs that. */
export function watchMedia({ media, folders, log, command }: WatchOptions): Disposable {
  const child = spawnGently(watchArgument, command);
  void giveInput(child, `${JSON.stringify({ folders })}\n`, { stays: true });
  let over = false;
  const follow = async () => {
    for await (const line of linesOf<WatchLine>(child.stdout)) {
      if ("failed" in line) log.warn("media", "changes are not seen", { why: line.failed });
      else
        await indexWhenFree(media, line.systems, () => over).catch((error: unknown) =>
          log.warn("media", messageOf(error)),
        );
    }
    await child.exited;
    // Ctrl-C and systemd signal the service and its jobs at once.
    const isStopped = child.signalCode === "SIGINT" || child.signalCode === "SIGTERM";
    if (!over && !isStopped) log.warn("media", "changes are not seen any more");
  };
  void follow().catch((error: unknown) => log.warn("media", messageOf(error)));
  return {
    [Symbol.dispose]() {
      over = true;
      child.kill("SIGKILL");
    },
  };
}

/** Time between two attempts while another run is under way. */
const againMs = 2000;

/** As `media.index`, but waits while another run is under way. Does nothing once `isOver` returns true. */
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
