/** Other people's client libraries make the calls of `calls.json` on the compiled service, each from a program of its own. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { deviceForAll, port } from "../helpers/device.ts";
import { makeFiles } from "../helpers/library.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { printed } from "../helpers/processes.ts";
import { pythonSetUpMs } from "../helpers/python.ts";
import { firstReader, readerConfig, sleeper } from "../helpers/tapdeck.ts";
import { goProgram, nodeDriver, pythonDriver } from "./drivers.ts";

/**
 * In the table, this text is the id of the mapping that the calls make. The id is sent as a string of digits, and
 * answered as a number.
 */
const theMapping = "the mapping";
const notification = v.object({ method: v.string(), params: v.record(v.string(), v.unknown()) });
const calls = v.parse(
  v.array(
    v.looseObject({
      call: v.string(),
      answers: v.array(v.unknown()),
      hears: v.optional(v.array(notification), []),
      order: v.optional(v.array(v.union([v.string(), v.number()])), []),
      bytesMin: v.optional(v.number(), 0),
    }),
  ),
  await Bun.file(join(import.meta.dir, "calls.json")).json(),
);
const line = v.object({
  call: v.string(),
  answers: v.array(v.unknown()),
  order: v.array(v.union([v.string(), v.number()])),
  heard: v.array(v.object({ method: v.string(), params: v.optional(v.unknown()) })),
});

interface Library {
  readonly name: string;
  readonly command: () => Promise<readonly string[]>;
  /** True for calls over POST. */
  readonly isHttp?: boolean;
}

const libraries: readonly Library[] = [
  { name: "json-rpc-2.0", command: () => nodeDriver("json-rpc-2.0.mjs") },
  { name: "rpc-websockets", command: () => nodeDriver("rpc-websockets.mjs") },
  { name: "jayson over WebSocket", command: () => nodeDriver("jayson.mjs") },
  { name: "jayson over POST", command: () => nodeDriver("jayson.mjs"), isHttp: true },
  { name: "Python websockets", command: () => pythonDriver("with_websockets.py") },
  { name: "aiohttp", command: () => pythonDriver("with_aiohttp.py") },
];
const goLibraries: readonly Library[] = [
  { name: "gorilla/websocket", command: () => goProgram("gorilla") },
  { name: "coder/websocket", command: () => goProgram("coder") },
];

const setUpMs = 2 * pythonSetUpMs;
// The seconds until a driver that waits in vain is ended.
const driverSecondsMax = 60;

// The files exist before the start, so the service indexes them once by itself.
const media = mkdtempSync(join(tmpdir(), "tapdeck-clients-"));
const film = "SNES/Pokémon ドラゴン 🎮 (USA).sfc";
const games = Array.from(
  { length: 1200 },
  (_, n) => `SNES/Game ${n} with a name of some length (Europe) (En,Fr).sfc`,
);
makeFiles(media, [film, ...games]);
afterAll(() => rm(media, { recursive: true }));

const roots = `[systems]\nroot_folders = [${JSON.stringify(media)}]\n`;
const device = deviceForAll(readerConfig("simulated:") + roots + sleeper(".sfc"), async ({ service }) => {
  await firstReader(service);
  await service.heard.next("media.indexing", ({ exists, indexing }) => exists && !indexing);
});

test("the table has 20 calls, each with a name of its own", () => {
  expect(calls.length).toBe(20);
  expect(new Set(calls.map(({ call }) => call)).size).toBe(20);
});

describe.skipIf(!canMakeNetworks)("the same 20 calls", () => {
  test.each([...libraries])("by $name", (library) => compare(library), setUpMs);
  // `make test-clients` sets the variable. Go compiles its standard library first.
  test.skipIf(process.env.GO_CLIENTS !== "1").each([...goLibraries])(
    "by $name",
    (library) => compare(library),
    2 * setUpMs,
  );
});

async function compare({ command, isHttp = false }: Library): Promise<void> {
  const mapping = await nextMapping();
  const lines = await linesFrom(await command(), isHttp ? "http" : "ws", mapping);
  expect(lines.map(({ call }) => call)).toEqual(calls.map(({ call }) => call));
  for (const [at, { call, hears, order, bytesMin, ...wanted }] of calls.entries()) {
    const made = lines[at] ?? { answers: [], order: [], heard: [] };
    // This check comes before `toMatchObject`, which puts its matchers into the compared value.
    expect(JSON.stringify(made.answers).length).toBeGreaterThanOrEqual(bytesMin);
    expect({ call, answers: made.answers }).toMatchObject({
      call,
      answers: matching(wanted.answers, mapping),
    });
    // One answer to each request, and none to a notification.
    const places = made.order.filter((one) => typeof one === "number").sort();
    const requests = wanted.answers.flatMap((answer, at) =>
      typeof answer === "object" && answer !== null ? [at] : [],
    );
    expect({ call, places }).toEqual({ call, places: requests });
    // POST brings answers only. The index reports its progress at any time.
    const awaited = isHttp ? order.filter((one) => typeof one === "number") : order;
    const came = made.order.filter((one) => awaited.includes(one));
    expect({ call, order: came }).toEqual({ call, order: awaited });
    if (isHttp) continue;
    const heard = hears.map(({ method, params }) => ({
      method,
      params: expect.objectContaining(matching(params, mapping)),
    }));
    expect({ call, heard: made.heard }).toEqual({ call, heard: expect.arrayContaining(heard) });
  }
}

/** Removes the mappings of the library before, and returns the id that the next one gets. */
async function nextMapping(): Promise<number> {
  const { client } = device.service;
  const some = { enabled: false, type: "text", match: "exact", pattern: "x", override: "x" } as const;
  const { id } = await client.call("mappings.new", some);
  const { mappings } = await client.call("mappings");
  for (const one of mappings) await client.call("mappings.delete", { id: one.id });
  return id + 1;
}

/** Runs a driver on the device, and returns its output. */
async function linesFrom(driver: readonly string[], protocol: string, mapping: number) {
  const table = join(device.place.folder, "calls.json");
  await Bun.write(table, JSON.stringify(calls).replaceAll(theMapping, String(mapping)));
  const url = `${protocol}://127.0.0.1:${port}/api/v0.1`;
  const limit = ["timeout", String(driverSecondsMax)];
  const out = await printed(device.network.onDevice([...limit, ...driver, url, table]));
  return out.split("\n").map((text) => v.parse(line, JSON.parse(text)));
}

/** The expectation. In it `"*"` matches anything but null, and `"the mapping"` is the number of the mapping. */
function matching<Value>(expected: Value, mapping: number): Value {
  return JSON.parse(JSON.stringify(expected), (_, value) => {
    if (value === "*") return expect.anything();
    return value === theMapping ? mapping : value;
  });
}
