import { expect, test } from "bun:test";
import { silentLog } from "../../../../src/core/log.ts";
import { createSleepTimer } from "../../../../src/launch/rules/sleep-timer.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

const minuteMs = 60_000;

function world() {
  const clock = createManualClock();
  const stopped: string[] = [];
  const timer = createSleepTimer({ clock, log: silentLog, stopMedia: (why) => stopped.push(why) });
  return { clock, stopped, timer };
}

test("the media stop once the time is over, and not before", () => {
  const { clock, stopped, timer } = world();
  timer.set(30 * minuteMs);
  expect(timer.endsAt()).toBe(new Date(clock.now() + 30 * minuteMs).toISOString());
  clock.advance(30 * minuteMs - 1);
  expect(stopped).toEqual([]);
  clock.advance(1);
  expect(stopped).toEqual(["the sleep timer has ended"]);
  expect(timer.endsAt()).toBeUndefined();
  clock.advance(24 * 60 * minuteMs);
  expect(stopped).toHaveLength(1);
});

test("a second tap of the card ends the timer, and another time takes its place", () => {
  const { clock, stopped, timer } = world();
  timer.toggle(30 * minuteMs);
  timer.toggle(30 * minuteMs);
  expect(timer.endsAt()).toBeUndefined();
  timer.toggle(30 * minuteMs);
  clock.advance(10 * minuteMs);
  timer.toggle(15 * minuteMs);
  clock.advance(15 * minuteMs - 1);
  expect(stopped).toEqual([]);
  clock.advance(1);
  expect(stopped).toHaveLength(1);
  timer.toggle(0);
  expect(timer.endsAt()).toBeUndefined();
});

test("a timer that is disposed stops nothing", () => {
  const { clock, stopped, timer } = world();
  timer.set(minuteMs);
  timer[Symbol.dispose]();
  clock.advance(2 * minuteMs);
  expect(stopped).toEqual([]);
});
