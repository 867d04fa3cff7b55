/** The files that this page sends. They outlive the cards of the page, which are made again after a lost connection. */
import { type Client, RpcError } from "../../client/client.ts";
import { type Started, UploadRefused, type UploadSource, uploadFile } from "../../client/upload.ts";
import { PageFault, say, sentenceOf } from "./page-texts.ts";

export interface UploadJob {
  readonly source: UploadSource;
  /** `there`: a file of this name exists already. */
  state: "waiting" | "sending" | "done" | "there" | "failed";
  sentBytes: number;
  /** The sentence of a failure. */
  why: string;
  begun?: Started;
}

const atOnce = 2; // The device accepts this many from one address.
const startedAtOnce = 16; // Several files are declared by one call, because each call counts as a disk write.

let client: Client | undefined;
let jobs: UploadJob[] = [];
let working = 0;
let stopping = new AbortController();
let declared: Promise<unknown> = Promise.resolve();
let onChange = () => {};

// Each call may use another connection.
const caller: Pick<Client, "call"> = {
  call: (...request) => {
    if (client === undefined) throw new PageFault(say.noAnswer);
    return client.call(...request);
  },
};

export const uploadQueue = {
  jobs: (): readonly UploadJob[] => jobs,
  isBusy: () => working > 0,
  /** The card in view. Calls use its connection, and the card receives the changes. */
  attach(over: Client, changed: () => void): void {
    client = over;
    onChange = changed;
  },
  add(sources: readonly UploadSource[]): void {
    if (working === 0) jobs = [];
    jobs.push(...sources.map((source) => ({ source, state: "waiting" as const, sentBytes: 0, why: "" })));
    while (working < atOnce && jobs.filter(({ state }) => state === "waiting").length > working) void work();
    onChange();
  },
  /** The device keeps the bytes that it has, so the same files continue later. */
  stop(): void {
    stopping.abort();
    stopping = new AbortController();
    jobs = jobs.filter(({ state }) => state !== "waiting" && state !== "sending");
    onChange();
  },
};

async function work(): Promise<void> {
  working += 1;
  for (;;) {
    const job = jobs.find(({ state }) => state === "waiting");
    if (job === undefined) break;
    await send(job, stopping.signal);
  }
  working -= 1;
  onChange();
}

async function send(job: UploadJob, signal: AbortSignal): Promise<void> {
  job.state = "sending";
  try {
    declared = declared.then(() => (job.begun === undefined ? declare(job) : undefined)).catch(() => {});
    await declared;
    const onProgress = (bytes: number) => {
      job.sentBytes = bytes;
      onChange();
    };
    await uploadFile(caller, job.source, { signal, onProgress }, job.begun);
    job.state = "done";
  } catch (error) {
    job.state = error instanceof UploadRefused && error.isThere ? "there" : "failed";
    job.why = sentenceOf(error);
    // Without the right, nothing else works either.
    if (error instanceof RpcError && error.code === forbidden) uploadQueue.stop();
  }
  onChange();
}

const forbidden = 2;

/** Declares the job, and those that follow it. If that fails, each file declares itself. */
async function declare(job: UploadJob): Promise<void> {
  const next = jobs.filter(({ state, begun }) => state === "waiting" && begun === undefined);
  const some = [job, ...next.slice(0, startedAtOnce - 1)];
  const files = some.map(({ source: { system, path, file, replace = false } }) => ({
    system,
    path,
    size: file.size,
    replace,
  }));
  const { uploads } = await caller.call("uploads.start", { files });
  for (const [at, begun] of uploads.entries()) {
    const one = some[at];
    if (one !== undefined) one.begun = begun;
  }
}
