/** Pairing from a neighbour's namespace: by the link, by a card, by the short code; and being shut out again. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { hostname } from "node:os";
import { join } from "node:path";
import { createPn532Device } from "../../drivers/emulator/pn532-device.ts";
import { createType2Tag } from "../../drivers/emulator/tags.ts";
import { parseMessage } from "../../drivers/protocol/ndef.ts";
import { contentOf } from "../../drivers/protocol/type2-tag.ts";
import { connect, type Identity } from "../../src/client/client.ts";
import { spacedHex } from "../../src/core/hex.ts";
import { readPairingHash } from "../../src/core/pairing-link.ts";
import { canMakeNetworks, makeNetwork, type Network, visit } from "../helpers/namespaces.ts";
import { eventually } from "../helpers/processes.ts";
import { makePlace, type Place, program, startTapdeck } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const port = 7497;
const peer = join(import.meta.dir, "../helpers/paired-peer.ts");

let network: Network;
let place: Place;
let child: Bun.Subprocess<"ignore", "ignore", "pipe">;
let log = "";

beforeAll(async () => {
  if (!canMakeNetworks) return;
  network = await makeNetwork();
  place = await makePlace();
  await Bun.write(`${place.folder}/config.toml`, "[readers]\ndetect = false\n[log]\ndebug = true\n");
  child = Bun.spawn([...network.onDevice([program, `--data=${place.folder}`])], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const started = Promise.withResolvers<void>();
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) {
      log += decoder.decode(chunk, { stream: true });
      if (log.includes("service: listening")) started.resolve();
    }
    started.reject(new Error(`the service did not start in its namespace: ${log}`));
  })();
  await started.promise;
});
afterAll(async () => {
  if (!canMakeNetworks) return;
  child.kill("SIGTERM");
  await child.exited;
  await network[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

const url = () => `ws://${network.deviceAddress}:${port}/api/v0.1`;
const local = () => connect(`ws+unix://${place.folder}/tapdeck.sock:/api/v0.1`);

function tapdeck(...words: readonly string[]) {
  return Bun.spawn([...network.onDevice([program, ...words, `--data=${place.folder}`])], {
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function said(...words: readonly string[]) {
  const run = tapdeck(...words);
  const [out, error] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()]);
  return { out: out.trim(), error: error.trim(), code: await run.exited };
}

/** A client in the neighbour's namespace: what it is told as JSON, and what it tells as JSON. */
async function fromAfar(what: { code: string; name?: string } | Identity) {
  const run = Bun.spawn([...network.onNeighbour([process.execPath, peer, url(), JSON.stringify(what)])], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const text = await new Response(run.stdout).text();
  await run.exited;
  return JSON.parse(text) as {
    refused?: string;
    data?: unknown;
    identity?: Identity;
    platform?: string;
    clients?: string;
  };
}

remoteTest("the link of tapdeck pair lets a phone in, and --revoke shuts it out", async () => {
  const { out, code } = await said("pair", "Anna's phone");
  expect(code).toBe(0);
  expect(out).toMatch(/^http:\/\/[^/\s]+:7497\/#pair=[A-Za-z0-9_-]{64}$/);
  // The address, or, where something on this machine answers for it, the name.
  expect([network.deviceAddress, `${hostname().toLowerCase()}.local`]).toContain(new URL(out).hostname);
  const identity = readPairingHash(new URL(out).hash);
  if (identity === undefined) throw new Error(out);
  expect(await fromAfar(identity)).toEqual({
    platform: "linux",
    clients: "clients can be called on the device itself only",
  });

  const { out: list } = await said("pair", "--list");
  expect(list).toContain(`${identity.id}  Anna's phone  last seen at ${network.neighbourAddress}`);
  expect(list).not.toContain(identity.secret);
  expect((await said("pair", "--revoke", "nobody")).code).toBe(1);
  expect(await said("pair", "--revoke", "Anna's phone")).toMatchObject({
    code: 0,
    out: "Anna's phone can no longer come in",
  });
  expect((await fromAfar(identity)).refused).toContain("does not open");
});

remoteTest("--host names what stands in the link, an IPv6 address in brackets", async () => {
  for (const [host, expected] of [
    ["deck.example", "deck.example"],
    ["fd77::1", "[fd77::1]"],
  ] as const) {
    const { out } = await said("pair", "x", "--host", host);
    expect(out).toStartWith(`http://${expected}:7497/#pair=`);
  }
});

remoteTest("the short code lets one phone in, and nobody who listens or guesses", async () => {
  expect((await fromAfar({ code: "000000" })).refused).toContain("no pairing by code is open");
  const pairing = tapdeck("pair", "--code");
  const reader = pairing.stdout.getReader();
  const shown = new TextDecoder().decode((await reader.read()).value);
  const code = /^(\d{3}) (\d{3})\n/.exec(shown)?.slice(1).join("") ?? "";
  expect(code).toMatch(/^\d{6}$/);

  const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, "0");
  expect(await fromAfar({ code: wrong })).toEqual({
    refused: "this is not the code that the device shows, and 2 tries are left",
    data: { reason: "forbidden", triesLeft: 2 },
  });
  const { identity } = await fromAfar({ code, name: "Tablet" });
  if (identity === undefined) throw new Error("not paired");
  expect(identity.secret).toMatch(/^[0-9a-f]{64}$/);
  const rest = new TextDecoder().decode((await reader.read()).value);
  expect(rest).toBe("paired Tablet\n");
  expect(await pairing.exited).toBe(0);
  // It was good for one.
  expect((await fromAfar({ code })).refused).toContain("no pairing by code is open");
  expect((await fromAfar(identity)).platform).toBe("linux");
  expect(log).not.toContain(identity.secret);
  expect(log).not.toContain(code);
});

remoteTest("pairing is opened on the device only, and three wrong codes close it", async () => {
  const client = await local();
  const { code } = await client.call("pairing.open");
  const ended = client.call("pairing.wait");
  const made = await client.call("clients.new", {});
  for (const method of ["pairing", "pairing.open", "pairing.wait", "pairing.cancel"]) {
    const request = { url: `http://${network.deviceAddress}:${port}/api`, method: "POST" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method });
    const headers = { "content-type": "application/json" };
    expect((await visit(network.onNeighbour, { ...request, body, headers })).status).toBe(403);
  }
  const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, "0");
  const texts: (string | undefined)[] = [];
  for (let run = 0; run < 3; run++) texts.push((await fromAfar({ code: wrong })).refused);
  expect(texts.at(-1)).toContain("the last try");
  expect(await ended).toEqual({ reason: "tries" });
  expect((await fromAfar({ code })).refused).toContain("no pairing by code is open");
  await client.call("clients.delete", { id: made.id });
  client.close();
});

remoteTest("pair --code that is interrupted closes the pairing", async () => {
  const pairing = tapdeck("pair", "--code");
  const reader = pairing.stdout.getReader();
  await reader.read();
  pairing.kill("SIGINT");
  expect(await pairing.exited).toBe(1);
  const client = await local();
  expect((await client.call("pairing")).open).toBeUndefined();
  expect((await client.call("health")).tls?.fingerprint).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  client.close();
});

test("pair --card writes a link that phones open; the reader refuses such a card and keeps none of its secret", async () => {
  const device = createPn532Device({ timing: "none" });
  try {
    const config = `[readers]\nconnect = ["pn532-uart:${device.path}"]\ndetect = false\n[log]\ndebug = true\n`;
    await using cards = await makePlace(config);
    await using service = await startTapdeck(cards);
    const { readers } = await service.client.call("readers");
    if (readers[0]?.connected !== true) await service.heard.next("readers.added");
    const tag = createType2Tag("ntag213", { uid: Uint8Array.fromHex("04a1a2a3a4a5a6") });
    device.put(tag);
    const command = ["pair", "Fridge", "--card", "--host", "192.168.178.142", `--data=${cards.folder}`];
    // On a busy machine the emulated line is late at times, and the reader is opened anew; a card that was not written lets
    // nobody in.
    await eventually(async () => {
      const run = Bun.spawn([program, ...command], { stdio: ["ignore", "pipe", "pipe"] });
      const error = await new Response(run.stderr).text();
      if ((await run.exited) === 0) return true;
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

    // Off, and on again: now it is tapped.
    device.take();
    await service.heard.next("tokens.removed");
    device.put(tag);
    // The blank card that came first had no text.
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
    // Written and read in pieces, as the debug log tells of bytes.
    expect(told).toContain("debug pn532: >");
    const secret = Buffer.from(uri.slice(-64));
    for (let at = 0; at + 3 <= secret.length; at++)
      expect(told).not.toContain(spacedHex(secret.subarray(at, at + 3)));
  } finally {
    await device.close();
  }
});
