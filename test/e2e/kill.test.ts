/** The power is cut at any moment of a write, and every acknowledged change is kept. */
import { expect, test } from "bun:test";
import { type Client, RpcError } from "../../src/client/client.ts";
import { seededRandom } from "../emulators/emulated-line.ts";
import { makePlace, startTapdeck } from "../helpers/tapdeck.ts";

const kills = 200;
const writingMsMin = 60;

/** The changes that the service has acknowledged so far. */
interface Acknowledged {
  readonly mappings: Map<number, string>;
  readonly clients: Map<string, string>;
  /** The values of a setting that counts up: the last acknowledged one, and the last requested one. */
  exitDelay: readonly [atLeast: number, atMost: number];
}

test(`kill -9 at ${kills} random moments during writes: every acknowledged mapping, client and setting is there afterwards`, async () => {
  await using place = await makePlace("# of mine\n[readers]\ndetect = false # not here\n");
  const done: Acknowledged = { mappings: new Map(), clients: new Map(), exitDelay: [0, 0] };
  const random = seededRandom(20_26);
  let writingMs = writingMsMin;
  for (let round = 0; round < kills; round++) {
    const service = await startTapdeck(place);
    await check(service.client, done);
    const writing = Promise.all([
      writeMappings(service.client, done, round),
      writeClients(service.client, done),
      writeSettings(service.client, done),
    ]);
    const before = done.exitDelay[0];
    await Bun.sleep(random() * writingMs);
    process.kill(service.pid, "SIGKILL");
    await writing;
    // A machine that writes slowly gets more time. Most rounds then have some writes.
    const isSlow = done.exitDelay[0] - before < 3;
    writingMs = isSlow ? writingMs * 1.1 : Math.max(writingMsMin, writingMs / 1.1);
    service.client.close();
    await service.stop();
  }
  const service = await startTapdeck(place);
  await check(service.client, done);
  // The service has written, and the file still belongs to its owner.
  expect([done.mappings.size > kills, done.exitDelay[0] > kills]).toEqual([true, true]);
  const file = await Bun.file(`${place.folder}/config.toml`).text();
  expect([file.includes("# of mine"), file.includes("detect = false # not here")]).toEqual([true, true]);
  expect(await service.client.call("health")).toMatchObject({ status: "ok" });
  service.client.close();
  await service.stop();
}, 1_200_000);

/** Repeats requests until the service ends the connection. */
async function untilKilled(write: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await write();
    } catch (error) {
      if (error instanceof RpcError) throw error;
      return;
    }
  }
}

function writeMappings(client: Client, { mappings }: Acknowledged, round: number): Promise<void> {
  let count = 0;
  return untilKilled(async () => {
    const pattern = `${round}n${count++}`;
    const override = `**delay:${pattern}`;
    const { id } = await client.call("mappings.new", {
      enabled: true,
      type: "uid",
      match: "exact",
      pattern,
      override,
    });
    mappings.set(id, override);
    // Sometimes a client is deleted, so deletions are also tried.
    if (count % 4 !== 0) return;
    mappings.delete(id);
    await client.call("mappings.delete", { id });
  });
}

function writeClients(client: Client, { clients }: Acknowledged): Promise<void> {
  return untilKilled(async () => {
    const made = await client.call("clients.new", {});
    clients.set(made.id, made.secret);
    const [oldest] = clients.keys();
    if (clients.size < 20 || oldest === undefined) return;
    clients.delete(oldest);
    await client.call("clients.delete", { id: oldest });
  });
}

function writeSettings(client: Client, done: Acknowledged): Promise<void> {
  return untilKilled(async () => {
    const next = done.exitDelay[1] + 1;
    done.exitDelay = [done.exitDelay[0], next];
    await client.call("settings.update", { insertModeExitDelay: next });
    done.exitDelay = [next, next];
  });
}

async function check(client: Client, { mappings, clients, exitDelay }: Acknowledged): Promise<void> {
  const there = new Map((await client.call("mappings")).mappings.map(({ id, override }) => [id, override]));
  const lost = [...mappings].filter(([id, override]) => there.get(id) !== override);
  const known = new Map((await client.call("clients")).clients.map(({ id, secret }) => [id, secret]));
  const turnedAway = [...clients].filter(([id, secret]) => known.get(id) !== secret);
  expect([lost, turnedAway]).toEqual([[], []]);
  const { insertModeExitDelay } = await client.call("settings");
  expect(insertModeExitDelay).toBeWithin(exitDelay[0], exitDelay[1] + 1);
  // A request without an answer may have succeeded, so the next round starts from the present state.
  for (const id of there.keys()) if (!mappings.has(id)) await client.call("mappings.delete", { id });
  for (const id of known.keys()) if (!clients.has(id)) await client.call("clients.delete", { id });
}
