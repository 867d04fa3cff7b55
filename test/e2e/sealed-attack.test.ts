/**
 * A recorded session, disturbed on the way by somebody between a client and the service, over real sockets: whatever is altered,
 * cut, replayed, put out of order, sent back or taken from another session is answered by one refusal, and the connection ends.
 * `test/unit/secure-attack.test.ts` tries more ways without sockets.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { connect } from "../../src/client/client.ts";
import { canMakeNetworks, makeNetwork, type Network } from "../helpers/namespaces.ts";
import { makePlace, type Place, program } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const attacker = join(import.meta.dir, "../helpers/session-attacker.ts");
const addressCount = 60;

let network: Network;
let place: Place;
let child: Bun.Subprocess;
let client: { id: string; secret: string } | undefined;
const sources: string[] = [];

beforeAll(async () => {
  if (!canMakeNetworks) return;
  network = await makeNetwork();
  place = await makePlace();
  for (let n = 10; n < 10 + addressCount; n++) {
    sources.push(`10.77.0.${n}`);
    const add = ["ip", "address", "add", `10.77.0.${n}/24`, "dev", network.neighbourLink];
    expect(Bun.spawnSync([...network.onNeighbour(add)]).exitCode).toBe(0);
  }
  await Bun.write(`${place.folder}/config.toml`, "[readers]\ndetect = false\n");
  child = Bun.spawn([...network.onDevice([program, `--data=${place.folder}`])], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  for (let tries = 0; client === undefined && tries < 500; tries++) {
    const local = await connect(`ws+unix://${place.folder}/tapdeck.sock:/api/v0.1`).catch(() => undefined);
    if (local === undefined) await Bun.sleep(20);
    else client = await local.call("clients.new", { name: "phone" });
    local?.close();
  }
});
afterAll(async () => {
  if (!canMakeNetworks) return;
  child.kill("SIGTERM");
  await child.exited;
  await network[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

/** Runs the attacks of one kind, and returns what came of each: how it was refused, and how the connection ended. */
async function attack(kind: string): Promise<readonly string[]> {
  const url = `ws://${network.deviceAddress}:7497/api/v0.1`;
  const command = [process.execPath, attacker, kind, url, JSON.stringify({ client, sources })];
  const attacking = Bun.spawn([...network.onNeighbour(command)], { stdio: ["ignore", "pipe", "inherit"] });
  return JSON.parse(await new Response(attacking.stdout).text());
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
