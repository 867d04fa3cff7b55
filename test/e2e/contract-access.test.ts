/** The contract's section "Authentication", sentence by sentence, with a neighbour on a network of its own. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  canMakeNetworks,
  makeNetwork,
  type Network,
  type Outcome,
  type Visit,
  visit,
} from "../helpers/namespaces.ts";
import { makePlace, type Place, program } from "../helpers/tapdeck.ts";

// Without the right to make namespaces there is no remote caller: an address of this machine is this device.
const remoteTest = test.skipIf(!canMakeNetworks);

let network: Network;
let place: Place;
let child: Bun.Subprocess;
const port = 7497;

beforeAll(async () => {
  if (!canMakeNetworks) return;
  network = await makeNetwork();
  place = await makePlace();
  await Bun.write(
    `${place.folder}/config.toml`,
    `[api]\nallow_launch = ["\\\\*\\\\*delay:\\\\d+"]\n[readers]\ndetect = false\n`,
  );
  child = Bun.spawn([...network.onDevice([program, `--data=${place.folder}`])], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  for (let tries = 0; tries < 100; tries++) {
    const answer = await device({ url: `http://127.0.0.1:${port}/ping` }).catch(() => undefined);
    if (answer?.body === "pong") return;
  }
  throw new Error("the service did not start in its namespace");
});
afterAll(async () => {
  if (!canMakeNetworks) return;
  child.kill("SIGTERM");
  await child.exited;
  await network[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

const device = (what: Visit) => visit(network.onDevice, what);
const neighbour = (what: Visit) => visit(network.onNeighbour, what);
const request = (method: string, params?: unknown) =>
  JSON.stringify({ jsonrpc: "2.0", id: "1", method, params });
const refusal = (outcome: Outcome) => JSON.parse(outcome.messages?.[0] ?? "{}");

remoteTest(
  "1: opening a WebSocket connection requires no authentication, and the heartbeat answers on it",
  async () => {
    for (const host of [network.deviceAddress, `[${network.deviceAddress6}]`]) {
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
        url: `ws://${network.deviceAddress}:${port}${path}`,
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
        url: `ws://${network.deviceAddress}:${port}${path}`,
        send: [request("version"), "never answered"],
      });
      expect(end.closed).toBe(1008);
    }
  },
);

remoteTest("2: so are a POST and the event stream of a remote caller", async () => {
  const base = `http://${network.deviceAddress}:${port}/api/v0.1`;
  const headers = { "content-type": "application/json" };
  const post = await neighbour({ url: base, method: "POST", headers, body: request("version") });
  expect([post.status, JSON.parse(post.body ?? "").error.code]).toEqual([403, -32002]);
  expect((await neighbour({ url: `${base}/events` })).status).toBe(403);
});

remoteTest(
  "3, 4: cleartext from a loopback address, and from the device's own addresses, is allowed",
  async () => {
    const hosts = ["127.0.0.1", "[::1]", network.deviceAddress, `[${network.deviceAddress6}]`];
    for (const host of hosts) {
      const outcome = await device({ url: `ws://${host}:${port}/api/v0.1`, send: [request("version")] });
      expect([host, refusal(outcome).result?.platform]).toEqual([host, "linux"]);
    }
  },
);

remoteTest("7: a protocol error has no id and tells nothing that is secret", async () => {
  const outcome = await neighbour({
    url: `ws://${network.deviceAddress}:${port}/api/v0.1`,
    send: [request("clients")],
  });
  expect(Object.keys(refusal(outcome))).toEqual(["jsonrpc", "error"]);
});

remoteTest(
  "9: remote use of the HTTP launch endpoint requires allow_launch, whose patterns match the whole text",
  async () => {
    const base = `http://${network.deviceAddress}:${port}/l/`;
    const allowed = await neighbour({ url: `${base}**delay:1` });
    expect([allowed.status, allowed.body]).toEqual([200, '{"launched":true}']);
    expect((await neighbour({ url: `${base}**delay:1||**stop` })).status).toBe(403);
    expect((await neighbour({ url: `${base}SNES/Game.sfc` })).status).toBe(403);
    expect((await device({ url: `http://127.0.0.1:${port}/l/SNES/Game.sfc` })).status).toBe(200);
  },
);

remoteTest(
  "a remote address has 100 requests a minute in bursts of 20, and then gets 429; the device itself does not",
  async () => {
    const script = `const s = []; for (let n = 0; n < 40; n++) s.push((await fetch(process.argv[1])).status); console.log(s.join(" "))`;
    const statuses = async (via: Network["onDevice"], host: string) => {
      const command = via([process.execPath, "-e", script, `http://${host}:${port}/ping`]);
      const asked = Bun.spawn([...command], { stdio: ["ignore", "pipe", "inherit"] });
      return (await new Response(asked.stdout).text()).trim().split(" ");
    };
    const far = await statuses(network.onNeighbour, network.deviceAddress);
    expect(far.filter((status) => status === "429").length).toBeGreaterThan(15);
    const near = await statuses(network.onDevice, "127.0.0.1");
    expect(new Set(near)).toEqual(new Set(["200"]));
  },
);
