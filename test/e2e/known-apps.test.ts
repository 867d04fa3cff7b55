/** The known phone app of both generations against the compiled service, from a neighbour's namespace. */
import { beforeEach, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import { handshakeFailuresMax } from "../../src/core/limits.ts";
import { deviceForAll, port, tlsPort } from "../helpers/device.ts";
import {
  type AppIdentity,
  type AppLine,
  androidOrigin,
  appsAllowed,
  openCurrentApp,
  openEarlierApp,
  otherOrigins,
  pairApp,
} from "../helpers/known-apps.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import { noisePython, noisePythonSetUpMs } from "../helpers/noise-python.ts";
import { isLine, startPeer } from "../helpers/peer.ts";
import { eventually } from "../helpers/processes.ts";
import { makeSound } from "../helpers/sound-file.ts";
import { firstReader, readerConfig } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
let app: AppIdentity;
let addresses: readonly string[];
const player = `
[[launchers]]
id = "mpv"
kind = "mpv"
command = ["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null", "--", "{path}"]
`;
const device = deviceForAll(
  appsAllowed + readerConfig("simulated:") + player,
  async (made) => {
    await noisePython();
    addresses = made.network.addNeighbourAddresses(20)[4];
    app = await pairApp(made, "phone", androidOrigin);
  },
  noisePythonSetUpMs,
);

// Each test is a neighbour of its own, because an address may open only a limited number of connections a minute.
let address = "";
beforeEach(() => {
  if (!canMakeNetworks) return;
  [address = "", ...addresses] = addresses;
  device.network.callAs(address, device.network.deviceAddress);
});

const encryptionRequired = {
  jsonrpc: "2.0",
  error: { code: -32002, message: expect.any(String), data: { reason: "encryption-required" } },
};
/** All that a WebSocket receives for one text, from a page of this origin. */
async function answersTo(text: string, origin = androidOrigin) {
  const headers = { origin };
  const { messages = [], closed } = await visit(device.network.onNeighbour, {
    url: device.url,
    headers,
    send: [text, "x"],
  });
  return { messages: messages.map((message) => JSON.parse(message)), closed };
}

remoteTest(
  "the app that was paired from a page of Android talks from there, and from the pages of other systems",
  async () => {
    for (const origin of [androidOrigin, ...otherOrigins]) {
      await using line = await openCurrentApp(device, app, origin);
      expect(await line.call("version")).toMatchObject({ result: { platform: "linux" } });
      // The heartbeat of a sealed session is sealed.
      await line.fence();
      expect(line.texts.at(-1)).toBe("pong");
    }
  },
);

remoteTest("the earlier app launches inside TLS, with plain frames and a stranger's rights", async () => {
  await using line = await openEarlierApp(device, "wss");
  expect(await line.call("version")).toMatchObject({ result: { platform: "linux" } });
  expect(await line.call("launch", { text: "**delay:1" })).toMatchObject({ result: null });
  expect(await line.call("mappings")).toMatchObject({ error: { code: 2 } });
  await line.fence();
});

remoteTest(
  "a page of the app gets no more than that: no cleartext, no version 2, no other path, and nothing over TLS",
  async () => {
    const cleartext = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "version", timestamp: 1 });
    // The app asks for a pairing when it reads this code.
    expect(await answersTo(cleartext)).toEqual({ messages: [encryptionRequired], closed: 1008 });
    expect(await answersTo('{"v":2,"t":"a","e":""}')).toMatchObject({
      messages: [{ error: { code: -32001, data: { supported: [1] } } }],
      closed: 1008,
    });
    const at = `http://${device.network.deviceAddress}:${port}`;
    const headers = { origin: androidOrigin, "content-type": "application/json" };
    const ask = (url: string, method = "GET") =>
      visit(device.network.onNeighbour, { url, method, headers, anyCertificate: true });
    for (const path of ["/", "/l/x", "/health", "/api/v0.1/events"])
      expect([path, (await ask(`${at}${path}`)).status]).toEqual([path, 403]);
    const secure = `https://${device.network.deviceAddress}:${tlsPort}/api`;
    for (const url of [`${at}/api`, secure]) expect((await ask(url, "POST")).status).toBe(403);
  },
);

remoteTest(
  "an app that was revoked, or never paired, is sent back to its pairing, and hung up on",
  async () => {
    const made = await pairApp(device, "lost phone", androidOrigin);
    const live = await openCurrentApp(device, made, androidOrigin);
    expect(await live.call("version")).toHaveProperty("result");
    await device.service.client.call("clients.delete", { id: made.client });
    await eventually(() => expect(live.isOver()).toBe(true));
    for (const who of [made, { ...app, token: crypto.randomUUID() }, { ...app, key: "00".repeat(32) }]) {
      await using line = await openCurrentApp(device, who, androidOrigin);
      expect(await line.call("version")).toEqual({
        error: encryptionRequired.error,
        closed: 1008,
      });
      const [text = ""] = line.texts;
      expect(JSON.parse(text)).toEqual(encryptionRequired);
    }
  },
);

remoteTest("ten wrong keys of the app are refused alike, and the right one opens after them", async () => {
  await using peer = startPeer(device.network.onNeighbour);
  const guess = { v: 1, t: app.token, s: `${"A".repeat(22)}==`, e: "A".repeat(64) };
  for (let n = 0; n < handshakeFailuresMax; n++) {
    const line = await peer.open({ url: device.url });
    if (!isLine(line)) throw new Error(`guess ${n}: ${JSON.stringify(line)}`);
    line.send(JSON.stringify(guess));
    await line.fence();
    expect(JSON.parse(line.texts[0] ?? "")).toEqual(encryptionRequired);
  }
  await using line = await openCurrentApp(device, app, androidOrigin);
  expect(await line.call("version")).toHaveProperty("result");
  await eventually(async () => {
    const { entries } = await device.service.client.call("audit", {});
    const told = entries.filter((entry) => entry.address === address).map(({ why }) => why);
    expect(new Set(told)).toEqual(new Set(["secure-failure"]));
  });
});

/** An entry as the current app checks it: the app drops every entry that fails this check. */
const appMapping = v.object({
  id: v.string(),
  added: v.string(),
  label: v.string(),
  match: v.string(),
  pattern: v.string(),
  override: v.string(),
  enabled: v.boolean(),
  type: v.picklist(["uid", "text", "data", "id", "value"]),
});
const listed = (id: v.GenericSchema) =>
  v.object({ mappings: v.array(v.looseObject({ ...appMapping.entries, id })) });

remoteTest(
  "the current app gets the ids of mappings as texts, those of files too, everyone else as numbers, and both may send either",
  async () => {
    const folder = join(device.place.folder, "mappings");
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, "cards.toml"),
      '[[mapping]]\ntype = "uid"\nmatch = "exact"\npattern = "04aa"\noverride = "**delay:3"\n',
    );
    await using current = await openCurrentApp(device, app, androidOrigin);
    await using earlier = await openEarlierApp(device, "ws");
    await using onDevice = startPeer(device.network.onDevice);
    const local = await onDevice.open({ url: `ws://127.0.0.1:${port}/api/v0.1` });
    if (!isLine(local)) throw new Error("the device refused a caller on the device");
    const rule = { label: "", enabled: true, type: "text", match: "exact", pattern: "a", override: "b" };
    for (const line of [current, earlier])
      expect(await line.call("mappings.new", rule)).toMatchObject({ result: { id: expect.any(Number) } });
    await eventually(async () => {
      const { mappings } = await device.service.client.call("mappings");
      expect(mappings.map(({ readOnly = false }) => readOnly)).toEqual([false, false, true]);
    });
    const { mappings } = v.parse(listed(v.string()), (await current.call("mappings")).result);
    const ids = mappings.map(({ id }) => id);
    for (const line of [earlier, local]) {
      const others = v.parse(listed(v.number()), (await line.call("mappings")).result);
      expect(others.mappings.map(({ id }) => String(id))).toEqual(ids.map(String));
      expect(others.mappings.map((one) => ({ ...one, id: "" }))).toEqual(
        mappings.map((one) => ({ ...one, id: "" })),
      );
    }
    const [first, second] = ids;
    for (const line of [current, earlier])
      for (const id of [first, Number(first)])
        expect(await line.call("mappings.update", { id, label: "x" })).toMatchObject({ result: null });
    expect(await current.call("mappings.delete", { id: first })).toMatchObject({ result: null });
    expect(await earlier.call("mappings.delete", { id: second })).toMatchObject({ result: null });
    // One batch lists the mappings and deletes one of a mapping file, which is refused.
    const [again, refused] = await current.batch([
      { method: "mappings" },
      { method: "mappings.delete", params: { id: ids[2] } },
    ]);
    expect(v.parse(listed(v.string()), again?.result).mappings.map(({ id }) => id)).toEqual(ids.slice(2));
    expect(refused).toMatchObject({ error: { code: 2, message: expect.stringContaining("cards.toml") } });
  },
);

/** Sessions of both generations that may write and map. */
const generations = [
  { name: "the current app", open: () => openCurrentApp(device, app, androidOrigin) },
  { name: "the earlier app", open: () => openEarlierApp(device, "ws") },
] as const;

for (const { name, open } of generations)
  remoteTest(
    `${name} writes again in the place of its own first write, not of another's, and cancels without params`,
    async () => {
      await using line = await open();
      const { client } = device.service;
      await firstReader(device.service);
      const [reader] = (await client.call("readers")).readers;
      const first = line.call("readers.write", { text: "first" });
      const second = line.call("readers.write", { text: "second", readerId: reader?.readerId });
      expect(await first).toMatchObject({ error: { code: 6, data: { reason: "conflict" } } });
      await expect(client.call("readers.write", { text: "other" })).rejects.toMatchObject({ code: 6 });
      const card = { text: "before", readerId: reader?.readerId, duration: 60_000 };
      await client.call("tokens.scan", card);
      expect(await second).toMatchObject({ result: null });
      const waiting = line.call("readers.write", { text: "third", newTag: true });
      expect(await line.call("readers.write.cancel")).toMatchObject({ result: null });
      expect(await waiting).toMatchObject({ error: { code: 1, message: "it was called off" } });
    },
  );

/** The newest row of the history, as the app reads it. */
const newest = v.object({ entries: v.tuple([v.looseObject({ state: v.string(), success: v.boolean() })]) });
async function lastLaunch(line: AppLine) {
  const { result } = await line.call("tokens.history", { limit: 1 });
  return v.parse(newest, result).entries[0];
}

for (const { name, open } of generations)
  remoteTest(
    `${name} sees a launch that runs as no failure, and hears its end when the player shows its media`,
    async () => {
      await using line = await open();
      const heard = (method: string, count: number) =>
        eventually(() => expect(line.heard().filter((one) => one === method)).toHaveLength(count));
      await line.call("launch", { text: "**delay:600000" });
      const running = await lastLaunch(line);
      expect(running).toMatchObject({ state: "running", success: true });
      expect(running).not.toHaveProperty("error");
      await line.call("stop");
      await heard("launch.finished", 1);
      expect(await lastLaunch(line)).toMatchObject({
        state: "failed",
        success: false,
        error: "it was stopped",
      });
      // The sound ends before three seconds have passed.
      await Bun.write(join(device.place.folder, "media/Audio/Short.wav"), makeSound(2));
      await line.call("launch", { text: "Audio/Short.wav" });
      await heard("media.stopped", 1);
      expect(line.heard().filter((one) => !one.startsWith("media.indexing"))).toEqual([
        ...["running", "launch.finished", "running", "media.started", "launch.finished", "media.stopped"],
      ]);
      expect(await lastLaunch(line)).toMatchObject({ state: "done", success: true });
    },
  );

remoteTest("a launch that a power cut ended is a failed one after the start", async () => {
  {
    await using line = await openCurrentApp(device, app, androidOrigin);
    await line.call("launch", { text: "**delay:600000" });
    expect(await lastLaunch(line)).toMatchObject({ state: "running" });
  }
  process.kill(device.service.pid, "SIGKILL");
  await device.stop();
  await device.start();
  await using line = await openCurrentApp(device, app, androidOrigin);
  expect(await lastLaunch(line)).toMatchObject({
    state: "failed",
    success: false,
    error: "the service ended before the script did",
  });
});
