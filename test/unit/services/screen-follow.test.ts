/**
 * The graphical screen beside the events of the service: the drawings, their times, and the effect of a failed drawing.
 * Covers: src/services/screen.ts.
 */
import { afterEach, expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBus } from "../../../src/bus.ts";
import { type Fault, faultOf } from "../../../src/core/faults.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { ScreenView } from "../../../src/core/playback.ts";
import type { DrawJob, DrawResult } from "../../../src/screen/draw-job.ts";
import { menuBox } from "../../../src/screen/menu-template.ts";
import { followScreen } from "../../../src/services/screen.ts";
import type { ShownReader } from "../../../src/services/screen-facts.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";
import {
  shownLaunch as launch,
  shownMedia as media,
  shownReader as reader,
} from "../../helpers/shown-events.ts";

const added = { id: "", readerId: "one", driver: "x", capabilities: [], ...reader };
const plain = { rotation: 0, overscan: 0 } as const;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface World {
  readers: readonly ShownReader[];
  refusal: string | undefined;
  faults: readonly Fault[];
  readonly warnings: string[];
  /** A player has the display. */
  isTaken: boolean;
  /** The error of the next look for the frame buffer. */
  fault?: Error;
  /** The packed pictures of the frame buffer. */
  height: number;
  view: ScreenView;
}

/** A drawing that took `ms`; its packed pictures are their SVGs. */
const doneIn =
  (ms: number) =>
  (job: DrawJob): DrawResult => ({
    kind: "done",
    isConsoleOff: true,
    ms,
    shown: job.kind === "draw" && job.isKept ? packed(job.svg) : [],
    ahead: job.kind === "text" ? [] : job.ahead.map(packed),
  });
const packed = (svg: string) => [Bun.zstdCompressSync(svg).toString("base64")];

/** A screen with a painter that notes its jobs. */
async function makeScreen(
  readers: readonly ShownReader[] = [reader],
  result: (job: DrawJob) => DrawResult | Promise<DrawResult> = doneIn(1),
  cancel = () => {},
) {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-screen-"));
  const path = join(folder, "terminal");
  await writeFile(path, "");
  const device = join(folder, "frame-buffer");
  await writeFile(device, "");
  const jobs: DrawJob[] = [];
  const clock = createManualClock();
  const bus = createBus(silentLog);
  const world: World = {
    readers,
    refusal: undefined,
    faults: [],
    warnings: [],
    isTaken: false,
    height: 480,
    view: plain,
  };
  const screen = followScreen({
    path,
    port: 7497,
    bus,
    clock,
    log: { ...silentLog, warn: (area, text) => world.warnings.push(`${area}: ${text}`) },
    readers: () => world.readers,
    refusal: () => world.refusal,
    faults: () => world.faults,
    view: () => world.view,
    place: async () => ({ hosts: ["deck.local"], port: 7497 }),
    async findFrame() {
      if (world.fault !== undefined) throw world.fault;
      return { device, width: 640, height: world.height, stride: 2560, bitsPerPixel: 32 };
    },
    painter: {
      async run(job) {
        jobs.push(job);
        return job.kind === "text" ? doneIn(1)(job) : result(job);
      },
      cancel,
    },
    isTaken: async () => world.isTaken,
  });
  closing.push(async () => {
    await screen.close();
    await rm(folder, { recursive: true });
  });
  const wordsIn = (svg: string) =>
    [...svg.matchAll(/>([^<>\n]+)<\/text>/g)].map(([, text]) => text).join(" ");
  /** The words of the last drawing. */
  const words = () => {
    const last = jobs.findLast((job) => job.kind === "draw");
    return wordsIn(last?.kind === "draw" ? last.svg : "");
  };
  /** The words that the service itself wrote to the frame buffer. */
  const written = async () => wordsIn(await readFile(device, "utf8"));
  /** Ends all running work: a drawing takes no time in these tests. */
  const shows = (text: string) => eventually(() => expect(words()).toContain(text));
  return { screen, jobs, clock, bus, world, words, written, shows, path, device };
}

test("a card that is empty says so for a while, and then the screen is ready again", async () => {
  const { bus, clock, shows } = await makeScreen();
  await shows("Tap a card");
  bus.emit("launch.finished", { ...launch, success: false, error: "any words", reason: "blank" });
  clock.advance(200);
  await shows("empty");
  clock.advance(8000);
  clock.advance(200);
  await shows("Tap a card");
});

test("an update that restarts the machine left the last picture as it was", async () => {
  const { bus, clock, shows } = await makeScreen();
  await shows("Tap a card");
  bus.emit("device.updating", { step: "writing", percent: 50 });
  bus.emit("device.updating", { step: "restarting" });
  clock.advance(200);
  await shows("Starting again");
  bus.emit("device.updating", { step: "failed", why: "it cannot restart" });
  clock.advance(200);
  await shows("Tap a card");
});

test("after ten minutes the picture is dim and moves, and something that happens makes it bright", async () => {
  const { bus, clock, jobs, shows } = await makeScreen();
  await shows("Tap a card");
  const last = () => {
    const job = jobs.findLast(({ kind }) => kind === "draw");
    return job?.kind === "draw" ? job.svg : "";
  };
  expect(last()).not.toContain("opacity");
  const places = new Set<string>();
  for (let round = 1; round <= 3; round++) {
    const before = jobs.length;
    clock.advance(10 * 60_000);
    await eventually(() => {
      clock.advance(5000);
      expect(jobs.length).toBe(before + 1);
    });
    places.add(/<g opacity="0.3" transform="([^"]+)">/.exec(last())?.[1] ?? "");
  }
  expect(places.size).toBe(3);
  expect(places).not.toContain("");
  bus.emit("readers.added", added);
  clock.advance(200);
  await eventually(() => expect(last()).not.toContain("opacity"));
});

test("a clock that was set on or back made the picture of a deck that had just started dim", async () => {
  const { clock, jobs, world, shows } = await makeScreen();
  await shows("Tap a card");
  for (const ms of [8 * 3_600_000, -9 * 3_600_000]) {
    const before = jobs.length;
    clock.jump(ms);
    // Another screen needs another drawing.
    world.height += 10;
    clock.advance(5000);
    await eventually(() => expect(jobs.length).toBeGreaterThan(before));
  }
  expect(jobs.filter((job) => job.kind === "draw" && job.svg.includes("opacity"))).toEqual([]);
});

test("a screen that could not be drawn at the end delayed the end of the machine", async () => {
  const { screen, clock, world, shows } = await makeScreen();
  await shows("Tap a card");
  world.fault = new Error("too many open files");
  const ended = screen.showEnding("switching-off");
  clock.advance(200);
  await ended;
  expect(screen.isThere).toBe(false);
});

test("the border of the chosen tile moves without a drawing, and the status is back without one", async () => {
  const { screen, jobs, shows, written, device, clock, bus } = await makeScreen();
  await shows("Tap a card");
  await eventually(() => expect(screen.canShowMenu()).toBe(true));
  const size = { width: 640, height: 480 };
  const menu = { title: "Menu", tiles: [{ name: "One" }, { name: "Two" }], page: 1, pages: 1 };
  const colorAt = async (tile: number) => {
    const { x, y } = menuBox(tile, size);
    const bytes = await readFile(device);
    return bytes.subarray(y * 2560 + x * 4, y * 2560 + x * 4 + 3).toString("hex");
  };
  screen.showMenu(menu, 1);
  await shows("One");
  await eventually(() => expect(screen.drawnMenu()).toBe(menu));
  // B G R of `accents.ready`.
  expect(await colorAt(1)).toBe("b5e65e");
  const drawings = jobs.length;
  screen.chooseTile(0);
  expect(await colorAt(0)).toBe("b5e65e");
  expect(await colorAt(1)).toBe("3a1814");
  expect(jobs.length).toBe(drawings);
  // An equal page is not drawn again, and its border is at the right place.
  screen.showMenu({ ...menu }, 1);
  await eventually(() => expect(screen.drawnMenu()).toEqual(menu));
  expect(await colorAt(1)).toBe("b5e65e");
  expect(await colorAt(0)).toBe("3a1814");
  screen.showMenu(undefined);
  await eventually(async () => expect(await written()).toContain("Tap a card"));
  expect(screen.drawnMenu()).toBeUndefined();
  bus.emit("media.started", media);
  clock.advance(200);
  expect(screen.canShowMenu()).toBe(false);
});

test("a menu was drawn again when an owner's act was over, and took no key meanwhile", async () => {
  const { screen, jobs, clock, shows } = await makeScreen();
  await shows("Tap a card");
  await eventually(() => expect(screen.canShowMenu()).toBe(true));
  screen.showAct({ act: "device.update", name: "Mum" });
  clock.advance(200);
  await shows("Mum installs");
  const menu = { title: "Menu", tiles: [{ name: "One" }], page: 1, pages: 1 };
  screen.showMenu(menu);
  await eventually(() => expect(screen.drawnMenu()).toBe(menu));
  const drawings = jobs.length;
  clock.advance(60_000);
  clock.advance(200);
  const again = { ...menu };
  screen.showMenu(again);
  await eventually(() => expect(screen.drawnMenu()).toBe(again));
  expect(jobs.length).toBe(drawings);
});

test("a screen that is turned is drawn again at once, with its menu, and what the service draws itself is turned, too", async () => {
  const { screen, jobs, world, clock, shows, written, device } = await makeScreen();
  await shows("Tap a card");
  await eventually(() => expect(screen.canShowMenu()).toBe(true));
  const menu = { title: "Menu", tiles: [{ name: "One" }, { name: "Two" }], page: 1, pages: 1 };
  screen.showMenu(menu, 1);
  await eventually(() => expect(screen.drawnMenu()).toBe(menu));
  expect(screen.menuColumns()).toBe(4);
  const drawings = jobs.length;
  world.view = { rotation: 90, overscan: 5 };
  screen.refresh();
  clock.advance(200);
  await eventually(() => expect(screen.menuColumns()).toBe(2));
  expect(screen.drawnMenu()).toBe(menu);
  expect(jobs.length).toBe(drawings + 1);
  const job = jobs.at(-1);
  const canvas = { x: 24, y: 32, width: 432, height: 576 };
  expect(job).toMatchObject({ canvas: { ...canvas, rotation: 90 } });
  expect(job?.kind === "draw" && job.svg).toContain('width="480" height="640"');
  const { x, y } = menuBox(1, canvas);
  const bytes = await readFile(device);
  // The picture's rows are the columns of the frame buffer, from the right.
  const at = (canvas.x + x) * 2560 + (639 - canvas.y - y) * 4;
  expect(bytes.subarray(at, at + 3).toString("hex")).toBe("b5e65e");
  // The picture before the menu has the old rotation, so it must not come back.
  screen.showMenu(undefined);
  await shows("Tap a card");
  expect(await written()).not.toContain("Tap a card");
});

test("a notice whose drawing takes longer than it lasts can be read all the same", async () => {
  let isSlow = false;
  let end = () => {};
  const drawing = async (job: DrawJob) => {
    if (isSlow) await new Promise<void>((resolve) => (end = resolve));
    return doneIn(1)(job);
  };
  const { bus, clock, shows, words } = await makeScreen([reader], drawing);
  await shows("Tap a card");
  isSlow = true;
  bus.emit("launch.finished", { ...launch, success: false, error: "any words", reason: "blank" });
  clock.advance(200);
  await shows("empty");
  clock.advance(20_000);
  isSlow = false;
  end();
  await Bun.sleep(0);
  clock.advance(7900);
  await Bun.sleep(0);
  expect(words()).toContain("empty");
  clock.advance(100);
  clock.advance(200);
  await shows("Tap a card");
});

test("a machine that is switched off says when the plug may be pulled, once its game has ended, and keeps the picture", async () => {
  const { screen, jobs, bus, clock, shows } = await makeScreen();
  await shows("Tap a card");
  bus.emit("media.started", media);
  clock.advance(200);
  let isSeen = false;
  const seen = screen.showEnding("switching-off").then(() => {
    isSeen = true;
  });
  clock.advance(1000);
  await new Promise(setImmediate);
  expect(isSeen).toBe(false);
  bus.emit("media.stopped", { ...media, elapsed: 60, exitCode: 0, reason: "stopped" });
  clock.advance(200);
  await seen;
  await shows("Pull the plug when the light on the board is off");
  await screen.close();
  expect(jobs.map(({ kind }) => kind)).not.toContain("text");
});

test("the act of an owner over the network is shown for a minute", async () => {
  const { screen, clock, shows, words } = await makeScreen();
  await shows("Tap a card");
  screen.showAct({ act: "device.update", name: "Mum" });
  clock.advance(200);
  await shows("Mum installs an update.");
  clock.advance(59_000);
  expect(words()).toContain("Mum installs");
  clock.advance(1000);
  clock.advance(200);
  await eventually(() => expect(words()).not.toContain("Mum installs"));
});

test("a start is shown without a process, and by its name when it proves slow; after it the screen is drawn again", async () => {
  const { bus, clock, shows, written, jobs } = await makeScreen();
  await shows("Tap a card");
  const before = jobs.length;
  bus.emit("media.started", media);
  clock.advance(200);
  await eventually(async () => expect(await written()).toBe("Starting"));
  clock.advance(1200);
  await new Promise(setImmediate);
  expect(jobs.length).toBe(before);
  clock.advance(300);
  await shows("Starting Mario");
  expect(jobs.length).toBe(before + 1);
  bus.emit("readers.removed", added);
  bus.emit("launch.finished", { ...launch, text: "SNES/x.sfc", success: false, error: "there is no file x" });
  clock.advance(60_000);
  await new Promise(setImmediate);
  expect(jobs.length).toBe(before + 1);
  bus.emit("media.stopped", { ...media, elapsed: 3, exitCode: null, reason: "failed" });
  clock.advance(200);
  await shows("Tap a card");
  expect(jobs.length).toBe(before + 2);
});

test("no name is drawn over a player that has the display", async () => {
  const { bus, clock, shows, written, jobs, world } = await makeScreen();
  await shows("Tap a card");
  bus.emit("media.started", media);
  clock.advance(200);
  await eventually(async () => expect(await written()).toBe("Starting"));
  world.isTaken = true;
  clock.advance(2000);
  await new Promise(setImmediate);
  clock.advance(20_000);
  await new Promise(setImmediate);
  expect(jobs.length).toBe(1);
});

test("a machine that draws slowly waits longer before it draws a name", async () => {
  const { bus, clock, shows, jobs } = await makeScreen([reader], doneIn(2000));
  await shows("Tap a card");
  bus.emit("media.started", media);
  clock.advance(5900);
  await new Promise(setImmediate);
  expect(jobs.length).toBe(1);
  clock.advance(300);
  await shows("Mario");
});

test("the picture of what starts is drawn ahead, once for each size of the screen", async () => {
  const { clock, shows, jobs, world } = await makeScreen();
  await shows("Tap a card");
  world.readers = [];
  clock.advance(5000);
  await shows("Plug in");
  world.height = 400;
  clock.advance(5000);
  await eventually(() => expect(jobs).toHaveLength(3));
  expect(jobs.map((job) => job.kind === "draw" && job.ahead.length)).toEqual([1, 0, 1]);
});

test("a drawing that goes on when something starts is ended, and drawn after the player", async () => {
  const cut = Promise.withResolvers<DrawResult>();
  const results = [cut.promise];
  const { bus, clock, shows, jobs, path } = await makeScreen(
    [reader],
    (job) => results.shift() ?? doneIn(1)(job),
    () => cut.resolve({ kind: "late" }),
  );
  await shows("Tap a card");
  bus.emit("media.started", media);
  await cut.promise;
  bus.emit("media.stopped", { ...media, elapsed: 0, exitCode: 0, reason: "ended" });
  clock.advance(200);
  await eventually(() => expect(jobs).toHaveLength(2));
  await shows("Tap a card");
  expect(await readFile(path, "utf8")).toBe("");
});

test("a USB stick that was pulled out during play is reported by its name for a while", async () => {
  const { bus, clock, shows } = await makeScreen();
  await shows("Tap a card");
  bus.emit("media.started", media);
  clock.advance(2000);
  await shows("Mario");
  const stick = { why: "any words", stick: "GAMES" };
  bus.emit("media.stopped", { ...media, elapsed: 3, exitCode: null, reason: "stopped", ...stick });
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
  await eventually(() => expect(jobs.length).toBeGreaterThan(before));
  expect(jobs.length).toBe(before + 1);
});

test('after a game "Starting" stood for as long as a drawing takes: the picture before the game is back without one', async () => {
  let isSlow = false;
  const late = Promise.withResolvers<DrawResult>();
  const drawing = (job: DrawJob) => (isSlow ? late.promise : doneIn(1)(job));
  const { bus, clock, shows, written, jobs } = await makeScreen([reader], drawing);
  await shows("Tap a card");
  bus.emit("media.started", media);
  clock.advance(200);
  await eventually(async () => expect(await written()).toBe("Starting"));
  isSlow = true;
  bus.emit("media.stopped", { ...media, elapsed: 60, exitCode: 0, reason: "ended" });
  clock.advance(200);
  await eventually(async () => expect(await written()).toContain("Tap a card"));
  // The drawing follows, because a player may leave the console in text mode.
  await eventually(() => expect(jobs).toHaveLength(2));
  late.resolve({ kind: "late" });
});

test("a full card was drawn again each time that its free bytes changed", async () => {
  const { clock, shows, jobs, world } = await makeScreen();
  await shows("Tap a card");
  for (const kib of ["12", "8", "4"]) {
    world.faults = [faultOf("disk-full", { kib })];
    clock.advance(5000);
    await shows("The memory card is full");
  }
  await new Promise(setImmediate);
  expect(jobs).toHaveLength(2);
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
  const earlier = screen.showPairing({
    link: "http://deck.local:7497/#code=012345",
    base: "http://deck.local:7497",
    code: "012345",
  });
  clock.advance(200);
  await shows("012 345");
  const next = {
    link: "http://deck.local:7497/#code=543210",
    base: "http://deck.local:7497",
    code: "543210",
  };
  const shown = screen.showPairing(next);
  earlier[Symbol.dispose]();
  clock.advance(200);
  await shows("543 210");
  world.refusal = "there is more tomorrow";
  shown[Symbol.dispose]();
  clock.advance(200);
  await shows("There is more tomorrow");
  world.refusal = undefined;
  clock.advance(5000);
  await shows("Tap a card");
});

test("if drawing fails, the console's text comes back, with one line in the log", async () => {
  const { jobs, clock, world, path, screen } = await makeScreen([reader], () => ({
    kind: "failed",
    why: "no memory",
  }));
  await eventually(async () => expect(await readFile(path, "utf8")).toContain("put a card on it"));
  expect(jobs.map(({ kind }) => kind)).toEqual(["draw", "text"]);
  clock.advance(60_000);
  await new Promise(setImmediate);
  expect(world.warnings).toEqual(["screen: cannot be drawn, and shows text"]);
  expect(screen.isThere).toBe(true);
});

test("one drawing that the kernel ended for want of memory took the pictures and the menu until the next start", async () => {
  const results: DrawResult[] = [
    { kind: "failed", why: "its process ended with SIGKILL" },
    { kind: "failed", why: "ENOMEM" },
  ];
  const { jobs, clock, world, screen } = await makeScreen(
    [reader],
    (job) => results.shift() ?? doneIn(1)(job),
  );
  for (const count of [1, 2, 3]) {
    const drawings = () => jobs.filter(({ kind }) => kind === "draw").length;
    await eventually(() => expect(drawings()).toBe(count));
    await eventually(() => expect(screen.canShowMenu()).toBe(count === 3));
    for (let ms = 0; ms < 5 * 60_000; ms += 5000) {
      clock.advance(5000);
      await new Promise(setImmediate);
    }
  }
  expect(world.warnings).toEqual(["screen: cannot be drawn, and shows text"]);
});

test("a drawing for which the machine had no time is tried again, and stays a drawing", async () => {
  const results: DrawResult[] = [{ kind: "late" }, { kind: "late" }];
  const { jobs, clock, world, path } = await makeScreen([reader], (job) => results.shift() ?? doneIn(1)(job));
  for (const count of [1, 2, 3, 3]) {
    await eventually(() => expect(jobs.length).toBeGreaterThanOrEqual(count));
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
