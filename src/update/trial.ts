/**
 * The first minutes of a system that is being tried: it is kept once it was healthy for 60 s without a gap, and given up
 * after 5 minutes. Pure: who asks the service hands in what it heard, and when.
 */
import { startedAgain } from "../core/operating-system.ts";

export interface Trial {
  readonly startedMs: number;
  /** When it was last asked. */
  readonly askedMs: number;
  /** Since when every answer was good; undefined where the last one was not. */
  readonly healthySinceMs: number | undefined;
}

export type Verdict = "wait" | "keep" | "give-up";

export const healthyMs = 60_000;
/** Enough for a slow card, and two starts of the service by the watchdog. */
export const trialMsMax = 5 * 60_000;
/** Nobody knows what happened in a longer silence. */
export const gapMsMax = 10_000;
/** Of `GET /health`. */
const betweenReasons = "; ";

/**
 * Whether all that `GET /health` complains of is no fault of the system that is tried: it was so before the update, or it is
 * what the watchdog did, which is told for a day. A service that answers for a minute since is well.
 */
export function isExcused(complaint: string, before: string): boolean {
  const known = reasonsOf(before);
  return reasonsOf(complaint).every(
    (reason) => reason === "" || known.includes(reason) || reason.startsWith(startedAgain),
  );
}

/** Without their figures: how much is free, say, is another one each time. */
function reasonsOf(complaint: string): readonly string[] {
  return complaint.replace(/\d+/g, "0").split(betweenReasons);
}

/** Times are of a clock that never jumps. */
export function startTrial(nowMs: number): Trial {
  return { startedMs: nowMs, askedMs: nowMs, healthySinceMs: undefined };
}

export function judge(
  trial: Trial,
  { nowMs, healthy }: { readonly nowMs: number; readonly healthy: boolean },
): { readonly trial: Trial; readonly verdict: Verdict } {
  const isGap = nowMs - trial.askedMs > gapMsMax;
  const healthySinceMs = healthy ? ((isGap ? undefined : trial.healthySinceMs) ?? nowMs) : undefined;
  const next = { ...trial, askedMs: nowMs, healthySinceMs };
  if (healthySinceMs !== undefined && nowMs - healthySinceMs >= healthyMs)
    return { trial: next, verdict: "keep" };
  return { trial: next, verdict: nowMs - trial.startedMs >= trialMsMax ? "give-up" : "wait" };
}
