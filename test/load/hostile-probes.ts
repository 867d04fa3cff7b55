/** The delays that a person notices, and the bounds that they have while the service is attacked. */
import type { Client } from "../../src/client/client.ts";

/**
 * The kinds of probes. `ping` is the heartbeat, `echo` a script until its end, and `media.started` a launch until its
 * process has started.
 */
export const probeNames = ["ping", "echo", "media.started"] as const;

type ProbeName = (typeof probeNames)[number];

/** Delays in milliseconds, in the order of their measurement. */
export type Probes = Readonly<Record<ProbeName, number[]>>;

export interface HostileReport {
  readonly idleMb: number;
  readonly peakMb: number;
  /** The probes of the attacked service before the attack. */
  readonly before: Probes;
  /** The probes of a second service that is not attacked, made at the same time as `attacked`. */
  readonly quiet: Probes;
  readonly attacked: Probes;
  /** The reason why a probe of the attacked service failed. */
  readonly failures: readonly unknown[];
  /** A line of JSON from each attacker. */
  readonly attackers: readonly string[];
}

const probeMsMax = 10_000;

/** The milliseconds until the answer. Rejects if none came within `probeMsMax`. */
export async function probe(client: Client, name: ProbeName): Promise<number> {
  const ended = Promise.withResolvers<void>();
  const late = setTimeout(() => ended.reject(new Error(`${name}: no answer within 10 s`)), probeMsMax);
  const awaited = name === "echo" ? "launch.finished" : name;
  using _hearing = client.onNotification(({ method }) => {
    if (method === awaited) ended.resolve();
  });
  const startMs = performance.now();
  try {
    if (name === "ping") await Promise.race([client.ping(), ended.promise]);
    else {
      await client.call("launch", name === "echo" ? "**echo:x" : "SNES/Game.sfc");
      await ended.promise;
    }
    return performance.now() - startMs;
  } finally {
    clearTimeout(late);
  }
}

/** The limits of the service under attack. */
export const bounds = { peakMbMax: 150, factorMax: 2 } as const;

/** The broken limits, as sentences. */
export function failuresOf({ peakMb, quiet, attacked, failures }: HostileReport): readonly string[] {
  const found: string[] = [];
  if (peakMb > bounds.peakMbMax)
    found.push(`memory: ${peakMb.toFixed(0)} MB are more than ${bounds.peakMbMax}`);
  for (const name of probeNames) {
    const [quietMs, attackedMs] = [median(quiet[name]), median(attacked[name])];
    if (attacked[name].length === 0 || attackedMs > bounds.factorMax * quietMs)
      found.push(`${name}: ${attackedMs.toFixed(1)} ms are more than twice ${quietMs.toFixed(1)}`);
  }
  if (failures.length > 0) found.push(`${failures.length} probes failed: ${failures[0]}`);
  return found;
}

/** All figures of a report, a line each. */
export function figuresOf(report: HostileReport): readonly string[] {
  const row = (name: ProbeName) =>
    (["before", "quiet", "attacked"] as const)
      .map((when) => `${when} ${shown(report[when][name])}`)
      .join(", ");
  return [
    `memory: ${report.idleMb.toFixed(0)} MB before, at most ${report.peakMb.toFixed(0)} MB`,
    ...probeNames.map((name) => `${name}: ${row(name)}`),
    ...report.attackers,
  ];
}

function shown(all: readonly number[]): string {
  return `${median(all).toFixed(1)} ms (p99 ${percentile(all, 0.99).toFixed(1)}, ${all.length} times)`;
}

const median = (all: readonly number[]) => percentile(all, 0.5);

function percentile(all: readonly number[], share: number): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length * share)] ?? 0;
}
