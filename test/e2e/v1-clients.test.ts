/** Known clients, which speak version 1 of the secure layer: a Python one pairs by PIN and talks, from a neighbour's namespace. */
import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { deviceForAll, port } from "../helpers/device.ts";
import { linesOf } from "../helpers/lines.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import { isAboutIndex, noisePython, noisePythonSetUpMs } from "../helpers/noise-python.ts";
import { eventually, printed } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const script = join(import.meta.dir, "noise-python/v1.py");

const settings = (isAllowed: boolean) =>
  `[api]\nallow_v1_clients = ${isAllowed}\n${noReaders}[log]\ndebug = true\n`;

let python: string;
const device = deviceForAll(
  settings(true),
  async () => {
    python = await noisePython();
  },
  noisePythonSetUpMs,
);

async function restart(): Promise<void> {
  await device.stop();
  await device.start();
}

const openPin = async () => (await device.service.client.call("clients.pair.start")).pin;
const request = (method: string, params?: unknown, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const wrong = (pin: string) => String((Number(pin) + 1) % 1_000_000).padStart(6, "0");

async function pair(pin: string, name = "phone") {
  const { deviceAddress, onNeighbour } = device.network;
  const command = [python, script, "pair", `http://${deviceAddress}:${port}`, pin, name];
  return JSON.parse(await printed(onNeighbour(command)));
}

/** Pairs a client. Earlier tests may have used some of the address's allowance. */
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
  const command = [python, script, "talk", device.url, token, key, ...flags];
  const talking = Bun.spawn([...device.network.onNeighbour(command)], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = linesOf(talking.stdout);
  return {
    send(payload: string) {
      talking.stdin.write(`${JSON.stringify(payload)}\n`);
      talking.stdin.flush();
    },
    /** The next message, without the events of the index that the service sends soon after its start. */
    async next() {
      for (;;) {
        const told = JSON.parse((await lines.next()).value ?? "null");
        if (!isAboutIndex(told?.payload)) return told;
      }
    },
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
    const { clients } = await device.service.client.call("clients");
    expect(clients).toContainEqual({
      id: made.client,
      name: "phone",
      secret: "",
      address: device.network.neighbourAddress,
      role: "member",
      added: expect.any(String),
      lastUsed: expect.any(String),
    });
    expect(device.log()).not.toContain(made.key);
  },
);

remoteTest("tapdeck pair --pin shows the PIN, and tells who came in with it", async () => {
  const command = device.tapdeck("pair", "--pin");
  const lines = linesOf(command.stdout);
  const shown = (await lines.next()).value ?? "";
  expect(shown).toMatch(/^\d{3} \d{3}$/);
  await pair(shown.replace(" ", ""), "old phone");
  expect((await lines.next()).value).toBe("paired old phone");
  expect(await command.exited).toBe(0);
});

remoteTest("tapdeck pair --pin that is interrupted closes the pairing", async () => {
  const command = device.tapdeck("pair", "--pin");
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
    await device.service.client.call("clients.pair.cancel");
    expect(await pair(next)).toEqual({ refused: 400, error: "no pairing in progress" });
  },
);

remoteTest("a recorded session opens no second time, not even after a restart of the service", async () => {
  const made = await paired();
  const record = join(device.place.folder, "frames.txt");
  {
    await using phone = talk(made, ["--record", record]);
    phone.send(request("version"));
    expect(await phone.next()).toHaveProperty("payload");
  }
  const [frame = ""] = (await readFile(record, "utf8")).split("\n");
  const { url } = device;
  const replay = () => visit(device.network.onNeighbour, { url, send: [frame, "x"] });
  const refusal = { error: { code: -32002, data: { reason: "encryption-required" } } };
  const before = await replay();
  expect([JSON.parse(before.messages?.[0] ?? ""), before.closed]).toMatchObject([refusal, 1008]);
  await restart();
  const after = await replay();
  expect([JSON.parse(after.messages?.[0] ?? ""), after.closed]).toMatchObject([refusal, 1008]);
  // The phone itself connects again, with a new salt.
  await using phone = talk(made);
  phone.send(request("version"));
  expect(await phone.next()).toHaveProperty("payload");
});

remoteTest("a client that is deleted is cut off at once, and looks like one that never was", async () => {
  const made = await paired();
  await using phone = talk(made);
  phone.send(request("version"));
  await phone.next();
  await device.service.client.call("clients.delete", { id: made.client });
  expect(await phone.next()).toEqual({ closed: 1008 });
  const outcomes = [];
  for (const credentials of [made, { ...made, key: "00".repeat(32) }, { ...made, token: "nobody" }]) {
    await using again = talk(credentials);
    again.send(request("version"));
    outcomes.push(await again.next());
  }
  expect(outcomes[0]).toMatchObject({ refused: { code: -32002 } });
  expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
});

remoteTest("those that are connected are cut off as soon as they are no longer allowed", async () => {
  await using phone = talk(await paired());
  phone.send(request("version"));
  await phone.next();
  await device.config(settings(false));
  expect(await phone.next()).toEqual({ closed: 1008 });
  await device.config(settings(true));
  // A saved change takes effect a moment later.
  await eventually(async () => void (await openPin()));
});

remoteTest(
  "where they are not allowed, nobody pairs, nobody comes in, and only version 2 is offered",
  async () => {
    const made = await paired();
    await device.config(settings(false));
    await restart();
    await using phone = talk(made);
    phone.send(request("version"));
    expect(await phone.next()).toMatchObject({ refused: { code: -32001, data: { supported: [2] } } });
    const answer = await visit(device.network.onNeighbour, {
      url: `http://${device.network.deviceAddress}:${port}/api/pair/start`,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(answer.status).toBe(404);
    await expect(openPin()).rejects.toThrow("api.allow_v1_clients");
    await device.config(settings(true));
    await restart();
    const other = await visit(device.network.onNeighbour, {
      url: device.url,
      send: ['{"v":3,"t":"a","e":""}', "x"],
    });
    expect(JSON.parse(other.messages?.[0] ?? "")).toMatchObject({ error: { data: { supported: [1, 2] } } });
  },
);
