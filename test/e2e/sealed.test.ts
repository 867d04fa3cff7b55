/** The secure layer against the service: a Python client with a public Noise library, from a neighbour's namespace. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { startHandshake } from "../../src/secure/handshake.ts";
import { deviceForAll } from "../helpers/device.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import { noisePython, noisePythonSetUpMs, startPythonClient } from "../helpers/noise-python.ts";
import { eventually } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

// Without the right to make namespaces there is no remote caller: each address of this machine is the device.
const remoteTest = test.skipIf(!canMakeNetworks);
const device = deviceForAll(`${noReaders}[log]\ndebug = true\n`, noisePython, noisePythonSetUpMs);

const request = (method: string, params?: unknown, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

const newClient = () => device.service.client.call("clients.new", {});
const fromAfar = (credentials: { id: string; secret: string }) =>
  startPythonClient(credentials, [device.url], {}, device.network.onNeighbour);

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
    const { clients } = await device.service.client.call("clients");
    expect(clients.find(({ id }) => id === made.id)?.address).toBe(device.network.neighbourAddress);
  },
);

remoteTest("a client of ours that only listens hears what happens", async () => {
  const { id, secret } = await newClient();
  const how = JSON.stringify({ id, secret, heartbeatMs: 0 });
  const script = `
    import { connect } from ${JSON.stringify(join(import.meta.dir, "../../src/client/client.ts"))};
    const client = await connect(${JSON.stringify(device.url)}, ${how});
    for await (const { method } of client.notifications()) {
      console.log(method);
      process.exit();
    }`;
  const child = Bun.spawn([...device.network.onNeighbour([process.execPath, "-e", script])], {
    stdout: "pipe",
  });
  // The child does not report when it listens, so cards are tapped until it has received one.
  await eventually(async () => {
    await device.service.client.call("tokens.scan", { uid: "04aabbccdd", text: "**delay:1", duration: 1 });
    expect(child.exitCode).not.toBeNull();
  });
  expect(await new Response(child.stdout).text()).toMatch(
    /^(tokens\.added|tokens\.removed|running|launch\.finished)\n$/,
  );
});

remoteTest("a client that is deleted is cut off at once, and does not come in again", async () => {
  const made = await newClient();
  await using phone = await fromAfar(made);
  await phone.next();
  phone.send(request("version"));
  await phone.payload();
  await device.service.client.call("clients.delete", { id: made.id });
  expect(await phone.next()).toEqual({ closed: true });
  await using again = await fromAfar(made);
  expect(await again.next()).toMatchObject({ refused: { code: -32003 } });
});

remoteTest(
  "an unknown client, a wrong secret, and another version are refused, the first two in the same words",
  async () => {
    const made = await newClient();
    const { url } = device;
    const helloOf = async (id: string, secret: string) => (await startHandshake(id, secret)).hello;
    const wrongSecret = await helloOf(made.id, "00".repeat(32));
    const unknown = await helloOf("nobody", made.secret);
    const outcomes = [];
    for (const hello of [wrongSecret, unknown])
      outcomes.push(await visit(device.network.onNeighbour, { url, send: [hello, "x"] }));
    expect(outcomes[0]).toEqual(outcomes[1] ?? {});
    expect(JSON.parse(outcomes[0]?.messages?.[0] ?? "")).toMatchObject({ error: { code: -32003 } });
    expect(outcomes[0]?.closed).toBe(1008);
    const other = await visit(device.network.onNeighbour, { url, send: ['{"v":3,"t":"a","e":""}', "x"] });
    expect(JSON.parse(other.messages?.[0] ?? "")).toMatchObject({
      error: { code: -32001, data: { supported: [2] } },
    });
  },
);

remoteTest("a hello that somebody recorded opens nothing, hears nothing, and is cut off", async () => {
  const made = await newClient();
  const { hello } = await startHandshake(made.id, made.secret);
  const { url } = device;
  // The reply arrives, but a frame that the eavesdropper invents cannot be decrypted.
  const outcome = await visit(device.network.onNeighbour, { url, send: [hello] });
  expect(Object.keys(JSON.parse(outcome.messages?.[0] ?? "{}"))).toEqual(["v", "e"]);
  const forged = await visit(device.network.onNeighbour, {
    url,
    send: [hello, `{"e":"${btoa("x".repeat(40))}"}`],
  });
  expect(forged.messages?.at(-1)).toContain("secure-failure");
});

remoteTest(
  "the heartbeat is answered before, during and behind the handshake, and no secret is in the log",
  async () => {
    const made = await newClient();
    const { url } = device;
    const { hello } = await startHandshake(made.id, made.secret);
    const outcome = await visit(device.network.onNeighbour, { url, send: ["ping", hello, "ping"] });
    expect(outcome.messages?.filter((text) => text === "pong")).toHaveLength(2);
    expect(device.log()).not.toContain(made.secret);
  },
);
