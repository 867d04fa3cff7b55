/**
 * The requirements on every driver, as tests: registered once for each driver with its emulated device. A driver reports
 * states; these tests count each change of them.
 */
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { createBus } from "../../src/bus.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { ServiceError } from "../../src/core/errors.ts";
import { createLog, silentLog } from "../../src/core/log.ts";
import type { Driver, ReaderSession } from "../../src/readers/driver.ts";
import { startReaders } from "../../src/readers/readers.ts";
import type { Card, EmulatedReader, Line } from "../emulators/index.ts";
import { unlessHeldUp } from "../helpers/emulated.ts";
import { eventually, within } from "../helpers/processes.ts";

const [a, b] = [
  { uid: "04a1a2a3a4a5a6", text: "one" },
  { uid: "04b1b2b3b4b5b6", text: "another, with ümlaut" },
] as const satisfies readonly Card[];

/** An opened reader, and its reports. */
interface Watched {
  readonly reader: EmulatedReader;
  readonly session: ReaderSession;
  /** The states of the reader, each change once: the cards' descriptions, or nothing. */
  readonly states: readonly string[];
  /** Resolves with undefined after an orderly end of the watch, or with its error. */
  readonly ended: Promise<unknown>;
  readonly stop: () => void;
  readonly lay: (card: Card) => void;
  readonly lift: () => void;
  /** Resolves once this is the state of the reader. */
  readonly sees: (...cards: readonly Card[]) => Promise<void>;
}

export function testDriver(driver: Driver, create: () => EmulatedReader): void {
  const withReader = (run: (watched: Watched) => Promise<void>) => () =>
    unlessHeldUp(() => open(driver, create, run));
  describe(driver.id, () => {
    testCards(withReader);
    testEnds(driver, create, withReader);
    const probe = create();
    const { line, found, others = [] } = probe;
    if (driver.detect !== undefined) testFound(driver, create, found?.isCertain === true);
    for (const { name } of others) testOther(name, withReader);
    if (line.kind === "line") testLine(driver, create);
    else test.skip(`behaviours of its line: ${line.why}`, () => {});
    void probe.close();
  });
}

type WithReader = (run: (watched: Watched) => Promise<void>) => () => Promise<void>;

function testCards(withReader: WithReader): void {
  test(
    "it says what it is, and that nothing lies there",
    withReader(async ({ session, states, sees }) => {
      expect(session.info).toMatch(/\S/);
      await sees();
      expect(states).toEqual([""]);
    }),
  );

  test(
    "a card that comes is reported with all of it, and one that goes is gone, each once",
    withReader(async ({ reader, states, lay, lift, sees }) => {
      await sees();
      lay(a);
      await sees(a);
      lift();
      await sees();
      expect(states).toEqual(["", JSON.stringify(reader.expected(a)), ""]);
    }),
  );

  test(
    "a card that takes another's place is reported, and the other no more",
    withReader(async ({ reader, states, lay, lift, sees }) => {
      await sees();
      lay(a);
      await sees(a);
      lift();
      lay(b);
      await sees(b);
      const cards = states.filter((state) => state !== "");
      expect(cards).toEqual([a, b].map((card) => JSON.stringify(reader.expected(card))));
    }),
  );

  test(
    "the same card off and on again is reported again",
    withReader(async ({ reader, states, lay, lift, sees }) => {
      const card = JSON.stringify(reader.expected(a));
      await sees();
      for (let round = 0; round < 3; round++) {
        lay(a);
        await sees(a);
        lift();
        await sees();
      }
      expect(states).toEqual(["", card, "", card, "", card, ""]);
    }),
  );
}

function testOther(name: string, withReader: WithReader): void {
  test(
    `${name} is reported with all of it, and is gone when it goes`,
    withReader(async ({ reader, session, states, sees }) => {
      const other = reader.others?.find((each) => each.name === name);
      if (other === undefined) throw new Error(`there is no ${name}`);
      await sees();
      other.lay();
      await eventually(() => {
        expect(states.length).toBeGreaterThan(1);
        expect(states.at(-1)).not.toBe("");
      });
      reader.lift(session);
      await sees();
      expect(states).toEqual(["", JSON.stringify(other.expected), ""]);
    }),
  );
}

function testEnds(driver: Driver, create: () => EmulatedReader, withReader: WithReader): void {
  test(
    "a watch that is aborted ends in peace, and the reader closes twice without a word",
    withReader(async ({ session, sees, stop, ended }) => {
      await sees();
      stop();
      expect(await ended).toBeUndefined();
      await session.close();
      await session.close();
    }),
  );

  test(
    "a reader that is closed while it is watched lets go of everything",
    withReader(async ({ session, sees, ended }) => {
      await sees();
      await session.close();
      await ended;
    }),
  );

  test(
    "a reader that is closed while a card lies there lets go of everything",
    withReader(async ({ session, lay, sees, ended }) => {
      lay(a);
      await sees(a);
      await session.close();
      await ended;
    }),
  );

  test("an opening that is called off before it began leaves nothing open", () =>
    leavesNothing(async (clock) => {
      const reader = create();
      const opening = driverOf(driver, reader).open(
        reader.path,
        { clock, log: silentLog },
        AbortSignal.abort(),
      );
      expect(await failureOf(opening)).toBeDefined();
      await reader.close();
    }));
}

function testFound(driver: Driver, create: () => EmulatedReader, isCertain: boolean): void {
  const told = isCertain ? "is listed with the reason" : "is not taken for a reader";
  // The regression: after one failed try, Toy Pads and readers that type were ignored. So was a PN532 that got its power
  // after its port was found.
  test(`one that is found and cannot be opened ${told}, and is opened as soon as it can be`, () =>
    leavesNothing(async (clock) => {
      const reader = create();
      const { found } = reader;
      if (found === undefined) throw new Error("it is never found");
      const tried: string[] = [];
      await found.deafen();
      const readers = startReaders({
        drivers: [driverOf(driver, reader)],
        connect: [],
        detect: true,
        bus: createBus(silentLog),
        clock: skippingLongWaits(clock),
        log: createLog({ debug: true, write: (line) => tried.push(line) }),
      });
      try {
        const refusals = () => tried.filter((line) => line.includes(`reader=${driver.id}-`)).length;
        await eventually(() => expect(refusals()).toBeGreaterThan(0));
        expect(readers.list().map(({ connected }) => connected)).toEqual(isCertain ? [false] : []);
        await eventually(() => expect(readers.faults().map(({ code }) => code)).toEqual([found.fault]));
        await found.heal();
        await eventually(() => expect(readers.list()[0]?.connected).toBe(true));
        expect(readers.faults()).toEqual([]);
      } finally {
        await readers.close();
        await reader.close();
      }
    }));
}

/** The same clock, on which waits of many seconds end in a moment. */
function skippingLongWaits(clock: Clock): Clock {
  const [longMs, momentMs] = [5000, 20];
  let skippedMs = 0;
  return {
    now: () => clock.now() + skippedMs,
    after: (ms, run) =>
      ms < longMs
        ? clock.after(ms, run)
        : clock.after(momentMs, () => {
            skippedMs += ms - momentMs;
            run();
          }),
  };
}

function testLine(driver: Driver, create: () => EmulatedReader): void {
  const withLine = (run: (watched: Watched, line: Line) => Promise<void>) => () =>
    open(driver, create, (watched) => run(watched, lineOf(watched.reader)));
  const comesBack = async ({ reader, ended, session }: Watched, line: Line) => {
    expectGone(await ended);
    await session.close();
    line.plug();
    await openAgain(driver, reader);
  };

  test(
    "a reader that is pulled out while it waits says so once, and opens again when it is back",
    withLine(async (watched, line) => {
      await watched.sees();
      await line.unplug();
      await comesBack(watched, line);
    }),
  );

  test(
    "a reader that is pulled out while it reads a card says so once, and reports no half of it",
    withLine(async (watched, line) => {
      await watched.sees();
      line.onceReading(() => void line.unplug());
      watched.lay(a);
      await comesBack(watched, line);
      expect(watched.states).toEqual([""]);
    }),
  );

  test(
    "a reader that is pulled out under a card says so once, and takes nothing away",
    withLine(async (watched, line) => {
      watched.lay(a);
      await watched.sees(a);
      await line.unplug();
      await comesBack(watched, line);
      expect(watched.states.at(-1)).not.toBe("");
    }),
  );

  const probe = create();
  const testAsked = lineOf(probe).speaksOnly ? test.skip : test;
  void probe.close();
  testAsked(
    "a card that is lifted while it is read, and put back at once, is reported",
    withLine(async ({ reader, lay, lift, sees, states }, line) => {
      await sees();
      let commands = 0;
      line.onceReading(() => {
        lift();
        // The driver checks the card after it was removed. A moment later the card is on the reader again.
        line.onCommand(() => {
          commands += 1;
          if (commands === 3) lay(a);
        });
      });
      lay(a);
      await sees(a);
      expect(states.filter((state) => state !== "")).toEqual([JSON.stringify(reader.expected(a))]);
    }),
  );

  test(
    "a reader that is closed in the middle of a read lets go of everything",
    withLine(async ({ session, sees, lay, ended }, line) => {
      await sees();
      const closed = new Promise<void>((resolve) => {
        line.onceReading(() => resolve(session.close()));
      });
      lay(a);
      await within("read to close in", closed);
      await ended;
    }),
  );

  test(
    "noise on the line throws nothing, and cards are read through it",
    withLine(async ({ lay, lift, sees, ended }, line) => {
      await sees();
      line.noise(532);
      for (const card of [a, b]) {
        lay(card);
        await sees(card);
        lift();
        await sees();
      }
      line.noise(0);
      expect(await Promise.race([ended, "still watching"])).toBe("still watching");
    }),
  );

  test("an opening that is called off at any of its commands leaves nothing open", async () => {
    for (let at = 1, isOpening = true; isOpening; at++) {
      await leavesNothing(async (clock) => {
        const reader = create();
        const calledOff = new AbortController();
        let commands = 0;
        lineOf(reader).onCommand(() => {
          commands += 1;
          if (commands === at) calledOff.abort(new Error("called off"));
        });
        const session = await driverOf(driver, reader)
          .open(reader.path, { clock, log: silentLog }, calledOff.signal)
          .catch(() => undefined);
        isOpening = commands >= at;
        await session?.close();
        await reader.close();
      });
    }
  });

  test("a reader that is pulled out at any command of its opening is refused, and opens again when it is back", async () => {
    for (let at = 1, isOpening = true; isOpening; at++) {
      await leavesNothing(async (clock) => {
        const reader = create();
        const line = lineOf(reader);
        let commands = 0;
        line.onCommand(() => {
          commands += 1;
          if (commands === at) void line.unplug();
        });
        const opening = driverOf(driver, reader).open(
          reader.path,
          { clock, log: silentLog },
          new AbortController().signal,
        );
        const session = await opening.catch((error: unknown) => expectGone(error));
        isOpening = commands >= at;
        line.onCommand(() => {});
        line.plug();
        await session?.close();
        if (isOpening) await openAgain(driver, reader);
        await reader.close();
      });
    }
  });

  test("if nothing answers, and where there is no such path, opening is refused in a sentence", () =>
    leavesNothing(async (clock) => {
      const reader = create();
      await lineOf(reader).unplug();
      const opening = driverOf(driver, reader).open(
        reader.path,
        { clock, log: silentLog },
        new AbortController().signal,
      );
      expectGone(await failureOf(opening));
      await reader.close();
    }));
}

/** Opens the driver on a fresh device, watches it, calls `run`, and checks that nothing is left open. */
async function open(driver: Driver, create: () => EmulatedReader, run: (watched: Watched) => Promise<void>) {
  await leavesNothing(async (clock) => {
    const reader = create();
    const ending = new AbortController();
    const session = await driverOf(driver, reader).open(
      reader.path,
      { clock, log: silentLog },
      ending.signal,
    );
    const states: string[] = [];
    const ended = session
      .watch((present) => {
        const state = present.map((sighting) => JSON.stringify(sighting)).join(" ");
        if (states.at(-1) !== state) states.push(state);
      }, ending.signal)
      .catch((error: unknown) => error);
    try {
      await run({
        reader,
        session,
        states,
        ended,
        stop: () => ending.abort(new Error("the test stops")),
        lay: (card) => reader.lay(session, card),
        lift: () => reader.lift(session),
        sees: (...cards) => {
          const state = cards.map((card) => JSON.stringify(reader.expected(card))).join(" ");
          const early = ended.then((error) => {
            if (states.at(-1) !== state)
              throw new Error(`the driver ended first: ${error}`, { cause: error });
          });
          return Promise.race([eventually(() => expect(states.at(-1)).toBe(state)), early]);
        },
      });
    } finally {
      ending.abort(new Error("the test has ended"));
      await session.close();
      await ended;
      await reader.close();
    }
  });
}

/** Opens the reader again, waits for a card, and closes it. */
async function openAgain(driver: Driver, reader: EmulatedReader) {
  const ending = new AbortController();
  const context = { clock: systemClock, log: silentLog };
  const session = await driverOf(driver, reader).open(reader.path, context, ending.signal);
  const seen = Promise.withResolvers<void>();
  const watching = session.watch((present) => {
    if (present.some((sighting) => JSON.stringify(sighting) === JSON.stringify(reader.expected(b))))
      seen.resolve();
  }, ending.signal);
  reader.lift(session);
  reader.lay(session, b);
  await Promise.race([seen.promise, watching]);
  ending.abort(new Error("seen"));
  await watching;
  await session.close();
}

/** Fails if timers or descriptors are left after `run`. */
async function leavesNothing(run: (clock: Clock) => Promise<void>): Promise<void> {
  const before = openDescriptors();
  const timers = new Set<Disposable>();
  const clock: Clock = {
    now: systemClock.now,
    after(ms, callback) {
      const timer = systemClock.after(ms, () => {
        timers.delete(handle);
        callback();
      });
      const handle = {
        [Symbol.dispose]: () => {
          timers.delete(handle);
          timer[Symbol.dispose]();
        },
      };
      timers.add(handle);
      return handle;
    },
  };
  await run(clock);
  expect(timers.size).toBe(0);
  // Bun closes its copy of a descriptor a moment later.
  await eventually(() => expect(openDescriptors()).toBeLessThanOrEqual(before));
}

function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

function expectGone(error: unknown): undefined {
  expect(error).toBeInstanceOf(ServiceError);
  if (error instanceof ServiceError) expect(error.code).toBe("reader-gone");
}

function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** If this machine has no such node, the same driver runs over an emulated link. */
function driverOf(driver: Driver, reader: EmulatedReader): Driver {
  return reader.driver ?? driver;
}

function lineOf({ line }: EmulatedReader): Line {
  if (line.kind === "none") throw new Error(line.why);
  return line;
}
