/** Attacks on the meaning and the rights of cards: mappings, scripts, the tags themselves, and floods of changes. */
import { expect } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { attackTest, type Scene, startScene, urls } from "../helpers/attack-scene.ts";
import { emulatedPn532, ntag213, textOn, unlessHeldUp } from "../helpers/emulated.ts";
import { type Answer, type Call, type Line, wordOf } from "../helpers/peer.ts";
import { firstReader, noReaders, readerConfig } from "../helpers/tapdeck.ts";

const forbidden = expect.stringMatching(/^error 2\b/);
const busy = -32000;

const uidMapping = (pattern: string, override: string) => ({
  label: "",
  enabled: true,
  type: "uid",
  match: "exact",
  pattern,
  override,
});

const aboutCards: readonly Call[] = [
  { method: "mappings.new", params: uidMapping("04aabbcc", "**stop") },
  { method: "mappings.update", params: { id: 1, override: "**stop" } },
  { method: "mappings.delete", params: { id: 1 } },
  { method: "mappings" },
  { method: "tokens" },
  { method: "tokens.history" },
  { method: "tokens.scan", params: { text: "**delay:1", duration: 1 } },
  { method: "readers" },
  { method: "readers.write", params: { text: "x", force: true } },
  { method: "readers.write.cancel" },
  { method: "settings" },
  { method: "settings.update", params: { audioFeedback: false } },
  { method: "playtime" },
  { method: "media.index" },
  { method: "media.generate" },
  { method: "media.index.cancel" },
  { method: "input.keyboard", params: { keys: "a" } },
  { method: "input.gamepad", params: { buttons: "A" } },
];

const comings = {
  "a stranger over wss": (scene: Scene) => scene.stranger(),
  "a paired player, sealed": async (scene: Scene) => scene.sealed(await scene.client("player")),
} as const;

for (const [who, comesIn] of Object.entries(comings)) {
  attackTest(`${who} reads and changes cards and mappings`, async () => {
    await using scene = await startScene(noReaders);
    const owner = scene.device.service.client;
    await owner.callAny("mappings.new", uidMapping("04112233", "**delay:1"));
    const before = await owner.call("mappings");
    const line = await comesIn(scene);
    const words = (await line.callAll(aboutCards)).map(wordOf);
    const batched = (await line.batch(aboutCards)).map(wordOf);
    // A notification has no answer that could refuse it.
    line.send(JSON.stringify({ jsonrpc: "2.0", ...aboutCards[0] }));
    await line.fence();
    const after = await owner.call("mappings");
    expect({ words, batched, after, scanned: (await owner.call("tokens")).last }).toEqual({
      words: aboutCards.map(() => forbidden),
      batched: aboutCards.map(() => forbidden),
      after: before,
      scanned: null,
    });
  });

  attackTest(`${who} launches scripts that reach outside of the media`, async () => {
    await using screen = await makeScreen();
    const address = "http://10.77.0.2:9/";
    const toml = `${noReaders}[script]\nallow_execute = ["touch .*"]\nallow_http = ["${address}.*"]\n`;
    await using scene = await startScene(toml, screen.via);
    const { device } = scene;
    const marker = join(device.place.folder, "ran");
    const owner = device.service.client;
    await owner.callAny("mappings.new", uidMapping("04aabbcc", `**execute:touch ${marker}`));
    const line = await comesIn(scene);
    const typing = ["**input.keyboard:a", "**input.gamepad:A", "**input.key:13"];
    const texts = [
      "**pair",
      "**PAIR",
      "**delay:1||**pair",
      "**write:x",
      `**execute:touch ${marker}`,
      `**http.get:${address}`,
      `**http.post:${address},text/plain,x`,
      ...typing,
    ];
    const words: Record<string, string> = {};
    for (const text of texts) words[text] = await scene.launchOver(line, text);
    // A caller that sends the UID of a known card means its script. That grants nothing either, and the answer does not
    // reveal the mapping.
    const byNumber = wordOf(await line.call("run", { uid: "04aabbcc" }));
    await device.service.heard.next("launch.finished", ({ uid, success }) => uid === "04aabbcc" && !success);
    const { open } = await owner.call("pairing");
    expect({ words, byNumber, ran: await Bun.file(marker).exists(), open }).toEqual({
      words: Object.fromEntries(texts.map((text) => [text, forbidden])),
      byNumber: wordOf(await line.call("run", { uid: "04dddddd" })),
      ran: false,
      open: undefined,
    });

    // The attack fails even if cards may type.
    await device.stop();
    await device.config(`${toml}allow_input = true\n`);
    await device.start();
    const again = await comesIn(scene);
    for (const text of typing) expect([text, await scene.launchOver(again, text)]).toEqual([text, forbidden]);
  });
}

/** Makes a file that stands for the device's own screen, without which no script can open pairing. */
async function makeScreen() {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-screen-"));
  const path = join(folder, "screen");
  await writeFile(path, "");
  return {
    via: ["env", `TAPDECK_SCREEN=${path}`],
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

attackTest("a launch over the API opens pairing, or types, whoever calls", async () => {
  await using screen = await makeScreen();
  await using scene = await startScene(noReaders, screen.via);
  const owner = scene.device.service.client;
  const member = await scene.sealed(await scene.client("member"));
  const words: string[] = [];
  for (const text of ["**pair", "**input.keyboard:a"])
    for (const line of [member, { call: callAs(scene) }]) words.push(await scene.launchOver(line, text));
  const keys = { keys: "a" };
  words.push(
    wordOf(await member.call("input.keyboard", keys)),
    wordOf(await callAs(scene)("input.keyboard", keys)),
  );
  const { entries } = await owner.call("tokens.history");
  const { open } = await owner.call("pairing");
  const refused = expect.stringMatching(/^(error 2\b|failed)/);
  expect({ words, open }).toEqual({
    words: [refused, refused, refused, refused, forbidden, forbidden],
    open: undefined,
  });
  // The refusal comes from the owner's setting, and not from a missing virtual device.
  for (const { text, error = "" } of entries)
    if (text.includes("input")) expect(error).toContain("script.allow_input");
});

/** Calls of the owner on the device, each as one word of a command line. */
function callAs({ device }: Scene): Line["call"] {
  return async (method, params) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = { "content-type": "application/json" };
    const unix = `${device.place.folder}/tapdeck.sock`;
    const answer = await fetch("http://localhost/api", { unix, method: "POST", body, headers });
    return v.parse(
      v.object({ error: v.optional(v.object({ code: v.number(), message: v.string() })) }),
      await answer.json(),
    );
  };
}

attackTest("a stranger, or a player, overwrites the card on the reader by force", () =>
  unlessHeldUp(async () => {
    await using reader = emulatedPn532("none");
    await using scene = await startScene(readerConfig(reader));
    await firstReader(scene.device.service);
    const tag = ntag213("04a1a2a3a4a5a6", "SNES/Game.sfc");
    reader.put(tag);
    await scene.device.service.heard.next("tokens.added");
    const write = { method: "readers.write", params: { text: "**stop", force: true } };
    const player = await scene.client("player");
    const answers: (Answer | undefined)[] = [
      await (await scene.stranger()).call(write.method, write.params),
      ...(await scene.neighbour.post({ url: urls.tls }, [write])),
      await (await scene.sealed(player)).call(write.method, write.params),
      ...(await scene.postAs(player, [write])),
    ];
    expect({ words: answers.map((answer = {}) => wordOf(answer)), text: textOn(tag) }).toEqual({
      words: answers.map(() => forbidden),
      text: "SNES/Game.sfc",
    });
    const member = await scene.sealed(await scene.client("member"));
    expect(wordOf(await member.call(write.method, write.params))).toBe("result");
    expect(textOn(tag)).toBe("**stop");
  }),
);

const writesPerMinute = 60;

attackTest("one paired member writes 1,000 mappings in a second", async () => {
  await using scene = await startScene(noReaders);
  const { service } = scene.device;
  const client = await scene.client("member");
  const line = await scene.sealed(client);
  const sesame = "sesame-of-the-owner";
  const writes = Array.from({ length: 1000 }, (_, n) => ({
    method: "mappings.new",
    params: uidMapping(`04${n.toString(16).padStart(6, "0")}`, `**echo:${sesame}`),
  }));
  const startMs = performance.now();
  const flood = async () => {
    const answers: Answer[] = [];
    for (let at = 0; at < 900; at += 100) answers.push(...(await line.batch(writes.slice(at, at + 100))));
    // Another transport counts as the same client.
    return [...answers, ...(await scene.postAs(client, writes.slice(900)))];
  };
  const flooding = flood();
  const taps: string[] = [];
  for (let n = 0; n < 10; n++) {
    await service.client.call("tokens.scan", { text: `**echo:${n}`, duration: 1 });
    const { success } = await service.heard.next("launch.finished", ({ text }) => text === `**echo:${n}`);
    taps.push(success ? "done" : "failed");
  }
  const answers = await flooding;
  const secondsMax = Math.ceil((performance.now() - startMs) / 1000);
  const done = answers.filter(({ error }) => error === undefined).length;
  const refusals = answers.flatMap(({ error }) => (error === undefined ? [] : [error]));
  const { mappings } = await service.client.call("mappings");
  expect(done).toBeGreaterThan(0);
  // At most the writes of one minute, and one more for each second that has passed.
  expect(done).toBeLessThanOrEqual(writesPerMinute + secondsMax);
  expect(mappings).toHaveLength(done);
  expect(new Set(refusals.map(({ code }) => code))).toEqual(new Set([busy]));
  expect(refusals.filter(({ data }) => typeof data?.limit !== "string")).toEqual([]);
  expect(taps).toEqual(taps.map(() => "done"));
  // Other clients can write meanwhile.
  const other = await scene.sealed(await scene.client("member"));
  expect(wordOf(await other.call("mappings.new", uidMapping("05aabbcc", "**stop")))).toBe("result");
  await service.client.callAny("mappings.new", uidMapping("05aabbdd", "**stop"));

  const audited = JSON.stringify(await service.client.callAny("audit", { limit: 1000 }));
  const { entries } = v.parse(v.object({ entries: v.array(v.looseObject({})) }), JSON.parse(audited));
  const changes = entries.filter((entry) => entry.client === client.id && entry.method === "mappings.new");
  expect(changes.length).toBeGreaterThan(0);
  for (const change of changes) expect(change.object).toEqual(expect.stringMatching(/./));
  expect(audited).not.toContain(client.secret);
  expect(audited).not.toContain(sesame);
});
