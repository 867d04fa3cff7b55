/** A neighbour floods the device with connections: whoever is on the device comes in and launches all the same. */
import { expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { startDevice } from "../helpers/device.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import { eventually } from "../helpers/processes.ts";
import { listenTo, noReaders } from "../helpers/tapdeck.ts";

const descriptorsMax = 4096; // The kernel's own hard limit, and so that of a board whose system sets none.
const floodSeconds = 8;
const launchers = `${noReaders}[[launchers]]
id = "true"
systems = ["SNES"]
command = ["true", "{path}"]
`;

test.skipIf(!canMakeNetworks || Bun.which("prlimit") === null)(
  "10,000 silent connections at a limit of 4,096 descriptors keep nobody on the device from coming in and launching",
  async () => {
    await using device = await startDevice(launchers, ["prlimit", `--nofile=${descriptorsMax}`]);
    const { network, service } = device;
    await device.place.file("SNES/Game.sfc");
    const descriptors = async () => (await readdir(`/proc/${service.pid}/fd`)).length;
    const atRest = await descriptors();
    const script = join(import.meta.dir, "../load/attacker.ts");
    const attack = [
      process.execPath,
      script,
      "idle",
      network.deviceAddress,
      String(floodSeconds),
      "10.77.0.2",
    ];
    const attacker = Bun.spawn([...network.onNeighbour(attack)], { stdio: ["ignore", "ignore", "inherit"] });
    let most = 0;
    await eventually(async () => {
      most = Math.max(most, await descriptors());
      return most > descriptorsMax / 2;
    });
    let rounds = 0;
    while (attacker.exitCode === null) {
      // A connection that waits to be accepted while a door is changed is reset: the next one comes in.
      const within = async (comesIn: () => Promise<boolean>) =>
        eventually(() => comesIn().catch(() => false), 5000);
      await within(async () => {
        const client = await device.connect(AbortSignal.timeout(5000));
        const heard = listenTo(client);
        await client.call("launch", "SNES/Game.sfc");
        const { success } = await heard.next("launch.finished");
        client.close();
        return success;
      });
      await within(async () => (await device.run("ping")).code === 0);
      const url = "http://127.0.0.1:7497/ping";
      await within(async () => (await visit(network.onDevice, { url })).body === "pong");
      most = Math.max(most, await descriptors());
      rounds += 1;
    }
    expect(rounds).toBeGreaterThan(0);
    expect(most).toBeLessThan(descriptorsMax);
    // What happens a thousand times is told once.
    expect(device.log().split("\n").length).toBeLessThan(30);
    // Then the neighbours come in again.
    const url = `http://${network.deviceAddress}:7497/ping`;
    await eventually(async () => {
      const outcome = await visit(network.onNeighbour, { url }).catch(() => undefined);
      return outcome?.body === "pong";
    }, 30_000);
    await eventually(async () => (await descriptors()) < atRest + 100, 30_000);
  },
);
