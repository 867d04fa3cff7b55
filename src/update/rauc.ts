/** Runs RAUC, which installs updates, answers its calls, and turns its complaints into sentences. */
import { existsSync } from "node:fs";
import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { exitFailure, messageOf, type StartError } from "../core/errors.ts";
import type { BootSlot } from "./boot-control.ts";

/** A bundle whose signature is good. */
export interface BundleFacts {
  readonly version: string;
  readonly board: string;
  readonly rootBytes: number;
}

/** Carries out one of RAUC's calls (`answerRauc`); rejects with a sentence if RAUC must not continue. */
export type Answer = (words: readonly string[], bundle: string) => Promise<void>;

export interface Installation {
  readonly path: string;
  readonly facts: BundleFacts;
  readonly running: BootSlot;
  readonly answer: Answer;
  /** Called with the bytes that RAUC has written to the root file system. */
  readonly wrote: (bytes: number) => void;
}

/** The functions of RAUC. Each rejects with a sentence if RAUC refuses. */
export interface Rauc {
  /** Checks the signature; the content is checked during the installation. */
  read(path: string): Promise<BundleFacts>;
  /** Installs exactly the version of the facts, and arms the slot for one try. */
  install(installation: Installation): Promise<void>;
  /** Keeps the running slot. It is the last call of its trial, so a system whose RAUC does not work is not kept. */
  markGood(running: BootSlot, answer: Answer): Promise<void>;
}

/** RAUC of the image, with overlay/etc/rauc/system.conf. */
export function createRauc(command: readonly string[] = ["rauc"], folder = "/run/tapdeck-update"): Rauc {
  return {
    async read(path) {
      const { said, complaints, code } = await run([...command, "info", "--output-format=shell", path]);
      const facts = factsIn(said);
      if (code !== 0) throw refusalIn(complaints);
      if (facts === undefined) throw exitFailure("this file cannot be used: it is not an update of Tapdeck");
      return facts;
    },
    async install({ path, facts, running, answer, wrote }) {
      // A kernel of Debian has these drivers as modules, and a board's own has them built in.
      await run(["modprobe", "-a", "-q", "loop", "dm-verity"]).catch(() => {});
      const words = [...command, "install", booted(running), path];
      await answering(folder, answer, ({ environment, pidPath }) =>
        run(words, {
          environment: { ...environment, TAPDECK_UPDATE_VERSION: facts.version },
          pidPath,
          wrote,
        }),
      );
    },
    async markGood(running, answer) {
      const words = [...command, "status", booted(running), "mark-good", "booted"];
      await answering(folder, answer, (more) => run(words, more));
    },
  };
}

/** RAUC 1.8 does not ask the backend which slot runs. */
const booted = (slot: BootSlot) => `--override-boot-slot=${slot}`;

function factsIn(said: string): BundleFacts | undefined {
  const value = (name: string) => new RegExp(`^${name}='?([^'\n]*)'?$`, "m").exec(said)?.[1];
  const [, board] = /^tapdeck-([a-z0-9-]{1,32})$/.exec(value("RAUC_MF_COMPATIBLE") ?? "") ?? [];
  const version = value("RAUC_MF_VERSION");
  const rootBytes = Number(value("RAUC_IMAGE_SIZE_0"));
  if (board === undefined || version === undefined || !Number.isSafeInteger(rootBytes)) return undefined;
  return { version, board, rootBytes };
}

/**
 * Runs RAUC, and meanwhile answers the calls of overlay/usr/lib/tapdeck/rauc-call. A call is a line of four words: its
 * name, two arguments or `-` for each, and the folder of the bundle or `-`. The answer is `ok`, or `no` and a sentence.
 * RAUC makes one call at a time.
 */
async function answering(
  folder: string,
  answer: Answer,
  start: (more: Pick<RunOptions, "environment" | "pidPath">) => Promise<Ended>,
): Promise<void> {
  const calls = join(folder, "calls");
  const answers = join(folder, "answers");
  const pidPath = join(folder, "pid");
  await refuseSecond(pidPath);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  await run(["mkfifo", "-m", "0600", calls, answers]);
  // The pipe is opened for reading and writing, so neither side waits for the other to open it.
  await using from = await open(calls, "r+");
  await using to = await open(answers, "r+");
  let refusal: StartError | undefined;
  const answerAll = async () => {
    for await (const line of linesOf(from)) {
      const words = line.split(" ").map((word) => (word === "-" ? "" : word));
      if (words[0] === lastCall) return;
      const failure = await answer(words.slice(0, 3), words[3] ?? "").then(
        () => undefined,
        (error: unknown) => exitFailure(messageOf(error), error),
      );
      refusal ??= failure;
      await to.write(failure === undefined ? "ok\n" : `no ${failure.message.replace(/\s+/g, " ")}\n`);
    }
  };
  const answered = answerAll();
  const { complaints, code } = await start({
    pidPath,
    environment: {
      TAPDECK_UPDATE_CALLS: calls,
      TAPDECK_UPDATE_ANSWERS: answers,
      TAPDECK_UPDATE_PROCESS: String(process.pid),
    },
  });
  await from.write(`${lastCall}\n`);
  await answered;
  await rm(folder, { recursive: true, force: true });
  if (code !== 0) throw refusal ?? refusalIn(complaints);
}

/**
 * Throws if another RAUC runs. After the kill of an update, its RAUC may still write the slot, and the next call of
 * that RAUC ends it.
 */
async function refuseSecond(pidPath: string): Promise<void> {
  const pid = (await readFile(pidPath, "utf8").catch(() => "")).trim();
  if (pid !== "" && existsSync(`/proc/${pid}`))
    throw exitFailure(`another update is being installed (process ${pid})`);
}

/** Ends the reading of the pipe, which has no end of its own. */
const lastCall = "end";
const callBytesMax = 4096;

async function* linesOf(file: Awaited<ReturnType<typeof open>>): AsyncGenerator<string, void, void> {
  let rest = "";
  for (;;) {
    const { bytesRead, buffer } = await file.read(new Uint8Array(callBytesMax), 0, callBytesMax, null);
    const lines = (rest + new TextDecoder().decode(buffer.subarray(0, bytesRead))).split("\n");
    rest = lines.pop()?.slice(0, callBytesMax) ?? "";
    yield* lines;
  }
}

/** RAUC's complaints, as its versions 1.8 and 1.15 have them, with a sentence for people. The first match is used. */
const refusals: readonly (readonly [found: RegExp, sentence: string])[] = [
  [/^tapdeck: (.+)|Hook returned: tapdeck: (.+)/m, ""],
  [
    /certificate revoked/,
    "the file was signed by a key that was revoked: fetch an update that was signed by another",
  ],
  [
    /signature verification failed|no valid CMS/i,
    "the file was altered, or signed by a key that this system does not trust",
  ],
  [
    /Invalid bundle format|exceeds bundle size/i,
    "this file cannot be used: it is not an update of Tapdeck, or it is cut short; fetch it again",
  ],
  [/Bundle format '\w*' not allowed/, "this file cannot be used: it is no bundle of the format verity"],
];
const complaintCharsMax = 300;

/** A sentence for RAUC's output before it failed. */
export function refusalIn(complaints: string): StartError {
  for (const [found, sentence] of refusals) {
    const match = found.exec(complaints);
    if (match !== null) return exitFailure(sentence || (match[1] ?? match[2] ?? ""));
  }
  // The last lines only say that the installation failed.
  const isReason = (line: string) => line.trim() !== "" && !/^(finished|Installing .* failed)$/.test(line);
  const last = complaints.split("\n").findLast(isReason) ?? "no reason";
  return exitFailure(`RAUC did not install the file: ${last.slice(0, complaintCharsMax)}`);
}

interface Ended {
  readonly said: string;
  /** The complaints from both outputs, because RAUC writes the reasons of a failed installation to its standard output. */
  readonly complaints: string;
  readonly code: number;
}

interface RunOptions {
  readonly environment?: Readonly<Record<string, string>> | undefined;
  readonly wrote?: (bytes: number) => void;
  /** A file for the id of the process. */
  readonly pidPath?: string | undefined;
}

const wroteEveryMs = 500;
const saidCharsMax = 64 * 1024;

async function run(
  command: readonly string[],
  { environment, wrote, pidPath }: RunOptions = {},
): Promise<Ended> {
  const child = Bun.spawn([...command], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment, LC_ALL: "C" },
  });
  if (pidPath !== undefined) await writeFile(pidPath, `${child.pid}\n`);
  const watching = wrote && setInterval(() => void bytesWrittenBy(child.pid).then(wrote), wroteEveryMs);
  const text = async (stream: ReadableStream<Uint8Array>) =>
    (await new Response(stream).text()).slice(-saidCharsMax);
  const [said, complained, code] = await Promise.all([text(child.stdout), text(child.stderr), child.exited]);
  clearInterval(watching);
  return { said, complaints: `${said}\n${complained}`, code };
}

/** The bytes that a process has written; zero if the kernel does not count them (proc_pid_io(5)). */
async function bytesWrittenBy(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/io`, "utf8").catch(() => "");
  return Number(/^wchar: (\d+)$/m.exec(text)?.[1] ?? 0);
}
