/**
 * The trial of a new system: it is kept once it was healthy for 60 s without a gap, and given up after 5 minutes. The
 * decision is pure: the caller passes in each answer of `GET /health` and its time. A note on the disk holds the outcome.
 */
import { rename, writeFile } from "node:fs/promises";
import { updateNoteBytesMax } from "../core/console-limits.ts";
import { noMediaAt, noProgram, noReaderAt, ofOthers, startedAgain } from "../core/operating-system.ts";
import type { BootSlot } from "./boot-control.ts";
import { readNote } from "./disk.ts";
import type { MachinePaths } from "./machine.ts";

export interface Trial {
  readonly startedMs: number;
  /** Time of the last answer. */
  readonly askedMs: number;
  /** Time since which every answer was good; undefined if the last one was not. */
  readonly healthySinceMs: number | undefined;
}

export const healthyMs = 60_000;
/** Long enough for a slow card and two restarts of the service by the watchdog. */
export const trialMsMax = 5 * 60_000;
/** A longer silence between two answers counts as a fault. */
export const gapMsMax = 10_000;
/** The separator of the reasons in `GET /health`. */
const betweenReasons = "; ";

/**
 * True if no complaint of `GET /health` is a fault of the new system. Each was there before the update, or reports a
 * restart by the watchdog, which stays in the answer for a day, what the owner's drives, files and ports lack, or what other machines do.
 */
export function isExcused(complaint: string, before: string): boolean {
  const known = reasonsOf(before);
  const isOther = (reason: string) =>
    [startedAgain, noMediaAt, noProgram, noReaderAt, ...ofOthers].some((words) => reason.startsWith(words));
  return reasonsOf(complaint).every((reason) => reason === "" || known.includes(reason) || isOther(reason));
}

/** With each figure replaced, because figures such as free space change all the time. */
function reasonsOf(complaint: string): readonly string[] {
  return complaint.replace(/\d+/g, "0").split(betweenReasons);
}

/** Times are of a monotonic clock. */
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

/** The last update and its outcome; the init script S92update reads and writes it too. */
export interface UpdateNote {
  readonly event: "trying" | "kept" | "back";
  readonly slot: BootSlot;
  readonly version: string;
  /** The complaint of `GET /health` before the update; empty if there was none. */
  readonly excused: string;
}

/** Undefined if nothing was ever tried. */
export async function readUpdateNote(paths: MachinePaths): Promise<UpdateNote | undefined> {
  const [, event, slot, version = "", excused = ""] =
    /^event=([a-z]+) slot=([ab]) version=(\S+) excused=(.*)/.exec(await readNote(paths.note)) ?? [];
  if (event !== "trying" && event !== "kept" && event !== "back") return undefined;
  return { event, slot: slot === "b" ? "b" : "a", version, excused };
}

/** Writes by rename; does not fail on a full card, which keeps the old note. */
export async function writeUpdateNote(paths: MachinePaths, note: UpdateNote): Promise<void> {
  const excused = note.excused.replace(/\s+/g, " ").slice(0, updateNoteBytesMax / 2);
  const line = `event=${note.event} slot=${note.slot} version=${note.version} excused=${excused}\n`;
  try {
    await writeFile(`${paths.note}.new`, line, { flush: true, mode: 0o600 });
    await rename(`${paths.note}.new`, paths.note);
  } catch {
    // The note only informs people; the boot partition decides which slot starts.
  }
}
