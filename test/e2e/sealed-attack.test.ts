/**
 * A recorded session that an attacker between client and service changes, over real sockets. Each altered, cut, replayed,
 * reordered, reflected or foreign message gets one refusal, and the connection ends. `test/unit/secure/attack.test.ts`
 * tries more ways without sockets.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { deviceForAll } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { printed } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const attacker = join(import.meta.dir, "../helpers/session-attacker.ts");
const addressCount = 60;

let client: { id: string; secret: string };
let sources: readonly string[];
const device = deviceForAll(noReaders, async ({ network, service }) => {
  sources = network.addNeighbourAddresses(addressCount)[4];
  client = await service.client.call("clients.new", { name: "phone" });
});

/** Runs the attacks of one kind, and returns the results: the refusal, and the end of the connection. */
async function attack(kind: string): Promise<readonly string[]> {
  const command = [process.execPath, attacker, kind, device.url, JSON.stringify({ client, sources })];
  return JSON.parse(await printed(device.network.onNeighbour(command)));
}

for (const [kind, least] of [
  ["altered", 96],
  ["cut", 96],
  ["replayed", 3],
  ["reordered", 2],
  ["reflected", 1],
  ["spliced", 60],
] as const) {
  remoteTest(
    `a frame that is ${kind} is refused like all others, and the connection ends`,
    async () => {
      const ends = await attack(kind);
      expect(new Set(ends)).toEqual(new Set(["secure-failure, closed 1008"]));
      expect(ends.length).toBeGreaterThanOrEqual(least);
    },
    120_000,
  );
}

remoteTest("the same session opens where nobody disturbs it", async () => {
  expect(await attack("undisturbed")).toEqual(["answered"]);
});
