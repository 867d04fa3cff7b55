/** The secure layer against the service: a Python client with a public Noise library, from a neighbour's namespace. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "../../src/client/client.ts";
import { startHandshake } from "../../src/secure/handshake.ts";
import { canMakeNetworks, makeNetwork, type Network, visit } from "../helpers/namespaces.ts";
import { noisePython, noisePythonSetUpMs, startPythonClient } from "../helpers/noise-python.ts";
import { makePlace, type Place, program } from "../helpers/tapdeck.ts";

// Without the right to make namespaces there is no remote caller: an address of this machine is this device.
const remoteTest = test.skipIf(!canMakeNetworks);

let network: Network;
let place: Place;
let child: Bun.Subprocess;
let log = "";
const port = 7497;

beforeAll(async () => {
  if (!canMakeNetworks) return;
  await noisePython();
  network = await makeNetwork();
  place = await makePlace();
  await Bun.write(`${place.folder}/config.toml`, "[readers]\ndetect = false\n[log]\ndebug = true\n");
  child = Bun.spawn([...network.onDevice([program, `--data=${place.folder}`])], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr as ReadableStream<Uint8Array>) log += decoder.decode(chunk);
  })();
  for (let tries = 0; tries < 100; tries++) {
    const url = `http://127.0.0.1:${port}/ping`;
    const answer = await visit(network.onDevice, { url }).catch(() => undefined);
    if (answer?.body === "pong") return;
  }
  throw new Error(`the service did not start in its namespace: ${log}`);
}, noisePythonSetUpMs);
afterAll(async () => {
  if (!canMakeNetworks) return;
  child.kill("SIGTERM");
  await child.exited;
  await network[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

/** The device's own door, which namespaces do not shut: a socket in the file system. */
const local = () => connect(`ws+unix://${place.folder}/tapdeck.sock:/api/v0.1`);
const request = (method: string, params?: unknown, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

async function newClient() {
  const client = await local();
  const made = await client.call("clients.new", { name: "phone" });
  client.close();
  return made;
}

const fromAfar = (credentials: { id: string; secret: string }) =>
  startPythonClient(credentials, [`ws://${network.deviceAddress}:${port}/api/v0.1`], {}, network.onNeighbour);

remoteTest(
  "a client that knows its secret calls methods, hears notifications, and may not do what is for the device",
  async () => {
    const made = await newClient();
    await using phone = await fromAfar(made);
    expect(await phone.next()).toEqual({ ready: true });
    phone.send(request("version"));
    expect(JSON.parse(await phone.payload())).toMatchObject({ id: 1, result: { platform: "linux" } });
    phone.send(request("launch", "**delay:1", 2));
    const three = [await phone.payload(), await phone.payload(), await phone.payload()].map((text) =>
      JSON.parse(text),
    );
    expect(three.map(({ id, method }) => id ?? method)).toEqual([2, "running", "launch.finished"]);
    for (const method of ["clients", "clients.new", "clients.delete"]) {
      phone.send(request(method, { id: made.id }, method));
      expect(JSON.parse(await phone.payload())).toMatchObject({ id: method, error: { code: 2 } });
    }
    // A long answer comes in several messages.
    phone.send(request("rpc.discover", undefined, 3));
    expect(JSON.parse(await phone.payload())).toMatchObject({ id: 3, result: { openrpc: "1.3.2" } });
    const client = await local();
    const { clients } = await client.call("clients");
    expect(clients.find(({ id }) => id === made.id)?.address).toBe(network.neighbourAddress);
    client.close();
  },
);

remoteTest("a client that is deleted is cut off at once, and does not come in again", async () => {
  const made = await newClient();
  await using phone = await fromAfar(made);
  await phone.next();
  phone.send(request("version"));
  await phone.payload();
  const client = await local();
  const deletedMs = performance.now();
  await client.call("clients.delete", { id: made.id });
  expect(await phone.next()).toEqual({ closed: true });
  expect(performance.now() - deletedMs).toBeLessThan(1000);
  client.close();
  await using again = await fromAfar(made);
  expect(await again.next()).toMatchObject({ refused: { code: -32003 } });
});

remoteTest(
  "an unknown client, a wrong secret, and another version are refused, the first two in the same words",
  async () => {
    const made = await newClient();
    const url = `ws://${network.deviceAddress}:${port}/api/v0.1`;
    const helloOf = async (id: string, secret: string) => (await startHandshake(id, secret)).hello;
    const wrongSecret = await helloOf(made.id, "00".repeat(32));
    const unknown = await helloOf("nobody", made.secret);
    const outcomes = [];
    for (const hello of [wrongSecret, unknown])
      outcomes.push(await visit(network.onNeighbour, { url, send: [hello, "x"] }));
    expect(outcomes[0]).toEqual(outcomes[1] ?? {});
    expect(JSON.parse(outcomes[0]?.messages?.[0] ?? "")).toMatchObject({ error: { code: -32003 } });
    expect(outcomes[0]?.closed).toBe(1008);
    const other = await visit(network.onNeighbour, { url, send: ['{"v":3,"t":"a","e":""}', "x"] });
    expect(JSON.parse(other.messages?.[0] ?? "")).toMatchObject({
      error: { code: -32001, data: { supported: [2] } },
    });
  },
);

remoteTest("a hello that somebody recorded opens nothing, hears nothing, and is cut off", async () => {
  const made = await newClient();
  const { hello } = await startHandshake(made.id, made.secret);
  const url = `ws://${network.deviceAddress}:${port}/api/v0.1`;
  // The reply comes, and what the eavesdropper makes up for a frame does not open.
  const outcome = await visit(network.onNeighbour, { url, send: [hello] });
  expect(Object.keys(JSON.parse(outcome.messages?.[0] ?? "{}"))).toEqual(["v", "e"]);
  const forged = await visit(network.onNeighbour, {
    url,
    send: [hello, `{"e":"${btoa("x".repeat(40))}"}`],
  });
  expect(forged.messages?.at(-1)).toContain("secure-failure");
});

remoteTest(
  "the heartbeat is answered before, during and behind the handshake, and no secret is in the log",
  async () => {
    const made = await newClient();
    const url = `ws://${network.deviceAddress}:${port}/api/v0.1`;
    const { hello } = await startHandshake(made.id, made.secret);
    const outcome = await visit(network.onNeighbour, { url, send: ["ping", hello, "ping"] });
    expect(outcome.messages?.filter((text) => text === "pong")).toHaveLength(2);
    expect(log).not.toContain(made.secret);
  },
);
