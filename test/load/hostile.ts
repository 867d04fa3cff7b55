/**
 * Hostile load: attackers in a namespace beside the device's, and meanwhile the service's memory and the delay of a tap.
 *
 *     bun test/load/hostile.ts [SECONDS] [KIND ...]
 *
 * Exit code 1: its memory passed 120 MB, a tap took more than twice as long as before (median), or one failed.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "../../src/client/client.ts";
import { startDevice } from "../helpers/device.ts";
import type { Network } from "../helpers/namespaces.ts";
import { printed } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

export const attacks = [
  "idle",
  "idle-tls",
  "unsealed",
  "wrong",
  "giant",
  "slow",
  "bodies",
  "deaf",
  "tls-bodies",
  "tls-frames",
  "tls-deaf",
  "tls-streams",
  "pairing",
] as const;

const addressCount = 40;

export interface HostileReport {
  readonly idleMb: number;
  readonly peakMb: number;
  /** Milliseconds from a launch's request to its process, sorted. */
  readonly idleTaps: readonly number[];
  readonly taps: readonly number[];
  readonly failedTaps: number;
  readonly attackers: readonly string[];
}

/** `processor` is the one that all attackers share; without it they use all. */
export async function runHostile(
  seconds: number,
  kinds: readonly string[] = attacks,
  onSample: (line: string) => void = () => {},
  processor?: string,
): Promise<HostileReport> {
  await using device = await startDevice(settings);
  const { network, service } = device;
  const sources = network.addNeighbourAddresses(addressCount)[4];
  await device.place.file("SNES/Game.sfc");
  const idleTaps = await taps(service.client, 50, 20);
  const idleMb = residentMb(service.pid);
  const running = kinds.map((kind) => attack(network, kind, seconds, sources, processor));
  const endMs = Date.now() + seconds * 1000;
  const [during, failures]: [number[], unknown[]] = [[], []];
  for (let round = 0; Date.now() < endMs; round++) {
    // The attackers that guess codes of open pairings.
    if (round % 20 === 0) for (const method of pairings) await service.client.call(method);
    // A new client each time, because access must be possible, not only an existing connection.
    try {
      const fresh = await device.connect(AbortSignal.timeout(10_000));
      during.push(...(await taps(fresh, 4, 20)));
      fresh.close();
    } catch (error) {
      failures.push(error);
    }
    if (round % 20 === 0)
      onSample(`${residentMb(service.pid).toFixed(0)} MB, ${median(during).toFixed(1)} ms`);
  }
  const peakMb = memory(service.pid, "VmHWM");
  const attackers = await Promise.all(running);
  return {
    idleMb,
    peakMb,
    idleTaps: idleTaps.toSorted((a, b) => a - b),
    taps: during.toSorted((a, b) => a - b),
    failedTaps: failures.length,
    attackers,
  };
}

const pairings = ["pairing.open", "clients.pair.start"] as const;

const settings = `
[api]
allow_v1_clients = true
${noReaders}[[launchers]]
id = "true"
systems = ["SNES"]
command = ["true", "{path}"]
`;

async function attack(
  network: Network,
  kind: string,
  seconds: number,
  sources: readonly string[],
  processor: string | undefined,
): Promise<string> {
  const script = join(import.meta.dir, "../programs/attacker.ts");
  const command = [process.execPath, script, kind, network.deviceAddress, String(seconds), ...sources];
  // In reality an attacker has a processor of its own; here it gets the rest of the service's.
  const pinned = processor === undefined ? [] : ["taskset", "-c", processor];
  return printed([...pinned, "nice", "-n", "19", ...network.onNeighbour(command)]);
}

/** Milliseconds from each launch to the start of its process. */
async function taps(client: Client, count: number, gapMs: number): Promise<readonly number[]> {
  const took: number[] = [];
  let started = () => {};
  using _listening = client.onNotification(({ method }) => {
    if (method === "media.started") started();
  });
  for (let n = 0; n < count; n++) {
    const begun = Promise.withResolvers<void>();
    const late = setTimeout(() => begun.reject(new Error("nothing was started within 10 s")), 10_000);
    started = () => begun.resolve();
    const startMs = performance.now();
    await client.call("launch", "SNES/Game.sfc");
    await begun.promise;
    clearTimeout(late);
    took.push(performance.now() - startMs);
    await Bun.sleep(gapMs);
  }
  return took;
}

function residentMb(pid: number): number {
  return memory(pid, "VmRSS");
}

function memory(pid: number, name: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
}

/** The limits of the service under attack. */
export const bounds = { residentMbMax: 120, tapFactorMax: 2 } as const;

/** The broken limits, as sentences. */
export function failuresOf({ peakMb, idleTaps, taps, failedTaps }: HostileReport): readonly string[] {
  const [idleMs, meanwhileMs] = [median(idleTaps), median(taps)];
  const found: string[] = [];
  if (peakMb > bounds.residentMbMax)
    found.push(`memory: ${peakMb.toFixed(0)} MB are more than ${bounds.residentMbMax}`);
  if (taps.length === 0 || meanwhileMs > bounds.tapFactorMax * idleMs)
    found.push(`a launch: ${meanwhileMs.toFixed(1)} ms are more than twice ${idleMs.toFixed(1)}`);
  if (failedTaps > 0) found.push(`${failedTaps} launches from the device failed`);
  return found;
}

/** The last processor that this process may run on (proc(5), `/proc/PID/status`), so that the service has the others. */
function lastProcessor(): string | undefined {
  return /^Cpus_allowed_list:.*?(\d+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
}

export function median(sorted: readonly number[]): number {
  return sorted.toSorted((a, b) => a - b)[Math.floor(sorted.length / 2)] ?? 0;
}

if (import.meta.main) {
  const [seconds = "600", ...kinds] = process.argv.slice(2);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const report = await runHostile(Number(seconds), kinds.length > 0 ? kinds : attacks, say, lastProcessor());
  const p99 = (all: readonly number[]) => all[Math.floor(all.length * 0.99)] ?? 0;
  const figures = [
    `memory: ${report.idleMb.toFixed(0)} MB before, at most ${report.peakMb.toFixed(0)} MB`,
    `a launch: ${median(report.idleTaps).toFixed(1)} ms before (p99 ${p99(report.idleTaps).toFixed(1)}), ` +
      `${median(report.taps).toFixed(1)} ms meanwhile (p99 ${p99(report.taps).toFixed(1)}), ` +
      `${report.taps.length} taps, ${report.failedTaps} failed`,
    ...report.attackers,
  ];
  process.stdout.write(`${figures.join("\n")}\n`);
  const failures = failuresOf(report);
  process.stdout.write(`${failures.length === 0 ? "kept to its bounds" : failures.join("\n")}\n`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}
