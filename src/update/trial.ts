/**
 * The first minutes of a system that is being tried: it is kept once it was healthy for 60 s without a gap, and given up
 * after 5 minutes. Pure: who asks the service hands in what it heard, and when.
 */
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
