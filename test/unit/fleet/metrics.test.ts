/** Metrics: taps, launches and their times from the events of the bus, and states from the services. */
import { afterEach, expect, setSystemTime, test } from "bun:test";
import { createBus } from "../../../src/bus.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { Token } from "../../../src/core/token.ts";
import { createMetrics } from "../../../src/fleet/metrics.ts";

const token: Token = {
  type: "NTAG",
  uid: "04aa",
  text: "SNES/Secret Game.sfc",
  data: "",
  readerId: "file-1",
  scanTime: "2026-11-23T10:00:00.000Z",
};
const launch = { time: token.scanTime, uid: token.uid, text: token.text };
const media = {
  systemId: "SNES",
  systemName: "SNES",
  mediaPath: "/m/x",
  mediaName: "x",
  launcherId: "l",
  started: token.scanTime,
};

function scene(readerId = "file-1") {
  const bus = createBus(silentLog);
  const state = { nowMs: 1000, card: undefined as string | undefined };
  const metrics = createMetrics({
    bus,
    dataFolder: "/data",
    site: () => "hall",
    descriptors: { count: () => 12, limit: 1024 },
    cardOf: ({ uid, text }) => `${uid} ${text}`,
    cardOfMedia: () => state.card,
    now: () => state.nowMs,
    services: {
      version: "0.1.0",
      platform: "linux",
      health: async () => ({
        status: "degraded",
        readers: { connected: 1, configured: 1 },
        uptime: 5,
        checks: [
          { name: "disk", ok: true },
          {
            name: "media",
            ok: false,
            reason: "no media are at /secret",
            faults: [{ code: "media-missing", of: "owner", subject: "/secret" }],
          },
        ],
      }),
      device: async () => ({
        name: "deck",
        version: "0.1.0",
        platform: "linux",
        uptime: 5,
        systemUptime: 9,
        memory: { totalBytes: 512, availableBytes: 300, serviceBytes: 1 },
        temperature: 61,
        disks: [
          { folders: ["/data"], freeBytes: 5, totalBytes: 10 },
          { folders: ["/secret"], freeBytes: 6, totalBytes: 11 },
        ],
        networks: [
          { name: "eth0", isWireless: false, isUp: false, addresses: [] },
          { name: "wlan0", isWireless: true, isUp: true, addresses: ["10.0.0.7"], signalDbm: -67 },
        ],
        actions: [],
        updating: { step: "writing", percent: 3 },
      }),
      readers: () => [
        {
          id: "/dev/x",
          readerId,
          driver: "file",
          path: "/dev/x",
          info: "a file",
          connected: true,
          capabilities: ["read"],
        },
      ],
      media: {
        status: () => ({ exists: true, indexing: false, optimizing: false, totalMedia: 42 }),
        systems: () => [],
        search: () => ({ results: [], total: 0 }),
        index: async () => {},
        cancel() {},
      },
    },
  });
  /** Replaces the launch queue: the launch is queued while the event is handled. */
  bus.on("tokens.added", (added) => {
    if (added.uid !== "refused")
      bus.emit("running", { ...launch, uid: added.uid, type: "NTAG", data: "", script: "" });
  });
  const shownAs = async (name: string) =>
    (await metrics.text())
      .split("\n")
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1);
  const tap = async (added: Token = token) => {
    bus.emit("tokens.added", added);
    await Promise.resolve();
  };
  return { bus, state, metrics, shownAs, tap };
}

test("the time of a tap ends when its media start, and no later end of its launch counts", async () => {
  const { bus, state, shownAs, tap } = scene();
  await tap();
  state.nowMs += 7;
  // Media of another card, or of no card.
  bus.emit("media.started", media);
  expect(await shownAs("tapdeck_tap_duration_seconds_count")).toBe("0");
  state.card = `${token.uid} ${token.text}`;
  bus.emit("media.started", media);
  state.nowMs += 3000;
  bus.emit("launch.finished", { ...launch, success: true });
  // The next item of its playlist.
  bus.emit("media.started", media);
  expect(await shownAs("tapdeck_tap_duration_seconds_count")).toBe("1");
  expect(await shownAs("tapdeck_tap_duration_seconds_sum")).toBe("0.007");
  expect(await shownAs('tapdeck_tap_duration_seconds_bucket{le="0.005"}')).toBe("0");
  expect(await shownAs('tapdeck_tap_duration_seconds_bucket{le="0.01"}')).toBe("1");
  expect(await shownAs('tapdeck_tap_duration_seconds_bucket{le="+Inf"}')).toBe("1");
});

test("a tap without media ends with its launch, and a failed launch has no time", async () => {
  const { bus, state, shownAs, tap } = scene();
  await tap();
  state.nowMs += 20;
  bus.emit("launch.finished", { ...launch, success: true });
  await tap({ ...token, uid: "04bb" });
  bus.emit("launch.finished", { ...launch, uid: "04bb", success: false, error: "no", reason: "busy" });
  expect(await shownAs("tapdeck_tap_duration_seconds_sum")).toBe("0.02");
  expect(await shownAs("tapdeck_tap_duration_seconds_count")).toBe("1");
  expect(await shownAs('tapdeck_launches_total{outcome="success"}')).toBe("1");
  expect(await shownAs('tapdeck_launches_total{outcome="failure"}')).toBe("1");
  expect(await shownAs('tapdeck_failed_launches_total{reason="busy"}')).toBe("1");
  expect(await shownAs('tapdeck_taps_total{reader="file-1"}')).toBe("2");
});

test("the state of the machine is there, and a cable has no signal", async () => {
  const { metrics, shownAs } = scene();
  expect(await shownAs("tapdeck_temperature_celsius")).toBe("61");
  expect(await shownAs("tapdeck_memory_free_bytes")).toBe("300");
  expect(await shownAs("tapdeck_memory_size_bytes")).toBe("512");
  expect((await metrics.text()).match(/^tapdeck_wifi_signal_dbm.*$/gm)).toEqual([
    'tapdeck_wifi_signal_dbm{interface="wlan0"} -67',
  ]);
});

test("a launch of the API after a refused tap is counted, and is no tap", async () => {
  const { bus, shownAs, tap } = scene();
  await tap({ ...token, uid: "refused", readerId: "" });
  bus.emit("running", { ...launch, type: "", data: "", script: "" });
  bus.emit("launch.finished", { ...launch, success: true });
  expect(await shownAs("tapdeck_tap_duration_seconds_count")).toBe("0");
  expect(await shownAs('tapdeck_launches_total{outcome="success"}')).toBe("1");
  expect(await shownAs('tapdeck_taps_total{reader="api"}')).toBe("1");
});

test("the age and duration of the index are those of the last whole run", async () => {
  const { bus, state, shownAs } = scene();
  expect(await shownAs("tapdeck_index_age_seconds")).toBeUndefined();
  const status = { exists: true, optimizing: false };
  bus.emit("media.indexing", { ...status, indexing: true });
  state.nowMs += 500;
  bus.emit("media.indexing", { ...status, indexing: true });
  state.nowMs += 1000;
  bus.emit("media.indexing", { ...status, indexing: false });
  state.nowMs += 60_000;
  expect(await shownAs("tapdeck_index_duration_seconds")).toBe("1.5");
  expect(await shownAs("tapdeck_index_age_seconds")).toBe("60");
  expect(await shownAs("tapdeck_index_files")).toBe("42");
});

test("states are shown without paths, reasons, UIDs and texts", async () => {
  const { bus, metrics, shownAs, tap } = scene();
  await tap();
  bus.emit("launch.finished", { ...launch, success: false, error: "Secret Game.sfc is missing" });
  expect(await shownAs('tapdeck_fault{check="media"}')).toBe("1");
  expect(await shownAs('tapdeck_faults{code="media-missing"}')).toBe("1");
  expect(await shownAs('tapdeck_fault{check="disk"}')).toBe("0");
  expect(await shownAs('tapdeck_disk_free_bytes{disk="data"}')).toBe("5");
  expect(await shownAs('tapdeck_disk_free_bytes{disk="media1"}')).toBe("6");
  expect(await shownAs('tapdeck_update_step{step="writing"}')).toBe("1");
  expect(await shownAs('tapdeck_update_step{step="none"}')).toBe("0");
  expect(await shownAs("process_open_fds")).toBe("12");
  const text = await metrics.text();
  expect(text).not.toMatch(/secret|04aa|\/dev/i);
  expect(Number(await shownAs("process_private_memory_bytes"))).toBeGreaterThan(1_000_000);
});

afterEach(() => {
  setSystemTime();
});

test("the start of the service is the same in each scrape, and changes once if the clock is set", async () => {
  const { shownAs } = scene();
  const start = async () => Number(await shownAs("process_start_time_seconds"));
  const first = await start();
  expect(Math.abs(Date.now() / 1000 - process.uptime() - first)).toBeLessThan(1.5);
  const at = Date.now();
  for (const ms of [1, 333, 600, 1999, -4000]) {
    setSystemTime(new Date(at + ms));
    expect(await start()).toBe(first);
  }
  setSystemTime(new Date(at + 3_600_000));
  const set = await start();
  expect(Math.abs(set - first - 3600)).toBeLessThan(5);
  setSystemTime(new Date(at + 3_600_700));
  expect(await start()).toBe(set);
});

test("a label with quotes, backslashes and line ends is escaped", async () => {
  const { metrics } = scene('a"b\\c\nd');
  expect(await metrics.text()).toContain('tapdeck_reader_connected{reader="a\\"b\\\\c\\nd"} 1\n');
});

test("nothing is counted after the end", async () => {
  const { bus, metrics, shownAs } = scene();
  metrics[Symbol.dispose]();
  bus.emit("launch.finished", { ...launch, success: true });
  expect(await shownAs('tapdeck_launches_total{outcome="success"}')).toBe("0");
});
