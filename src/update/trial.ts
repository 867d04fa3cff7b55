/**
 * The trial of a new system: it is kept once it was healthy for 60 s without a gap, and given up after 5 minutes. The
 * decision is a pure function of the answers, whether each was good, and of their times. A note on the disk holds the
 * outcome.
 */
import { rename, writeFile } from "node:fs/promises";
import { updateNoteBytesMax } from "../core/console-limits.ts";
import type { Fault, FaultCode } from "../core/faults.ts";
import type { BootSlot } from "./boot-control.ts";
import { readNote } from "./disk.ts";
import type { MachinePaths } from "./machine.ts";

export interface Trial {
  readonly startedMs: number;
  /** The time of the last answer. */
  readonly askedMs: number;
  /** The time since which every answer was good; undefined if the last answer was not. */
  readonly healthySinceMs: number | undefined;
}

export const healthyMs = 60_000;
/** The time is long enough for a slow card and two restarts of the service by the watchdog. */
export const trialMsMax = 5 * 60_000;
/** A longer silence between two answers counts as a fault. */
export const gapMsMax = 10_000;
/** A fault as the note keeps it: without the facts that change all the time, such as free space. */
export type NotedFault = Readonly<{ code: string; subject?: string }>;

// Faults that only report a past event. The watchdog's report of a restart stays for a day, and a system that is
// healthy after it is kept.
const pastCodes: readonly string[] = ["service-restarted"] satisfies readonly FaultCode[];

/**
 * The faults that the new system may have caused. Faults of the owner and of others, faults from before the update, and
 * reports of past events are left out.
 */
export function faultsAgainst(faults: readonly Fault[], before: readonly NotedFault[]): readonly Fault[] {
  const isKnown = ({ code, subject }: Fault) =>
    before.some((one) => one.code === code && one.subject === subject);
  return faults.filter(
    (fault) => fault.of === "system" && !pastCodes.includes(fault.code) && !isKnown(fault),
  );
}

/** Starts a trial. Times are of a monotonic clock. */
export function startTrial(nowMs: number): Trial {
  return { startedMs: nowMs, askedMs: nowMs, healthySinceMs: undefined };
}

export function judge(
  trial: Trial,
  { nowMs, healthy }: { readonly nowMs: number; readonly healthy: boolean },
): { readonly trial: Trial; readonly verdict: "wait" | "keep" | "give-up" } {
  const isGap = nowMs - trial.askedMs > gapMsMax;
  const healthySinceMs = healthy ? ((isGap ? undefined : trial.healthySinceMs) ?? nowMs) : undefined;
  const next = { ...trial, askedMs: nowMs, healthySinceMs };
  if (healthySinceMs !== undefined && nowMs - healthySinceMs >= healthyMs)
    return { trial: next, verdict: "keep" };
  return { trial: next, verdict: nowMs - trial.startedMs >= trialMsMax ? "give-up" : "wait" };
}

/** The last update and its outcome; the init script S92update also reads and writes it. */
export interface UpdateNote {
  readonly event: "trying" | "kept" | "back";
  readonly slot: BootSlot;
  readonly version: string;
  /** The faults of the system from before the update. */
  readonly faults: readonly NotedFault[];
}

/** The note; undefined if no update was ever tried. The note of a version that did not write faults has none. */
export async function readUpdateNote(paths: MachinePaths): Promise<UpdateNote | undefined> {
  const [, event, slot, version = "", faults = "[]"] =
    /^event=([a-z]+) slot=([ab]) version=(\S+)(?: faults=(\[.*\])$)?/m.exec(await readNote(paths.note)) ?? [];
  if (event !== "trying" && event !== "kept" && event !== "back") return undefined;
  return { event, slot: slot === "b" ? "b" : "a", version, faults: notedFaults(faults) };
}

/** The faults in a text. A text that is no list of faults counts as an empty list. */
function notedFaults(text: string): readonly NotedFault[] {
  try {
    const faults: unknown = JSON.parse(text);
    return Array.isArray(faults) && faults.every(isNoted) ? faults : [];
  } catch {
    return [];
  }
}

function isNoted(one: unknown): one is NotedFault {
  if (typeof one !== "object" || one === null || !("code" in one) || typeof one.code !== "string")
    return false;
  return !("subject" in one) || typeof one.subject === "string";
}

/** Writes the note by rename. A full card is no error, and keeps the old note. */
export async function writeUpdateNote(paths: MachinePaths, note: UpdateNote): Promise<void> {
  const faults = note.faults.map(({ code, subject }) => ({
    code,
    ...(subject === undefined ? {} : { subject }),
  }));
  const line = () =>
    `event=${note.event} slot=${note.slot} version=${note.version} faults=${JSON.stringify(faults)}\n`;
  while (Buffer.byteLength(line()) > updateNoteBytesMax) faults.pop();
  try {
    await writeFile(`${paths.note}.new`, line(), { flush: true, mode: 0o600 });
    await rename(`${paths.note}.new`, paths.note);
  } catch {
    // The note only informs people; the boot partition decides which slot starts.
  }
}
