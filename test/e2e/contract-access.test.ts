/** The published rules of authentication, sentence by sentence, with a neighbour on a network of its own. */
import { expect, test } from "bun:test";
import { deviceForAll, port } from "../helpers/device.ts";
import { canMakeNetworks, type Network, type Outcome, type Visit, visit } from "../helpers/namespaces.ts";
import { printed } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

// Without the right to make namespaces there is no remote caller: each address of this machine is the device.
const remoteTest = test.skipIf(!canMakeNetworks);
const device = deviceForAll(`[api]\nallow_launch = ["\\\\*\\\\*delay:\\\\d+"]\n${noReaders}`);

const itself = (what: Visit) => visit(device.network.onDevice, what);
const neighbour = (what: Visit) => visit(device.network.onNeighbour, what);
const request = (method: string, params?: unknown) =>
  JSON.stringify({ jsonrpc: "2.0", id: "1", method, params });
const refusal = (outcome: Outcome) => JSON.parse(outcome.messages?.[0] ?? "{}");

remoteTest(
  "1: opening a WebSocket connection requires no authentication, and the heartbeat answers on it",
  async () => {
    const { deviceAddress, deviceAddress6 } = device.network;
    for (const host of [deviceAddress, `[${deviceAddress6}]`]) {
      const outcome = await neighbour({ url: `ws://${host}:${port}/api/v0.1`, send: ["ping"] });
      expect(outcome).toEqual({ messages: ["pong"] });
    }
  },
);

remoteTest(
  "2: a remote cleartext payload that is not encrypted is rejected, as a protocol error, and the connection is closed",
  async () => {
    for (const path of ["/api/v0.1", "/api/v0", "/api/", "/api"]) {
      const outcome = await neighbour({
        url: new URL(path, device.url).href,
        send: [request("version")],
      });
      const answer = refusal(outcome);
      expect(answer).toEqual({
        jsonrpc: "2.0",
        error: {
          code: -32002,
          message: "encryption is required for remote connections: shake hands first",
          data: { reason: "encryption-required" },
        },
      });
      expect("id" in answer).toBe(false);
      const end = await neighbour({
        url: new URL(path, device.url).href,
        send: [request("version"), "never answered"],
      });
      expect(end.closed).toBe(1008);
    }
  },
);

remoteTest("2: so are a POST and the event stream of a remote caller", async () => {
  const base = device.url.replace("ws:", "http:");
  const headers = { "content-type": "application/json" };
  const post = await neighbour({ url: base, method: "POST", headers, body: request("version") });
  expect([post.status, JSON.parse(post.body ?? "").error.code]).toEqual([403, -32002]);
  expect((await neighbour({ url: `${base}/events` })).status).toBe(403);
});

remoteTest(
  "3, 4: cleartext from a loopback address, and from the device's own addresses, is allowed",
  async () => {
    const { deviceAddress, deviceAddress6 } = device.network;
    const hosts = ["127.0.0.1", "[::1]", deviceAddress, `[${deviceAddress6}]`];
    for (const host of hosts) {
      const outcome = await itself({ url: `ws://${host}:${port}/api/v0.1`, send: [request("version")] });
      expect([host, refusal(outcome).result?.platform]).toEqual([host, "linux"]);
    }
  },
);

remoteTest("7: a protocol error has no id and tells nothing that is secret", async () => {
  const outcome = await neighbour({
    url: device.url,
    send: [request("clients")],
  });
  expect(Object.keys(refusal(outcome))).toEqual(["jsonrpc", "error"]);
});

remoteTest(
  "9: remote use of the HTTP launch endpoint requires allow_launch, whose patterns match the whole text",
  async () => {
    const base = `http://${device.network.deviceAddress}:${port}/l/`;
    const allowed = await neighbour({ url: `${base}**delay:1` });
    expect([allowed.status, allowed.body]).toEqual([200, '{"launched":true}']);
    expect((await neighbour({ url: `${base}**delay:1||**stop` })).status).toBe(403);
    expect((await neighbour({ url: `${base}SNES/Game.sfc` })).status).toBe(403);
    expect((await itself({ url: `http://127.0.0.1:${port}/l/SNES/Game.sfc` })).status).toBe(200);
  },
);

remoteTest(
  "a remote address has 100 requests a minute in bursts of 20, and then gets 429; the device itself does not",
  async () => {
    const script = `const s = []; for (let n = 0; n < 40; n++) s.push((await fetch(process.argv[1])).status); console.log(s.join(" "))`;
    const statuses = async (via: Network["onDevice"], host: string) => {
      const url = `http://${host}:${port}/ping`;
      return (await printed(via([process.execPath, "-e", script, url]))).split(" ");
    };
    const { network } = device;
    const far = await statuses(network.onNeighbour, network.deviceAddress);
    expect(far.filter((status) => status === "429").length).toBeGreaterThan(15);
    const near = await statuses(network.onDevice, "127.0.0.1");
    expect(new Set(near)).toEqual(new Set(["200"]));
  },
);
