import { expect, test } from "bun:test";
import { afterSilence, type Clock, sleep, systemClock } from "../../../src/core/clock.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

/** A clock with timers that come late by the values of `late`, one after the other. */
function lateClock(late: readonly number[]) {
  const clock = createManualClock(0);
  let calls = 0;
  let lateMs = 0;
  const slow: Clock = {
    now: () => clock.now() + lateMs,
    after: (ms, run) =>
      clock.after(ms, () => {
        lateMs += late[calls++] ?? 0;
        run();
      }),
  };
  return { slow, clock };
}

test("a timer that comes in time says that nothing came", () => {
  const { slow, clock } = lateClock([0]);
  let silent = 0;
  using _ = afterSilence(slow, 30, () => silent++);
  clock.advance(29);
  expect(silent).toBe(0);
  clock.advance(1);
  expect(silent).toBe(1);
  clock.advance(1000);
  expect(silent).toBe(1);
});

test("a process that had no time looks again before it takes a device for silent", () => {
  const { slow, clock } = lateClock([200, 0]);
  let silent = 0;
  using _ = afterSilence(slow, 30, () => silent++);
  clock.advance(59);
  expect(silent).toBe(0);
  clock.advance(1);
  expect(silent).toBe(1);
});

test("a process that never has time takes a device for silent after the third wait", () => {
  const { slow, clock } = lateClock([200, 200, 200]);
  let silent = 0;
  using _ = afterSilence(slow, 30, () => silent++);
  clock.advance(89);
  expect(silent).toBe(0);
  clock.advance(1);
  expect(silent).toBe(1);
});

test("an event that is heard during another look ends the wait", () => {
  const { slow, clock } = lateClock([200, 0]);
  let silent = 0;
  const wait = afterSilence(slow, 30, () => silent++);
  clock.advance(45);
  wait[Symbol.dispose]();
  clock.advance(1000);
  expect(silent).toBe(0);
});

test("a timer of more than 24 days, which setTimeout does not have, ran at once", async () => {
  const ran: number[] = [];
  const timers = [2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER].map((ms) =>
    systemClock.after(ms, () => ran.push(ms)),
  );
  await sleep(systemClock, 20);
  for (const timer of timers) timer[Symbol.dispose]();
  expect(ran).toEqual([]);
});
