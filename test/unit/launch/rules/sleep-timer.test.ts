import { expect, test } from "bun:test";
import { silentLog } from "../../../../src/core/log.ts";
import { createSleepTimer } from "../../../../src/launch/rules/sleep-timer.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

const minuteMs = 60_000;

function world() {
  const clock = createManualClock();
  const stopped: string[] = [];
  const shares: number[] = [];
  let setMs = 0;
  const wallMs = () => clock.now() + setMs;
  const timer = createSleepTimer({
    clock: { ...clock, now: wallMs },
    elapsedMs: clock.now,
    log: silentLog,
    stopMedia: (why) => stopped.push(why),
    async fade(share) {
      shares.push(share);
    },
  });
  /** Sets the wall clock forward. */
  const setClock = (ms: number) => {
    setMs += ms;
  };
  return { clock, stopped, timer, shares, wallMs, setClock };
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

test("a wall clock that was set after the card was tapped left an end in the past", () => {
  const { clock, stopped, timer, wallMs, setClock } = world();
  timer.set(30 * minuteMs);
  clock.advance(10 * minuteMs);
  setClock(7 * 24 * 60 * minuteMs);
  expect(timer.endsAt()).toBe(new Date(wallMs() + 20 * minuteMs).toISOString());
  clock.advance(20 * minuteMs);
  expect(stopped).toHaveLength(1);
});

test("a timer that is disposed stops nothing", () => {
  const { clock, stopped, timer } = world();
  timer.set(minuteMs);
  timer[Symbol.dispose]();
  clock.advance(2 * minuteMs);
  expect(stopped).toEqual([]);
});

test("the media fade out in the last twenty seconds, and in a third of a short time", () => {
  const { clock, stopped, timer, shares } = world();
  timer.set(30 * minuteMs);
  clock.advance(30 * minuteMs - 20_001);
  expect(shares).toEqual([]);
  clock.advance(1);
  expect(shares).toEqual([0.95]);
  clock.advance(10_000);
  expect(shares.at(-1)).toBe(0.45);
  clock.advance(9999);
  expect([shares.length, shares.at(-1), stopped.length]).toEqual([20, 0, 0]);
  clock.advance(1);
  expect([shares.length, stopped.length]).toEqual([20, 1]);
  timer.set(7000);
  clock.advance(7000);
  expect(shares.slice(20)).toEqual([0.5, 0]);
  timer.set(2000);
  clock.advance(2000);
  expect([shares.length, stopped.length]).toEqual([22, 3]);
});

test("a timer that is taken back while the media fade makes them loud again", () => {
  for (const takeBack of ["toggle", "set", "dispose"] as const) {
    const { clock, stopped, timer, shares } = world();
    timer.set(30 * minuteMs);
    clock.advance(30 * minuteMs - 5000);
    if (takeBack === "toggle") timer.toggle(30 * minuteMs);
    if (takeBack === "set") timer.set(15 * minuteMs);
    if (takeBack === "dispose") timer[Symbol.dispose]();
    expect(shares.at(-1)).toBe(1);
    clock.advance(minuteMs);
    expect([shares.at(-1), stopped.length]).toEqual([1, 0]);
  }
});
