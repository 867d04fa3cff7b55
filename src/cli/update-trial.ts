/** Asks the service for its health before an update, and during the trial of a new system. */
import { exitFailure, messageOf } from "../core/errors.ts";
import { isExcused, judge, startTrial, type Trial } from "../update/trial.ts";

/** A monotonic clock. */
export interface Time {
  now(): number;
  sleep(ms: number): Promise<void>;
}

const realTime: Time = { now: () => performance.now(), sleep: (ms) => Bun.sleep(ms) };

interface TrialParts {
  /** The port of the service on this device. */
  readonly port: number;
  readonly time?: Time;
}

/** Asks again if the service is busy, because the trial excuses only complaints from before the update. */
export async function complaintBefore({ port, time = realTime }: TrialParts): Promise<string> {
  for (let asked = 1; ; asked++) {
    const { pong, complaint } = await healthOf(port);
    if (pong || asked === asksMax) return pong ? complaint : "";
    await time.sleep(askEveryMs);
  }
}

const askEveryMs = 2000;
const asksMax = 5;
const answerMs = 3000;

/** Resolves once the system was healthy for a minute; rejects with a sentence after five minutes without that. */
export async function decideOnTrial(
  version: string,
  excused: string,
  { port, time = realTime }: TrialParts,
): Promise<void> {
  let trial: Trial = startTrial(time.now());
  for (;;) {
    const { pong, complaint } = await healthOf(port);
    const healthy = pong && isExcused(complaint, excused);
    const judged = judge(trial, { nowMs: time.now(), healthy });
    if (judged.verdict === "keep") return;
    if (judged.verdict === "give-up") {
      const why = pong ? complaint : "the service did not answer";
      throw exitFailure(`${version} is not kept: it was not healthy for a minute (${why})`);
    }
    trial = judged.trial;
    await time.sleep(askEveryMs);
  }
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
