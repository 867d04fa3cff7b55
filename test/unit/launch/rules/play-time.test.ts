/** Play time: the ledger with wrong clocks, and the limits as players notice them, on clocks of the test. */
import { afterEach, expect, test } from "bun:test";
import fc from "fast-check";
import { createBus } from "../../../../src/bus.ts";
import type { PlayTimeLimits } from "../../../../src/config/shape.ts";
import { silentLog } from "../../../../src/core/log.ts";
import type { PlayRecord } from "../../../../src/core/playback.ts";
import { clampVolume } from "../../../../src/core/playback.ts";
import { advanceLedger, type Ledger, openLedger, usedOn } from "../../../../src/launch/rules/play-ledger.ts";
import { createPlayTime } from "../../../../src/launch/rules/play-time.ts";
import { makeDeck } from "../../../helpers/launch-harness.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";
import { eventually } from "../../../helpers/processes.ts";
import { createStores } from "../../../helpers/stores.ts";

const stores = createStores();
afterEach(stores.clean);

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const dayOf = (wallMs: number) => new Date(wallMs).toISOString().slice(0, 10);
const monday = Date.UTC(2031, 4, 5, 15);
const nowhere = Date.UTC(1970, 0, 1);

/**
 * A ledger at a start of the machine, and the time that passes then. A step of time: played or not, on a clock that is
 * set or not.
 */
function start(saved: PlayRecord | undefined, wallMs: number) {
  let wall = wallMs;
  let up = 5000;
  let ledger: Ledger = openLedger(saved, { wallMs: wall, uptimeMs: up }, dayOf);
  const pass = (ms: number, playedMs: number) => {
    wall += ms;
    up += ms;
    ledger = advanceLedger(ledger, { wallMs: wall, uptimeMs: up }, playedMs, dayOf);
  };
  return {
    play: (ms: number) => pass(ms, ms),
    rest: (ms: number) => pass(ms, 0),
    /** A person sets the clock, during play or not. */
    set(toMs: number) {
      wall = toMs;
      ledger = advanceLedger(ledger, { wallMs: wall, uptimeMs: up }, 0, dayOf);
    },
    ledger: () => ledger,
    used: () => [ledger.day, usedOn(ledger, ledger.day) / minute] as const,
  };
}

test("play counts on its day, and midnight opens a new one", () => {
  const one = start(undefined, monday);
  one.play(20 * minute);
  one.rest(hour);
  one.play(10 * minute);
  expect(one.used()).toEqual(["2031-05-05", 30]);
  one.rest(10 * hour);
  expect(one.used()).toEqual(["2031-05-06", 0]);
});

test("after the plug was pulled the day goes on where it was, though the clock begins at nowhere", () => {
  const before = start(undefined, monday);
  before.play(50 * minute);
  const after = start(before.ledger(), nowhere);
  expect(after.ledger().isBelieved).toBe(false);
  expect(after.used()).toEqual(["2031-05-05", 50]);
  after.play(5 * minute);
  expect(after.used()).toEqual(["2031-05-05", 55]);
});

test("a clock that began too early and passes its own midnight opens no day", () => {
  const before = start(undefined, monday);
  before.play(50 * minute);
  for (const wrong of [nowhere + 23.9 * hour, Date.UTC(2027, 0, 1, 23, 54), monday - hour]) {
    const after = start(before.ledger(), wrong);
    after.rest(12 * minute);
    expect(after.used()).toEqual(["2031-05-05", 50]);
  }
});

test("once the network has set the clock, what was played since the start is carried to the right day", () => {
  const before = start(undefined, monday);
  before.play(50 * minute);
  const after = start(before.ledger(), nowhere);
  after.play(7 * minute);
  after.set(monday + 2 * day);
  expect(after.ledger().isBelieved).toBe(true);
  expect(after.used()).toEqual(["2031-05-07", 7]);
  expect(usedOn(after.ledger(), "2031-05-05")).toBe(50 * minute);
});

test("set to the day that it was, the day goes on with both", () => {
  const before = start(undefined, monday);
  before.play(50 * minute);
  const after = start(before.ledger(), nowhere);
  after.play(7 * minute);
  after.set(monday + hour);
  expect(after.used()).toEqual(["2031-05-05", 57]);
});

test("a clock that is put right in two steps carries all of it", () => {
  const one = start(undefined, nowhere);
  one.play(5 * minute);
  one.set(monday - 3 * day);
  one.play(5 * minute);
  one.set(monday);
  expect(one.used()).toEqual(["2031-05-05", 10]);
  expect(usedOn(one.ledger(), "1970-01-01")).toBe(0);
});

test("a clock that ran years ahead is believed when it is set back, and the days go on from there", () => {
  const ahead = start(undefined, monday + 3650 * day);
  ahead.play(30 * minute);
  ahead.set(monday);
  expect(ahead.used()).toEqual(["2031-05-05", 30]);
  ahead.rest(day);
  expect(ahead.used()).toEqual(["2031-05-06", 0]);
});

test("set to a time that cannot be, the clock is not believed and the day goes on", () => {
  const one = start(undefined, monday);
  one.play(30 * minute);
  one.set(nowhere);
  one.play(minute);
  expect(one.used()).toEqual(["2031-05-05", 31]);
  expect(one.ledger().isBelieved).toBe(false);
});

test("a machine that sleeps with a right clock has not had it set", () => {
  const one = start(undefined, monday);
  one.play(30 * minute);
  one.rest(day);
  expect(one.used()).toEqual(["2031-05-06", 0]);
  expect(usedOn(one.ledger(), "2031-05-05")).toBe(30 * minute);
});

test("a clock that nobody ever sets still gives a day after 24 hours", () => {
  const before = start(undefined, monday);
  before.play(60 * minute);
  const after = start(before.ledger(), nowhere);
  after.rest(day - minute);
  expect(after.used()[1]).toBe(60);
  after.rest(minute);
  expect(after.used()[1]).toBe(0);
});

test("a time zone that moves west over midnight starts no day twice, and takes no minute from the day", () => {
  let zoneMs = 0;
  const zoned = (wallMs: number) => dayOf(wallMs + zoneMs);
  const midnight = Date.UTC(2031, 4, 6);
  let [wallMs, uptimeMs] = [midnight - 10 * minute, 5000];
  let ledger = openLedger(undefined, { wallMs, uptimeMs }, zoned);
  const play = (ms: number) => {
    wallMs += ms;
    uptimeMs += ms;
    ledger = advanceLedger(ledger, { wallMs, uptimeMs }, ms, zoned);
  };
  const used = () => [
    ledger.day,
    usedOn(ledger, "2031-05-05") / minute,
    usedOn(ledger, "2031-05-06") / minute,
  ];
  play(5 * minute);
  play(20 * minute);
  expect(used()).toEqual(["2031-05-06", 5, 20]);
  zoneMs = -hour;
  play(10 * minute);
  expect(used()).toEqual(["2031-05-06", 5, 30]);
  // The midnight that comes a second time in the new zone starts no new day.
  play(hour);
  expect(used()).toEqual(["2031-05-06", 5, 90]);
  // A start in the new zone before that midnight also continues the day.
  ledger = openLedger(ledger, { wallMs: wallMs - 30 * minute, uptimeMs }, zoned);
  expect(ledger.day).toBe("2031-05-06");
});

test("for any fault of the clock, play is on some day, and never comes to less than nothing", () => {
  const step = fc.record({
    kind: fc.constantFrom("play", "rest", "set", "restart"),
    ms: fc.integer({ min: 0, max: 5 * hour }),
    wall: fc.integer({ min: -day, max: 40 * 365 * day }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let one = start(undefined, monday);
      let played = 0;
      let doubted = false;
      for (const { kind, ms, wall } of steps) {
        if (kind === "play") {
          one.play(ms);
          played += ms;
        } else if (kind === "rest") one.rest(ms);
        else if (kind === "set") one.set(nowhere + wall);
        else one = start(one.ledger(), nowhere + wall);
        doubted ||= !one.ledger().isBelieved;
        const { days } = one.ledger();
        expect(Math.min(0, ...days.values())).toBe(0);
        // A clock that is not believed gives one free day each 24 hours; otherwise every played minute counts for a day.
        if (!doubted) expect([...days.values()].reduce((sum, used) => sum + used, 0)).toBe(played);
      }
    }),
    { numRuns: 2000 },
  );
});

const noLimits: PlayTimeLimits = {
  limitsEnabled: true,
  dailyMinutes: 0,
  sessionMinutes: 0,
  sessionResetMinutes: 20,
  warningMinutes: [5, 1],
};
const media = { systemId: "", systemName: "", mediaPath: "", mediaName: "", launcherId: "", started: "" };

/** `full`: the disk refuses writes while it returns true. */
function makeKeeper(first: Partial<PlayTimeLimits>, saved?: PlayRecord, full = () => false) {
  const clock = createManualClock(monday);
  const bus = createBus(silentLog);
  const told: string[] = [];
  const saves: PlayRecord[] = [];
  const savedAt: number[] = [];
  let looks = 0;
  let days = 0;
  let limits = { ...noLimits, ...first };
  const minutes = () => Math.round((clock.now() - monday) / minute);
  bus.on("playtime.warning", ({ limit, minutesLeft }) => told.push(`${minutes()} ${limit} ${minutesLeft}`));
  const app: unknown[] = [];
  bus.on("playtime.limit.warning", (params) => app.push(params));
  bus.on("playtime.limit.reached", (params) => app.push(params));
  const save = (record: PlayRecord) => {
    savedAt.push((clock.now() - monday) / minute);
    if (full()) throw new Error("the disk is full");
    saves.push(record);
  };
  const after: typeof clock.after = (ms, run) => {
    looks += 1;
    return clock.after(ms, run);
  };
  const keeper = createPlayTime({
    limits: () => limits,
    bus,
    clock: { now: clock.now, after },
    log: silentLog,
    store: { read: () => saved, save },
    stopMedia: (why) => told.push(`${minutes()} stop: ${why}`),
    elapsedMs: () => clock.now() - monday,
    uptimeMs: () => clock.now() - monday,
    dayOf(wallMs) {
      days += 1;
      return dayOf(wallMs);
    },
  });
  return {
    clock,
    told,
    app,
    saves,
    savedAt,
    looks: () => looks,
    days: () => days,
    keeper,
    begin: () => bus.emit("media.started", media),
    pause: () => bus.emit("media.paused", media),
    resume: () => bus.emit("media.resumed", media),
    end: () => bus.emit("media.stopped", { ...media, elapsed: 0, exitCode: 0 }),
    set(more: Partial<PlayTimeLimits>) {
      limits = { ...limits, ...more };
      keeper.configure();
    },
  };
}

test("a day's limit warns, stops what plays, and refuses until tomorrow", () => {
  const { clock, told, keeper, begin, end } = makeKeeper({ dailyMinutes: 30 });
  begin();
  clock.advance(10 * minute);
  end();
  clock.advance(hour);
  expect(keeper.refusal()).toBeUndefined();
  begin();
  clock.advance(20 * minute);
  const why = "today's play time of 30 minutes is used up: there is more tomorrow";
  expect(told).toEqual(["85 day 5", "89 day 1", "90 day 0", `90 stop: ${why}`]);
  end();
  expect(keeper.refusal()).toBe(why);
  expect(keeper.state()).toMatchObject({ enabled: true, day: { usedMs: 30 * minute, remainingMs: 0 } });
  clock.advance(10 * hour);
  expect(keeper.refusal()).toBeUndefined();
});

test("known apps hear of each warning and of the end, with durations as they read them", () => {
  const { clock, app, begin, set } = makeKeeper({ dailyMinutes: 90, warningMinutes: [60, 1] });
  begin();
  clock.advance(30 * minute);
  clock.advance(59.5 * minute);
  clock.advance(minute);
  expect(app).toEqual([
    { interval: "1h0m0s", remaining: "1h0m0s" },
    { interval: "1m0s", remaining: "1m0s" },
    { reason: "daily" },
  ]);
  // After 90.5 minutes, a shortened limit warns at once, with the time that is left.
  set({ sessionMinutes: 120, dailyMinutes: 0 });
  set({ sessionMinutes: 91 });
  expect(app.at(-1)).toEqual({ interval: "1m0s", remaining: "30s" });
  set({ sessionMinutes: 90 });
  expect(app.at(-1)).toEqual({ reason: "session" });
});

test("a session's limit comes again after its pause, and not before", () => {
  const { clock, told, keeper, begin, end } = makeKeeper({ sessionMinutes: 15 });
  begin();
  clock.advance(15 * minute);
  expect(told.at(-1)).toBe(
    "15 stop: the play time of 15 minutes is used up: there is more after a pause of 20 minutes",
  );
  end();
  clock.advance(19 * minute);
  expect(keeper.refusal()).toMatch(/pause of 20 minutes/);
  clock.advance(minute);
  expect(keeper.refusal()).toBeUndefined();
  expect(keeper.state().session).toEqual({ usedMs: 0, remainingMs: 15 * minute });
});

test("a session warns at its own moments, and says one minute in the singular", () => {
  const { clock, told, keeper, begin, end } = makeKeeper({ sessionMinutes: 7, sessionResetMinutes: 1 });
  begin();
  clock.advance(7 * minute - 1);
  expect(told).toEqual(["2 session 5", "6 session 1"]);
  expect(keeper.refusal()).toBeUndefined();
  clock.advance(1);
  const why = "the play time of 7 minutes is used up: there is more after a pause of 1 minute";
  expect(told.slice(2)).toEqual(["7 session 0", `7 stop: ${why}`]);
  end();
  clock.advance(minute);
  expect(keeper.refusal()).toBeUndefined();
});

test("a player that outlives its end is stopped once, and waked for no more", () => {
  const { clock, told, looks, begin } = makeKeeper({ dailyMinutes: 2 });
  begin();
  clock.advance(2 * minute);
  const [lines, waits] = [told.length, looks()];
  clock.advance(hour);
  expect(told.filter((line) => line.includes("stop"))).toHaveLength(1);
  expect(told).toHaveLength(lines);
  expect(looks() - waits).toBeLessThanOrEqual(1);
});

test("it looks when something is due, and at no other time", () => {
  const { clock, looks, savedAt, begin, pause, keeper } = makeKeeper({ dailyMinutes: 10, sessionMinutes: 9 });
  // The first timer opens the ledger.
  expect(looks()).toBe(1);
  begin();
  expect(looks()).toBe(2);
  clock.advance(8.5 * minute);
  // The ledger is saved each minute, and warnings come at full minutes.
  expect(savedAt).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(looks()).toBe(10);
  pause();
  // Half a minute is not saved yet. At the full minute it is saved at once.
  expect(looks()).toBe(11);
  clock.advance(minute);
  expect(savedAt).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  clock.advance(hour);
  expect(looks()).toBe(11);
  keeper[Symbol.dispose]();
  expect(savedAt).toHaveLength(9);
});

test("a start asks for no day, and a limit asks for it a second later, before a tap does", () => {
  const idle = makeKeeper({});
  idle.clock.advance(hour);
  expect(idle.days()).toBe(0);
  expect(idle.keeper.state().day.date).toBe("2031-05-05");
  idle.keeper[Symbol.dispose]();
  const limited = makeKeeper({ dailyMinutes: 10 });
  expect(limited.days()).toBe(0);
  limited.clock.advance(1000);
  expect(limited.days()).toBeGreaterThan(0);
  expect(limited.clock.waiting()).toBe(0);
});

test("limits that were used up and are off stop nothing when another setting changes", () => {
  const { clock, told, begin, end, set } = makeKeeper({ dailyMinutes: 2, warningMinutes: [] });
  begin();
  clock.advance(2 * minute);
  end();
  expect(told.filter((line) => line.includes("stop"))).toHaveLength(1);
  set({ limitsEnabled: false });
  begin();
  set({});
  expect(told.filter((line) => line.includes("stop"))).toHaveLength(1);
});

test("unsaved play is saved in the end, once", () => {
  const { clock, saves, keeper, begin } = makeKeeper({ dailyMinutes: 10 });
  begin();
  clock.advance(90_000);
  keeper[Symbol.dispose]();
  expect(saves.map(({ days }) => days.get("2031-05-05"))).toEqual([minute, 90_000]);
  clock.advance(hour);
  expect(saves).toHaveLength(2);
});

test("a disk that is full stops nothing, and the next minute tries again", () => {
  let isFull = true;
  const one = makeKeeper({ dailyMinutes: 10 }, undefined, () => isFull);
  one.begin();
  one.clock.advance(3 * minute);
  expect(one.saves).toEqual([]);
  expect(one.savedAt).toEqual([1, 2, 3]);
  expect(one.told).toEqual([]);
  isFull = false;
  one.clock.advance(minute);
  expect(one.saves.map(({ days }) => days.get("2031-05-05"))).toEqual([4 * minute]);
});

test("a save that fails at the end of play is tried again, without play and when the service stops", () => {
  for (const isStopped of [false, true]) {
    let isFull = false;
    const one = makeKeeper({ dailyMinutes: 10 }, undefined, () => isFull);
    one.begin();
    one.clock.advance(2.5 * minute);
    one.end();
    isFull = true;
    one.clock.advance(minute);
    expect(one.savedAt).toEqual([1, 2, 3]);
    isFull = false;
    if (isStopped) one.keeper[Symbol.dispose]();
    else one.clock.advance(minute);
    expect(one.saves.map(({ days }) => days.get("2031-05-05"))).toEqual([minute, 2 * minute, 2.5 * minute]);
  }
});

test("a limit that ends within a minute of the last save warns and stops at its own moment", () => {
  for (const limit of ["day", "session"] as const) {
    const limits = limit === "day" ? { dailyMinutes: 2 } : { sessionMinutes: 2 };
    const { clock, told, begin, end } = makeKeeper({ ...limits, warningMinutes: [1] });
    begin();
    clock.advance(minute / 2);
    end();
    begin();
    clock.advance(minute / 2 - 1);
    expect(told).toEqual([]);
    clock.advance(1);
    expect(told).toEqual([`1 ${limit} 1`]);
    clock.advance(minute - 1);
    expect(told).toHaveLength(1);
    clock.advance(1);
    expect(told.slice(1)).toEqual([`2 ${limit} 0`, expect.stringContaining("2 stop: ")]);
  }
});

test("the last millisecond of a limit may be played, and no other", () => {
  for (const limits of [{ dailyMinutes: 1 }, { sessionMinutes: 1 }]) {
    const { clock, told, keeper, begin, end } = makeKeeper(limits);
    begin();
    expect(told).toHaveLength(1);
    clock.advance(minute - 1);
    end();
    expect(keeper.refusal()).toBeUndefined();
    begin();
    expect(told).toHaveLength(1);
    clock.advance(1);
    expect(told.at(-1)).toContain("stop: ");
    end();
    expect(keeper.refusal()).toContain("of 1 minute is used up");
  }
});

test("a millisecond of play is saved, and a limit that is set while nothing plays warns of nothing", () => {
  const { clock, told, saves, keeper, begin, end, set } = makeKeeper({ dailyMinutes: 5 });
  set({ dailyMinutes: 1, sessionMinutes: 1 });
  clock.advance(hour);
  expect(told).toEqual([]);
  begin();
  clock.advance(1);
  end();
  keeper[Symbol.dispose]();
  expect(saves.map(({ days }) => days.get("2031-05-05"))).toEqual([1]);
});

test("a paused player does not count, and is neither warned nor stopped", () => {
  const { clock, told, keeper, begin, pause, resume } = makeKeeper({ dailyMinutes: 30, sessionMinutes: 25 });
  begin();
  clock.advance(10 * minute);
  pause();
  clock.advance(19 * minute);
  expect(keeper.state()).toMatchObject({ day: { usedMs: 10 * minute }, session: { usedMs: 10 * minute } });
  expect(told).toEqual([]);
  resume();
  clock.advance(minute);
  pause();
  // After a pause of this length a new session begins, even without a stop.
  clock.advance(20 * minute);
  expect(keeper.state()).toMatchObject({ day: { usedMs: 11 * minute }, session: { usedMs: 0 } });
  resume();
  clock.advance(19 * minute);
  expect(told.at(-1)).toMatch(/^69 stop: today's play time of 30 minutes is used up/);
});

test("a start with less left than a warning is warned at once, once", () => {
  const { clock, told, begin, end } = makeKeeper({ dailyMinutes: 3 });
  begin();
  clock.advance(minute);
  end();
  begin();
  expect(told).toEqual(["0 day 3"]);
});

test("limits that are set, raised or taken away while something plays count from then on", () => {
  const { clock, told, keeper, begin, set } = makeKeeper({});
  begin();
  clock.advance(hour);
  set({ dailyMinutes: 10 });
  expect(keeper.state().day.usedMs).toBe(0);
  clock.advance(9 * minute);
  set({ dailyMinutes: 20 });
  clock.advance(10 * minute);
  expect(told).toEqual(["65 day 5", "69 day 1", "75 day 5", "79 day 1"]);
  expect(keeper.refusal()).toBeUndefined();
  set({ dailyMinutes: 0 });
  clock.advance(hour);
  expect(told.some((line) => line.includes("stop"))).toBe(false);
});

test("while something plays it is saved once a minute, and while nothing does, never", () => {
  const { clock, saves, keeper, begin, end } = makeKeeper({ dailyMinutes: 600 });
  clock.advance(5 * hour);
  expect(saves).toHaveLength(0);
  begin();
  clock.advance(10 * minute);
  expect(saves.length).toBeGreaterThanOrEqual(9);
  expect(saves.length).toBeLessThanOrEqual(11);
  for (let song = 0; song < 60; song++) {
    end();
    begin();
    clock.advance(1000);
  }
  end();
  const then = saves.length;
  expect(then).toBeLessThanOrEqual(13);
  clock.advance(hour);
  expect(saves.length - then).toBeLessThanOrEqual(1);
  clock.advance(5 * hour);
  expect(saves.length - then).toBeLessThanOrEqual(1);
  expect(saves.at(-1)?.days.get("2031-05-05")).toBe(11 * minute);
  keeper[Symbol.dispose]();
});

test.each([{}, { limitsEnabled: false, dailyMinutes: 1, sessionMinutes: 1 }])(
  "without limits that count nothing is counted, written or reported: %o",
  (limits) => {
    const { clock, saves, told, keeper, begin, end } = makeKeeper(limits);
    begin();
    clock.advance(5 * hour);
    end();
    expect(keeper.state()).toMatchObject({ enabled: false, day: { usedMs: 0 }, session: { usedMs: 0 } });
    expect(keeper.state().day).not.toHaveProperty("remainingMs");
    keeper[Symbol.dispose]();
    expect(saves).toEqual([]);
    expect(told).toEqual([]);
    expect(keeper.refusal()).toBeUndefined();
  },
);

test("the saved ledger is read again, and the oldest days are dropped", () => {
  const folder = stores.newFolder();
  const first = stores.open(folder);
  expect(first.playTimes.read()).toBeUndefined();
  const days = new Map(Array.from({ length: 40 }, (_, at) => [dayOf(monday + at * day), at * 1000]));
  const record = { day: dayOf(monday + 39 * day), days, sessionMs: 1234, seenMs: monday };
  first.playTimes.save(record);
  first.playTimes.save(record);
  stores.close(first);
  const read = stores.open(folder).playTimes.read();
  expect(read).toEqual({ ...record, days: new Map([...days].slice(-31)) });
});

test("a launch while the time is used up is refused with the sentence, and what plays is left alone", async () => {
  let why: string | undefined;
  await using deck = await makeDeck({ refusal: () => why });
  await deck.files("SNES/a.sleep", "SNES/b.sleep");
  await deck.tapAndWait("SNES/a.sleep");
  why = "the time is up";
  expect(await deck.tapAndWait("SNES/b.sleep")).toBe("the time is up");
  expect(deck.launchQueue.activeMedia()?.mediaName).toBe("a");
  expect(await deck.tapAndWait("**echo:all else goes on")).toBe(true);
  deck.launchQueue.stopMedia("the time is up");
  await eventually(() => expect(deck.count("media.stopped")).toBe(1));
});

test("a volume is held between nothing and the ceiling", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true }), fc.integer({ min: 0, max: 100 }), (percent, ceiling) => {
      const clamped = clampVolume(percent, ceiling);
      expect(clamped).toBeGreaterThanOrEqual(0);
      expect(clamped).toBeLessThanOrEqual(ceiling);
      // The result of minus zero is zero.
      if (percent >= 0 && percent <= ceiling) expect(clamped - Math.round(percent)).toBe(0);
    }),
  );
});
