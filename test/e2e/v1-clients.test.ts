/** Known clients, which speak version 1 of the secure layer: a Python one pairs by PIN and talks, from a neighbour's namespace. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "../../src/client/client.ts";
import { linesOf } from "../helpers/lines.ts";
import { canMakeNetworks, makeNetwork, type Network, visit } from "../helpers/namespaces.ts";
import { noisePython, noisePythonSetUpMs } from "../helpers/noise-python.ts";
import { makePlace, type Place, program } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const script = join(import.meta.dir, "noise-python/v1.py");
const port = 7497;

let network: Network;
let place: Place;
let child: Bun.Subprocess<"ignore", "ignore", "pipe">;
let log = "";
let python: string;

const settings = (isAllowed: boolean) =>
  Bun.write(
    `${place.folder}/config.toml`,
    `[api]\nallow_v1_clients = ${isAllowed}\n[readers]\ndetect = false\n[log]\ndebug = true\n`,
  );

async function start(): Promise<void> {
  child = Bun.spawn([...network.onDevice([program, `--data=${place.folder}`])], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const errors = child.stderr;
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of errors) log += decoder.decode(chunk);
  })();
  for (let tries = 0; tries < 300; tries++) {
    const client = await local().catch(() => undefined);
    client?.close();
    if (client !== undefined) return;
    await Bun.sleep(20);
  }
  throw new Error(`the service did not start in its namespace: ${log}`);
}

async function stop(): Promise<void> {
  child.kill("SIGTERM");
  await child.exited;
}

beforeAll(async () => {
  if (!canMakeNetworks) return;
  python = await noisePython();
  network = await makeNetwork();
  place = await makePlace();
  await settings(true);
  await start();
}, noisePythonSetUpMs);
afterAll(async () => {
  if (!canMakeNetworks) return;
  await stop();
  await network[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

const local = () => connect(`ws+unix://${place.folder}/tapdeck.sock:/api/v0.1`);
async function locally<T>(ask: (client: Awaited<ReturnType<typeof local>>) => Promise<T>): Promise<T> {
  const client = await local();
  try {
    return await ask(client);
  } finally {
    client.close();
  }
}
const openPin = async () => (await locally((client) => client.call("clients.pair.start"))).pin;
const request = (method: string, params?: unknown, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const wrong = (pin: string) => String((Number(pin) + 1) % 1_000_000).padStart(6, "0");

async function pair(pin: string, name = "phone") {
  const url = `http://${network.deviceAddress}:${port}`;
  const asked = Bun.spawn([...network.onNeighbour([python, script, "pair", url, pin, name])], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return JSON.parse(await new Response(asked.stdout).text());
}

/** Pairs, whatever the earlier tests left of the address's allowance. */
async function paired(name?: string): Promise<{ token: string; client: string; key: string }> {
  const answer = await pair(await openPin(), name);
  expect(answer).toEqual({
    token: expect.any(String),
    client: expect.any(String),
    key: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  return answer;
}

function talk({ token, key }: { token: string; key: string }, flags: readonly string[] = []) {
  const url = `ws://${network.deviceAddress}:${port}/api/v0.1`;
  const talking = Bun.spawn([...network.onNeighbour([python, script, "talk", url, token, key, ...flags])], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = linesOf(talking.stdout);
  return {
    send(payload: string) {
      talking.stdin.write(`${JSON.stringify(payload)}\n`);
      talking.stdin.flush();
    },
    next: async () => JSON.parse((await lines.next()).value ?? "null"),
    async [Symbol.asyncDispose]() {
      talking.kill();
      await talking.exited;
    },
  };
}

remoteTest(
  "a known client pairs by PIN, calls methods in a row without waiting, hears notifications, and is listed without its key",
  async () => {
    const made = await paired();
    await using phone = talk(made);
    phone.send(request("version"));
    phone.send(request("launch", "**delay:1", 2));
    phone.send(request("clients", undefined, 3));
    const told = [];
    for (let n = 0; n < 5; n++) told.push(JSON.parse((await phone.next()).payload));
    expect(told.find(({ id }) => id === 1)).toMatchObject({ result: { platform: "linux" } });
    expect(told.find(({ id }) => id === 2)).toMatchObject({ result: null });
    expect(told.find(({ id }) => id === 3)).toMatchObject({ error: { code: 2 } });
    expect(told.filter(({ method }) => method !== undefined).map(({ method }) => method)).toEqual([
      "running",
      "launch.finished",
    ]);
    const { clients } = await locally((client) => client.call("clients"));
    expect(clients).toContainEqual({
      id: made.client,
      name: "phone",
      secret: "",
      address: network.neighbourAddress,
    });
    expect(log).not.toContain(made.key);
  },
);

function pairAtDevice() {
  return Bun.spawn([...network.onDevice([program, "pair", "--pin", `--data=${place.folder}`])], {
    stdio: ["ignore", "pipe", "pipe"],
  });
}

remoteTest("tapdeck pair --pin shows the PIN, and tells who came in with it", async () => {
  const command = pairAtDevice();
  const lines = linesOf(command.stdout);
  const shown = (await lines.next()).value ?? "";
  expect(shown).toMatch(/^\d{3} \d{3}$/);
  await pair(shown.replace(" ", ""), "old phone");
  expect((await lines.next()).value).toBe("paired old phone");
  expect(await command.exited).toBe(0);
});

remoteTest("tapdeck pair --pin that is interrupted closes the pairing", async () => {
  const command = pairAtDevice();
  const shown = (await linesOf(command.stdout).next()).value ?? "";
  command.kill("SIGINT");
  expect(await command.exited).toBe(1);
  expect(await new Response(command.stderr).text()).toEndWith("called off\n");
  expect(await pair(shown.replace(" ", ""))).toEqual({ refused: 400, error: "no pairing in progress" });
});

remoteTest(
  "a PIN is good for one client, and three wrong tries end it, from wherever they come",
  async () => {
    const pin = await openPin();
    for (let n = 0; n < 3; n++) expect(await pair(wrong(pin))).toEqual({ refused: 401, error: "wrong PIN" });
    expect(await pair(pin)).toEqual({ refused: 403, error: "too many failed attempts" });
    const next = await openPin();
    expect(await pair(next)).toHaveProperty("key");
    expect(await pair(next)).toEqual({ refused: 400, error: "no pairing in progress" });
    await openPin();
    await locally((client) => client.call("clients.pair.cancel"));
    expect(await pair(next)).toEqual({ refused: 400, error: "no pairing in progress" });
  },
);

remoteTest("a recorded session opens no second time, not even after a restart of the service", async () => {
  const made = await paired();
  const record = join(place.folder, "frames.txt");
  {
    await using phone = talk(made, ["--record", record]);
    phone.send(request("version"));
    expect(await phone.next()).toHaveProperty("payload");
  }
  const [frame = ""] = (await readFile(record, "utf8")).split("\n");
  const url = `ws://${network.deviceAddress}:${port}/api/v0.1`;
  const replay = () => visit(network.onNeighbour, { url, send: [frame, "x"] });
  const refusal = { error: { code: -32003, data: { reason: "secure-failure" } } };
  const before = await replay();
  expect([JSON.parse(before.messages?.[0] ?? ""), before.closed]).toMatchObject([refusal, 1008]);
  await stop();
  await start();
  const after = await replay();
  expect([JSON.parse(after.messages?.[0] ?? ""), after.closed]).toMatchObject([refusal, 1008]);
  // The phone itself comes in again, with a salt of its own.
  await using phone = talk(made);
  phone.send(request("version"));
  expect(await phone.next()).toHaveProperty("payload");
});

remoteTest("a client that is deleted is cut off at once, and looks like one that never was", async () => {
  const made = await paired();
  await using phone = talk(made);
  phone.send(request("version"));
  await phone.next();
  await locally((client) => client.call("clients.delete", { id: made.client }));
  expect(await phone.next()).toEqual({ closed: true });
  const outcomes = [];
  for (const credentials of [made, { ...made, key: "00".repeat(32) }, { ...made, token: "nobody" }]) {
    await using again = talk(credentials);
    again.send(request("version"));
    outcomes.push(await again.next());
  }
  expect(outcomes[0]).toMatchObject({ refused: { code: -32003 } });
  expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
});

remoteTest(
  "where they are not allowed, nobody pairs, nobody comes in, and only version 2 is offered",
  async () => {
    const made = await paired();
    await settings(false);
    await stop();
    await start();
    const url = `ws://${network.deviceAddress}:${port}/api/v0.1`;
    await using phone = talk(made);
    phone.send(request("version"));
    expect(await phone.next()).toMatchObject({ refused: { code: -32001, data: { supported: [2] } } });
    const answer = await visit(network.onNeighbour, {
      url: `http://${network.deviceAddress}:${port}/api/pair/start`,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(answer.status).toBe(404);
    await expect(openPin()).rejects.toThrow("api.allow_v1_clients");
    await settings(true);
    await stop();
    await start();
    const other = await visit(network.onNeighbour, { url, send: ['{"v":3,"t":"a","e":""}', "x"] });
    expect(JSON.parse(other.messages?.[0] ?? "")).toMatchObject({ error: { data: { supported: [1, 2] } } });
  },
);
