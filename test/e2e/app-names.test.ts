/** Names and shapes that the known app of both generations sends and reads, from a neighbour's namespace. */
import { expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import { RpcError } from "../../src/client/client.ts";
import { scriptBytesMax } from "../../src/core/limits.ts";
import { deviceForAll } from "../helpers/device.ts";
import {
  type AppIdentity,
  type AppLine,
  androidOrigin,
  appsAllowed,
  openCurrentApp,
  openEarlierApp,
  pairApp,
} from "../helpers/known-apps.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { noisePython, noisePythonSetUpMs } from "../helpers/noise-python.ts";
import { eventually } from "../helpers/processes.ts";
import { makeSound } from "../helpers/sound-file.ts";
import { indexMedia, noReaders, sleeper } from "../helpers/tapdeck.ts";

const mpv = `
[[launchers]]
id = "mpv"
kind = "mpv"
extensions = [".wav"]
command = ["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null", "--", "{path}"]
`;
let app: AppIdentity;
const device = deviceForAll(
  appsAllowed + noReaders + sleeper(".sfc") + mpv,
  async (made) => {
    await noisePython();
    app = await pairApp(made, "phone", androidOrigin);
    await made.place.file("SNES/Star Quest (USA, Europe) (En,Fr) (Rev 1) (Disc 2) [!] (Club).sfc");
    await made.place.file("SNES/Plain.sfc");
    await Bun.write(await made.place.file("Audio/Long.wav"), makeSound(600));
    await indexMedia(made.service.client);
  },
  noisePythonSetUpMs,
);

const generations: Readonly<Record<string, () => Promise<AppLine>>> = {
  "the current app": () => openCurrentApp(device, app, androidOrigin),
  "the earlier app": () => openEarlierApp(device, "ws"),
};

/** Defines a test for each generation of the app; each has a connection of its own. */
function appTest(name: string, run: (line: AppLine) => Promise<void>, isPossible = canMakeNetworks): void {
  for (const [generation, open] of Object.entries(generations))
    test.skipIf(!isPossible)(`${generation} ${name}`, async () => {
      await using line = await open();
      await run(line);
    });
}

async function refusalOf(call: Promise<unknown>): Promise<RpcError> {
  const thrown = await call.catch((error: unknown) => error);
  if (thrown instanceof RpcError) return thrown;
  throw new Error(`no refusal, but ${JSON.stringify(thrown)}`);
}

const owner = () => device.service.client;
const invalid = -32602;
const forbidden = { error: { code: 2, data: { right: "own" } } };

const searchPage = v.object({
  results: v.array(v.unknown()),
  total: v.number(),
  pagination: v.optional(v.looseObject({ nextCursor: v.optional(v.string()) })),
});

appTest("reads a list page by page, and names a system as it likes", async (line) => {
  const ask = async (params: object) => v.parse(searchPage, (await line.call("media.search", params)).result);
  const all = await ask({ query: "", systems: ["SNES"] });
  expect(all).not.toHaveProperty("pagination");
  const first = await ask({ query: "", systems: ["SNES"], maxResults: 1 });
  expect(first).toMatchObject({ total: 2, pagination: { hasNextPage: true, pageSize: 1 } });
  const second = await ask({
    query: "",
    systems: ["SNES"],
    maxResults: 1,
    cursor: first.pagination?.nextCursor,
  });
  expect(second.pagination).toEqual({ hasNextPage: false, pageSize: 1 });
  expect([...first.results, ...second.results]).toEqual(all.results);
  for (const systems of [["snes"], ["Super Nintendo"]]) {
    expect(await ask({ query: "plain", systems })).toMatchObject({ total: 0 });
    expect(await ask({ query: "plain", systems, fuzzySystem: true, maxResults: 100 })).toMatchObject({
      total: 1,
    });
  }
  expect(await ask({ query: "plain", systems: ["nonsense"], fuzzySystem: true })).toMatchObject({ total: 0 });
});

appTest("filters a search by the tags that it lists", async (line) => {
  const names = async (params: object) => {
    const { results, total, pagination } = await ask(params);
    return { names: results.map((one) => (one as { name: string }).name), total, pagination };
  };
  const ask = async (params: object) => v.parse(searchPage, (await line.call("media.search", params)).result);
  const { result } = await line.call("media.tags", { systems: ["SNES"] });
  expect(result).toMatchObject({ tags: expect.arrayContaining([{ type: "region", tag: "usa" }]) });
  const star = { names: [expect.stringMatching(/^Star Quest/)], total: 1 };
  expect(await names({ query: "", systems: ["SNES"], tags: ["region:usa"] })).toEqual({
    ...star,
    pagination: undefined,
  });
  expect(await names({ tags: ["region:usa", "disc:disc 2"], maxResults: 100 })).toEqual({
    ...star,
    pagination: { hasNextPage: false, pageSize: 100 },
  });
  expect(await names({ query: "star", tags: ["-region:usa"] })).toMatchObject({ names: [], total: 0 });
  expect(await ask({ query: "star", tags: null })).toMatchObject({ total: 1 });
  expect(await line.call("media.search", { query: "star", tags: ["usa"] })).toMatchObject({
    error: { code: invalid, message: expect.stringContaining("type:tag") },
  });
});

appTest("gets tags as objects, and a script that starts what it found", async (line) => {
  const { result } = await line.call("media.search", { query: "star", systems: [], maxResults: 100 });
  expect(result).toEqual({
    pagination: { hasNextPage: false, pageSize: 100 },
    results: [
      {
        system: { id: "SNES", name: expect.any(String), category: expect.any(String) },
        name: "Star Quest (USA, Europe) (En,Fr) (Rev 1) (Disc 2) [!] (Club)",
        path: expect.stringMatching(/^SNES\/Star Quest/),
        tags: [
          { type: "region", tag: "usa" },
          { type: "region", tag: "europe" },
          { type: "lang", tag: "en" },
          { type: "lang", tag: "fr" },
          { type: "rev", tag: "rev 1" },
          { type: "disc", tag: "disc 2" },
          { type: "status", tag: "!" },
          { type: "unknown", tag: "club" },
        ],
        zapScript: expect.any(String),
      },
    ],
    total: 1,
  });
  const found = v.parse(v.object({ results: v.array(v.object({ zapScript: v.string() })) }), result);
  await line.call("run", { text: found.results[0]?.zapScript });
  const { mediaName } = await device.service.heard.next("media.started");
  expect(mediaName).toStartWith("Star Quest");
  await line.call("stop");
  await device.service.heard.next("media.stopped");
  const plain = await line.call("media.search", { query: "plain" });
  expect(plain.result).toMatchObject({ results: [{ tags: [] }] });
});

appTest("reads and writes settings by its names, which are those of the contract, too", async (line) => {
  const { result } = await line.call("settings");
  expect(result).toMatchObject({
    readersScanMode: "tap",
    insertMode: false,
    readersScanExitDelay: 0,
    insertModeExitDelay: 0,
    readersScanIgnoreSystems: [],
    audioScanFeedback: true,
    readersAutoDetect: false,
    debugLogging: false,
    debug: false,
  });
  const changes = {
    readersScanMode: "hold",
    readersScanExitDelay: 2.5,
    readersScanIgnoreSystems: ["SNES"],
    audioScanFeedback: false,
    readersAutoDetect: true,
    launchGuardEnabled: true,
  };
  expect(await line.call("settings.update", changes)).toMatchObject({ result: null });
  expect((await line.call("settings")).result).toMatchObject({
    ...changes,
    insertMode: true,
    insertModeExitDelay: 2.5,
    insertModeBlocklist: ["SNES"],
    audioFeedback: false,
    detectReaders: true,
  });
  const undone = { insertMode: false, insertModeExitDelay: 0, insertModeBlocklist: [], audioFeedback: true };
  await line.call("settings.update", { ...undone, detectReaders: false, launchGuardEnabled: false });
  expect((await line.call("settings")).result).toEqual(result);
});

appTest(
  "is refused each setting that does not change, with its name, and then nothing changes",
  async (line) => {
    const before = await line.call("settings");
    for (const [change, message] of [
      [{ readersScanMode: "hold", insertMode: false }, "insertMode and readersScanMode are one setting"],
      [{ readersScanMode: "press" }, "readersScanMode: "],
      [
        { audioScanFeedback: false, audioFeedback: true },
        "audioFeedback and audioScanFeedback are one setting",
      ],
      [{ readersScanIgnoreSystems: ["SNES", "SNSE"] }, "readersScanIgnoreSystems: there is no system SNSE"],
      [{ insertModeBlocklist: ["SNSE"] }, "insertModeBlocklist: there is no system SNSE"],
      [{ readersScanExitDelay: -1 }, "readersScanExitDelay: "],
      [{ insertMode: true, runZapScript: false }, "runZapScript: this device has no such setting"],
      [{ audioVolume: 100 }, "audioVolume: this device has no such setting"],
      [{ encryption: true }, "encryption: this device has no such setting"],
    ] as const) {
      const { error } = await line.call("settings.update", change);
      expect([error?.code, error?.message]).toEqual([invalid, expect.stringContaining(message)]);
    }
    // These settings belong to the owner of the device.
    for (const change of [
      { debugLogging: true },
      { debug: true },
      { readers: [] },
      { televisionRotation: 90 },
    ])
      expect(await line.call("settings.update", change)).toMatchObject(forbidden);
    expect(await line.call("settings")).toMatchObject({ result: before.result });
    expect(await line.call("settings.update", { someLaterSetting: 1 })).toMatchObject({ result: null });
    await eventually(() =>
      expect(device.log()).toContain("unknown settings were ignored names=someLaterSetting"),
    );
  },
);

appTest("scans a code as uid and text at once, as long as a text", async (line) => {
  const code = `https://example.com/${"card".repeat(50)}/`;
  const long = code + "x".repeat(scriptBytesMax - code.length);
  const { id } = await owner().call("mappings.new", {
    enabled: true,
    type: "uid",
    match: "partial",
    pattern: "cardcard/xxx",
    override: "**delay:1",
  });
  const heard = (method: string) =>
    line.texts
      .map((text) => (text.startsWith("{") ? JSON.parse(text) : {}))
      .find((one) => one.method === method);
  for (const method of ["run", "launch", "tokens.scan"]) {
    const running = device.service.heard.next("running", ({ uid }) => uid === long);
    expect(await line.call(method, { type: "Barcode", uid: long, text: long })).toMatchObject({
      result: null,
    });
    expect((await running).script).toBe("**delay:1");
    await device.service.heard.next("launch.finished", ({ uid }) => uid === long);
  }
  await eventually(() => expect(heard("tokens.removed")?.params.uid).toBe(long));
  expect(heard("running").params).toMatchObject({ uid: long, text: long });
  const { result } = await line.call("tokens.history", { limit: 3 });
  expect(result).toMatchObject({ entries: Array(3).fill({ uid: long, text: long, script: "**delay:1" }) });
  const longer = await line.call("run", { uid: `${long}x`, text: "**delay:1" });
  expect(longer).toMatchObject({ error: { code: -32000, data: { limit: "scriptBytesMax" } } });
  expect(longer.error?.message).toStartWith("uid: ");
  await owner().call("mappings.delete", { id });
});

appTest("stores mappings of the types id and value, which are uid and text", async (line) => {
  const common = { label: "", enabled: true, match: "exact", override: "**delay:1" };
  await line.call("mappings.new", { ...common, type: "id", pattern: "04:AA" });
  await line.call("mappings.new", { ...common, type: "uid", pattern: "no such text" });
  const typesOf = async () => (await owner().call("mappings")).mappings.map(({ type }) => type);
  expect(await typesOf()).toEqual(["uid", "uid"]);
  const { mappings } = await owner().call("mappings");
  const [first, second] = mappings.map(({ id }) => id);
  expect(
    await line.call("mappings.update", { id: second, type: "value", pattern: "some text" }),
  ).toMatchObject({
    result: null,
  });
  expect(await typesOf()).toEqual(["uid", "text"]);
  for (const token of [
    { uid: "04aa", text: "" },
    { uid: "", text: "some text" },
  ]) {
    const running = device.service.heard.next(
      "running",
      ({ uid, text }) => uid === token.uid && text === token.text,
    );
    await line.call("run", token);
    expect((await running).script).toBe("**delay:1");
  }
  for (const id of [first, second]) await line.call("mappings.delete", { id });
});

appTest("reads limits of play time as durations; the device's owner changes them", async (line) => {
  const limits = async () => (await line.call("settings.playtime.limits")).result;
  const usual = { enabled: true, sessionReset: "20m0s", warnings: ["5m0s", "1m0s"] };
  expect(await limits()).toEqual(usual);
  const changes = { enabled: true, daily: "1h30m", session: "45m0s", warnings: ["10m"] };
  expect(await line.call("settings.playtime.limits.update", changes)).toMatchObject(forbidden);
  await owner().call("settings.playtime.limits.update", changes);
  const changed = { ...usual, daily: "1h30m0s", session: "45m0s", warnings: ["10m0s"] };
  expect(await limits()).toEqual(changed);
  expect((await line.call("playtime")).result).toMatchObject({
    enabled: true,
    limits: { dailyMinutes: 90, sessionMinutes: 45, warningMinutes: [10] },
    day: { remainingMs: expect.any(Number) },
  });
  await owner().call("settings.playtime.limits.update", { enabled: false });
  expect(await limits()).toEqual({ ...changed, enabled: false });
  expect((await line.call("playtime")).result).toMatchObject({ enabled: false });
  for (const [field, params] of [
    ["daily", { enabled: true, daily: "90s" }],
    ["session", { session: "an hour" }],
    ["warnings.0", { warnings: ["0s"] }],
    ["retention", { enabled: true, retention: "24h" }],
  ] as const) {
    const refusal = await refusalOf(owner().callAny("settings.playtime.limits.update", params));
    expect([refusal.code, refusal.message.split(":")[0]]).toEqual([invalid, field]);
  }
  expect(await limits()).toEqual({ ...changed, enabled: false });
  const before = { enabled: true, daily: "0", session: "0s", warnings: ["5m", "1m"] };
  await owner().call("settings.playtime.limits.update", before);
  expect(await limits()).toEqual(usual);
});

appTest("reloads files, which are in use when the answer comes", async (line) => {
  const folder = join(device.place.folder, "mappings");
  await mkdir(folder, { recursive: true });
  const written = (override: string) =>
    writeFile(
      join(folder, "mine.toml"),
      `[[mapping]]\ntype = "value"\npattern = "from a file"\noverride = "${override}"\n`,
    );
  for (const [method, override] of [
    ["mappings.reload", "**delay:2"],
    ["settings.reload", "**delay:3"],
    ["mappings.reload", "**delay:4"],
  ] as const) {
    await written(override);
    expect(await line.call(method)).toMatchObject({ result: null });
    const running = device.service.heard.next("running", ({ text }) => text === "from a file");
    await line.call("run", { text: "from a file" });
    expect((await running).script).toBe(override);
  }
  for (const method of ["launchers.refresh", "media.generate.cancel"])
    expect(await line.call(method)).toMatchObject({ result: null });
});

appTest(
  "controls a player with an argument that has a name",
  async (line) => {
    await line.call("run", { text: "Audio/Long.wav" });
    await device.service.heard.next("media.started");
    const control = (action: string, args: object) => line.call("media.control", { action, args });
    const playback = async () =>
      v.parse(
        v.object({ positionMs: v.number(), playbackState: v.string(), volume: v.number() }),
        (await line.call("media.active")).result,
      );
    await eventually(async () => expect((await playback()).playbackState).toBe("playing"));
    expect(await control("pause", {})).toMatchObject({ result: null });
    for (const [args, seconds] of [
      [{ position: 90 }, 90],
      [{ positionMs: 200_000 }, 200],
      [{ offset: 30 }, 230],
      [{ offset: "-10" }, 220],
      [{ position: "50%" }, 300],
    ] as const) {
      expect(await control("seek", args)).toMatchObject({ result: null });
      await eventually(async () =>
        expect(Math.abs((await playback()).positionMs - seconds * 1000)).toBeLessThan(1000),
      );
    }
    expect(await control("volume", { volume: 40 })).toMatchObject({ result: null });
    expect((await playback()).volume).toBe(40);
    const { error } = await control("seek", { position: 1, offset: 1 });
    expect([error?.code, error?.message]).toEqual([invalid, expect.stringContaining("args: ")]);
    await line.call("stop");
    await device.service.heard.next("media.stopped");
  },
  canMakeNetworks && Bun.which("mpv") !== null,
);
