/** The graphical screen beside the events of the service: what is drawn, when, and what happens where drawing fails. */
import { afterEach, expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBus } from "../../../src/bus.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { DrawJob, DrawResult } from "../../../src/screen/draw-job.ts";
import { findFrameBuffer, framePixels } from "../../../src/screen/frame-buffer.ts";
import { followScreen, type ShownReader } from "../../../src/wiring/screen.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const frame = { device: "/dev/null", width: 640, height: 480, stride: 2560, bitsPerPixel: 32 } as const;
const reader = { path: "/dev/ttyUSB0", info: "reader", connected: true };
const added = { id: "", readerId: "one", driver: "x", capabilities: [], ...reader };
const media = {
  systemId: "SNES",
  systemName: "SNES",
  mediaPath: "/m/Mario.sfc",
  mediaName: "Mario",
  launcherId: "x",
  started: "2026-01-01T00:00:00Z",
};
const launch = { time: "2026-01-01T00:00:00Z", uid: "04", text: "" };

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A screen with a painter that notes its jobs. */
async function makeScreen(
  readers: readonly ShownReader[] = [reader],
  result: () => DrawResult = () => ({ kind: "done", isConsoleOff: true, ms: 1 }),
) {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-screen-"));
  const path = join(folder, "terminal");
  await writeFile(path, "");
  const jobs: DrawJob[] = [];
  const clock = createManualClock();
  const bus = createBus(silentLog);
  const world: { readers: readonly ShownReader[]; refusal: string | undefined; warnings: string[] } = {
    readers,
    refusal: undefined,
    warnings: [],
  };
  const screen = followScreen({
    ...{ path, port: 7497, bus, clock },
    log: { ...silentLog, warn: (area, text) => world.warnings.push(`${area}: ${text}`) },
    readers: () => world.readers,
    refusal: () => world.refusal,
    place: async () => ({ hosts: ["deck.local"], port: 7497 }),
    findFrame: async () => frame,
    painter: {
      async run(job) {
        jobs.push(job);
        return job.kind === "text" ? { kind: "done", isConsoleOff: false, ms: 1 } : result();
      },
      cancel() {},
    },
  });
  closing.push(async () => {
    await screen.close();
    await rm(folder, { recursive: true });
  });
  /** The words of what was drawn last. */
  const words = () => {
    const last = jobs.findLast((job) => job.kind === "draw");
    return [...(last?.kind === "draw" ? last.svg : "").matchAll(/>([^<>\n]+)<\/text>/g)]
      .map(([, text]) => text)
      .join(" ");
  };
  /** Lets everything that was begun end: a drawing here takes no time. */
  const shows = (text: string) => eventually(() => words().includes(text));
  return { screen, jobs, clock, bus, world, words, shows, path };
}

test("a card that is empty says so for a while, and then the screen is ready again", async () => {
  const { bus, clock, shows } = await makeScreen();
  await shows("Tap a card");
  bus.emit("running", { ...launch, type: "", data: "", script: "" });
  const error = "the tag is blank: there is no text on it yet, and no mapping for it";
  bus.emit("launch.finished", { ...launch, success: false, error });
  clock.advance(200);
  await shows("empty");
  clock.advance(8000);
  clock.advance(200);
  await shows("Tap a card");
});

test("while a player runs nothing is drawn but its name, once, and after it the screen is drawn again", async () => {
  const { bus, clock, shows, jobs } = await makeScreen();
  await shows("Tap a card");
  bus.emit("media.started", media);
  clock.advance(200);
  await shows("Mario");
  const before = jobs.length;
  bus.emit("readers.removed", added);
  bus.emit("launch.finished", { ...launch, text: "SNES/x.sfc", success: false, error: "there is no file x" });
  clock.advance(60_000);
  await new Promise(setImmediate);
  expect(jobs.length).toBe(before);
  bus.emit("media.stopped", { ...media, elapsed: 3, exitCode: null, reason: "failed" });
  clock.advance(200);
  await shows("Tap a card");
  expect(jobs.length).toBe(before + 1);
});

test("a USB stick that was pulled out during play is told by its name for a while", async () => {
  const { bus, clock, shows } = await makeScreen();
  await shows("Tap a card");
  bus.emit("media.started", media);
  clock.advance(200);
  await shows("Mario");
  const why = "the USB stick GAMES was removed";
  bus.emit("media.stopped", { ...media, elapsed: 3, exitCode: null, reason: "stopped", why });
  clock.advance(200);
  await shows("GAMES");
  clock.advance(8000);
  clock.advance(200);
  await shows("Tap a card");
});

test("a screen that a player had is drawn again though it shows the same", async () => {
  const { bus, clock, shows, jobs } = await makeScreen();
  await shows("Tap a card");
  const before = jobs.length;
  bus.emit("media.started", media);
  bus.emit("media.stopped", { ...media, elapsed: 0, exitCode: 1, reason: "failed" });
  clock.advance(200);
  await eventually(() => jobs.length > before);
  expect(jobs.length).toBe(before + 1);
});

test("a burst of events is one drawing, behind the launch, and without a change there is none", async () => {
  const { bus, clock, shows, jobs, world } = await makeScreen();
  await shows("Tap a card");
  clock.advance(5000);
  await new Promise(setImmediate);
  const before = jobs.length;
  world.readers = [];
  for (let n = 0; n < 100; n++) bus.emit("readers.removed", added);
  await new Promise(setImmediate);
  expect(jobs.length).toBe(before);
  clock.advance(200);
  await shows("Plug in");
  for (let n = 0; n < 20; n++) {
    clock.advance(5000);
    await new Promise(setImmediate);
  }
  expect(jobs.length).toBe(before + 1);
});

test("at the start no reader is missed, as long as readers are being looked for", async () => {
  const { bus, clock, shows, jobs, world } = await makeScreen([]);
  await new Promise(setImmediate);
  bus.emit("readers.removed", added);
  clock.advance(200);
  await new Promise(setImmediate);
  expect(jobs).toEqual([]);
  clock.advance(5000);
  await shows("Plug in a reader");
  world.readers = [reader];
  bus.emit("readers.added", added);
  clock.advance(200);
  await shows("Tap a card");
});

test("pairing, and the end of play time, stay until they are over", async () => {
  const { screen, clock, shows, world } = await makeScreen();
  await shows("Tap a card");
  screen.showPairing({
    link: "http://deck.local:7497/#code=012345",
    base: "http://deck.local:7497",
    code: "012345",
  });
  clock.advance(200);
  await shows("012 345");
  world.refusal = "there is more tomorrow";
  screen.showPairing(undefined);
  clock.advance(200);
  await shows("There is more tomorrow");
  world.refusal = undefined;
  clock.advance(5000);
  await shows("Tap a card");
});

test("where drawing fails, the console's text comes back, with one line in the log", async () => {
  const { jobs, clock, world, path, screen } = await makeScreen([reader], () => ({
    kind: "failed",
    why: "no memory",
  }));
  await eventually(async () => (await readFile(path, "utf8")).includes("put a card on it"));
  expect(jobs.map(({ kind }) => kind)).toEqual(["draw", "text"]);
  clock.advance(60_000);
  await new Promise(setImmediate);
  expect(world.warnings).toEqual(["screen: cannot be drawn, and shows text"]);
  expect(screen.isThere).toBe(true);
});

test("a drawing for which the machine had no time is tried again, and stays a drawing", async () => {
  const results: DrawResult[] = [{ kind: "late" }, { kind: "late" }];
  const { jobs, clock, world, path } = await makeScreen(
    [reader],
    () => results.shift() ?? { kind: "done", isConsoleOff: true, ms: 1 },
  );
  for (const count of [1, 2, 3, 3]) {
    await eventually(() => jobs.length >= count);
    await new Promise(setImmediate);
    expect(jobs.map(({ kind }) => kind)).toEqual(Array.from({ length: count }, () => "draw"));
    clock.advance(5000);
  }
  expect(world.warnings).toEqual([]);
  expect(await readFile(path, "utf8")).toBe("");
});

test("the end of the service gives the console back", async () => {
  const { jobs, screen, shows, path } = await makeScreen();
  await shows("Tap a card");
  await screen.close();
  expect(jobs.at(-1)).toEqual({ kind: "text", terminal: path });
  expect(screen.isThere).toBe(false);
});

test("pixels stand in the order of the frame buffer, row by row of its stride", () => {
  const rgba = Uint8Array.of(255, 128, 8, 255, 1, 2, 3, 255, 10, 20, 30, 255, 0, 0, 0, 255);
  const small = { device: "", width: 2, height: 2 };
  const all = { first: 0, count: 2 };
  expect([...framePixels(rgba, { ...small, stride: 12, bitsPerPixel: 32 }, all)]).toEqual([
    8, 128, 255, 0, 3, 2, 1, 0, 0, 0, 0, 0, 30, 20, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  ]);
  // 255, 128 and 8 are 31, 32 and 1 of 5, 6 and 5 bits: 0xfc01.
  const low = { ...small, stride: 4, bitsPerPixel: 16 } as const;
  expect([...framePixels(rgba, low, all)]).toEqual([0x01, 0xfc, 0x00, 0x00, 0xa3, 0x08, 0x00, 0x00]);
  expect([...framePixels(rgba, low, { first: 1, count: 1 })]).toEqual([0xa3, 0x08, 0x00, 0x00]);
});

test("a frame buffer is known by sysfs, and one that is odd, too large or not there is none", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-fb-"));
  closing.push(() => rm(folder, { recursive: true }));
  const found = async (size: string, stride: string, bits: string) => {
    await writeFile(join(folder, "virtual_size"), `${size}\n`);
    await writeFile(join(folder, "stride"), `${stride}\n`);
    await writeFile(join(folder, "bits_per_pixel"), `${bits}\n`);
    return findFrameBuffer(folder, "/dev/fb0");
  };
  expect(await found("1280,800", "5120", "32")).toEqual({
    ...{ device: "/dev/fb0", width: 1280, height: 800, stride: 5120, bitsPerPixel: 32 },
  });
  expect((await found("640,480", "1280", "16"))?.bitsPerPixel).toBe(16);
  for (const [size, stride, bits] of [
    ["1280,800", "5120", "24"],
    ["1280,800", "5000", "32"],
    ["1280", "5120", "32"],
    ["x,y", "5120", "32"],
    ["99999,99999", "399996", "32"],
    ["1280,800", "99999999", "32"],
  ] as const)
    expect([size, stride, bits, await found(size, stride, bits)]).toEqual([size, stride, bits, undefined]);
  expect(await findFrameBuffer(join(folder, "none"))).toBeUndefined();
});
