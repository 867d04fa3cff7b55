/** Pairing from a neighbour's namespace: by the link, by a card, by the short code, and the end of a pairing. */
import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { parseMessage } from "../../drivers/protocol/ndef.ts";
import { contentOf } from "../../drivers/protocol/type2-tag.ts";
import type { Identity } from "../../src/client/client.ts";
import { spacedHex } from "../../src/core/hex.ts";
import { readPairingHash } from "../../src/core/pairing-link.ts";
import { deviceForAll } from "../helpers/device.ts";
import { emulatedPn532, ntag213 } from "../helpers/emulated.ts";
import { linesOf } from "../helpers/lines.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import { eventually, printed, run } from "../helpers/processes.ts";
import {
  firstReader,
  makePlace,
  noReaders,
  program,
  readerConfig,
  startTapdeck,
} from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const peer = join(import.meta.dir, "../programs/paired-peer.ts");
const device = deviceForAll(`${noReaders}[log]\ndebug = true\n`);

/** A client in the neighbour's namespace, with JSON as its input and output. */
async function fromAfar(what: { code: string; name?: string } | Identity) {
  const command = [process.execPath, peer, device.url, JSON.stringify(what)];
  return JSON.parse(await printed(device.network.onNeighbour(command))) as {
    refused?: string;
    data?: unknown;
    identity?: Identity;
    platform?: string;
    clients?: string;
    current?: unknown;
  };
}

remoteTest("the link of tapdeck pair lets a phone in, and --revoke shuts it out", async () => {
  const { out, code } = await device.run("pair", "Anna's phone");
  expect(code).toBe(0);
  expect(out).toMatch(/^http:\/\/[^/\s]+:7497\/#pair=[A-Za-z0-9_-]{64}$/);
  // The address, or the name if something else on this machine answers for the address.
  expect([device.network.deviceAddress, `${hostname().toLowerCase()}.local`]).toContain(
    new URL(out).hostname,
  );
  const identity = readPairingHash(new URL(out).hash);
  if (identity === undefined) throw new Error(out);
  expect(await fromAfar(identity)).toEqual({
    platform: "linux",
    clients: "clients can be called on the device itself only",
    current: {
      id: identity.id,
      name: "Anna's phone",
      address: device.network.neighbourAddress,
      role: "member",
      added: expect.any(String),
      lastUsed: expect.any(String),
      rights: ["look", "play", "change"],
    },
  });

  const { out: list } = await device.run("pair", "--list");
  expect(list).toContain(
    `${identity.id}  Anna's phone  member  paired just now  last used just now at ${device.network.neighbourAddress}`,
  );
  // The first use has made the link permanent.
  expect(await device.service.client.call("clients")).not.toMatchObject({
    clients: [{ expires: expect.any(String) }],
  });
  expect(list).not.toContain(identity.secret);
  expect((await device.run("pair", "--revoke", "nobody")).code).toBe(1);
  expect(await device.run("pair", "--revoke", "Anna's phone")).toMatchObject({
    code: 0,
    out: "Anna's phone can no longer connect",
  });
  expect((await fromAfar(identity)).refused).toContain("does not open");
});

remoteTest("--host names what stands in the link, an IPv6 address in brackets", async () => {
  for (const [host, expected] of [
    ["deck.example", "deck.example"],
    ["fd77::1", "[fd77::1]"],
  ] as const) {
    const { out } = await device.run("pair", "x", "--host", host);
    expect(out).toStartWith(`http://${expected}:7497/#pair=`);
  }
});

remoteTest("a link nobody used stands in the list with its end, and takes the name for so long", async () => {
  const { client } = device.service;
  expect((await device.run("pair", "Guest", "--role", "player")).code).toBe(0);
  const { clients } = await client.call("clients");
  const made = clients.find(({ name }) => name === "Guest");
  expect(made?.role).toBe("player");
  expect(Date.parse(made?.expires ?? "") - Date.parse(made?.added ?? "")).toBe(10 * 60_000);
  expect((await device.run("pair", "--list")).out).toMatch(/Guest +player +link made just now +never used/);
  const { code, error } = await device.run("pair", "--bearer", "guest");
  expect([code, error]).toEqual([1, expect.stringContaining("a client with the name Guest already")]);
  expect((await device.run("pair", "--revoke", "Guest")).code).toBe(0);
});

remoteTest("pair --bearer prints the id and a token that goes with the certificate, once", async () => {
  const { client } = device.service;
  const json = await device.run("pair", "--bearer", "Till", "--json");
  expect(JSON.parse(json.out)).toMatchObject({ bearer: expect.stringMatching(/^[\w-]+:[0-9a-f]{64}$/) });
  const { out, code } = await device.run("pair", "--bearer", "Shop", "--role", "player");
  expect(code).toBe(0);
  const made = (await client.call("clients")).clients.find(({ name }) => name === "Shop");
  const print = (await client.call("pairing")).fingerprint?.replaceAll(":", "").toLowerCase();
  const mac = createHmac("sha256", Buffer.from(made?.secret ?? "", "hex")).update(`tapdeck-bearer:${print}`);
  expect(out).toBe(`${made?.id}:${mac.digest("hex")}`);
  expect(made).toMatchObject({ role: "player" });
  expect(made).not.toHaveProperty("expires");
  expect((await device.run("pair", "--list", "--json")).out).not.toContain(made?.secret ?? "");
  expect(device.log()).not.toContain(out.slice(-64));
  expect((await device.run("pair", "--revoke", "Shop")).code).toBe(0);
});

remoteTest("the short code lets one phone in, and nobody who listens or guesses", async () => {
  expect((await fromAfar({ code: "000000" })).refused).toContain("no pairing by code is open");
  const pairing = device.tapdeck("pair", "--code");
  const lines = linesOf(pairing.stdout);
  const shown = (await lines.next()).value ?? "";
  const code = /^(\d{3}) (\d{3})$/.exec(shown)?.slice(1).join("") ?? "";
  expect(code).toMatch(/^\d{6}$/);

  const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, "0");
  expect(await fromAfar({ code: wrong })).toEqual({
    refused: "this is not the code that the device shows, and 2 tries are left",
    data: { reason: "forbidden", refusal: "pairing-wrong-code", triesLeft: 2 },
  });
  const { identity } = await fromAfar({ code, name: "Tablet" });
  if (identity === undefined) throw new Error("not paired");
  expect(identity.secret).toMatch(/^[0-9a-f]{64}$/);
  expect((await lines.next()).value).toBe("paired Tablet");
  expect(await pairing.exited).toBe(0);
  // The code was valid for one pairing only.
  expect((await fromAfar({ code })).refused).toContain("no pairing by code is open");
  expect((await fromAfar(identity)).platform).toBe("linux");
  expect(device.log()).not.toContain(identity.secret);
  expect(device.log()).not.toContain(code);
});

remoteTest("pair --code that is interrupted closes the pairing", async () => {
  const pairing = device.tapdeck("pair", "--code");
  await linesOf(pairing.stdout).next();
  pairing.kill("SIGINT");
  expect(await pairing.exited).toBe(1);
  const { client } = device.service;
  expect((await client.call("pairing")).open).toBeUndefined();
  expect((await client.call("health")).tls?.fingerprint).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
});

test("pair --bearer makes no client if TLS is off, and says so", async () => {
  await using plain = await makePlace(noReaders);
  await using service = await startTapdeck(plain);
  const { code, error } = await run([program, "pair", "--bearer", "Shop", `--data=${plain.folder}`]);
  expect([code, error]).toEqual([1, expect.stringContaining("TLS is off: set api.tls_port")]);
  expect((await service.client.call("clients")).clients).toEqual([]);
});

// This is the last test with a code, because it delays the next pairing by code.
remoteTest("pairing is opened on the device only, and three wrong codes close it", async () => {
  const { client } = device.service;
  const { code } = await client.call("pairing.open");
  const ended = client.call("pairing.wait");
  const made = await client.call("clients.new", {});
  for (const method of ["pairing", "pairing.open", "pairing.wait", "pairing.cancel"]) {
    const request = { url: device.url.replace("ws:", "http:"), method: "POST" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method });
    const headers = { "content-type": "application/json" };
    expect((await visit(device.network.onNeighbour, { ...request, body, headers })).status).toBe(403);
  }
  const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, "0");
  const texts: (string | undefined)[] = [];
  for (let run = 0; run < 3; run++) texts.push((await fromAfar({ code: wrong })).refused);
  expect(texts.at(-1)).toContain("the last try");
  expect(await ended).toEqual({ reason: "tries" });
  expect((await fromAfar({ code })).refused).toContain("no pairing by code is open");
  // The three wrong codes count over all openings, so the next proof by code has to wait; a pairing link does not.
  const refusal = await client.call("pairing.open").catch((error: unknown) => error);
  expect(refusal).toMatchObject({
    message: expect.stringContaining("a link of tapdeck pair lets a phone in"),
    data: { limit: "pairingWrongCodesFree", retryAfterMs: expect.any(Number) },
  });
  await client.call("clients.delete", { id: made.id });
});

test("pair --card writes a link that phones open; the reader refuses such a card and keeps none of its secret", async () => {
  await using reader = emulatedPn532("none");
  await using cards = await makePlace(`${readerConfig(reader)}[log]\ndebug = true\n`);
  await using service = await startTapdeck(cards);
  await firstReader(service);
  const tag = ntag213("04a1a2a3a4a5a6");
  reader.put(tag);
  const command = ["pair", "Fridge", "--card", "--host", "192.168.178.142", `--data=${cards.folder}`];
  // On a busy machine the emulated line sometimes is late, and the reader is opened again. A card that was not written
  // does not pair a phone.
  await eventually(async () => {
    const { error, code } = await run([program, ...command]);
    if (code === 0) return true;
    expect(error).toMatch(/no reader that can write|the reader/);
    expect((await service.client.call("clients")).clients).toEqual([]);
    return false;
  });

  const content = contentOf(tag.memory.subarray(12));
  if (content.kind !== "message") throw new Error("the tag holds no message");
  const parsed = parseMessage(content.message);
  if (parsed.kind !== "message") throw new Error("the message is broken");
  const [record] = parsed.records;
  expect(record?.type).toBe("U");
  const uri = `http://${new TextDecoder().decode(record?.payload.subarray(1))}`;
  const { clients } = await service.client.call("clients");
  expect(readPairingHash(new URL(uri).hash)).toMatchObject({
    id: clients[0]?.id,
    secret: clients[0]?.secret,
  });

  // The card is taken off and put on again: now it is tapped.
  reader.take();
  await service.heard.next("tokens.removed");
  reader.put(tag);
  // The blank card that was on the reader before had no text.
  const finished = await service.heard.next("launch.finished", ({ text }) => text !== "");
  expect(finished).toMatchObject({ success: false, error: expect.stringContaining("lets a phone in") });
  const { entries } = await service.client.call("tokens.history");
  expect(entries[0]).toMatchObject({
    success: false,
    text: `http://192.168.178.142:${cards.port}/#pair=*`,
  });
  const told =
    JSON.stringify([service.heard.all, entries, await service.client.call("tokens")]) + service.log();
  expect(told).not.toContain(uri.slice(-64));
  expect(told).not.toContain(Buffer.from(uri.slice(-60)).toString("hex"));
  // The log shows that bytes were written and read. The secret must not be in the log, not even in pieces.
  expect(told).toContain("debug pn532: >");
  const secret = Buffer.from(uri.slice(-64));
  for (let at = 0; at + 3 <= secret.length; at++)
    expect(told).not.toContain(spacedHex(secret.subarray(at, at + 3)));
});
