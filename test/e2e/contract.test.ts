/**
 * The published tables of the API, row by row, over a real socket against the compiled binary. Authentication has a file of
 * its own, and the transcripts of each method have the details.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "../../src/client/client.ts";
import { emulatedPn532, ntag213 } from "../helpers/emulated.ts";
import { opened, within } from "../helpers/processes.ts";
import {
  firstReader,
  makePlace,
  type Place,
  type Running,
  readerConfig,
  sleeper,
  startTapdeck,
} from "../helpers/tapdeck.ts";

type Json = Readonly<Record<string, unknown>>;

let place: Place;
let service: Running;
let device: ReturnType<typeof emulatedPn532>;

beforeAll(async () => {
  device = emulatedPn532("none");
  place = await makePlace(readerConfig(device) + sleeper(".sfc"));
  await place.file("SNES/Game.sfc");
  service = await startTapdeck(place);
  await firstReader(service);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
  await device.close();
});

/** Sends texts on a connection of its own, and returns the answers once the same number of messages has arrived. */
async function exchange(texts: readonly string[], count = texts.length): Promise<readonly Json[]> {
  const socket = new WebSocket(`ws://127.0.0.1:${place.port}/api/v0.1`);
  await opened(socket);
  const messages: Json[] = [];
  const all = Promise.withResolvers<void>();
  socket.addEventListener("message", ({ data }) => {
    if (data === "pong") return all.resolve();
    const message = JSON.parse(String(data));
    // The service makes its index soon after its start, which causes these events.
    if (message.method === "media.indexing") return;
    messages.push(message);
    if (messages.length === count) all.resolve();
  });
  for (const text of texts) socket.send(text);
  if (count === 0) socket.send("ping");
  await within(`${count} messages`, all.promise, { seen: () => messages });
  socket.close();
  return messages;
}

async function answerTo(request: Json): Promise<Json> {
  const [answer = {}] = await exchange([JSON.stringify(request)]);
  return answer;
}

const call = (method: string, params?: unknown) => service.client.callAny(method, params) as Promise<Json>;
const codeOf = async (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: { code?: number }) => error.code,
  );
const whole = { enabled: true, type: "uid", match: "exact", pattern: "00", override: "**delay:1" } as const;

test("Request object, jsonrpc: must be the string 2.0 or the payload is not accepted", async () => {
  for (const jsonrpc of ["1.0", 2, undefined]) {
    const answer = await answerTo({ jsonrpc, id: "1", method: "version" });
    expect(answer.error).toMatchObject({ code: -32600 });
  }
});

test("Request object, id: a UUID that is echoed; omitted, the payload is a notification and gets no response", async () => {
  const id = crypto.randomUUID();
  expect((await answerTo({ jsonrpc: "2.0", id, method: "version" })).id).toBe(id);
  expect(await exchange([JSON.stringify({ jsonrpc: "2.0", method: "version" })], 0)).toEqual([]);
});

test("Request object, id: an integer and null are echoed exactly, anything else is refused", async () => {
  for (const id of [0, -7, 2 ** 53 - 1, null, ""]) {
    expect((await answerTo({ jsonrpc: "2.0", id, method: "version" })).id).toBe(id);
  }
  for (const id of [1.5, true, {}, [], 2 ** 53]) {
    const answer = await answerTo({ jsonrpc: "2.0", id, method: "version" });
    expect(answer.error).toMatchObject({ code: -32600 });
    expect("id" in answer).toBe(false);
  }
});

test("Request object, method: the name of the method to run, matched exactly", async () => {
  expect((await answerTo({ jsonrpc: "2.0", id: "1", method: "Version" })).error).toMatchObject({
    code: -32601,
    data: { reason: "method-not-found" },
  });
  expect((await answerTo({ jsonrpc: "2.0", id: "1", method: 5 })).error).toMatchObject({ code: -32600 });
});

test("Request object, params: depends on the method; absent and null mean the same", async () => {
  const absent = await answerTo({ jsonrpc: "2.0", id: "1", method: "tokens.history" });
  const none = await answerTo({ jsonrpc: "2.0", id: "1", method: "tokens.history", params: null });
  expect(none).toEqual(absent);
});

test("Response object: jsonrpc 2.0, the request's id, and one of result and error", async () => {
  const good = await answerTo({ jsonrpc: "2.0", id: "a", method: "stop" });
  expect(good).toEqual({ jsonrpc: "2.0", id: "a", result: null });
  const bad = await answerTo({ jsonrpc: "2.0", id: "b", method: "nonsense" });
  expect(Object.keys(bad).toSorted()).toEqual(["error", "id", "jsonrpc"]);
});

test("Error object: an integer code and a short message", async () => {
  const { error } = (await answerTo({ jsonrpc: "2.0", id: "b", method: "launch" })) as {
    error: { code: number; message: string };
  };
  expect([Number.isInteger(error.code), error.message.length > 0]).toEqual([true, true]);
});

test("Launch parameters: type, uid, text and data are all optional, but one of uid, text and data is populated", async () => {
  for (const params of [{ uid: "04a1" }, { text: "**delay:1" }, { data: "00" }]) {
    expect(await call("launch", params)).toBeNull();
  }
  for (const params of [{}, { type: "NTAG" }, { uid: "", text: "", data: "" }, null]) {
    expect(await codeOf(call("launch", params))).toBe(-32602);
  }
});

test("Launch entry: data, success, text, time, type and uid", async () => {
  await call("launch", { type: "NTAG", uid: "0499", text: "**delay:1", data: "0102" });
  await service.heard.next("launch.finished", ({ uid }) => uid === "0499");
  const { entries } = await service.client.call("tokens.history", { limit: 1 });
  expect(entries[0]).toMatchObject({
    data: "0102",
    success: true,
    text: "**delay:1",
    type: "NTAG",
    uid: "0499",
  });
  expect(entries[0]?.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
});

test("System object: id, name and category", async () => {
  await call("launch", "SNES/Game.sfc");
  const started = await service.heard.next("media.started");
  expect(started).toMatchObject({ systemId: "SNES", mediaName: "Game" });
  expect(started.systemName.length).toBeGreaterThan(0);
  await call("stop");
  await service.heard.next("media.stopped");
});

test("Settings object: every field is there, by each of its names", async () => {
  const settings = await call("settings");
  expect(Object.keys(settings).toSorted()).toEqual(
    [
      "audioFeedback",
      "audioScanFeedback",
      "bluetoothVolumeMax",
      "consoleLogging",
      "debug",
      "debugLogging",
      "detectReaders",
      "insertMode",
      "insertModeAction",
      "insertModeBlocklist",
      "insertModeExitDelay",
      "jackVolumeMax",
      "launchGuardEnabled",
      "playbackResume",
      "quietFrom",
      "quietUntil",
      "quietVolumeMax",
      "reader",
      "readers",
      "readersAutoDetect",
      "readersScanExitDelay",
      "readersScanIgnoreSystems",
      "readersScanMode",
      "soundPlace",
      "systems",
      "televisionLanguage",
      "televisionOverscan",
      "televisionRotation",
      "televisionStandbyMinutes",
      "televisionVolumeMax",
      "televisionWake",
      "timeZone",
      "usbVolumeMax",
      "volumeStart",
    ].toSorted(),
  );
  expect(settings.reader).toEqual([`pn532-uart:${device.path}`]);
  expect(Object.keys(settings.systems as Json).toSorted()).toEqual(["rootFolder", "rootFolders"]);
});

test("Mapping object: every field, id as a number", async () => {
  const { id } = await call("mappings.new", { ...whole, pattern: "0a" });
  const { mappings } = await service.client.call("mappings");
  const mapping = mappings.find((one) => one.id === id);
  expect(mapping).toMatchObject({ ...whole, pattern: "0a", label: "", id });
  expect(mapping?.added).toMatch(/Z$/);
  await call("mappings.delete", { id });
});

/** Launches a token, and returns the script that it was mapped to. */
async function scriptOf(token: { uid?: string; text?: string; data?: string }): Promise<string> {
  const running = service.heard.next("running");
  await call("launch", token);
  const { script } = await running;
  await service.heard.next("launch.finished");
  return script;
}

/** Stores a mapping to `**delay:3` for as long as `run` takes. */
async function withMapping(mapping: object, run: () => Promise<void>): Promise<void> {
  const { id } = await call("mappings.new", { ...whole, override: "**delay:3", ...mapping });
  await run();
  await call("mappings.delete", { id });
}

/** Forgets the messages that were received so far. */
async function forgetHeard(): Promise<void> {
  await call("launch", { uid: "ffff", text: "**delay:1" });
  await service.heard.next("launch.finished", ({ uid }) => uid === "ffff");
  service.heard.forget();
}

test("Mapping type uid: spaces, colons and case do not count", async () => {
  await forgetHeard();
  await withMapping({ type: "uid", pattern: "04:A1 b2" }, async () => {
    for (const uid of ["04a1b2", "04:a1:b2", "04 A1 B2"])
      expect(await scriptOf({ uid, text: "**delay:1" })).toBe("**delay:3");
    expect(await scriptOf({ uid: "04a1b3", text: "**delay:1" })).toBe("**delay:1");
  });
});

test("Mapping type text: matches on the text of the token", async () => {
  await withMapping({ type: "text", pattern: "**delay:2" }, async () => {
    expect(await scriptOf({ text: "**delay:2" })).toBe("**delay:3");
    expect(await scriptOf({ text: "**delay:1" })).toBe("**delay:1");
  });
});

test("Mapping type data: matches on the raw data as hexadecimal", async () => {
  await withMapping({ type: "data", pattern: "0A0B" }, async () => {
    expect(await scriptOf({ data: "0a0b", text: "**delay:1" })).toBe("**delay:3");
  });
});

test("Mapping match exact, partial and regex", async () => {
  await withMapping({ type: "text", match: "partial", pattern: "elay" }, async () => {
    expect(await scriptOf({ text: "**delay:1" })).toBe("**delay:3");
  });
  await withMapping({ type: "text", match: "regex", pattern: "^\\*+delay:[0-9]$" }, async () => {
    expect(await scriptOf({ text: "**delay:9" })).toBe("**delay:3");
    expect(await scriptOf({ text: "**delay:10" })).toBe("**delay:10");
  });
});

test("States: enabled, by mappings.update, to not enabled and back; other fields are unchanged", async () => {
  const { id } = await call("mappings.new", { ...whole, pattern: "0c", override: "**delay:3", label: "x" });
  expect(await scriptOf({ uid: "0c" })).toBe("**delay:3");
  await call("mappings.update", { id, enabled: false });
  expect(await scriptOf({ uid: "0c", text: "**delay:1" })).toBe("**delay:1");
  await call("mappings.update", { id, enabled: true });
  expect(await scriptOf({ uid: "0c" })).toBe("**delay:3");
  const { mappings } = await service.client.call("mappings");
  expect(mappings.find((one) => one.id === id)).toMatchObject({ pattern: "0c", label: "x", enabled: true });
  await call("mappings.delete", { id });
});

test("Client object: id, name, secret and address, and with them role and time", async () => {
  const client = await service.client.call("clients.new", { name: "phone" });
  const { id, secret, added } = client;
  expect(client).toEqual({ id, name: "phone", secret, address: "", role: "member", added });
  expect(Math.abs(Date.parse(added) - Date.now())).toBeLessThan(60_000);
  expect(client.secret).toMatch(/^[0-9a-f]{64}$/);
  expect(await service.client.call("clients")).toEqual({ clients: [client] });
  await call("clients.delete", { id: client.id });
  expect(await service.client.call("clients")).toEqual({ clients: [] });
});

test("WebSocket connection: the three paths, and the bytes pong at once for the bytes ping", async () => {
  for (const path of ["/api/v0.1", "/api/v0", "/api/", "/api"]) {
    const socket = new WebSocket(`ws://127.0.0.1:${place.port}${path}`);
    socket.binaryType = "arraybuffer";
    await opened(socket);
    const answers: unknown[] = [];
    const both = Promise.withResolvers<void>();
    socket.addEventListener("message", ({ data }) => {
      answers.push(typeof data === "string" ? data : [new TextDecoder().decode(data)]);
      if (answers.length === 2) both.resolve();
    });
    socket.send("ping");
    socket.send(new TextEncoder().encode("ping"));
    await within("two answers", both.promise, { seen: () => answers });
    expect([path, answers]).toEqual([path, ["pong", ["pong"]]]);
    socket.close();
  }
});

test("WebSocket connection: further requests while earlier ones wait; answers are matched by id", async () => {
  const texts = Array.from({ length: 50 }, (_, n) =>
    JSON.stringify({ jsonrpc: "2.0", id: n, method: n % 2 === 0 ? "version" : "rpc.discover" }),
  );
  const answers = await exchange(texts);
  expect(answers.map(({ id }) => Number(id)).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 50 }, (_, n) => n),
  );
});

test("HTTP launch endpoint: a local GET acts as though a token with that text was scanned", async () => {
  await forgetHeard();
  const answer = await fetch(`http://127.0.0.1:${place.port}/l/**delay:1`);
  expect([answer.status, await answer.text()]).toEqual([200, '{"launched":true}']);
  expect(await service.heard.next("running")).toMatchObject({ text: "**delay:1", uid: "", data: "" });
});

test("Methods, launch: null before the script is complete, and script errors are not reported", async () => {
  expect(await call("launch", "**delay:400")).toBeNull();
  expect(await call("launch", "**no-such-command")).toBeNull();
});

test("Methods, stop: null, whether or not something was stopped", async () => {
  expect(await call("stop")).toBeNull();
  expect(await call("stop")).toBeNull();
});

test("Methods, media.search: query or systems; maxResults 1 to 1000", async () => {
  await expect(call("media.search", {})).rejects.toMatchObject({
    code: -32602,
    message: "query or system is required",
  });
  for (const maxResults of [0, 1001, 1.5])
    expect(await codeOf(call("media.search", { query: "x", maxResults }))).toBe(-32602);
});

test("Methods, settings.update: only the supplied values are written; the sample call supplies only debug", async () => {
  const before = await call("settings");
  expect(await call("settings.update", { debug: true })).toBeNull();
  expect(await call("settings")).toEqual({ ...before, debug: true, debugLogging: true });
  expect(await Bun.file(`${place.folder}/config.toml`).text()).toContain("debug = true");
  await call("settings.update", { debug: false });
});

test("Methods, mappings: active and inactive ones are listed", async () => {
  const { id } = await call("mappings.new", { ...whole, enabled: false });
  const { mappings } = await service.client.call("mappings");
  expect(mappings.map(({ enabled }) => enabled)).toEqual([false]);
  await call("mappings.delete", { id });
});

test("Methods, mappings.new: all required except label; answers the id", async () => {
  for (const field of ["enabled", "type", "match", "pattern", "override"]) {
    const { [field as keyof typeof whole]: _, ...rest } = whole;
    expect([field, await codeOf(call("mappings.new", rest))]).toEqual([field, -32602]);
  }
});

test("Methods, mappings.update and mappings.delete: an unknown id is not found", async () => {
  expect(await codeOf(call("mappings.update", { id: 4711, enabled: true }))).toBe(3);
  expect(await codeOf(call("mappings.delete", { id: 4711 }))).toBe(3);
});

test("Methods, readers.write: one at a time waits for a tag, until it is called off", async () => {
  const first = codeOf(call("readers.write", { text: "x" }));
  // A second write on the same connection replaces the first one.
  const second = codeOf(call("readers.write", { text: "y" }));
  expect(await first).toBe(6);
  const other = await connect(`ws://127.0.0.1:${place.port}/api/v0.1`);
  expect(await codeOf(other.call("readers.write", { text: "z" }))).toBe(6);
  other.close();
  expect(await call("readers.write.cancel")).toBeNull();
  expect(await second).toBe(1);
});

test("Methods, clients.delete: an unknown id is not found", async () => {
  expect(await codeOf(call("clients.delete", { id: "nobody" }))).toBe(3);
});

test("Methods, version: platform and a plain version below 2.0.0", async () => {
  const { platform, version } = await service.client.call("version");
  expect(platform).toBe("linux");
  expect(version).toMatch(/^[01]\.\d+\.\d+$/);
});

test("Methods, tokens, readers, media, media.active, systems, tokens.history: without params", async () => {
  for (const method of ["tokens", "readers", "media", "systems", "tokens.history"])
    expect(await call(method)).toBeObject();
  expect(await call("media.active")).toBeNull();
});

test("Events: a card on the reader, its launch, its player, its leaving, and the reader itself", async () => {
  const card = ntag213("04010203040506", "SNES/Game.sfc");
  device.put(card);
  expect(await service.heard.next("tokens.added")).toMatchObject({ uid: "04010203040506", type: "NTAG" });
  await service.heard.next("running", ({ uid }) => uid === "04010203040506");
  await service.heard.next("media.started");
  device.take(card);
  expect(await service.heard.next("tokens.removed")).toMatchObject({ uid: "04010203040506" });
  await call("stop");
  expect(await service.heard.next("media.stopped")).toMatchObject({ mediaName: "Game", exitCode: null });
  await device.unplug();
  expect(await service.heard.next("readers.removed")).toMatchObject({ connected: false });
  device.plug();
  expect(await service.heard.next("readers.added")).toMatchObject({ connected: true });
});

test("Events: a notification of a client's gets no response", async () => {
  expect(await exchange([JSON.stringify({ jsonrpc: "2.0", method: "running", params: {} })], 0)).toEqual([]);
});

test("Errors 3: malformed JSON is a protocol error, which has no id", async () => {
  const [answer] = await exchange(["{"]);
  expect(answer).toEqual({
    jsonrpc: "2.0",
    error: { code: -32700, message: "this is not JSON", data: { reason: "parse-error" } },
  });
});

test("Limits: batch, nesting, message and script, each with its name", async () => {
  const limitOf = async (text: string) => {
    const [answer] = await exchange([text]);
    const error = (answer as { error?: { code: number; data: { limit: string } } }).error;
    return [error?.code, error?.data.limit];
  };
  const many = `[${Array.from({ length: 101 }, () => "1").join(",")}]`;
  expect(await limitOf(many)).toEqual([-32000, "batchRequestsMax"]);
  expect(await limitOf(`${"[".repeat(65)}${"]".repeat(65)}`)).toEqual([-32000, "jsonDepthMax"]);
  const long = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "launch", params: "x".repeat(16 * 1024 + 1) });
  expect(await limitOf(long)).toEqual([-32000, "scriptBytesMax"]);
  const scan = (uid: string) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "launch", params: { uid, text: "**delay:1" } });
  expect(await limitOf(scan("é".repeat(8 * 1024 + 1)))).toEqual([-32000, "scriptBytesMax"]);
  expect(await limitOf(scan("é".repeat(8 * 1024)))).toEqual([undefined, undefined]);
  const socket = new WebSocket(`ws://127.0.0.1:${place.port}/api/v0.1`);
  await opened(socket);
  const closed = new Promise((resolve) => socket.addEventListener("close", resolve, { once: true }));
  socket.send(" ".repeat(1024 * 1024 + 1));
  await within("end of the connection", closed);
});

test("Limits: the default port, and maxResults of media.search", async () => {
  const { methods } = await service.client.call("rpc.discover");
  const search = methods.find(({ name }) => name === "media.search") as unknown as {
    "x-params": { properties: { maxResults: Json } };
  };
  expect(search["x-params"].properties.maxResults).toMatchObject({ default: 250, minimum: 1, maximum: 1000 });
});

test("Versioning: an unknown version path answers 404", async () => {
  expect((await fetch(`http://127.0.0.1:${place.port}/api/v1`)).status).toBe(404);
});
