/** Quiet hours: the ceiling by the time of day, and the moment at which playing media are turned down. */
import { expect, test } from "bun:test";
import { followQuietHours, volumeCeiling } from "../../../../src/launch/rules/quiet-hours.ts";
import { defaultConfig } from "../../../helpers/defaults.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

const hour = 60 * 60_000;
const noon = Date.UTC(2031, 4, 5, 12);

const configOf = (
  quietFrom: string,
  quietUntil: string,
  more: { volumeMax?: number; timeZone?: string } = {},
) => {
  const { volumeMax = 80, timeZone = "UTC" } = more;
  return {
    audio: { ...defaultConfig.audio, volumeMax, quietFrom, quietUntil, quietVolumeMax: 30 },
    device: { ...defaultConfig.device, timeZone },
  };
};

test.each([
  ["before they begin", "20:00", "07:00", 7 * hour + 59 * 60_000, 80],
  ["from their first minute on", "20:00", "07:00", 8 * hour, 30],
  ["after midnight", "20:00", "07:00", 14 * hour, 30],
  ["until their end", "20:00", "07:00", 19 * hour - 1, 30],
  ["from their end on", "20:00", "07:00", 19 * hour, 80],
  ["within a day", "11:00", "13:00", 0, 30],
  ["with one time only", "11:00", "", 0, 80],
  ["with two equal times", "12:00", "12:00", 0, 80],
])("%s the ceiling is right", (_, from, until, laterMs, ceiling) => {
  expect(volumeCeiling(configOf(from, until), noon + laterMs, undefined)).toBe(ceiling);
});

test("where sound plays has a ceiling of its own, which raises no other", () => {
  const config = configOf("11:00", "", { volumeMax: 70 });
  const places = { ...config, audio: { ...config.audio, usbVolumeMax: 40, jackVolumeMax: 90 } };
  const ceilings = (["usb", "jack", "television", "bluetooth", undefined] as const).map((place) =>
    volumeCeiling(places, noon, place),
  );
  // That of Bluetooth is the default.
  expect(ceilings).toEqual([40, 70, 70, 60, 70]);
});

test("a lower ceiling of the owner counts in quiet hours, too, and times are those of the zone", () => {
  expect(volumeCeiling(configOf("11:00", "13:00", { volumeMax: 20 }), noon, undefined)).toBe(20);
  expect(volumeCeiling(configOf("11:00", "13:00", { timeZone: "Asia/Tokyo" }), noon, undefined)).toBe(80);
  expect(volumeCeiling(configOf("21:00", "22:00", { timeZone: "Asia/Tokyo" }), noon, undefined)).toBe(30);
});

function trial(first: ReturnType<typeof configOf>) {
  const clock = createManualClock(noon);
  let config = first;
  let holds = 0;
  let timers = 0;
  const after: typeof clock.after = (ms, run) => {
    timers += 1;
    return clock.after(ms, run);
  };
  const following = followQuietHours({
    config: () => config,
    clock: { now: clock.now, after },
    hold: () => {
      holds += 1;
    },
  });
  return {
    clock,
    holds: () => holds,
    timers: () => timers,
    set(now: typeof config) {
      config = now;
      following.configure();
    },
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

test("what plays is turned down once when they begin, and again on the next day", () => {
  using quiet = trial(configOf("20:00", "07:00"));
  quiet.clock.advance(8 * hour - 1000);
  expect(quiet.holds()).toBe(0);
  quiet.clock.advance(2000);
  expect(quiet.holds()).toBe(1);
  quiet.clock.advance(23 * hour);
  expect(quiet.holds()).toBe(1);
  quiet.clock.advance(hour);
  expect(quiet.holds()).toBe(2);
});

test("after the clock of a board was set to the evening, what had been started before stayed loud for an hour", () => {
  using quiet = trial(configOf("20:00", "07:00"));
  quiet.clock.advance(hour / 2);
  quiet.clock.jump(9 * hour);
  quiet.clock.advance(60_000);
  expect(quiet.holds()).toBe(1);
});

test("a setting that makes this moment quiet turns down at once, and without quiet hours there is no timer", () => {
  using quiet = trial(configOf("", ""));
  quiet.clock.advance(48 * hour);
  expect(quiet.timers()).toBe(0);
  quiet.set(configOf("11:00", "13:00"));
  expect(quiet.holds()).toBe(1);
  quiet.set(configOf("", ""));
  const timers = quiet.timers();
  quiet.clock.advance(48 * hour);
  expect(quiet.timers()).toBe(timers);
});
