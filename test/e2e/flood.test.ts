/** A flood from a neighbour: the door is shut to all from afar for most of it, and never to loopback. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { deviceForAll, port } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { eventually, printed } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const device = deviceForAll(noReaders);
const floodSeconds = 5;

/** Asks again and again, each time over a connection of its own, and tells what came of it, a word each. */
const asking = `
  const { get } = require("node:http");
  const [host, seconds] = process.argv.slice(1);
  const endMs = Date.now() + 1000 * seconds;
  const answers = [];
  const ask = () => new Promise((resolve) =>
    get({ host, port: ${port}, path: "/ping", agent: false }, (answer) => resolve(answer.resume().statusCode))
      .on("error", (error) => resolve(error.code)));
  do { answers.push(await ask()); await Bun.sleep(20); } while (Date.now() < endMs);
  console.log(answers.join(" "));
`;

test.skipIf(!canMakeNetworks)(
  "in a flood from afar the device's own callers come in each time, others are refused by the kernel, and come in again behind it",
  async () => {
    const { network } = device;
    const sources = network.addNeighbourAddresses(40)[4];
    const ask = async (via: typeof network.onDevice, host: string, seconds: number) =>
      (await printed(via([process.execPath, "-e", asking, host, `${seconds}`]))).split(" ");
    const attacker = join(import.meta.dir, "../load/attacker.ts");
    const flood = printed(
      network.onNeighbour([
        process.execPath,
        attacker,
        "unsealed",
        network.deviceAddress,
        `${floodSeconds}`,
        ...sources,
      ]),
    );
    const near = await ask(network.onDevice, "127.0.0.1", floodSeconds - 1);
    expect(new Set(near)).toEqual(new Set(["200"]));
    const { opened, refused } = JSON.parse(await flood);
    expect(opened).toBeGreaterThan(0);
    expect(refused).toBeGreaterThan(0);
    expect(device.log()).toContain("a flood of requests from afar");
    await eventually(async () => {
      const [answer] = await ask(network.onNeighbour, network.deviceAddress, 0);
      return answer === "200";
    });
  },
  180_000,
);
