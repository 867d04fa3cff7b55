/** The lights of the case follow the events of the service. The files of the kernel's class `leds` are fakes in a folder. */
import { afterEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBus } from "../../../src/bus.ts";
import { type Fault, faultOf } from "../../../src/core/faults.ts";
import { silentLog } from "../../../src/core/log.ts";
import { followCaseLights } from "../../../src/services/case-lights.ts";
import type { ShownReader } from "../../../src/services/screen-facts.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";
import {
  shownLaunch as launch,
  shownMedia as media,
  shownReader as reader,
} from "../../helpers/shown-events.ts";

const rgb = "tapdeck:rgb:status";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Lights in a folder that has these `names`, and the state that they show. */
async function makeLights({ names = ["tapdeck", rgb], readers = [reader] as readonly ShownReader[] } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-lights-"));
  for (const name of [...names, "input3::capslock"]) {
    const led = join(folder, name);
    await mkdir(led);
    await writeFile(join(led, "max_brightness"), "200\n");
    await writeFile(join(led, "brightness"), "7\n");
    if (name !== rgb) continue;
    await writeFile(join(led, "multi_index"), "green red blue\n");
    await writeFile(join(led, "multi_intensity"), "1 1 1\n");
  }
  const clock = createManualClock();
  const bus = createBus(silentLog);
  const world = { faults: [] as readonly Fault[], brightness: 100, refusal: undefined as string | undefined };
  const warnings: string[] = [];
  let looks = 0;
  const lights = followCaseLights({
    folder,
    bus,
    clock,
    log: { ...silentLog, warn: (area, text) => warnings.push(`${area}: ${text}`) },
    readers: () => readers,
    refusal: () => world.refusal,
    faults() {
      looks += 1;
      return world.faults;
    },
    brightness: () => world.brightness,
  });
  closing.push(async () => {
    lights[Symbol.dispose]();
    await rm(folder, { recursive: true });
  });
  const read = async (name: string, file = "brightness") =>
    (await readFile(join(folder, name, file), "utf8")).trim();
  /** Waits until both lights have this brightness, and the one with colors has these parts of green, red and blue. */
  const show = (brightness: number, color: string) =>
    eventually(async () => {
      const shown = [await read("tapdeck"), await read(rgb), await read(rgb, "multi_intensity")];
      expect(shown).toEqual([String(brightness), String(brightness), color]);
    });
  return { folder, bus, clock, world, warnings, lights, looks: () => looks, read, show };
}

const green = "255 0 0";
const orange = "80 255 0";
const red = "0 255 0";

test("a deck that waits for a card is green, and dims after ten minutes until something happens", async () => {
  const { bus, clock, show, read } = await makeLights();
  await show(200, green);
  clock.advance(10 * 60_000);
  await show(20, green);
  bus.emit("readers.added", { id: "", readerId: "one", driver: "x", capabilities: [], ...reader });
  await show(200, green);
  expect(await read("input3::capslock")).toBe("7");
});

test("a clock that was set on or back made the lights of a deck that had just started dim", async () => {
  const { clock, lights, show, world } = await makeLights();
  await show(200, green);
  for (const ms of [8 * 3_600_000, -9 * 3_600_000]) {
    clock.jump(ms);
    world.brightness -= 10;
    lights.refresh();
    await show(2 * world.brightness, green);
  }
});

test("a start blinks, what plays is dim, and its end is bright again", async () => {
  const { bus, clock, show } = await makeLights();
  await show(200, green);
  bus.emit("media.started", media);
  await show(200, orange);
  for (const brightness of [0, 200, 0]) {
    clock.advance(300);
    await show(brightness, orange);
  }
  clock.advance(8000);
  await show(20, green);
  bus.emit("media.stopped", { ...media, elapsed: 1, exitCode: 0, reason: "stopped" });
  await show(200, green);
});

test("a card that does not start blinks quickly in red for eight seconds", async () => {
  const { bus, clock, show } = await makeLights();
  await show(200, green);
  bus.emit("launch.finished", { ...launch, success: false, error: "any words", reason: "blank" });
  await show(200, red);
  for (const brightness of [0, 200]) {
    clock.advance(125);
    await show(brightness, red);
  }
  clock.advance(8000);
  await show(200, green);
});

test("a deck without a reader, or with a fault, blinks slowly, and one whose time is over is red", async () => {
  const { clock, show, world } = await makeLights({ readers: [] });
  await show(0, green);
  clock.advance(5000);
  await show(200, orange);
  clock.advance(1000);
  await show(0, orange);
  world.refusal = "the time is over";
  clock.advance(5000);
  await show(200, red);
  const other = await makeLights();
  await other.show(200, green);
  other.world.faults = [faultOf("disk-full", { kib: "0" })];
  other.clock.advance(5000);
  await other.show(200, orange);
  other.clock.advance(1000);
  await other.show(0, orange);
});

test("events do not look for faults, which reads the file system on a tap's way", async () => {
  const { bus, clock, looks, show } = await makeLights();
  await show(200, green);
  expect(looks()).toBe(1);
  bus.emit("media.started", media);
  await show(200, orange);
  bus.emit("launch.finished", { ...launch, success: true });
  expect(looks()).toBe(1);
  clock.advance(5000);
  expect(looks()).toBe(2);
});

test("the brightness of the settings applies at once, and nothing but 0 makes a lit light dark", async () => {
  const { lights, show, world } = await makeLights();
  await show(200, green);
  for (const [percent, brightness] of [
    [50, 100],
    [0, 0],
    [0.1, 1],
  ] as const) {
    world.brightness = percent;
    lights.refresh();
    await show(brightness, green);
  }
});

test("the end of the machine blinks, whatever else happens", async () => {
  const { bus, clock, lights, show } = await makeLights();
  await show(200, green);
  lights.showEnding("switching-off");
  await show(200, orange);
  bus.emit("launch.finished", { ...launch, success: false, error: "any words", reason: "blank" });
  clock.advance(300);
  await show(0, orange);
});

test("without a light of ours nothing is followed and no timer runs", async () => {
  const { clock, lights, read } = await makeLights({ names: [] });
  // These other lights are looked for later, and have more to read. If the first ones were followed, that would have begun
  // by now.
  const other = await makeLights();
  await other.show(200, green);
  expect(other.clock.waiting()).toBeGreaterThan(0);
  expect(clock.waiting()).toBe(0);
  lights.refresh();
  lights.showEnding("restarting");
  expect(await read("input3::capslock")).toBe("7");
});

test("lights that cannot be written are named once, and not tried again", async () => {
  const { clock, folder, lights, warnings, world } = await makeLights({ names: ["tapdeck"] });
  const file = join(folder, "tapdeck/brightness");
  await eventually(async () => expect(await readFile(file, "utf8")).toBe("200"));
  await rm(join(folder, "tapdeck"), { recursive: true });
  world.brightness = 50;
  lights.refresh();
  await eventually(() => expect(warnings).toEqual(["lights: cannot be written"]));
  await mkdir(join(folder, "tapdeck"));
  await writeFile(file, "3");
  clock.advance(20_000);
  const other = await makeLights();
  await other.show(200, green);
  expect(await readFile(file, "utf8")).toBe("3");
  expect(warnings).toEqual(["lights: cannot be written"]);
});
