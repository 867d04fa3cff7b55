/** A neighbour floods the device with connections: whoever is on the device comes in and launches all the same. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { startDevice } from "../helpers/device.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import { eventually } from "../helpers/processes.ts";
import { listenTo, noReaders } from "../helpers/tapdeck.ts";

const connections = 10_000;
const floodSeconds = 8;
const launchers = `${noReaders}[[launchers]]
id = "true"
systems = ["SNES"]
command = ["true", "{path}"]
`;

/**
 * Floods the service while it may have so many descriptors, and asks again and again, as a program on the device does: within
 * `patienceMs` each time it must have come in.
 */
async function flood(descriptorsMax: number, patienceMs: number): Promise<void> {
  await using device = await startDevice(launchers, ["prlimit", `--nofile=${descriptorsMax}`]);
  const { network, service } = device;
  await device.place.file("SNES/Game.sfc");
  const descriptors = async () => (await readdir(`/proc/${service.pid}/fd`)).length;
  const atRest = await descriptors();
  const script = join(import.meta.dir, "../load/attacker.ts");
  const attack = [process.execPath, script, "idle", network.deviceAddress, String(floodSeconds), "10.77.0.2"];
  const attacker = Bun.spawn([...network.onNeighbour(attack)], { stdio: ["ignore", "ignore", "inherit"] });
  const flooded = Math.min(descriptorsMax, connections) / 2;
  await eventually(async () => (await descriptors()) > flooded);
  // A connection that waits to be accepted while a door is changed is reset: the next one comes in.
  const within = (comesIn: () => Promise<boolean>) =>
    eventually(() => comesIn().catch(() => false), patienceMs);
  do {
    await within(async () => {
      const client = await device.connect(AbortSignal.timeout(5000));
      const heard = listenTo(client);
      await client.call("launch", "SNES/Game.sfc");
      const { success } = await heard.next("launch.finished");
      client.close();
      return success;
    });
    await within(async () => (await device.run("ping")).code === 0);
    const loopback = "http://127.0.0.1:7497/ping";
    await within(async () => (await visit(network.onDevice, { url: loopback })).body === "pong");
  } while (attacker.exitCode === null);
  // What happens a thousand times is told once.
  expect(device.log().split("\n").length).toBeLessThan(60);
  // Then the neighbours come in again.
  const url = `http://${network.deviceAddress}:7497/ping`;
  await within(async () => (await visit(network.onNeighbour, { url })).body === "pong");
  await eventually(async () => (await descriptors()) < atRest + 100);
}

const canFlood = canMakeNetworks && Bun.which("prlimit") !== null;
// Our unit and our image ask for 65,536; here it is what this machine allows of that.
const [, hardLimit = "0"] =
  /^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
const ours = Math.min(65_536, Number(hardLimit));

// With fewer, there is no room for the connections.
test.skipIf(!canFlood || ours < 2 * connections)(
  `${connections} silent connections, where descriptors are as our unit and our image set them, keep nobody on the device waiting`,
  () => flood(ours, 10_000),
);
