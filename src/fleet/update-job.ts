/**
 * One update at a time for a server, from its download to the end of its trial, which comes after a restart of the
 * machine. A file of the data folder keeps the update in progress. No restart of the service or the machine therefore
 * installs an update twice, or loses its outcome.
 */
import { readFile, rm } from "node:fs/promises";
import { saveFile } from "../config/save.ts";
import { type Clock, sleep } from "../core/clock.ts";
import { updateTriesMax } from "../core/console-limits.ts";
import { ifThere, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { isRecord } from "../core/text.ts";
import { type Download, DownloadRefused } from "../system/download.ts";
import { InstallFailed, type Seen, type UpdateEngine } from "../system/update-engine.ts";
import type { Idleness, Moment } from "./idleness.ts";

/** The sentence is for the people who sent the update. */
export interface Outcome {
  readonly isKept: boolean;
  readonly sentence: string;
}

/** The content of the file. */
interface Job {
  /** Names the update at its server: `hawkbit:12`, `index:0.2.0`. */
  readonly id: string;
  /** The number of installations that have begun. */
  readonly tries: number;
  /** The stamps of `Seen` when the last installation began; absent if the update was interrupted. */
  readonly before?: { readonly progress: string; readonly last: string };
  readonly outcome?: Outcome;
}

interface JobParts {
  readonly engine: Pick<UpdateEngine, "fetch" | "install" | "seen" | "discard">;
  readonly idle: Pick<Idleness, "wait" | "is">;
  /** The file. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Wish {
  readonly id: string;
  readonly what: Download;
  /** The moments at which the download and the installation may begin. Without `install` the bundle is only fetched. */
  readonly fetch: Moment;
  readonly install?: Moment;
  /** Called before each step. */
  readonly onStep: (step: "fetching" | "waiting" | "installing") => void;
}

const lookMs = 1000;
// The root script reads a word within milliseconds. An image writes the note within a minute of its start.
const begunMsMax = 10_000;

export type UpdateJob = Awaited<ReturnType<typeof openUpdateJob>>;

export async function openUpdateJob({ engine, idle, path, clock, log }: JobParts) {
  let job = await readJob(path);
  /** Aborted once a person wants the running wish without a delay; undefined if none runs. */
  let haste: AbortController | undefined;
  /** Resolves at the moment, or once the wish is hurried. */
  const wait = async (moment: Moment, signal: AbortSignal) => {
    const hastened = haste?.signal ?? signal;
    try {
      await idle.wait(moment, AbortSignal.any([signal, hastened]));
    } catch (error) {
      signal.throwIfAborted();
      if (!hastened.aborted) throw error;
    }
  };
  const save = async (next: Job) => {
    await saveFile(path, `${JSON.stringify(next)}\n`, async () => true);
    job = next;
  };
  const end = async (outcome: Outcome): Promise<Outcome> => {
    if (job !== undefined) await save({ id: job.id, tries: job.tries, outcome });
    return outcome;
  };
  const fail = (id: string, sentence: string) => {
    job = { tries: 0, ...job, id };
    return end({ isKept: false, sentence });
  };
  /** The image has written the note of the last update. */
  const known = async (signal: AbortSignal): Promise<void> => {
    while ((await engine.seen()).last === undefined) await sleep(clock, lookMs, signal);
  };
  const install = async ({ id, what, install: moment, onStep }: Wish, signal: AbortSignal) => {
    if (moment === undefined) return undefined;
    await known(signal);
    if (!idle.is(moment) && haste?.signal.aborted !== true) onStep("waiting");
    await wait(moment, signal);
    onStep("installing");
    const tries = (job?.id === id ? job.tries : 0) + 1;
    const begun = async ({ progress, last }: Seen) => {
      signal.throwIfAborted();
      await save({ id, tries, before: { progress: progress.stamp, last: last?.stamp ?? "" } });
      // The update was cancelled during that write.
      if (signal.aborted) await save({ id, tries: tries - 1 });
      signal.throwIfAborted();
    };
    try {
      await engine.install(what, begun, signal);
    } catch (error) {
      if (error instanceof InstallFailed) throw error;
      // The request for the installation was not made, so it does not count as a try. If the service is ending, the
      // request may have been made.
      if (!signal.aborted && job?.before !== undefined) await save({ id, tries: tries - 1 });
      throw error;
    }
    return undefined;
  };
  /** The outcome of the update; undefined while the image has not reported it. */
  const seenOutcome = ({ before }: Job, { progress, last }: Seen): Outcome | "nothing" | undefined => {
    if (before === undefined) return "nothing";
    if (last === undefined) return undefined;
    if (last.stamp !== before.last && last.event !== "none") {
      const { event, version } = last;
      if (event === "trying") return undefined;
      return event === "kept"
        ? { isKept: true, sentence: `${version} was healthy for a minute, and is kept` }
        : {
            isKept: false,
            sentence: `${version} was tried and not kept: it did not start, or was not healthy for a minute`,
          };
    }
    if (progress.stamp === "" || progress.stamp === before.progress) return "nothing";
    const { state } = progress;
    if (state?.step !== "failed") return undefined;
    return { isKept: false, sentence: state.why ?? "it was not installed" };
  };
  return {
    /** The update that is being installed or tried, or that has ended and is not forgotten yet. */
    current: (): { readonly id: string; readonly outcome?: Outcome } | undefined =>
      job?.before === undefined && job?.outcome === undefined ? undefined : job,
    /**
     * Fetches and installs. Resolves with the outcome of a failure that is final, or with undefined if the bundle was only
     * fetched. After an installation the machine restarts. Rejects if a later try may work, or with the signal's reason.
     */
    async run(wish: Wish, signal: AbortSignal): Promise<Outcome | undefined> {
      const { id, what, onStep } = wish;
      if (job?.id === id && job.tries >= updateTriesMax)
        return await fail(id, `it was interrupted ${updateTriesMax} times before its trial`);
      haste = new AbortController();
      try {
        await wait(wish.fetch, signal);
        onStep("fetching");
        await engine.fetch(what, signal);
        return await install(wish, signal);
      } catch (error) {
        if (!(error instanceof DownloadRefused || error instanceof InstallFailed)) throw error;
        log.warn("fleet", "the update is given up", { id, why: messageOf(error) });
        return await fail(id, messageOf(error));
      } finally {
        haste = undefined;
      }
    },
    /** The running wish no longer waits for a moment. Returns false if none runs. */
    hasten(): boolean {
      haste?.abort();
      return haste !== undefined;
    },
    /**
     * After a start with an update in progress: resolves with its outcome, once it is known. Resolves with undefined if
     * its installation was interrupted and may be tried again.
     */
    async settle(signal: AbortSignal): Promise<Outcome | undefined> {
      for (let waitedMs = 0; job !== undefined; ) {
        if (job.outcome !== undefined) return job.outcome;
        const seen = await engine.seen();
        const outcome = seenOutcome(job, seen);
        if (outcome !== undefined && outcome !== "nothing") return await end(outcome);
        if (outcome === "nothing" && waitedMs >= begunMsMax) {
          await save({ id: job.id, tries: job.tries });
          return undefined;
        }
        waitedMs = outcome === "nothing" ? waitedMs + lookMs : 0;
        await sleep(clock, lookMs, signal);
      }
      return undefined;
    },
    /** Forgets an update that has ended. */
    async forget(): Promise<void> {
      job = undefined;
      await rm(path, { force: true });
    },
    discard: engine.discard,
  };
}

async function readJob(path: string): Promise<Job | undefined> {
  const text = await ifThere(readFile(path, "utf8"));
  try {
    const value: unknown = JSON.parse(text ?? "");
    if (!isRecord(value)) return undefined;
    const { id, tries, before, outcome } = value;
    if (typeof id !== "string" || typeof tries !== "number") return undefined;
    return { id, tries, ...stampsIn(before), ...outcomeIn(outcome) };
  } catch {
    return undefined; // The state file may not exist. It is replaced by rename, so no power cut tears it.
  }
}

function stampsIn(value: unknown): Pick<Job, "before"> {
  if (!isRecord(value)) return {};
  const { progress, last } = value;
  return typeof progress === "string" && typeof last === "string" ? { before: { progress, last } } : {};
}

function outcomeIn(value: unknown): Pick<Job, "outcome"> {
  if (!isRecord(value)) return {};
  const { isKept, sentence } = value;
  return typeof isKept === "boolean" && typeof sentence === "string" ? { outcome: { isKept, sentence } } : {};
}
