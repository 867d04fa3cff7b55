/** `tapdeck update`: installs a bundle, shows the slots, reverts, and, for the init script, decides on a trial. */
import { existsSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { exitCodes, exitFailure, messageOf } from "../core/errors.ts";
import { otherSlot, slots } from "../update/boot-control.ts";
import { checkUpdate, type Step } from "../update/check-bundle.ts";
import { openSource } from "../update/disk.ts";
import { goBack, manifestOf, writeUpdate } from "../update/install.ts";
import { imagePaths, type Machine, type MachinePaths, openMachine } from "../update/machine.ts";
import {
  isExcused,
  judge,
  readUpdateNote,
  startTrial,
  type Trial,
  writeUpdateNote,
} from "../update/trial.ts";
import { createStatusLine, type Terminal } from "./show.ts";

export type UpdateAction =
  | { readonly kind: "install"; readonly path: string; readonly allowOlder: boolean }
  | { readonly kind: "status" | "undo" | "confirm" };

export interface UpdateParts {
  readonly screen: Pick<Terminal, "isTerminal" | "write">;
  /** Writes a line of JSON for each step instead of sentences. */
  readonly json?: boolean;
  readonly paths?: MachinePaths;
  /** The port of the service on this device. */
  readonly port: number;
  /** Keeps a backup of the present state, and returns its name. */
  readonly keepBackup?: () => Promise<string>;
  /** Runs the command that restarts the machine. */
  readonly restart?: (command: readonly string[]) => Promise<void>;
  readonly lockPath?: string;
  readonly time?: Time;
}

/** A monotonic clock. */
export interface Time {
  now(): number;
  sleep(ms: number): Promise<void>;
}

const realTime: Time = { now: () => performance.now(), sleep: (ms) => Bun.sleep(ms) };

/** Returns the exit code; throws `StartError` with a sentence. */
export async function runUpdate(action: UpdateAction, parts: UpdateParts): Promise<number> {
  const known = { paths: imagePaths, ...parts };
  const { paths } = known;
  if (action.kind === "status") return showStatus(await openMachine(paths), known);
  if (paths === imagePaths && process.getuid?.() !== 0)
    throw exitFailure("only root may change the system: use its shell, by SSH");
  if (action.kind === "confirm") return await confirm(await openMachine(paths), known);
  using _lock = lock(parts.lockPath ?? "/run/tapdeck-update.pid");
  const machine = await openMachine(paths);
  const version =
    action.kind === "install" ? await install(action, machine, known) : await back(machine, known);
  const slot = otherSlot(machine.control.running);
  const excused = await complaintBefore(parts);
  await writeUpdateNote(paths, { event: "trying", slot, version, excused });
  report(
    parts,
    `restarting: ${version} is tried, and kept once it was healthy for a minute; else the version before comes back`,
    { restarting: version },
  );
  await (parts.restart ?? spawnRestart)(machine.control.restart);
  return exitCodes.ok;
}

/** Asks again if the service is busy, because the trial excuses only complaints from before the update. */
async function complaintBefore({ port, time = realTime }: UpdateParts): Promise<string> {
  for (let asked = 1; ; asked++) {
    const { pong, complaint } = await healthOf(port);
    if (pong || asked === asksMax) return pong ? complaint : "";
    await time.sleep(askEveryMs);
  }
}

type KnownParts = UpdateParts & { readonly paths: MachinePaths };

async function install(
  { path, allowOlder }: Extract<UpdateAction, { kind: "install" }>,
  machine: Machine,
  parts: KnownParts,
): Promise<string> {
  const { screen, paths } = parts;
  await using source = await openSource(path).catch((error: unknown) => {
    throw exitFailure(`${path}: ${messageOf(error)}`, error);
  });
  const progress = createProgress(parts);
  const installation = { ...machine, source, allowOlder, progress };
  const checked = await checkUpdate(installation);
  const { version } = checked.manifest;
  report(parts, `${screen.isTerminal ? "\n" : ""}installing ${version}`, { installing: version });
  try {
    const backup = await parts.keepBackup?.();
    if (backup !== undefined) report(parts, `the settings and cards are kept as ${backup}`, { backup });
  } catch (error) {
    // The update may be the repair.
    const reason = messageOf(error);
    report(parts, `no backup was made before the update: ${reason}`, { backup: null, reason });
  }
  await whileWritable(paths, () => writeUpdate(installation, checked));
  if (screen.isTerminal && parts.json !== true) screen.write("\n");
  return version;
}

async function back(machine: Machine, parts: KnownParts): Promise<string> {
  return whileWritable(parts.paths, () => goBack({ ...machine, progress: createProgress(parts) }));
}

async function showStatus(machine: Machine, parts: KnownParts): Promise<number> {
  const [running, kept] = [machine.control.running, await machine.control.kept()];
  for (const slot of slots) {
    const manifest = await manifestOf(machine.files, slot);
    const version = slot === running ? machine.version : manifest?.version;
    const facts = [
      version ?? "no whole system",
      ...(slot === running ? ["runs"] : []),
      ...(slot === kept ? ["is kept"] : []),
      ...(slot === running && slot !== kept ? ["is tried: it is kept once it was healthy for a minute"] : []),
    ];
    report(parts, `slot ${slot}: ${facts.join(", ")}`, {
      ...{ slot, version: version ?? null },
      ...{ runs: slot === running, isKept: slot === kept },
    });
  }
  const note = await readUpdateNote(parts.paths);
  if (note !== undefined) {
    const { version, event } = note;
    report(parts, `last: ${version} ${outcomes[event]}`, { last: { version, event } });
  }
  return exitCodes.ok;
}

/** Writes a sentence for people, or the facts. */
function report(
  { screen, json }: Pick<UpdateParts, "screen" | "json">,
  sentence: string,
  facts: Readonly<Record<string, unknown>>,
): void {
  screen.write(`${json ? JSON.stringify(facts) : sentence}\n`);
}

const outcomes = {
  trying: "is being tried",
  kept: "was tried and kept",
  back: "was tried and not kept: it did not start, or was not healthy for a minute",
} as const;

const askEveryMs = 2000;
const asksMax = 5;
const answerMs = 3000;

/** Returns `ok` if the trial is kept; any error means that it is not. */
async function confirm(
  machine: Machine,
  { port, screen, paths, time = realTime }: KnownParts,
): Promise<number> {
  const { control, version } = machine;
  const [slot, kept] = [control.running, await control.kept()];
  if (slot === kept) return exitCodes.ok;
  const excused = (await readUpdateNote(paths))?.excused ?? "";
  let trial: Trial = startTrial(time.now());
  for (;;) {
    const { pong, complaint } = await healthOf(port);
    const healthy = pong && isExcused(complaint, excused);
    const judged = judge(trial, { nowMs: time.now(), healthy });
    if (judged.verdict === "keep") break;
    if (judged.verdict === "give-up") {
      const why = pong ? complaint : "the service did not answer";
      throw exitFailure(`${version} is not kept: it was not healthy for a minute (${why})`);
    }
    trial = judged.trial;
    await time.sleep(askEveryMs);
  }
  await whileWritable(paths, () => control.keep(slot));
  await writeUpdateNote(paths, { event: "kept", slot, version, excused: "" });
  screen.write(`${version} was healthy for a minute, and is kept\n`);
  return exitCodes.ok;
}

/** The complaint is empty if the service is healthy. */
async function healthOf(port: number): Promise<{ readonly pong: boolean; readonly complaint: string }> {
  try {
    const ask = (path: string) =>
      fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(answerMs) });
    const pong = (await (await ask("/ping")).text()) === "pong";
    const health = await ask("/health");
    const text = (await health.text()).trim();
    return { pong, complaint: health.status === 200 ? "" : text || `health answered ${health.status}` };
  } catch (error) {
    // No answer counts as unhealthy.
    return { pong: false, complaint: messageOf(error) };
  }
}

async function whileWritable<Value>(paths: MachinePaths, work: () => Promise<Value>): Promise<Value> {
  await paths.allowWriting(true);
  try {
    return await work();
  } finally {
    await paths.allowWriting(false);
  }
}

const barWidth = 24;

/** In a log, a line for each tenth of a step. */
function createProgress({ screen, json }: Pick<UpdateParts, "screen" | "json">) {
  const show = createStatusLine(json ? { ...screen, isTerminal: false } : screen);
  return (step: Step, done: number, total: number) => {
    const share = done / total;
    const percent = Math.floor(share * 100);
    if (json) return show(JSON.stringify({ step, percent: percent - (percent % 10) }));
    show(
      screen.isTerminal
        ? `[${"#".repeat(Math.floor(share * barWidth)).padEnd(barWidth, ".")}] ${step}, ${percent} %`
        : `${step}, ${percent - (percent % 10)} %`,
    );
  };
}

/** The restart also ends this process. */
async function spawnRestart(command: readonly string[]): Promise<void> {
  const code = await Bun.spawn([...command], { stdio: ["ignore", "inherit", "inherit"] }).exited;
  if (code !== 0) throw exitFailure(`${command.join(" ")} ended with ${code}`);
}

/** Prevents two updates at once. A lock of a process that has ended is ignored. */
function lock(path: string): Disposable {
  const holder = existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
  if (holder > 0 && existsSync(`/proc/${holder}`))
    throw exitFailure(`another update is being installed (process ${holder})`);
  writeFileSync(path, `${process.pid}\n`);
  return { [Symbol.dispose]: () => unlinkSync(path) };
}
