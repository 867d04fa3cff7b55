/** A neighbour floods the device with connections: callers on the device still connect and launch. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { port, startDevice } from "../helpers/device.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import { eventually } from "../helpers/processes.ts";
import { listenTo, noReaders } from "../helpers/tapdeck.ts";

const connections = 10_000;
const floodMs = 8000; // The time counts from the moment at which half of the connections exist.
const launchers = `${noReaders}[[launchers]]
id = "true"
systems = ["SNES"]
command = ["true", "{path}"]
`;

/**
 * Floods the service with this limit of descriptors, and asks again and again like a program on the device. Each request
 * must be answered within `patienceMs`.
 */
async function flood(descriptorsMax: number, patienceMs: number): Promise<void> {
  await using device = await startDevice(launchers, ["prlimit", `--nofile=${descriptorsMax}`]);
  const { network, service } = device;
  await device.place.file("SNES/Game.sfc");
  const descriptors = async () => (await readdir(`/proc/${service.pid}/fd`)).length;
  const atRest = await descriptors();
  const script = join(import.meta.dir, "../programs/attacker.ts");
  const attack = [process.execPath, script, "idle", network.deviceAddress, "120", "10.77.0.2"];
  const attacker = Bun.spawn([...network.onNeighbour(attack)], { stdio: ["ignore", "ignore", "inherit"] });
  const flooded = Math.min(descriptorsMax, connections) / 2;
  await eventually(async () => expect(await descriptors()).toBeGreaterThan(flooded));
  setTimeout(() => attacker.kill(), floodMs);
  const within = (comesIn: () => Promise<boolean>) =>
    eventually(async () => expect(await comesIn()).toBe(true), patienceMs);
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
  } while (attacker.exitCode === null && attacker.signalCode === null);
  // A thousand equal events are logged once.
  expect(device.log().split("\n").length).toBeLessThan(60);
  // Then the neighbours are accepted again.
  const url = `http://${network.deviceAddress}:7497/ping`;
  await within(async () => (await visit(network.onNeighbour, { url })).body === "pong");
  await eventually(async () => expect(await descriptors()).toBeLessThan(atRest + 100));
}

const canFlood = canMakeNetworks && Bun.which("prlimit") !== null;
// Our unit and our image ask for 65,536; this machine may allow fewer.
const [, hardLimit = "0"] =
  /^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
const ours = Math.min(65_536, Number(hardLimit));

// With fewer descriptors there is no room for the connections.
test.skipIf(!canFlood || ours < 2 * connections)(
  `${connections} silent connections, where descriptors are as our unit and our image set them, keep nobody on the device waiting`,
  () => flood(ours, 10_000),
);

/**
 * Asks at short intervals, each time over a new connection, until its input ends, and then prints the results, a word
 * each.
 */
const asking = `
  const { get } = require("node:http");
  const answers = [];
  const ask = () => new Promise((resolve) =>
    get({ host: process.argv[1], port: ${port}, path: "/ping", agent: false }, (answer) => resolve(answer.resume().statusCode))
      .on("error", (error) => resolve(error.code)));
  let isOver = false;
  process.stdin.on("end", () => { isOver = true; }).resume();
  while (!isOver) { answers.push(await ask()); await Bun.sleep(20); }
  console.log(answers.join(" "));
`;

test.skipIf(!canMakeNetworks)(
  "while requests flood in from the network their port is shut, loopback comes in each time, and after it the neighbours do",
  async () => {
    await using device = await startDevice(noReaders);
    const { network } = device;
    const sources = network.addNeighbourAddresses(40)[4];
    const asks = (via: typeof network.onDevice, host: string) =>
      Bun.spawn([...via([process.execPath, "-e", asking, host])], {
        stdio: ["pipe", "pipe", "inherit"],
      });
    const saidBy = async (asker: ReturnType<typeof asks>) => {
      asker.stdin.end();
      return (await new Response(asker.stdout).text()).trim().split(" ");
    };
    const own = asks(network.onDevice, "127.0.0.1");
    const neighbour = asks(network.onNeighbour, network.deviceAddress);
    const script = join(import.meta.dir, "../programs/attacker.ts");
    const attack = [process.execPath, script, "unsealed", network.deviceAddress, "120", ...sources];
    const attacker = Bun.spawn([...network.onNeighbour(attack)], { stdio: ["ignore", "ignore", "inherit"] });
    await eventually(() => expect(device.log()).toContain("a flood of remote requests"));
    // A few rounds of closing and opening the port.
    await Bun.sleep(3000);
    attacker.kill();
    await attacker.exited;
    expect(new Set(await saidBy(own))).toEqual(new Set(["200"]));
    expect(await saidBy(neighbour)).toContain("ECONNREFUSED");
    const url = `http://${network.deviceAddress}:${port}/ping`;
    await eventually(async () => {
      const { body } = await visit(network.onNeighbour, { url }).catch(() => ({ body: "" }));
      expect(body).toBe("pong");
    });
  },
  240_000,
);
