/**
 * The access rules, in every combination: each caller asks for each thing, with each Host and each Origin, and gets the
 * answer of these tables. A caller comes over a real connection; a remote caller is in a network namespace of its own.
 */
import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { deviceForAll, port, tlsPort } from "../helpers/device.ts";
import type { OneVisit } from "../helpers/many-visits.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { printed } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const name = hostname().toLowerCase();

/** 1: the kind of a caller, by the source of its connection. */
const callers = [
  // caller                       comes from    to                          is
  ["loopback, IPv4", /*        */ "device", "127.0.0.1", /*              */ "device"],
  ["loopback, another IPv4", /**/ "device", "127.3.2.1", /*              */ "device"],
  ["loopback, IPv6", /*        */ "device", "::1", /*                    */ "device"],
  ["loopback, mapped", /*      */ "device", "::ffff:127.0.0.1", /*       */ "device"],
  ["own address, IPv4", /*     */ "device", "10.77.0.1", /*              */ "device"],
  ["own address, IPv6", /*     */ "device", "fd77::1", /*                */ "device"],
  ["own address, mapped", /*   */ "device", "::ffff:10.77.0.1", /*       */ "device"],
  ["loopback over TLS", /*     */ "device", "tls 127.0.0.1", /*          */ "device"],
  ["the socket's file", /*     */ "device", "path", /*                   */ "device"],
  ["neighbour, IPv4", /*       */ "neighbour", "10.77.0.1", /*           */ "remote"],
  ["neighbour, IPv6", /*       */ "neighbour", "fd77::1", /*             */ "remote"],
  ["neighbour over TLS", /*    */ "neighbour", "tls 10.77.0.1", /*       */ "tls"],
  ["neighbour over TLS, IPv6", /**/ "neighbour", "tls fd77::1", /*       */ "tls"],
  ["neighbour, sealed", /*     */ "neighbour", "sealed 10.77.0.1", /*    */ "sealed"],
] as const;

/** 2: the answer to that caller for each thing, if Host and Origin pass. A dash means that no such request exists. */
const things = [
  // thing                          device         sealed         tls            remote
  ["ping over a WebSocket", /*   */ "pong", /*  */ "pong", /*  */ "pong", /*  */ "pong"],
  ["ordinary method", /*         */ "result", /**/ "result", /**/ "result", /**/ "error -32002"],
  ["device's method", /*         */ "result", /**/ "error 2", /**/ "error 2", /**/ "error -32002"],
  ["handshake", /*               */ "error -32600", "reply", /* */ "reply", /* */ "reply"],
  ["POST of an ordinary method", "200", /*      */ "-", /*     */ "200", /*   */ "403"],
  ["POST of a form", /*          */ "415", /*   */ "-", /*     */ "415", /*   */ "403"],
  ["event stream", /*            */ "200", /*   */ "-", /*     */ "200", /*   */ "403"],
  ["the device's page", /*       */ "200", /*   */ "-", /*     */ "200", /*   */ "200"],
  ["GET /ping", /*               */ "200", /*   */ "-", /*     */ "200", /*   */ "200"],
  ["GET /health", /*             */ "200", /*   */ "-", /*     */ "200", /*   */ "200"],
  ["launch: a link followed", /* */ "200", /*   */ "-", /*     */ "403", /*   */ "403"],
  ["launch: a foreign link", /*  */ "200", /*   */ "-", /*     */ "403", /*   */ "403"],
  ["events: a foreign image", /* */ "403", /*   */ "-", /*     */ "403", /*   */ "403"],
  ["events: a neighbour's image", "403", /*     */ "-", /*     */ "403", /*   */ "403"],
  ["events: in a foreign frame", "403", /*      */ "-", /*     */ "403", /*   */ "403"],
  ["events: a foreign prefetch", "403", /*      */ "-", /*     */ "403", /*   */ "403"],
  ["events: a foreign link", /*  */ "403", /*   */ "-", /*     */ "403", /*   */ "403"],
  ["events: the own page", /*    */ "200", /*   */ "-", /*     */ "200", /*   */ "403"],
  ["the page: a foreign image", /**/ "403", /*  */ "-", /*     */ "403", /*   */ "403"],
  ["the page: a foreign link", /**/ "200", /*   */ "-", /*     */ "200", /*   */ "200"],
  ["GET /ping: a foreign image", "403", /*      */ "-", /*     */ "403", /*   */ "403"],
  ["launch: a foreign image", /* */ "403", /*   */ "-", /*     */ "403", /*   */ "403"],
  ["launch: a prefetch", /*      */ "403", /*   */ "-", /*     */ "403", /*   */ "403"],
  ["launch that is allowed", /*  */ "200", /*   */ "-", /*     */ "200", /*   */ "200"],
  ["bytes of an upload", /*      */ "404", /*   */ "-", /*     */ "403", /*   */ "403"],
  ["bytes with a wrong seal", /* */ "404", /*   */ "-", /*     */ "404", /*   */ "403"],
  ["pairing by PIN", /*          */ "404", /*   */ "-", /*     */ "404", /*   */ "404"],
] as const;

/** 3: the Host, which is the device's name in the request; every refusal is a 403. */
const hosts = [
  ["127.0.0.1:7497", "passes"],
  ["10.77.0.1", "passes"],
  ["[fd77::1]:7497", "passes"],
  ["localhost:7497", "passes"],
  [name, "passes"],
  [`${name}.local:7497`, "passes"],
  ["cards.home:80", "passes"],
  ["evil.example", "refused"],
  ["127.0.0.1.evil.example:7497", "refused"],
] as const;

/** 4: the Origin, which is the page that sends the request. `self` is a page of the Host itself. */
const origins = [
  // origin                       a caller on the device   any other
  ["none", /*                  */ "passes", /*          */ "passes"],
  ["self", /*                  */ "passes", /*          */ "passes"],
  ["https://cards.example", /* */ "passes", /*          */ "passes"],
  ["http://localhost:3000", /* */ "passes", /*          */ "refused"],
  ["http://evil.example", /*   */ "refused", /*         */ "refused"],
  ["null", /*                  */ "refused", /*         */ "refused"],
] as const;

type Caller = (typeof callers)[number];
type Thing = (typeof things)[number];
type Is = Caller[3];

function expected(
  is: Is,
  [, ...answers]: Thing,
  host: (typeof hosts)[number],
  origin: (typeof origins)[number],
) {
  if (host[1] === "refused" || origin[is === "device" ? 1 : 2] === "refused") return "403";
  return answers[["device", "sealed", "tls", "remote"].indexOf(is)] ?? "-";
}

const call = (method: string) => JSON.stringify({ jsonrpc: "2.0", id: 1, method });
const json = { "content-type": "application/json" };
const fetchMetadata = (site: string, mode: string, dest: string) => ({
  "sec-fetch-site": site,
  "sec-fetch-mode": mode,
  "sec-fetch-dest": dest,
});
const launch = (headers: Readonly<Record<string, string>>, text = "SNES/none.sfc") => ({
  method: "GET",
  path: `/l/${text}`,
  headers,
});
const get = (path: string, headers: Readonly<Record<string, string>>) => ({ method: "GET", path, headers });
const events = (headers: Readonly<Record<string, string>>) => get("/api/events", headers);
const ws = (send: string) => ({ method: "ws", path: "/api/v0.1", headers: {}, send });
type Asking = Pick<OneVisit, "method" | "path" | "headers" | "body" | "send">;

const asking: Readonly<Record<Thing[0], Asking>> = {
  "ping over a WebSocket": ws("ping"),
  "ordinary method": ws(call("version")),
  "device's method": ws(call("clients")),
  // Each cell makes its own handshake. A caller that makes no handshake sends this empty text as a request, which is
  // malformed.
  handshake: ws(""),
  "POST of an ordinary method": { method: "POST", path: "/api/v0.1", headers: json, body: call("version") },
  "POST of a form": {
    method: "POST",
    path: "/api/v0.1",
    headers: { "content-type": "text/plain" },
    body: call("version"),
  },
  "event stream": { method: "GET", path: "/api/v0.1/events", headers: {} },
  "the device's page": { method: "GET", path: "/", headers: {} },
  "GET /ping": { method: "GET", path: "/ping", headers: {} },
  "GET /health": { method: "GET", path: "/health", headers: {} },
  "launch: a link followed": launch(fetchMetadata("none", "navigate", "document")),
  "launch: a foreign link": launch(fetchMetadata("cross-site", "navigate", "document")),
  "events: a foreign image": events(fetchMetadata("cross-site", "no-cors", "image")),
  "events: a neighbour's image": events(fetchMetadata("same-site", "no-cors", "image")),
  "events: in a foreign frame": events(fetchMetadata("cross-site", "navigate", "iframe")),
  "events: a foreign prefetch": events({
    ...fetchMetadata("cross-site", "navigate", "document"),
    "sec-purpose": "prefetch",
  }),
  "events: a foreign link": events(fetchMetadata("cross-site", "navigate", "document")),
  "events: the own page": events(fetchMetadata("same-origin", "cors", "empty")),
  "the page: a foreign image": get("/", fetchMetadata("cross-site", "no-cors", "image")),
  "the page: a foreign link": get("/", fetchMetadata("cross-site", "navigate", "document")),
  "GET /ping: a foreign image": get("/ping", fetchMetadata("cross-site", "no-cors", "image")),
  "launch: a foreign image": launch(fetchMetadata("cross-site", "no-cors", "image")),
  "launch: a prefetch": launch({ "sec-purpose": "prefetch" }),
  "launch that is allowed": launch({}, "**delay:1"),
  "bytes of an upload": {
    method: "PUT",
    path: `/uploads/${"0".repeat(32)}?offset=0`,
    headers: {},
    body: "x",
  },
  "bytes with a wrong seal": {
    method: "PUT",
    path: `/uploads/${"0".repeat(32)}?offset=0&sealed=1`,
    headers: {},
    body: "x",
  },
  "pairing by PIN": { method: "POST", path: "/api/pair/start", headers: json, body: "{}" },
};

let client: { id: string; secret: string };
let sources: ReturnType<typeof device.network.addNeighbourAddresses>;
const device = deviceForAll(
  // The user of a caller on the device matters only if the service runs as root. This rule has tests of its own.
  `[api]
allow_anonymous_local = true
allowed_hosts = ["cards.home"]
allowed_origins = ["https://cards.example"]
allow_launch = ["\\\\*\\\\*delay:1"]
${noReaders}`,
  async ({ network, service }) => {
    // The test uses many addresses, because each may ask only 100 times a minute.
    sources = network.addNeighbourAddresses(150);
    // The kernel would keep ten thousand ended connections in its table, which the service reads for each new caller on the device.
    await printed(network.onDevice(["sysctl", "-w", "net.ipv4.tcp_max_tw_buckets=1"]));
    client = await service.client.call("clients.new", { name: "phone" });
  },
);

function visitOf([, from, to, is]: Caller, thing: Thing, host: string, origin: string): OneVisit {
  const address = to.split(" ").at(-1) ?? "";
  const isTls = to.startsWith("tls ");
  const asked = asking[thing[0]];
  const page = origin === "self" ? { origin: `http://${host}` } : { origin };
  const isHandshake = thing[0] === "handshake" || is === "sealed";
  return {
    ...asked,
    ...(to === "path"
      ? { to: `${device.place.folder}/tapdeck.sock` }
      : { to: address, port: isTls ? tlsPort : port }),
    isTls,
    ...(from === "neighbour" ? { from: sources[address.includes(":") ? 6 : 4] } : {}),
    headers: { host, ...asked.headers, ...(origin === "none" ? {} : page) },
    ...(isHandshake ? { client } : {}),
  };
}

async function visitAll(caller: Caller, visits: readonly OneVisit[]): Promise<readonly string[]> {
  const file = join(device.place.folder, "visits.json");
  await writeFile(file, JSON.stringify(visits));
  const script = join(import.meta.dir, "../helpers/many-visits.ts");
  const via = caller[1] === "device" ? device.network.onDevice : device.network.onNeighbour;
  return JSON.parse(await printed(via([process.execPath, script, file])));
}

for (const caller of callers) {
  const is = caller[3];
  remoteTest(
    `${caller[0]}: every thing, by every name, of every page`,
    async () => {
      const cells = things.flatMap((thing) =>
        hosts.flatMap((host) => origins.map((origin) => ({ thing, host, origin }))),
      );
      const asked = cells.filter(({ thing }) => is !== "sealed" || thing[2] !== "-");
      const outcomes = await visitAll(
        caller,
        asked.map(({ thing, host, origin }) => visitOf(caller, thing, host[0], origin[0])),
      );
      const wrong = asked.flatMap(({ thing, host, origin }, index) => {
        const [want, got] = [expected(is, thing, host, origin), outcomes[index]];
        return want === got ? [] : [`${thing[0]} | ${host[0]} | ${origin[0]}: ${want}, but was ${got}`];
      });
      expect(wrong).toEqual([]);
      expect(outcomes.length).toBe(asked.length);
      expect(asked.length).toBeGreaterThanOrEqual(is === "sealed" ? 4 * 9 * 6 : 25 * 9 * 6);
    },
    120_000,
  );
}
