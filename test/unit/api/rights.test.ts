/**
 * The effect of a grant: methods, notifications, errors, and the quota of remote writes.
 * Covers: src/api/methods, src/api/notifications.ts.
 */
import { expect, test } from "bun:test";
import { createWriteQuota } from "../../../src/api/admission/rate-limits.ts";
import { type ApiConnection, createConnection } from "../../../src/api/connection.ts";
import { createDispatch } from "../../../src/api/dispatch.ts";
import type { method } from "../../../src/api/method.ts";
import { methods } from "../../../src/api/methods/index.ts";
import { notifications } from "../../../src/api/notifications.ts";
import type { Services } from "../../../src/api/services.ts";
import type { Audit, Change } from "../../../src/core/audit.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import {
  anonymousWritesPerMinuteMax,
  auditObjectCharsMax,
  writesPerDayMax,
  writesPerMinuteMax,
} from "../../../src/core/limits.ts";
import { silentLog } from "../../../src/core/log.ts";
import { allows, allRights, type Grant, lowerGrant, rightsOf } from "../../../src/core/rights.ts";
import { silentAudit } from "../../helpers/defaults.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

type Whole = Parameters<typeof method>[0];
/** `true` if the compiler refuses the facts of a method without `right`; the test below needs that value to compile. */
type NeedsRight = Omit<Whole, "right"> extends Whole ? false : true;

test("a method without a right does not compile", () => {
  const needsRight: NeedsRight = true;
  expect(needsRight).toBe(true);
  for (const { name, right } of methods) expect([name, allRights.includes(right)]).toEqual([name, true]);
  for (const [name, { right }] of Object.entries(notifications))
    expect([name, allRights.includes(right)]).toEqual([name, true]);
});

test("each right includes those before it", () => {
  expect(rightsOf("none")).toEqual([]);
  expect(rightsOf("play")).toEqual(["look", "play"]);
  expect(rightsOf("own")).toEqual([...allRights]);
  for (const right of allRights) expect([right, allows("none", right)]).toEqual([right, false]);
  expect(lowerGrant("change", "look")).toBe("look");
  expect(lowerGrant("none", "look")).toBe("none");
});

const secretPath = "/home/owner/.ssh/id_ed25519";

function makeDispatch(services: Partial<Record<string, unknown>> = {}, audit: Audit = silentAudit) {
  const clock = createManualClock();
  const quota = createWriteQuota(clock);
  const dispatch = createDispatch({
    services: services as unknown as Services,
    log: silentLog,
    audit,
    clock,
    quota,
  });
  const ask = async (connection: ApiConnection, name: string, params?: unknown) =>
    JSON.parse(
      (await dispatch(connection, JSON.stringify({ jsonrpc: "2.0", id: 1, method: name, params }))) ?? "",
    );
  return { ask, clock };
}

function remote(grant: Grant | (() => Grant), client?: string, sent: string[] = []): ApiConnection {
  const from = { address: "192.168.1.9", client };
  const asked = typeof grant === "function" ? grant : () => grant;
  return createConnection({ access: "remote", grant: asked, from }, (text) => sent.push(text));
}

test("an error shows a caller without the right to change nothing of paths, files and players", async () => {
  const fails = async () => {
    throw new ServiceError("failed", `mpv says: cannot open ${secretPath}`, { data: { path: secretPath } });
  };
  const { ask } = makeDispatch({ control: fails });
  const pause = { action: "pause" };
  for (const grant of ["play"] as const) {
    const { error } = await ask(remote(grant), "media.control", pause);
    expect(error.data.reason).toBe("failed");
    expect(JSON.stringify(error)).not.toContain("owner");
    expect(JSON.stringify(error)).not.toContain("mpv");
  }
  const { error } = await ask(remote("change"), "media.control", pause);
  expect(error.message).toContain(secretPath);
});

test("an error whose sentence is public reaches every caller", async () => {
  const fails = async () => {
    throw new ServiceError("failed", "nothing plays", { isPublic: true });
  };
  const { ask } = makeDispatch({ control: fails });
  const { error } = await ask(remote("play"), "media.control", { action: "pause" });
  expect(error.message).toBe("nothing plays");
});

test("health and launchers give reasons only to callers that may change things", async () => {
  const { ask } = makeDispatch({
    health: async () => ({
      status: "degraded",
      readers: { connected: 0, configured: 1 },
      uptime: 1,
      checks: [{ name: "readers", ok: false, reason: `file:${secretPath} is not there` }],
      certificates: [{ of: "mqtt.certificate", ends: "2030-01-01T00:00:00.000Z" }],
    }),
    launchers: () => [
      {
        id: "a",
        name: "a",
        kind: "process",
        systems: [],
        extensions: [],
        available: false,
        reason: secretPath,
      },
    ],
  });
  for (const [right, seen] of [
    ["look", false],
    ["change", true],
  ] as const)
    expect([right, JSON.stringify(await ask(remote(right), "health")).includes("mqtt.certificate")]).toEqual([
      right,
      seen,
    ]);
  for (const name of ["health", "launchers"]) {
    const lesser = await ask(remote("look"), name);
    expect(lesser.result).toBeDefined();
    expect([name, JSON.stringify(lesser).includes(secretPath)]).toEqual([name, false]);
    expect([name, JSON.stringify(await ask(remote("change"), name)).includes(secretPath)]).toEqual([
      name,
      true,
    ]);
  }
});

test("settings that name files, devices and traces are changed on the device only", async () => {
  let updates = 0;
  const settings = {
    update: async () => {
      updates += 1;
    },
  };
  const { ask } = makeDispatch({ settings });
  const local = [
    { readers: ["file:/etc/shadow"] },
    { reader: [] },
    { systems: { rootFolder: ["/"] } },
    { systems: { rootFolders: ["/"] } },
    { consoleLogging: false },
    { debug: true },
    { audioFeedback: true, debug: false },
  ];
  for (const patch of local) {
    const { error } = await ask(remote("change", "phone"), "settings.update", patch);
    expect([patch, error?.data]).toEqual([patch, { reason: "forbidden", right: "own" }]);
  }
  expect(updates).toBe(0);
  expect(await ask(remote("change", "phone"), "settings.update", { audioFeedback: true })).toMatchObject({
    result: null,
  });
  for (const patch of local)
    expect((await ask(remote("own", "phone"), "settings.update", patch)).result).toBeNull();
  expect(updates).toBe(1 + local.length);
});

test("a launch is trusted where its caller may change things, and only there", async () => {
  const trusted: unknown[] = [];
  const clients: unknown[] = [];
  type From = { readonly trusted: boolean; readonly requester: { readonly client?: string } };
  const launch = (_token: unknown, { trusted: isTrusted, requester }: From) => {
    trusted.push(isTrusted);
    clients.push(requester.client);
  };
  const { ask } = makeDispatch({ launch });
  for (const grant of ["play", "change", "own"] as const) await ask(remote(grant), "launch", "**delay:1");
  await ask(remote("change", "phone"), "launch", "**delay:1");
  expect(trusted).toEqual([false, true, true, true]);
  expect(clients).toEqual([undefined, undefined, undefined, "phone"]);
});

test("a connection hears what its grant covers, from the moment in which it changes", () => {
  let grant: Grant = "look";
  const sent: string[] = [];
  const connection = remote(() => grant, undefined, sent);
  connection.notify("card", "change");
  connection.notify("film", "look");
  grant = "change";
  connection.notify("another card", "change");
  grant = "none";
  connection.notify("another film", "look");
  expect(sent).toEqual(["film", "another card"]);
});

test("each change by a remote caller is audited with its object, and none by the device", async () => {
  const changes: Change[] = [];
  const audit: Audit = { ...silentAudit, changed: (_from, change) => changes.push(change) };
  const long = "x".repeat(1000);
  const { ask } = makeDispatch(
    {
      mappings: { add: () => 7, warningOf: async () => undefined, remove: () => undefined },
      media: { index: async () => undefined },
    },
    audit,
  );
  const mapping = { enabled: true, type: "text", match: "exact", pattern: "secret", override: "secret" };
  await ask(remote("change", "phone"), "mappings.new", mapping);
  await ask(remote("change", "phone"), "mappings.delete", { id: 7 });
  await ask(remote("change", "phone"), "media.index", { systems: [long.slice(0, 128), long.slice(0, 128)] });
  await ask(remote("play", "phone"), "mappings.delete", { id: 8 });
  const device = createConnection(
    { access: "device", grant: () => "own", from: { address: "127.0.0.1" } },
    () => {},
  );
  await ask(device, "mappings.delete", { id: 9 });
  expect(changes.slice(0, 2)).toEqual([
    { method: "mappings.new", object: "mapping 7" },
    { method: "mappings.delete", object: "mapping 7" },
  ]);
  expect(changes[2]?.object.length).toBe(auditObjectCharsMax);
  expect(changes.length).toBe(3);
  expect(JSON.stringify(changes)).not.toContain("secret");
});

test("a refused method is audited, and not the question which rights the caller has", async () => {
  const refusals: string[] = [];
  const { ask } = makeDispatch({}, { ...silentAudit, refused: (why) => refusals.push(why) });
  expect(await ask(remote("none"), "rights")).toMatchObject({ error: { code: 2, data: { right: "look" } } });
  expect(refusals).toEqual([]);
  expect(await ask(remote("none"), "version")).toMatchObject({ error: { code: 2 } });
  expect(refusals).toEqual(["forbidden-method"]);
});

const phone = { address: "192.168.1.9", client: "phone" };
const take = (quota: ReturnType<typeof createWriteQuota>, from: { address: string; client?: string }) => {
  try {
    quota.take(from);
    return "taken";
  } catch (error) {
    return error instanceof ServiceError ? error.data?.limit : error;
  }
};

test("a remote client writes 60 times in any minute, and then is refused", () => {
  const clock = createManualClock();
  const quota = createWriteQuota(clock);
  for (let n = 0; n < writesPerMinuteMax; n++) {
    expect(take(quota, phone)).toBe("taken");
    clock.advance(500);
  }
  expect(take(quota, phone)).toBe("writesPerMinuteMax");
  expect(take(quota, { ...phone, client: "another" })).toBe("taken");
  // The first write is a minute old now; the second is not.
  clock.advance(60_000 - writesPerMinuteMax * 500);
  expect(take(quota, phone)).toBe("taken");
  expect(take(quota, phone)).toBe("writesPerMinuteMax");
});

test("states and pictures of a game that a remote caller asks for are disk writes, and a pause is none", async () => {
  const done: unknown[] = [];
  const { ask } = makeDispatch({ control: async (action: unknown) => void done.push(action) });
  const client = remote("play", "phone");
  const control = (action: string) => ask(client, "media.control", { action });
  for (let n = 0; n < writesPerMinuteMax; n++)
    expect(await control(n % 2 === 0 ? "screenshot" : "save")).toMatchObject({ result: null });
  for (const action of ["save_state", "screenshot"])
    expect(await control(action)).toMatchObject({ error: { data: { limit: "writesPerMinuteMax" } } });
  expect(await control("pause")).toMatchObject({ result: null });
  expect(done.length).toBe(writesPerMinuteMax + 1);
});

test("a remote client writes 2,000 times in a day, and then is refused until the next", () => {
  const clock = createManualClock();
  const quota = createWriteQuota(clock);
  let taken = 0;
  for (let n = 0; n < writesPerDayMax + 100; n++) {
    if (take(quota, phone) === "taken") taken += 1;
    clock.advance(1000);
  }
  expect(taken).toBe(writesPerDayMax);
  expect(take(quota, phone)).toBe("writesPerDayMax");
  clock.advance(24 * 60 * 60_000);
  expect(take(quota, phone)).toBe("taken");
});

test("a stranger does not get more by another address of its network, nor all of them together", () => {
  const quota = createWriteQuota(createManualClock());
  for (let n = 0; n < writesPerMinuteMax; n++)
    expect(take(quota, { address: `2001:db8:0:1::${n + 1}` })).toBe("taken");
  expect(take(quota, { address: "2001:db8:0:1:ffff::1" })).toBe("writesPerMinuteMax");
  let taken = writesPerMinuteMax;
  for (let n = 0; n < 2 * anonymousWritesPerMinuteMax; n++)
    if (take(quota, { address: `10.0.${n >> 8}.${n & 255}` }) === "taken") taken += 1;
  expect(taken).toBe(anonymousWritesPerMinuteMax);
});

test("a clock that is set back locks nobody out", () => {
  const clock = createManualClock();
  const quota = createWriteQuota(clock);
  clock.advance(10 * 60_000);
  for (let n = 0; n < writesPerMinuteMax; n++) take(quota, phone);
  expect(take(quota, phone)).toBe("writesPerMinuteMax");
  clock.advance(-5 * 60_000);
  expect(take(quota, phone)).toBe("taken");
});
