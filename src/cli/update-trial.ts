/** Asks the service for its faults before an update, and during the trial of a new system. */
import { connect } from "../client/client.ts";
import { exitFailure } from "../core/errors.ts";
import { type Fault, faultLine } from "../core/faults.ts";
import { faultsAgainst, judge, type NotedFault, startTrial, type Trial } from "../update/trial.ts";

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

/** Asks again if the service is busy, because the trial excuses only faults from before the update. */
export async function faultsBefore({ port, time = realTime }: TrialParts): Promise<readonly Fault[]> {
  for (let asked = 1; ; asked++) {
    const faults = await faultsNow(port);
    if (faults !== undefined || asked === asksMax) return faultsAgainst(faults ?? [], []);
    await time.sleep(askEveryMs);
  }
}

const askEveryMs = 2000;
const asksMax = 5;
const answerMs = 3000;

/** Resolves once the system was healthy for a minute; rejects with a sentence after five minutes without that. */
export async function decideOnTrial(
  version: string,
  before: readonly NotedFault[],
  { port, time = realTime }: TrialParts,
): Promise<void> {
  let trial: Trial = startTrial(time.now());
  for (;;) {
    const faults = await faultsNow(port);
    const against = faults && faultsAgainst(faults, before);
    const judged = judge(trial, { nowMs: time.now(), healthy: against?.length === 0 });
    if (judged.verdict === "keep") return;
    if (judged.verdict === "give-up") {
      const why = against === undefined ? "the service did not answer" : faultLine(against);
      throw exitFailure(`${version} is not kept: it was not healthy for a minute (${why})`);
    }
    trial = judged.trial;
    await time.sleep(askEveryMs);
  }
}

/** The faults that the service reports; undefined if it does not answer. */
async function faultsNow(port: number): Promise<readonly Fault[] | undefined> {
  const signal = AbortSignal.timeout(answerMs);
  try {
    const client = await connect(`ws://127.0.0.1:${port}/api/v0.1`, { signal });
    try {
      const { checks } = await client.call("health", undefined, { signal });
      return checks.flatMap(({ faults = [] }) => faults);
    } finally {
      client.close();
    }
  } catch {
    return undefined; // No answer counts as unhealthy.
  }
}
