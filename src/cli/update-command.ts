/** `tapdeck update`: installs a bundle, shows the slots, reverts, and, for the init script, decides on a trial. */
import { existsSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { access, lstat } from "node:fs/promises";
import { resolve } from "node:path";
import { otherOwnerOf } from "../core/as-owner.ts";
import { systemClock } from "../core/clock.ts";
import {
  updateBootBytesMax,
  updateFetchMsMax,
  updateFreeBytesMin,
  updateRootBytesMax,
} from "../core/console-limits.ts";
import { exitCodes, exitFailure, messageOf, StartError } from "../core/errors.ts";
import { fileFault } from "../core/file-faults.ts";
import { download, removeDownload } from "../system/download.ts";
import { otherSlot, slotFolder, slots } from "../update/boot-control.ts";
import { bootFilesAt } from "../update/disk.ts";
import { imagePaths, type Machine, type MachinePaths, openMachine } from "../update/machine.ts";
import { type BundleFacts, createRauc, type Rauc } from "../update/rauc.ts";
import { answerRauc } from "../update/rauc-calls.ts";
import { freeSlot, goBack, manifestOf, type Step } from "../update/slot-content.ts";
import { compareVersions } from "../update/slot-manifest.ts";
import { readUpdateNote, writeUpdateNote } from "../update/trial.ts";
import { createStatusLine, type Terminal } from "./show.ts";
import { decideOnTrial, faultsBefore, type Time } from "./update-trial.ts";

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
  readonly rauc?: Rauc;
  readonly time?: Time;
}

/** Returns the exit code; throws `StartError` with a sentence, which `json` also writes. */
export async function runUpdate(action: UpdateAction, parts: UpdateParts): Promise<number> {
  try {
    return await act(action, parts);
  } catch (error) {
    if (parts.json === true && error instanceof StartError) report(parts, "", { failed: error.message });
    throw error;
  }
}

async function act(action: UpdateAction, parts: UpdateParts): Promise<number> {
  const known = { paths: imagePaths, rauc: createRauc(), ...parts };
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
  const faults = await faultsBefore(parts);
  await writeUpdateNote(paths, { event: "trying", slot, version, faults });
  report(
    parts,
    `restarting: ${version} is tried, and kept once it was healthy for a minute; else the version before comes back`,
    { restarting: version },
  );
  await (parts.restart ?? spawnRestart)(machine.control.restart);
  return exitCodes.ok;
}

type KnownParts = UpdateParts & { readonly paths: MachinePaths; readonly rauc: Rauc };

async function install(
  { path, allowOlder }: Extract<UpdateAction, { kind: "install" }>,
  machine: Machine,
  parts: KnownParts,
): Promise<string> {
  const { screen, rauc } = parts;
  if (!machine.hasAuthority)
    throw exitFailure("this system trusts nobody's updates: its image was made without a key for them");
  const slot = await freeSlot(machine.control);
  await using file = await fileOf(path, parts);
  const facts = await rauc.read(file.path);
  judgeVersion(facts, machine, allowOlder);
  report(parts, `${screen.isTerminal ? "\n" : ""}installing ${facts.version}`, { installing: facts.version });
  const progress = createProgress(parts);
  const { running } = machine.control;
  let isWriting = false;
  await whileWritable(parts, async () => {
    await machine.files.makeFolder(slotFolder(slot));
    const installing = rauc.install({
      path: file.path,
      facts,
      running,
      async answer(words, folder) {
        isWriting = false;
        const bundle = bootFilesAt(folder, async () => {});
        await answerRauc(machine, { words, bundle, progress, checked: () => keepBackup(parts) });
        isWriting = words[0] === "set-state";
      },
      wrote: (bytes) => {
        if (isWriting) progress("writing", Math.min(bytes, facts.rootBytes), facts.rootBytes);
      },
    });
    // Without this, a system that is reported as not installed would be tried at the next start.
    await installing.catch(async (error: unknown) => {
      await machine.control.disarm();
      throw error;
    });
  });
  if (screen.isTerminal && parts.json !== true) screen.write("\n");
  return facts.version;
}

/** The given file, or one that is fetched from its address and removed at the end. */
async function fileOf(path: string, parts: KnownParts): Promise<{ readonly path: string } & AsyncDisposable> {
  if (!/^https?:\/\//.test(path)) {
    await access(path).catch((error: unknown) => {
      throw exitFailure(`${path}: ${fileFault(error)}`, error);
    });
    // Another user could put a link or a pipe in this place.
    if ((await otherOwnerOf(path)) !== undefined && !(await lstat(path)).isFile())
      throw exitFailure(`${path} is no file`);
    return { path: resolve(path), [Symbol.asyncDispose]: async () => {} };
  }
  const { fetched } = parts.paths;
  const remove = () => removeDownload(fetched);
  const progress = createProgress(parts);
  try {
    const place = {
      path: fetched,
      clock: systemClock,
      freeBytesMin: updateFreeBytesMin,
      bytesMax: updateBootBytesMax + updateRootBytesMax,
      progress: (percent: number) => progress("fetching", percent, 100),
    };
    await download({ url: path }, place, AbortSignal.timeout(updateFetchMsMax));
  } catch (error) {
    await remove();
    throw exitFailure(messageOf(error), error);
  }
  return { path: fetched, [Symbol.asyncDispose]: remove };
}

function judgeVersion(facts: BundleFacts, { board, version }: Machine, allowOlder: boolean): void {
  if (facts.board !== board)
    throw exitFailure(`this update is for the board ${facts.board}, and this one is ${board}`);
  if (!allowOlder && compareVersions(facts.version, version) < 0)
    throw exitFailure(
      `this update is version ${facts.version}, older than the ${version} that runs: --allow-older installs it all the same`,
    );
}

/** An update may be the repair of a system that cannot make backups. */
async function keepBackup(parts: UpdateParts): Promise<void> {
  try {
    const backup = await parts.keepBackup?.();
    if (backup !== undefined) report(parts, `the settings and cards are kept as ${backup}`, { backup });
  } catch (error) {
    const reason = messageOf(error);
    report(parts, `no backup was made before the update: ${reason}`, { backup: null, reason });
  }
}

async function back(machine: Machine, parts: KnownParts): Promise<string> {
  return whileWritable(parts, () => goBack({ ...machine, progress: createProgress(parts) }));
}

async function showStatus(machine: Machine, parts: KnownParts): Promise<number> {
  const running = machine.control.running;
  const kept = await machine.control.kept();
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
      slot,
      version: version ?? null,
      runs: slot === running,
      isKept: slot === kept,
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

/** Returns `ok` if the trial is kept; any error means that it is not. */
async function confirm(machine: Machine, parts: KnownParts): Promise<number> {
  const { control, version } = machine;
  const slot = control.running;
  if (slot === (await control.kept())) return exitCodes.ok;
  await decideOnTrial(version, (await readUpdateNote(parts.paths))?.faults ?? [], parts);
  // RAUC keeps the slot, so a system that could not be updated again is never kept.
  await whileWritable(parts, () =>
    parts.rauc.markGood(slot, (words) =>
      answerRauc(machine, {
        words,
        bundle: machine.files,
        progress: () => {},
        checked: async () => {},
      }),
    ),
  );
  await writeUpdateNote(parts.paths, { event: "kept", slot, version, faults: [] });
  parts.screen.write(`${version} was healthy for a minute, and is kept\n`);
  return exitCodes.ok;
}

async function whileWritable<Value>(parts: KnownParts, work: () => Promise<Value>): Promise<Value> {
  await parts.paths.allowWriting(true);
  try {
    return await work();
  } finally {
    await endWriting(parts);
  }
}

const endTries = 10;
const endAgainMs = 500;

/** A program that still uses the partition must neither stop a finished update nor hide why another one failed. */
async function endWriting(parts: KnownParts): Promise<void> {
  for (let tried = 1; ; tried++) {
    try {
      return await parts.paths.allowWriting(false);
    } catch (error) {
      const reason = messageOf(error);
      if (tried === endTries)
        return report(parts, `the boot partition stays writable until the restart: ${reason}`, {
          writable: reason,
        });
      await (parts.time?.sleep ?? Bun.sleep)(endAgainMs);
    }
  }
}

const barWidth = 24;

/** Shows the progress; in a log it writes a line for each tenth of a step. */
function createProgress({ screen, json }: Pick<UpdateParts, "screen" | "json">) {
  const show = createStatusLine(json ? { ...screen, isTerminal: false } : screen);
  return (step: Step | "fetching", done: number, total: number) => {
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
