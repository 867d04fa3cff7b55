import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog, silentLog } from "../../../src/core/log.ts";
import {
  createDetection,
  createRefusals,
  type Detection,
  type FoundReader,
} from "../../../src/readers/detection.ts";
import type { Candidate, Driver } from "../../../src/readers/driver.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const sweepMs = 10_000;
const soonMs = 200;

interface Attended {
  readonly driver: string;
  readonly path: string;
  readonly stablePath: string;
  /** The supervisor calls this function after a failed open. */
  readonly wanted: (everOpened: boolean, why: string) => Promise<boolean>;
  readonly found: FoundReader;
}

/** A driver that finds the devices in `candidates`, counts its scans, and fails at every open. */
function finder(id: string) {
  const found = {
    id,
    candidates: [] as readonly Candidate[],
    looks: 0,
    fails: false,
    capabilities: [],
    async detect() {
      found.looks += 1;
      if (found.fails) throw new Error("sysfs is gone");
      return found.candidates;
    },
    open: () => Promise.reject(new Error("detection opens nothing by itself")),
  };
  return found satisfies Driver;
}

type Finder = ReturnType<typeof finder>;

const port = (path: string, stamp = "1"): Candidate => ({ path, stamp, stablePath: `by-path/${path}` });

async function detecting(
  drivers: readonly Finder[],
  run: (bench: {
    readonly attended: readonly Attended[];
    readonly names: () => readonly string[];
    taken: readonly string[];
    /** Time passes, and the due scan has ended. */
    readonly look: (afterMs: number) => Promise<void>;
    readonly lines: readonly string[];
    readonly refused: Detection["refused"];
  }) => Promise<void>,
  others: readonly Driver[] = [],
): Promise<void> {
  const clock = createManualClock();
  const attended: Attended[] = [];
  const lines: string[] = [];
  // This driver is called when all candidates of the others are checked, however long the file system takes to resolve
  // their paths.
  const last = finder("last");
  const bench = {
    attended,
    lines,
    names: () => attended.map(({ driver, path }) => `${driver}:${path}`),
    taken: [] as readonly string[],
    refused: () => detection.refused(),
    async look(afterMs: number) {
      const { looks } = last;
      clock.advance(afterMs);
      await eventually(() => expect(last.looks).toBeGreaterThan(looks));
      // This driver has no candidate, so the scan ends in this turn.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  const detection = createDetection({
    drivers: [...others, ...drivers, last],
    clock,
    log: createLog({ debug: false, write: (line) => lines.push(line) }),
    taken: () => bench.taken,
    attend: ({ driver, path }, stablePath, wanted, found) =>
      attended.push({ driver: driver.id, path, stablePath, wanted, found }),
  });
  try {
    await run(bench);
  } finally {
    detection[Symbol.dispose]();
  }
}

test("every port that a driver names is attended, once and by its stable name, and no other", async () => {
  const finds = finder("finds");
  finds.candidates = [port("/no/ttyUSB0"), port("/no/ttyUSB1"), port("/no/ttyAMA0")];
  const blind: Driver = { id: "blind", capabilities: [], open: () => Promise.reject(new Error("opened")) };
  const run = () =>
    detecting(
      [finds],
      async ({ look, names, attended }) => {
        await look(0);
        const expected = ["finds:/no/ttyUSB0", "finds:/no/ttyUSB1", "finds:/no/ttyAMA0"];
        await eventually(() => expect(names()).toHaveLength(expected.length));
        expect(names()).toEqual(expected);
        expect(attended.map(({ stablePath }) => stablePath)).toEqual(
          finds.candidates.map(({ stablePath }) => stablePath),
        );
      },
      [blind],
    );
  await run();
});

/** The seconds at which a port is tried within this many minutes, if each try fails. */
function triesWithin(minutes: number, what: { readonly isShared?: true }): readonly number[] {
  const seen: Candidate = { ...port("/no/ttyUSB0"), ...what };
  let nowMs = 0;
  const refusals = createRefusals({ now: () => nowMs });
  const seconds: number[] = [];
  for (; nowMs <= minutes * 60_000; nowMs += 1000) {
    if (!refusals.mayTry("a", seen)) continue;
    refusals.add("a", seen);
    seconds.push(nowMs / 1000);
  }
  return seconds;
}

// A reader that got its power or wires after its port was found stayed unused until the next start of the service,
// because its port is never re-plugged.
test("a port of the board's own where nothing answered is tried again, at last once a minute for good", () => {
  expect(triesWithin(5, {})).toEqual([0, 1, 11, 31, 71, 131, 191, 251]);
});

// Behind such a converter there may be a printer that restarts whenever its port is opened.
test("a port that other people have, too, is tried four times, and then left alone", () => {
  expect(triesWithin(24 * 60, { isShared: true })).toEqual([0, 1, 61, 661]);
});

test("a port that was something else is opened again when its time has come, which is no news", async () => {
  const finds = finder("finds");
  finds.candidates = [port("/no/ttyAMA0")];
  await detecting([finds], async ({ look, attended }) => {
    await look(0);
    for (let tries = 1; tries <= 6; tries++) {
      await eventually(() => expect(attended).toHaveLength(tries));
      expect(attended.at(-1)?.found.wasRefused).toBe(tries > 1);
      expect(await attended.at(-1)?.wanted(false, "it is silent")).toBe(false);
      await look(soonMs);
      expect(attended.length).toBe(tries);
      await look(60_000);
    }
  });
});

test("a port that was given up is tried at once when it was re-plugged", async () => {
  const finds = finder("finds");
  const shared = (stamp: string) => ({ ...port("/no/ttyUSB0", stamp), isShared: true }) as const;
  finds.candidates = [shared("1")];
  await detecting([finds], async ({ look, attended }) => {
    await look(0);
    for (let tries = 1; tries <= 4; tries++) {
      await eventually(() => expect(attended).toHaveLength(tries));
      expect(await attended.at(-1)?.wanted(false, "it is silent")).toBe(false);
      await look(20 * 60_000);
    }
    expect(attended.length).toBe(4);
    finds.candidates = [shared("2")];
    await look(sweepMs);
    await eventually(() => expect(attended).toHaveLength(5));
    expect(attended.at(-1)?.found.wasRefused).toBe(false);
  });
});

test("a clock that was set back by a day had a refused port wait for a day", () => {
  let nowMs = 1_800_000_000_000;
  const refusals = createRefusals({ now: () => nowMs });
  refusals.add("a", { stamp: "1" });
  refusals.add("b", { stamp: "1", isShared: true });
  for (let times = 0; times < 3; times++) refusals.add("b", { stamp: "1", isShared: true });
  expect([refusals.mayTry("a", { stamp: "1" }), refusals.mayTry("b", { stamp: "1" })]).toEqual([
    false,
    false,
  ]);
  nowMs -= 86_400_000;
  expect([refusals.mayTry("a", { stamp: "1" }), refusals.mayTry("b", { stamp: "1" })]).toEqual([true, false]);
});

test("a device that is a reader for sure is wanted also where it cannot be opened, until it was pulled", async () => {
  const finds = finder("finds");
  finds.candidates = [{ ...port("1-1.4"), isCertain: true }];
  await detecting([finds], async ({ look, attended }) => {
    await look(0);
    await eventually(() => expect(attended).toHaveLength(1));
    expect(await attended[0]?.wanted(false, "it is silent")).toBe(true);
    finds.candidates = [];
    expect(await attended[0]?.wanted(false, "it is silent")).toBe(false);
  });
});

test("a reader that failed is wanted while its port is the same, and no more once it was pulled or re-plugged", async () => {
  const finds = finder("finds");
  finds.candidates = [port("/no/ttyUSB0"), port("/no/ttyUSB1")];
  await detecting([finds], async ({ look, attended }) => {
    await look(0);
    await eventually(() => expect(attended).toHaveLength(2));
    expect(await attended[0]?.wanted(true, "it went away")).toBe(true);
    finds.candidates = [port("/no/ttyUSB1", "2")];
    expect(await attended[0]?.wanted(true, "it went away")).toBe(false);
    expect(await attended[1]?.wanted(true, "it went away")).toBe(false);
  });
});

test("a reader that was re-plugged while its old supervision ended waited ten seconds for the next sweep", async () => {
  const finds = finder("finds");
  finds.candidates = [port("/no/ttyUSB0")];
  await detecting([finds], async (bench) => {
    await bench.look(0);
    await eventually(() => expect(bench.attended).toHaveLength(1));
    bench.taken = ["/no/ttyUSB0"];
    finds.candidates = [port("/no/ttyUSB0", "2")];
    expect(await bench.attended[0]?.wanted(true, "it went away")).toBe(false);
    bench.taken = [];
    await bench.look(soonMs);
    await eventually(() => expect(bench.attended).toHaveLength(2));
  });
});

test("two drivers that know the same port had it open at once, and the second gave it up for good", async () => {
  const [first, second] = [finder("first"), finder("second")];
  first.candidates = [port("/no/ttyUSB0")];
  second.candidates = [port("/no/ttyUSB0")];
  await detecting([first, second], async ({ look, names, attended }) => {
    await look(0);
    await eventually(() => expect(attended.length).toBeGreaterThan(0));
    expect(names()).toEqual(["first:/no/ttyUSB0"]);
    expect(await attended[0]?.wanted(false, "it is silent")).toBe(false);
    await look(soonMs);
    await eventually(() => expect(attended.length).toBeGreaterThan(1));
    expect(names()).toEqual(["first:/no/ttyUSB0", "second:/no/ttyUSB0"]);
  });
});

test("a port that is taken under another name, or with options behind it, is left alone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tapdeck-detection-"));
  try {
    const [node, link] = [join(folder, "ttyUSB0"), join(folder, "by-id")];
    writeFileSync(node, "");
    symlinkSync(node, link);
    const finds = finder("finds");
    finds.candidates = [port(node), port("/no/ttyUSB1")];
    await detecting([finds], async (bench) => {
      bench.taken = [`${link}?baud=115200`];
      await bench.look(0);
      await eventually(() => expect(bench.attended.length).toBeGreaterThan(0));
      expect(bench.names()).toEqual(["finds:/no/ttyUSB1"]);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a driver that cannot look kept the others from looking", async () => {
  const [broken, finds] = [finder("broken"), finder("finds")];
  broken.fails = true;
  finds.candidates = [port("/no/ttyUSB0")];
  await detecting([broken, finds], async ({ look, names, attended }) => {
    await look(0);
    await eventually(() => expect(attended).toHaveLength(1));
    broken.fails = false;
    broken.candidates = [port("/no/ttyUSB1")];
    await look(sweepMs);
    await eventually(() => expect(attended.map(({ driver }) => driver)).toContain("broken"));
    expect(names()).toContain("broken:/no/ttyUSB1");
  });
});

test("detection that has ended looks no more", async () => {
  const finds = finder("finds");
  const clock = createManualClock();
  const options = { drivers: [finds], clock, log: silentLog, taken: () => [], attend: () => {} };
  const detection = createDetection(options);
  clock.advance(0);
  await eventually(() => expect(finds.looks).toBe(1));
  detection[Symbol.dispose]();
  clock.advance(10 * sweepMs);
  expect(finds.looks).toBe(1);
});

test("a port that is ruled out is never opened, and is in the log once with each reason", async () => {
  const finds = finder("finds");
  const known = port("/no/ttyUSB0");
  finds.candidates = [known, { ...port("/no/ttyS0"), ruledOut: "the kernel's console is on it" }];
  await detecting([finds], async ({ look, names, lines }) => {
    await look(0);
    const left =
      "info  readers: this one is left alone, unless the config names it driver=finds path=/no/ttyS0";
    const first = `${left} why="the kernel's console is on it"`;
    await eventually(() => expect(lines).toEqual([first]));
    // After a login at the port, its node has another time of change.
    finds.candidates = [known, { ...port("/no/ttyS0", "2"), ruledOut: "the kernel's console is on it" }];
    await look(sweepMs);
    expect(lines).toEqual([first]);
    finds.candidates = [known, { ...port("/no/ttyS0", "3"), ruledOut: "another reason" }];
    await look(sweepMs);
    expect(lines).toEqual([first, `${left} why="another reason"`]);
    expect(new Set(names())).toEqual(new Set(["finds:/no/ttyUSB0"]));
  });
});

test("a port that did not open was in the log only: it is refused with its reason, until it is unplugged or opens", async () => {
  const finds = finder("finds");
  const board = { ...port("/no/ttyAMA0"), isOnBoard: true } as const;
  finds.candidates = [board, port("/no/ttyUSB0")];
  await detecting([finds], async ({ look, attended, refused }) => {
    await look(0);
    expect(refused()).toEqual([]);
    const [onBoard, onUsb] = attended;
    await onBoard?.wanted(false, "no PN532 answers");
    await onUsb?.wanted(false, "this user may not open it");
    const silent = { driver: "finds", path: "/no/ttyAMA0", why: "no PN532 answers", isOnBoard: true };
    const locked = { ...silent, path: "/no/ttyUSB0", why: "this user may not open it", isOnBoard: false };
    expect(refused()).toEqual([silent, locked]);
    await look(soonMs);
    expect(refused()).toEqual([silent, locked]);
    // The second reader was plugged in again.
    finds.candidates = [board, port("/no/ttyUSB0", "2")];
    await look(sweepMs);
    expect(refused()).toEqual([silent]);
    // The reader on the board has worked since, and failed again.
    await onBoard?.wanted(true, "it went away");
    expect(refused()).toEqual([]);
  });
});
