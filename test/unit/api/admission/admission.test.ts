/** The identification of callers, and the grant of an admitted caller, while the settings change and while they do not. */
import { expect, test } from "bun:test";
import type { Server } from "bun";
import type { AccessRules } from "../../../../src/api/admission/access.ts";
import { type AdmissionOptions, createAdmission } from "../../../../src/api/admission/admission.ts";
import { createFailedAttempts } from "../../../../src/api/admission/rate-limits.ts";
import type { Visit } from "../../../../src/api/http.ts";
import {
  handshakeBlockMsMin,
  handshakeFailuresMax,
  requestBurstMax,
  requestsPerSecondMax,
} from "../../../../src/core/limits.ts";
import { createLog, silentLog } from "../../../../src/core/log.ts";
import type { Grant } from "../../../../src/core/rights.ts";
import { silentAudit } from "../../../helpers/defaults.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

/** A visitor of the socket's file, and the number of times that the rules were applied to it. */
function visitor(): {
  visit: Visit;
  judged: () => number;
  change: (allowedHosts: readonly string[]) => void;
} {
  let judged = 0;
  const rulesOf = (allowedHosts: readonly string[]): AccessRules => ({
    get allowedHosts() {
      judged += 1;
      return allowedHosts;
    },
    allowedOrigins: [],
    allowAnonymousLocal: false,
    anonymous: "play",
    allowV1Clients: false,
  });
  let rules = rulesOf(["cards.home"]);
  const clock = createManualClock();
  const visits: Visit[] = [];
  const { byPath } = createAdmission<unknown>({
    clock,
    log: silentLog,
    rules: () => rules,
    ownAddresses: () => [],
    audit: silentAudit,
    uid: 1000,
    callerAt: async () => ({ uid: 1000, isPlayer: false }),
    endPlayers: () => undefined,
    bearer: () => undefined,
    failures: createFailedAttempts(clock),
    answer(visit) {
      visits.push(visit);
      return undefined;
    },
  });
  using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  byPath(new Request("http://cards.home/", { headers: { host: "cards.home" } }), server);
  const visit = visits[0];
  if (visit === undefined) throw new Error("the visitor was turned away");
  return {
    visit,
    judged: () => judged,
    change(allowedHosts) {
      rules = rulesOf(allowedHosts);
    },
  };
}

// Each request of a connection looks up its grant: 2.4 us of processor time each, if the rules are applied again.
test("a caller is judged once, and not at each request, while the settings stay", () => {
  const { visit, judged } = visitor();
  const before = judged();
  expect(before).toBeGreaterThan(0);
  for (let request = 0; request < 100; request++) expect(visit.grant()).toBe("own");
  expect(judged()).toBe(before);
});

test("a caller has no right any more once the settings would not let it in", () => {
  const { visit, judged, change } = visitor();
  const before = judged();
  change([]);
  expect(visit.grant()).toBe("none");
  expect(judged()).toBeGreaterThan(before);
  change(["cards.home"]);
  expect(visit.grant()).toBe("own");
});

interface SceneOptions
  extends Partial<Pick<AdmissionOptions<unknown>, "uid" | "callerAt" | "endPlayers" | "bearer">> {
  readonly rules?: Partial<AccessRules>;
  readonly own?: () => readonly string[];
}

const service = "192.168.1.20";
const far = "10.0.0.9";

/** An admission, and callers of any address, because the test says which address a request has. */
function makeScene({ rules: given = {}, own = () => [service], ...options }: SceneOptions = {}) {
  const clock = createManualClock();
  const first: AccessRules = {
    allowedHosts: [],
    allowedOrigins: [],
    allowAnonymousLocal: false,
    anonymous: "play",
    allowV1Clients: false,
  };
  let rules: AccessRules = { ...first, ...given };
  let listed = 0;
  const [visits, refusals, said]: [Visit[], string[], string[]] = [[], [], []];
  const admission = createAdmission<unknown>({
    clock,
    log: createLog({ debug: false, write: (line) => said.push(line) }),
    rules: () => rules,
    ownAddresses() {
      listed += 1;
      return own();
    },
    audit: { ...silentAudit, refused: (why, from) => void refusals.push(`${why} ${from.address}`) },
    uid: 1000,
    callerAt: async () => ({ uid: 1000, isPlayer: false }),
    endPlayers: () => undefined,
    bearer: () => undefined,
    failures: createFailedAttempts(clock),
    answer(visit) {
      visits.push(visit);
      return new Response("admitted");
    },
    ...options,
  });
  using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const seenFrom = (address: string): Server<unknown> =>
    new Proxy(server, {
      get(target, name) {
        if (name === "requestIP") return () => ({ address, family: "IPv4", port: 50_001 });
        return name === "port" ? 7497 : Reflect.get(target, name);
      },
    });
  const send = async (
    way: "byTcp" | "byTls" | "byPath",
    address: string,
    headers: Readonly<Record<string, string>> = {},
    signal: AbortSignal | null = null,
  ) => {
    const init = { headers: { host: `${service}:7497`, ...headers }, signal };
    const answer = await admission[way](new Request(`http://${service}:7497/api`, init), seenFrom(address));
    if (answer === undefined) throw new Error("each request is answered here");
    return answer;
  };
  return {
    clock,
    visits,
    refusals,
    said,
    send,
    turnedAway: admission.turnedAway,
    listed: () => listed,
    /** The visit of a caller that must be admitted. */
    async visit(...from: Parameters<typeof send>): Promise<Visit> {
      expect((await send(...from)).status).toBe(200);
      const visit = visits.pop();
      if (visit === undefined) throw new Error("the caller was not admitted");
      return visit;
    },
    change(more: Partial<AccessRules>) {
      rules = { ...rules, ...more };
    },
  };
}

const factsOf = ({ address, path, access, isTls, isPrivate, isV1App, client, grant }: Visit) => ({
  address,
  path,
  access,
  isTls,
  isPrivate,
  isV1App,
  client,
  grant: grant(),
});

test("a remote caller in the clear has no right, and its bearer token is not read", async () => {
  let asked = 0;
  const scene = makeScene({
    bearer() {
      asked += 1;
      return { id: "phone", grant: () => "change" };
    },
  });
  const visit = await scene.visit("byTcp", `::ffff:${far}`, { authorization: "Bearer good" });
  expect(factsOf(visit)).toEqual({
    address: far,
    path: "/api",
    access: "remote",
    isTls: false,
    isPrivate: false,
    isV1App: false,
    client: undefined,
    grant: "none",
  });
  expect(asked).toBe(0);
});

test("a stranger over TLS has what the owner gives to strangers, and never more than change", async () => {
  const scene = makeScene();
  const visit = await scene.visit("byTls", far);
  expect(factsOf(visit)).toEqual({
    address: far,
    path: "/api",
    access: "remote",
    isTls: true,
    isPrivate: true,
    isV1App: false,
    client: undefined,
    grant: "play",
  });
  const grants: Grant[] = [];
  for (const anonymous of ["none", "look", "own"] as const) {
    scene.change({ anonymous });
    grants.push(visit.grant());
  }
  expect(grants).toEqual(["none", "look", "change"]);
});

test("a caller on the device has all rights, and its grant lists no addresses", async () => {
  const scene = makeScene();
  for (const [way, isTls] of [
    ["byTcp", false],
    ["byTls", true],
  ] as const) {
    const visit = await scene.visit(way, "127.0.0.1");
    expect(factsOf(visit)).toEqual({
      address: "127.0.0.1",
      path: "/api",
      access: "device",
      isTls,
      isPrivate: true,
      isV1App: false,
      client: undefined,
      grant: "own",
    });
  }
  const visits = [await scene.visit("byTcp", "127.0.0.1"), await scene.visit("byTls", far)];
  const before = scene.listed();
  scene.clock.advance(5000);
  for (const { isAdmitted } of visits) expect(isAdmitted()).toBe(true);
  expect(scene.listed()).toBe(before);
});

test("a caller by the socket's file is on the device, and a page of the device may use it", async () => {
  const scene = makeScene();
  const visit = await scene.visit("byPath", "", { host: "localhost", origin: "http://localhost:3000" });
  expect(factsOf(visit)).toEqual({
    address: "127.0.0.1",
    path: "/api",
    access: "device",
    isTls: false,
    isPrivate: true,
    isV1App: false,
    client: undefined,
    grant: "own",
  });
  const refused = await scene.send("byPath", "", { host: "evil.example" });
  expect(refused.status).toBe(403);
});

test("a setting that does not concern a caller takes nothing from it", async () => {
  const scene = makeScene({ own: () => [service] });
  const visits = [
    await scene.visit("byTcp", "127.0.0.1"),
    await scene.visit("byTcp", service),
    await scene.visit("byTls", far),
  ];
  scene.change({ allowedOrigins: ["https://cards.example"] });
  expect(visits.map(({ grant }) => grant())).toEqual(["own", "own", "play"]);
});

test("a good bearer token is its client, with the grant that the client has now", async () => {
  let grant: Grant = "change";
  const given: string[] = [];
  const scene = makeScene({
    bearer(authorization, address) {
      given.push(`${authorization} ${address}`);
      return { id: "phone", grant: () => grant };
    },
  });
  const headers = { host: "cards.home", authorization: "Bearer good" };
  scene.change({ allowedHosts: ["cards.home"] });
  const visit = await scene.visit("byTls", far, headers);
  expect([visit.client, visit.grant(), visit.access, visit.isPrivate]).toEqual([
    "phone",
    "change",
    "remote",
    true,
  ]);
  expect(given).toEqual([`Bearer good ${far}`]);
  grant = "play";
  expect(visit.grant()).toBe("play");
  scene.change({ allowedHosts: [] });
  expect(visit.grant()).toBe("none");
  expect(scene.refusals).toEqual([]);
});

const phone = { id: "phone", grant: () => "play" as const };
const right = { authorization: "Bearer right" };
const onlyRight = (authorization: string) => (authorization === right.authorization ? phone : undefined);

test("wrong bearer tokens block wrong ones of their address to the millisecond, and right ones pass", async () => {
  const scene = makeScene({ bearer: onlyRight });
  const attempt = () => scene.send("byTls", far, { authorization: "Bearer guess" });
  for (let nth = 0; nth < handshakeFailuresMax; nth++) {
    const refused = await attempt();
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(refused.headers.get("connection")).toBe("close");
  }
  const blocked = await attempt();
  expect([blocked.status, blocked.headers.get("retry-after")]).toEqual([
    429,
    String(Math.ceil(handshakeBlockMsMin / 1000)),
  ]);
  expect((await scene.visit("byTls", far, right)).client).toBe("phone");
  scene.clock.advance(handshakeBlockMsMin - 1);
  const stillBlocked = await attempt();
  expect([stillBlocked.status, stillBlocked.headers.get("retry-after")]).toEqual([429, "1"]);
  scene.clock.advance(1);
  expect((await attempt()).status).toBe(401);
  expect(scene.refusals).toEqual([
    ...Array.from({ length: handshakeFailuresMax }, () => `wrong-token ${far}`),
    `too-many-failures ${far}`,
    `too-many-failures ${far}`,
    `wrong-token ${far}`,
  ]);
});

test("a right bearer token passes when others have used up the rate of its address, at a rate of its own", async () => {
  const scene = makeScene({ bearer: onlyRight });
  for (let nth = 0; nth < requestBurstMax; nth++) await scene.visit("byTls", far);
  expect((await scene.send("byTls", far)).status).toBe(429);
  expect((await scene.send("byTls", far, { authorization: "Bearer guess" })).status).toBe(429);
  for (let nth = 0; nth < requestBurstMax; nth++)
    expect((await scene.visit("byTls", far, right)).client).toBe("phone");
  expect((await scene.send("byTls", far, right)).status).toBe(429);
  // A token that is sent without TLS proves nothing.
  expect((await scene.send("byTcp", far, right)).status).toBe(429);
});

test("an address that asks too often is refused, and the port that it used counts the refusal", async () => {
  const scene = makeScene();
  const counts = () => [scene.turnedAway.tcp(), scene.turnedAway.tls()];
  for (let nth = 0; nth < requestBurstMax; nth++) await scene.visit("byTcp", far);
  expect(counts()).toEqual([0, 0]);
  const refused = await scene.send("byTcp", far);
  expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("connection")]).toEqual([
    429,
    "60",
    "close",
  ]);
  expect(counts()).toEqual([1, 0]);
  await scene.send("byTls", far);
  expect(counts()).toEqual([1, 1]);
  expect(scene.refusals).toEqual(Array.from({ length: 2 }, () => `too-many-requests ${far}`));
  // Another address, and the device itself, have allowances of their own.
  await scene.visit("byTcp", "10.0.0.10");
  for (let nth = 0; nth < 2 * requestBurstMax; nth++) await scene.visit("byTcp", "127.0.0.1");
});

test("many addresses together are refused too, each of which asks seldom", async () => {
  const scene = makeScene();
  for (let nth = 0; nth < requestsPerSecondMax; nth++)
    await scene.visit("byTcp", `10.1.${nth >> 8}.${nth & 255}`);
  expect((await scene.send("byTcp", far)).status).toBe(429);
  await scene.visit("byTcp", "127.0.0.1");
  scene.clock.advance(1000);
  await scene.visit("byTcp", far);
});

test("a wrong name of the device is refused, and a remote caller's connection ends with it", async () => {
  const scene = makeScene();
  const remote = await scene.send("byTcp", far, { host: "evil.example" });
  expect([remote.status, remote.headers.get("connection")]).toEqual([403, "close"]);
  const local = await scene.send("byTcp", "127.0.0.1", { host: "evil.example" });
  expect([local.status, local.headers.get("connection")]).toEqual([403, null]);
  expect([scene.refusals, scene.visits]).toEqual([[`host-or-origin ${far}`, "host-or-origin 127.0.0.1"], []]);
});

test("the page of a version 1 app is marked as one, without a right", async () => {
  const scene = makeScene({ rules: { allowV1Clients: true } });
  const visit = await scene.visit("byTcp", far, { origin: "capacitor://localhost" });
  expect([visit.isV1App, visit.access, visit.grant()]).toEqual([true, "remote", "none"]);
  expect(visit.isAdmitted()).toBe(true);
  scene.change({ allowV1Clients: false });
  expect(visit.isAdmitted()).toBe(false);
});

test("a player at loopback is a stranger of the network, for a service of any user and with any setting", async () => {
  for (const uid of [0, 1000])
    for (const allowAnonymousLocal of [false, true])
      for (const caller of [{ uid, isPlayer: true }, undefined]) {
        const rules = { allowAnonymousLocal };
        const scene = makeScene({ uid, rules, callerAt: async () => caller });
        const clear = await scene.visit("byTcp", "127.0.0.1");
        expect(factsOf(clear)).toMatchObject({ access: "remote", isPrivate: false, grant: "none" });
        expect(clear.address).toBe("players of this device");
        const tls = await scene.visit("byTls", "::1");
        expect(factsOf(tls)).toMatchObject({ access: "remote", isPrivate: true, grant: "play" });
      }
});

test("players use up no limit of other callers at the same address", async () => {
  let isPlayer = true;
  const scene = makeScene({ callerAt: async () => ({ uid: 1000, isPlayer }) });
  for (let nth = 0; nth < requestBurstMax; nth++) await scene.visit("byTls", "127.0.0.1");
  expect((await scene.send("byTls", "127.0.0.1")).status).toBe(429);
  expect(scene.refusals).toEqual(["too-many-requests players of this device"]);
  isPlayer = false;
  expect((await scene.visit("byTls", "127.0.0.1")).access).toBe("device");
});

test("a request at the socket's file waits until players there are cut off, and is refused if one of them made it", async () => {
  let ending: Promise<boolean> | undefined;
  const caller = new AbortController();
  const scene = makeScene({ endPlayers: () => ending });
  const send = () => scene.send("byPath", "", { host: "localhost" }, caller.signal);
  expect([(await send()).status, scene.visits.length]).toEqual([200, 1]);
  ending = Promise.resolve(true);
  expect([(await send()).status, scene.visits.length]).toEqual([200, 2]);
  ending = Promise.resolve(false);
  expect([(await send()).status, scene.visits.length]).toEqual([403, 2]);
  ending = Promise.resolve(true);
  caller.abort();
  expect([(await send()).status, scene.visits.length]).toEqual([403, 2]);
});

test("a service that runs as root takes other users for strangers that may look, and warns once", async () => {
  const asked: unknown[] = [];
  let caller = { uid: 1000, isPlayer: false };
  const scene = makeScene({
    uid: 0,
    async callerAt(peer) {
      asked.push(peer);
      return caller;
    },
  });
  expect(factsOf(await scene.visit("byTcp", "127.0.0.1"))).toMatchObject({
    access: "remote",
    isPrivate: true,
    isTls: false,
    client: undefined,
    grant: "look",
  });
  expect(scene.said).toEqual([expect.stringContaining("the service runs as root")]);
  const peer = { address: "127.0.0.1", port: 50_001, servicePort: 7497 };
  expect(asked).toEqual([peer]);
  caller = { uid: 0, isPlayer: false };
  expect(factsOf(await scene.visit("byTcp", "127.0.0.1"))).toMatchObject({ access: "device", grant: "own" });
  expect(scene.said).toHaveLength(1);
});

test("a service that runs as root may serve every user of the device, until the owner forbids it", async () => {
  const scene = makeScene({ uid: 0, rules: { allowAnonymousLocal: true } });
  const [local, remote] = [await scene.visit("byTcp", "127.0.0.1"), await scene.visit("byTls", far)];
  expect([local.access, local.grant(), remote.grant()]).toEqual(["device", "own", "play"]);
  scene.change({ allowAnonymousLocal: false });
  expect([local.grant(), remote.grant(), scene.said]).toEqual(["none", "play", []]);
});

test("a service of a user of its own keeps its callers when root's setting changes", async () => {
  const scene = makeScene({ rules: { allowAnonymousLocal: true } });
  const { grant } = await scene.visit("byTcp", "127.0.0.1");
  scene.change({ allowAnonymousLocal: false });
  expect(grant()).toBe("own");
});

test("a caller at the device's own address is on the device only if the kernel knows its socket", async () => {
  let isCertain = false;
  let own: readonly string[] = [service];
  const scene = makeScene({
    own: () => own,
    callerAt: async () => (isCertain ? { uid: 1000, isPlayer: false } : undefined),
  });
  expect((await scene.visit("byTcp", service)).access).toBe("remote");
  isCertain = true;
  const visit = await scene.visit("byTcp", service);
  expect([visit.access, visit.grant()]).toEqual(["device", "own"]);
  own = [];
  scene.clock.advance(1000);
  expect(visit.grant()).toBe("none");
  expect((await scene.visit("byTcp", service)).access).toBe("remote");
});

test("an address that the device lost a moment ago is no longer its own", async () => {
  let own: readonly string[] = [service];
  const scene = makeScene({
    uid: 0,
    own: () => own,
    async callerAt() {
      own = [];
      return { uid: 0, isPlayer: false };
    },
  });
  expect((await scene.visit("byTcp", service)).access).toBe("remote");
});

test("a caller that hangs up while its socket is looked for is not admitted", async () => {
  const caller = new AbortController();
  const scene = makeScene({
    async callerAt() {
      caller.abort();
      return { uid: 1000, isPlayer: false };
    },
  });
  expect((await scene.send("byTcp", service, {}, caller.signal)).status).toBe(400);
  expect(scene.visits).toEqual([]);
});

test("the device's addresses are listed once a second, and again if the clock is set back", async () => {
  const scene = makeScene();
  for (let nth = 0; nth < 5; nth++) await scene.visit("byTcp", far);
  expect(scene.listed()).toBe(1);
  scene.clock.advance(999);
  await scene.visit("byTcp", far);
  expect(scene.listed()).toBe(1);
  scene.clock.advance(1);
  await scene.visit("byTcp", far);
  expect(scene.listed()).toBe(2);
  scene.clock.advance(-60_000);
  await scene.visit("byTcp", far);
  expect(scene.listed()).toBe(3);
});
