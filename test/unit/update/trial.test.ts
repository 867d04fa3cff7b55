/** The trial of an updated system: when it is kept, when it is given up, and which complaints count. */
import { expect, test } from "bun:test";
import { startedAgain } from "../../../src/core/operating-system.ts";
import { gapMsMax, healthyMs, isExcused, judge, startTrial, trialMsMax } from "../../../src/update/trial.ts";

/** The verdicts of a trial that starts at 1000 ms and is asked at each of the times, in milliseconds since its start. */
function verdicts(asked: readonly (readonly [atMs: number, healthy: boolean])[]): readonly string[] {
  let trial = startTrial(1000);
  return asked.map(([atMs, healthy]) => {
    const judged = judge(trial, { nowMs: 1000 + atMs, healthy });
    trial = judged.trial;
    return judged.verdict;
  });
}

/** Good answers every 5 s, from one time to another. */
function healthy(fromMs: number, toMs: number): (readonly [number, boolean])[] {
  const count = Math.floor((toMs - fromMs) / 5000) + 1;
  return Array.from({ length: count }, (_, at) => [fromMs + at * 5000, true]);
}

test("a system is kept once it was healthy for 60 s, and not a millisecond before", () => {
  expect(healthyMs).toBe(60_000);
  expect(verdicts([...healthy(0, 55_000), [59_999, true], [60_000, true]]).slice(-3)).toEqual([
    "wait",
    "wait",
    "keep",
  ]);
});

test("a bad answer starts the minute again", () => {
  const all = [...healthy(0, 55_000), [57_000, false] as const, ...healthy(58_000, 118_000)];
  expect(verdicts(all).lastIndexOf("wait")).toBe(all.length - 2);
  expect(verdicts(all).at(-1)).toBe("keep");
});

test("a silence of more than 10 s starts the minute again, one of 10 s does not", () => {
  expect(gapMsMax).toBe(10_000);
  const before = healthy(0, 50_000);
  expect(verdicts([...before, [60_000, true]]).at(-1)).toBe("keep");
  expect(verdicts([...before, [60_001, true], [65_000, true]]).slice(-2)).toEqual(["wait", "wait"]);
  expect(verdicts([...before, ...healthy(60_001, 120_001)]).at(-1)).toBe("keep");
  expect(verdicts([...before, ...healthy(60_001, 115_001), [120_000, true]]).at(-1)).toBe("wait");
});

test("a silence before the first answer counts as well", () => {
  expect(verdicts([[70_000, true]])).toEqual(["wait"]);
});

test("a system that is not kept within 5 minutes is given up", () => {
  expect(trialMsMax).toBe(300_000);
  expect(verdicts([[trialMsMax - 1, false]])).toEqual(["wait"]);
  expect(verdicts([[trialMsMax, false]])).toEqual(["give-up"]);
  expect(verdicts([[trialMsMax, true]])).toEqual(["give-up"]);
  // Healthy for a minute at that very moment: it is kept.
  expect(verdicts(healthy(trialMsMax - healthyMs, trialMsMax)).at(-1)).toBe("keep");
});

test("what was wrong before the update, and what the watchdog did, is no fault of it", () => {
  const before = "no reader is connected; 12 MB are free";
  expect(isExcused("", "")).toBe(true);
  expect(isExcused("no reader is connected", before)).toBe(true);
  expect(isExcused("7 MB are free; no reader is connected", before)).toBe(true);
  expect(isExcused(`${startedAgain} 5 minutes ago`, "")).toBe(true);
  expect(isExcused(`no reader is connected; ${startedAgain} once`, before)).toBe(true);
});

test("one new complaint among known ones counts", () => {
  const before = "no reader is connected";
  expect(isExcused("the index could not be read", before)).toBe(false);
  expect(isExcused("no reader is connected; the index could not be read", before)).toBe(false);
  expect(isExcused("no reader", before)).toBe(false);
  expect(isExcused(`yesterday ${startedAgain}`, before)).toBe(false);
});
