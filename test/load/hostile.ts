/**
 * Hostile load: attackers in a namespace beside the device's. Meanwhile the memory of the attacked service is measured.
 * Its delays are measured beside those of a second service on this machine that is not attacked.
 *
 *     bun test/load/hostile.ts [SECONDS] [KIND ...]
 *
 * Exit code 1: memory passed 150 MB, a median was more than twice that of the quiet service, or a launch failed.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Device, startDevice } from "../helpers/device.ts";
import type { Network } from "../helpers/namespaces.ts";
import { printed } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";
import {
  failuresOf,
  figuresOf,
  type HostileReport,
  type Probes,
  probe,
  probeNames,
} from "./hostile-probes.ts";

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
  "tls-large",
  "tls-deaf",
  "tls-streams",
  "pairing",
] as const;

const addressCount = 40;

/** Runs the load. All attackers share `processor`, and without it they use all processors. */
export async function runHostile(
  seconds: number,
  kinds: readonly string[] = attacks,
  onSample: (line: string) => void = () => {},
  processor?: string,
): Promise<HostileReport> {
  await using attacked = await startDevice(settings);
  await using quiet = await startDevice(settings);
  const { network, service } = attacked;
  const sources = network.addNeighbourAddresses(addressCount)[4];
  for (const { place } of [attacked, quiet]) await place.file("SNES/Game.sfc");
  const before = emptyProbes();
  for (let round = 0; round < 10; round++) await probeFresh(attacked, before);
  const idleMb = memory(service.pid, "VmRSS");
  const running = kinds.map((kind) => attack(network, kind, seconds, sources, processor));
  const endMs = Date.now() + seconds * 1000;
  const [during, beside, failures] = [emptyProbes(), emptyProbes(), [] as unknown[]];
  for (let round = 0; Date.now() < endMs; round++) {
    // The openings that pairing attackers guess at.
    if (round % 20 === 0) for (const method of pairings) await service.client.call(method);
    await probeFresh(attacked, during).catch((error: unknown) => failures.push(error));
    await probeFresh(quiet, beside);
    if (round % 20 === 0) onSample(`${memory(service.pid, "VmRSS").toFixed(0)} MB`);
  }
  const peakMb = memory(service.pid, "VmHWM");
  const attackers = await Promise.all(running);
  return { idleMb, peakMb, before, quiet: beside, attacked: during, failures, attackers };
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
  // A real attacker has a processor of its own. Here it runs with the lowest priority, so it gets the time that the service
  // leaves.
  const pinned = processor === undefined ? [] : ["taskset", "-c", processor];
  return printed([...pinned, "nice", "-n", "19", ...network.onNeighbour(command)]);
}

const emptyProbes = (): Probes => ({ ping: [], echo: [], "media.started": [] });

/** The client is new each time, because access must be possible for new clients. */
async function probeFresh(device: Device, into: Probes): Promise<void> {
  const client = await device.connect(AbortSignal.timeout(10_000));
  try {
    for (let times = 0; times < 4; times++)
      for (const name of probeNames) {
        into[name].push(await probe(client, name));
        await Bun.sleep(10);
      }
  } finally {
    client.close();
  }
}

function memory(pid: number, name: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
}

/** The last processor that this process may run on (proc(5), `/proc/PID/status`). The service has the others. */
function lastProcessor(): string | undefined {
  return /^Cpus_allowed_list:.*?(\d+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
}

if (import.meta.main) {
  const [seconds = "600", ...kinds] = process.argv.slice(2);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const report = await runHostile(Number(seconds), kinds.length > 0 ? kinds : attacks, say, lastProcessor());
  for (const line of figuresOf(report)) say(line);
  const failures = failuresOf(report);
  say(failures.length === 0 ? "kept to its bounds" : failures.join("\n"));
  process.exitCode = failures.length === 0 ? 0 : 1;
}
