import { expect, test } from "bun:test";
import { ServiceError } from "../../../src/core/errors.ts";
import { createLog } from "../../../src/core/log.ts";
import { readerFaults } from "../../../src/core/reader-faults.ts";
import type { Driver, ReaderSession, Report } from "../../../src/readers/driver.ts";
import { supervise } from "../../../src/readers/supervisor.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

const gone = (why: string) => new ServiceError("reader-gone", why);

type Wanted = (everOpened: boolean) => boolean | Promise<boolean>;

/** One supervised reader, whose device the test controls. */
function bench(
  options: { readonly refuses?: string; readonly wanted?: Wanted; readonly closeFault?: string } = {},
) {
  const { refuses, wanted = () => true } = options;
  const clock = createManualClock();
  const startMs = clock.now();
  const ending = new AbortController();
  const events: string[] = [];
  const warnings: string[] = [];
  const device = {
    /** The reason why opening fails; undefined if it works. */
    refuses,
    fail: (_why: string) => {},
    report: (() => {}) as Report,
  };
  const session = (signal: AbortSignal): ReaderSession => ({
    info: "Test v1",
    watch: (report) => {
      const watching = Promise.withResolvers<void>();
      device.report = report;
      device.fail = (why) => watching.reject(gone(why));
      if (signal.aborted) watching.resolve();
      signal.addEventListener("abort", () => watching.resolve(), { once: true });
      return watching.promise;
    },
    close: async () => {
      events.push("close");
      if (options.closeFault !== undefined) throw new Error(options.closeFault);
    },
  });
  const driver: Driver = {
    id: "test",
    capabilities: ["read"],
    async open(path, _context, signal) {
      events.push(`open ${clock.now() - startMs}`);
      if (device.refuses !== undefined) throw gone(`${path}: ${device.refuses}`);
      return session(signal);
    },
  };
  const supervisor = supervise(
    {
      connection: { driver, path: "/dev/test" },
      stablePath: "/dev/by-path/test",
      clock,
      log: createLog({
        debug: false,
        write: (line) => {
          if (line.startsWith("warn")) warnings.push(line);
        },
      }),
      connected: ({ info, connected }) => events.push(`connected ${info} ${connected}`),
      disconnected: ({ connected }) => events.push(`disconnected ${connected}`),
      presence: {
        see: (reported) => events.push(`see ${reported.length}`),
        hold: () => events.push("hold"),
      },
      wanted,
    },
    ending.signal,
  );
  return {
    supervisor,
    device,
    events,
    warnings,
    stop: () => ending.abort(new Error("the service is stopping")),
    async pass(ms: number) {
      // The clock advances in steps, because one timer may set the next one.
      for (let left = ms; left > 0; left -= 10) {
        clock.advance(Math.min(10, left));
        await settled();
      }
    },
  };
}

/** Resolves when all work that waits only for promises has run. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

test("a reader is opened at once and reported, and its reports go to its presence", async () => {
  const { supervisor, device, events, stop } = bench();
  expect(supervisor.record()).toMatchObject({ connected: false, info: "" });
  await settled();
  device.report([]);
  expect(events).toEqual(["open 0", "connected Test v1 true", "see 0"]);
  expect(supervisor.record()).toEqual({
    id: "/dev/test",
    readerId: supervisor.record().readerId,
    driver: "test",
    path: "/dev/test",
    info: "Test v1",
    connected: true,
    capabilities: ["read"],
  });
  expect(supervisor.fault()).toBeUndefined();
  stop();
  await supervisor.ended;
});

const everMoreSeldom = [0, 100, 300, 700, 1500, 2300, 3100].map((ms) => `open ${ms}`);

test("a port that cannot be opened is tried after 100, 200, 400, and then every 800 ms", async () => {
  const { supervisor, events, pass, stop } = bench({ refuses: "nothing there" });
  await settled();
  await pass(4000);
  expect(events.slice(0, 7)).toEqual(everMoreSeldom);
  stop();
  await supervisor.ended;
});

test("a reader that worked and failed is retried from 100 ms on, and is the same reader", async () => {
  const { supervisor, device, events, pass, stop } = bench({ refuses: "nothing there" });
  await settled();
  await pass(3100);
  device.refuses = undefined;
  await pass(1800);
  const { readerId } = supervisor.record();
  events.length = 0;
  const resets = readerFaults.resets;
  device.fail("unplugged");
  await settled();
  expect(supervisor.fault()).toBe("unplugged");
  expect(readerFaults.resets - resets).toBe(1);
  expect(supervisor.record()).toMatchObject({ connected: false, info: "Test v1" });
  await pass(100);
  expect(events).toEqual(["hold", "close", "disconnected false", "open 5000", "connected Test v1 true"]);
  expect(supervisor.record().readerId).toBe(readerId);
  stop();
  await supervisor.ended;
});

test("a reader that fails right after each opening is opened ever more seldom", async () => {
  const { supervisor, device, events, pass, stop } = bench();
  for (let round = 0; round < 31; round++) {
    await settled();
    device.fail("a bad cable");
    await settled();
    await pass(100);
  }
  const opened = events.filter((event) => event.startsWith("open"));
  expect(opened).toEqual(everMoreSeldom);
  stop();
  await supervisor.ended;
});

test("a fault holds the tokens on the reader, before the device is closed and before the fault is reported", async () => {
  const { supervisor, device, events, stop } = bench();
  await settled();
  events.length = 0;
  device.fail("unplugged");
  await settled();
  expect(events).toEqual(["hold", "close", "disconnected false"]);
  stop();
  await supervisor.ended;
});

test("a driver that throws as it closes, which none may, is reported as gone and opened again all the same", async () => {
  const { supervisor, device, events, pass, stop } = bench({ closeFault: "borrowed" });
  await settled();
  events.length = 0;
  device.fail("unplugged");
  await settled();
  await pass(100);
  expect(events).toEqual(["hold", "close", "disconnected false", "open 100", "connected Test v1 true"]);
  stop();
  await supervisor.ended;
});

test("the same fault is logged once, and another one again", async () => {
  const { supervisor, device, warnings, pass, stop } = bench({ refuses: "nothing there" });
  await pass(2000);
  expect(warnings.length).toBe(1);
  device.refuses = "not allowed";
  await pass(2000);
  expect(warnings.length).toBe(2);
  expect(supervisor.fault()).toBe("/dev/test: not allowed");
  stop();
  await supervisor.ended;
});

test("supervision ends if the reader is wanted no more; the report says whether it ever worked", async () => {
  const asked: boolean[] = [];
  const { supervisor, device, events, pass } = bench({
    refuses: "nothing there",
    wanted: async (everOpened) => {
      asked.push(everOpened);
      return asked.length < 3;
    },
  });
  await settled();
  device.refuses = undefined;
  await pass(100);
  device.fail("unplugged");
  device.refuses = "nothing there";
  await settled();
  await pass(1000);
  await supervisor.ended;
  expect(asked).toEqual([false, true, true]);
  expect(events.filter((event) => event.startsWith("open")).length).toBe(3);
});

test("a stop while it waits, while it is open, and before it began ends the supervision, with the device closed", async () => {
  const waiting = bench({ refuses: "nothing there" });
  await settled();
  waiting.stop();
  await waiting.supervisor.ended;
  expect(waiting.events).toEqual(["open 0"]);

  const open = bench();
  await settled();
  open.stop();
  await open.supervisor.ended;
  expect(open.events).toEqual(["open 0", "connected Test v1 true", "hold", "close", "disconnected false"]);

  const early = bench();
  early.stop();
  await early.supervisor.ended;
  expect(early.events.filter((event) => event === "close").length).toBe(
    early.events.filter((event) => event.startsWith("connected")).length,
  );
});
