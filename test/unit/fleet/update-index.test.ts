/** Updates of a single deck by an index of versions on a real HTTPS server, with an engine that records the requests. */
import { expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBus } from "../../../src/bus.ts";
import type { Config } from "../../../src/config/shape.ts";
import { rfc3339 } from "../../../src/core/clock.ts";
import { updateQuietMs } from "../../../src/core/console-limits.ts";
import type { LatestVersion } from "../../../src/core/device-shapes.ts";
import { silentLog } from "../../../src/core/log.ts";
import { followIdleness } from "../../../src/fleet/idleness.ts";
import { followIndex, isLater, readIndex } from "../../../src/fleet/update-index.ts";
import { openUpdateJob } from "../../../src/fleet/update-job.ts";
import { type Download, DownloadRefused } from "../../../src/system/download.ts";
import type { Seen } from "../../../src/system/update-engine.ts";
import { startCardsServer } from "../../helpers/cards-server.ts";
import { defaultConfig } from "../../helpers/defaults.ts";
import { certificateOf } from "../../helpers/file-server.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const sha256 = "5a".repeat(32);
const dayMs = 24 * 60 * 60_000;
const hourMs = 60 * 60_000;
const entry = { url: "decks/zero2w.bundle", bytes: 80, sha256 };
const indexOf = (version: string, boards: object = { zero2w: entry }) =>
  JSON.stringify({ version, summary: "better", boards });

async function deck() {
  await using made = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-index-"));
  made.defer(() => rm(folder, { recursive: true }));
  const server = made.use(await startCardsServer());
  await writeFile(join(folder, "ca.pem"), server.certificatePem);
  const clock = createManualClock();
  const bus = createBus(silentLog);
  const idle = made.use(followIdleness(bus, clock));
  const asked: Download[] = [];
  const offers: (LatestVersion | undefined)[] = [];
  const now: { seen: Seen; refusal?: string } = {
    seen: {
      progress: { stamp: "", state: undefined },
      last: { stamp: "1", event: "none", version: "" },
    },
  };
  const engine = {
    async fetch() {
      if (now.refusal !== undefined) throw new DownloadRefused(now.refusal);
    },
    /** The machine restarts at the end of an installation. */
    async install(what: Download, begun: (seen: Seen) => Promise<void>): Promise<void> {
      await begun(now.seen);
      asked.push(what);
      return new Promise(() => {});
    },
    seen: async () => now.seen,
    discard: async () => {},
  };
  const path = join(folder, "job.json");
  const open = async () => openUpdateJob({ engine, idle, path, clock, log: silentLog });
  /** The service starts. */
  const start = async (files: Partial<Config["fleet"]> = {}) =>
    followIndex({
      url: server.url,
      board: "zero2w",
      version: "0.1.9",
      dataFolder: folder,
      clock,
      log: silentLog,
      settings: { ...defaultConfig.fleet, caFile: "ca.pem", ...files },
      job: await open(),
      onLatest: (latest) => offers.push(latest),
      random: () => 0.5,
    });
  const whole = made.move();
  return {
    folder,
    server,
    clock,
    bus,
    asked,
    offers,
    now,
    start,
    open,
    /** Lets time pass until the server was asked this many times in all. No time passes while a request runs. */
    async askedTimes(times: number, stepMs: number) {
      await eventually(() => {
        if (server.asked.length < times && clock.waiting() > 0) clock.advance(stepMs);
        return server.asked.length >= times;
      });
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

test("a newer version is shown, and installed ten minutes after the last tap", async () => {
  await using one = await deck();
  one.server.offer(indexOf("0.2.0"));
  const following = await one.start();
  await one.askedTimes(1, 60_000);
  await eventually(() => one.offers.length === 1);
  expect(one.offers).toEqual([{ version: "0.2.0", summary: "better" }]);
  one.bus.emit("media.started", media);
  one.clock.advance(2 * updateQuietMs);
  one.bus.emit("media.stopped", { ...media, elapsed: 1, exitCode: 0 });
  one.clock.advance(updateQuietMs - 1);
  await Bun.sleep(0);
  expect(one.asked).toEqual([]);
  await eventually(() => {
    one.clock.advance(1);
    return one.asked.length === 1;
  });
  const url = new URL("decks/zero2w.bundle", one.server.url).href;
  expect(one.asked[0]).toMatchObject({ url, bytes: 80, sha256 });
  expect(following.status()).toMatchObject({ server: one.server.url, latest: { version: "0.2.0" } });
  await following.close();
});

test("a deck that was not quiet for a day named a time-out as its fault, and waited longer after each such day", async () => {
  await using one = await deck();
  one.server.offer(indexOf("0.2.0"));
  const following = await one.start();
  await one.askedTimes(1, 60_000);
  await eventually(() => one.offers.length === 1);
  one.bus.emit("media.started", media);
  for (const days of [1, 2, 3]) {
    const beforeMs = one.clock.now();
    await one.askedTimes(1 + days, hourMs / 4);
    expect(Math.abs(one.clock.now() - beforeMs - dayMs)).toBeLessThan(hourMs);
    await eventually(() => following.status().checked === rfc3339(one.clock.now()));
    expect(following.status()).not.toHaveProperty("fault");
  }
  one.bus.emit("media.stopped", { ...media, elapsed: 1, exitCode: 0 });
  await eventually(() => {
    one.clock.advance(60_000);
    return one.asked.length === 1;
  });
  await following.close();
});

test("the index is read each day, and an hour after a failure", async () => {
  await using one = await deck();
  one.server.offer(indexOf("0.1.9"));
  const following = await one.start();
  await one.askedTimes(1, 60_000);
  await eventually(() => following.status().checked !== undefined);
  const firstMs = one.clock.now();
  one.server.refuse(503);
  await one.askedTimes(2, hourMs);
  expect(Math.abs(one.clock.now() - firstMs - dayMs)).toBeLessThanOrEqual(2 * hourMs);
  await eventually(() => following.status().fault?.includes("the server answered 503") === true);
  const secondMs = one.clock.now();
  await one.askedTimes(3, 60_000);
  expect(one.clock.now() - secondMs).toBeLessThanOrEqual(2 * hourMs);
  expect(one.offers).toEqual([undefined]);
  await following.close();
});

test("a version that was not kept, or is damaged, is not tried again, and the next one is", async () => {
  await using one = await deck();
  one.server.offer(indexOf("0.2.0"));
  const before = await one.start();
  await eventually(() => {
    one.clock.advance(60_000);
    return one.asked.length === 1;
  });
  await before.close();
  // The machine restarted twice.
  one.now.seen = { ...one.now.seen, last: { stamp: "2", event: "back", version: "0.2.0" } };
  const after = await one.start();
  const { length: times } = one.server.asked;
  await one.askedTimes(times + 2, hourMs);
  expect(one.asked).toHaveLength(1);
  one.now.refusal = "it has another SHA-256 than was announced";
  one.server.offer(indexOf("0.2.1"));
  await eventually(() => {
    one.clock.advance(hourMs);
    return after.status().fault?.startsWith("0.2.1: it has another SHA-256") === true;
  });
  delete one.now.refusal;
  one.server.offer(indexOf("0.3.0"));
  await eventually(() => {
    one.clock.advance(hourMs);
    return one.asked.length === 2;
  });
  await after.close();
});

test("a version that an owner wants now waits for no quiet moment, and is tried again although it was not kept", async () => {
  await using one = await deck();
  one.server.offer(indexOf("0.1.9"));
  const first = await one.start();
  expect(first.install).toThrow("offers no other version");
  await first.close();
  one.server.offer(indexOf("0.2.0"));
  const before = await one.start();
  await one.askedTimes(1, 60_000);
  await eventually(() => one.offers.length > 0);
  one.bus.emit("media.started", media);
  one.clock.advance(2 * updateQuietMs);
  await Bun.sleep(0);
  expect(one.asked).toEqual([]);
  before.install();
  await eventually(() => one.asked.length === 1);
  await before.close();
  one.now.seen = { ...one.now.seen, last: { stamp: "2", event: "back", version: "0.2.0" } };
  const { length: offers } = one.offers;
  const after = await one.start();
  await eventually(() => {
    if (one.clock.waiting() > 0) one.clock.advance(60_000);
    return one.offers.length > offers;
  });
  // The look that saw it has ended, so it is no second try.
  await eventually(() => one.clock.waiting() > 0);
  expect(one.asked).toHaveLength(1);
  after.install();
  await eventually(() => one.asked.length === 2);
  await after.close();
});

test("an installation that nobody began is begun again after some seconds", async () => {
  await using one = await deck();
  const job = await one.open();
  const what = { url: "https://x/", sha256 };
  void job.run(
    { id: "index:1", what, fetch: "now", install: "now", onStep() {} },
    new AbortController().signal,
  );
  await eventually(() => one.asked.length === 1);
  const next = await one.open();
  expect(next.current()?.id).toBe("index:1");
  const settled = next.settle(new AbortController().signal).then((outcome) => outcome ?? "again");
  const ticking = setInterval(() => one.clock.advance(1000), 1);
  expect(await settled).toBe("again");
  clearInterval(ticking);
  expect(next.current()).toBeUndefined();
});

test("the client certificate is for the server of the index only", async () => {
  await using one = await deck();
  const { certificatePem, keyPem } = certificateOf("hall-1");
  await writeFile(join(one.folder, "deck.pem"), certificatePem);
  await writeFile(join(one.folder, "deck.key"), keyPem);
  const shown = async (url: string) => {
    one.server.offer(indexOf(`0.${one.asked.length + 2}.0`, { zero2w: { ...entry, url } }));
    const following = await one.start({ certificateFile: "deck.pem", keyFile: "deck.key" });
    const { length: before } = one.asked;
    await eventually(() => {
      one.clock.advance(60_000);
      return one.asked.length > before;
    });
    await following.close();
    await (await one.open()).forget();
    return Object.keys(one.asked.at(-1)?.tls ?? {}).toSorted();
  };
  expect(await shown("own.bundle")).toEqual(["ca", "cert", "key"]);
  expect(await shown("https://cdn.example/other.bundle")).toEqual(["ca"]);
});

for (const [name, value, sentence] of [
  ["no object", [], "is no index of updates"],
  ["another version", { version: "v2", boards: {} }, "is no index of updates: version"],
  ["no hash", { version: "1.0.0", boards: { pi4: { ...entry, sha256: "" } } }, "boards.pi4.sha256"],
  [
    "too large a file",
    { version: "1.0.0", boards: { pi4: { ...entry, bytes: 2 ** 40 } } },
    "boards.pi4.bytes",
  ],
  [
    "a plain address",
    { version: "1.0.0", boards: { pi4: { ...entry, url: "http://x/y" } } },
    "no address with TLS",
  ],
  ["a file", { version: "1.0.0", boards: { pi4: { ...entry, url: "file:///etc/passwd" } } }, "no address"],
] as const)
  test(`an index with ${name} is refused`, () => {
    expect(() => readIndex(value, "https://updates.example/index.json")).toThrow(sentence);
  });

test("versions are compared by their numbers", () => {
  expect(isLater("0.10.0", "0.9.9")).toBe(true);
  expect(isLater("0.9.9", "0.10.0")).toBe(false);
  expect(isLater("1.0.0", "1.0.0")).toBe(false);
  expect(isLater("0.0.1", "unknown")).toBe(true);
});

const media = {
  systemId: "SNES",
  systemName: "SNES",
  mediaPath: "/x",
  mediaName: "x",
  launcherId: "x",
  started: "2026-01-01T00:00:00.000Z",
};
