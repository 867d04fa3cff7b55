/** The known phone app of both generations against the compiled service, from a neighbour's namespace. */
import { expect, test } from "bun:test";
import { handshakeFailuresMax } from "../../src/core/limits.ts";
import { deviceForAll, port, tlsPort } from "../helpers/device.ts";
import {
  type AppIdentity,
  androidOrigin,
  appsAllowed,
  openCurrentApp,
  otherOrigins,
  pairApp,
} from "../helpers/known-apps.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import { noisePython, noisePythonSetUpMs } from "../helpers/noise-python.ts";
import { isLine, startPeer } from "../helpers/peer.ts";
import { eventually } from "../helpers/processes.ts";
import { readerConfig } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
let app: AppIdentity;
const device = deviceForAll(
  appsAllowed + readerConfig("simulated:"),
  async (made) => {
    await noisePython();
    app = await pairApp(made, "phone", androidOrigin);
  },
  noisePythonSetUpMs,
);

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
        ...{ error: encryptionRequired.error, closed: 1008 },
      });
      const [text = ""] = line.texts;
      expect(JSON.parse(text)).toEqual(encryptionRequired);
    }
  },
);

remoteTest("keys of the app cannot be guessed: ten wrong ones, and the address has to wait", async () => {
  const [address = ""] = device.network.addNeighbourAddresses(1)[4];
  await using peer = startPeer(device.network.onNeighbour, [address]);
  const guess = { v: 1, t: app.token, s: `${"A".repeat(22)}==`, e: "A".repeat(64) };
  for (let n = 0; n < handshakeFailuresMax; n++) {
    const line = await peer.open({ url: device.url });
    if (!isLine(line)) throw new Error(`guess ${n}: ${JSON.stringify(line)}`);
    line.send(JSON.stringify(guess));
    await line.fence();
    expect(JSON.parse(line.texts[0] ?? "")).toEqual(encryptionRequired);
  }
  expect(await peer.open({ url: device.url })).toMatchObject({ status: 429 });
  await eventually(async () => {
    const { entries } = await device.service.client.call("audit", {});
    const told = entries.filter((entry) => entry.address === address).map(({ why }) => why);
    expect(new Set(told)).toEqual(new Set(["secure-failure", "too-many-failures"]));
  });
});
