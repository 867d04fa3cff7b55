/** Days and times of day in a time zone. */
import { expect, test } from "bun:test";
import { isTimeZone, localDay, minuteOf, minuteOfDay } from "../../../src/core/local-time.ts";

test("a day ends at midnight of its zone, and not of UTC", () => {
  // 16:30 in Los Angeles, where a child would get new play time in the afternoon.
  const afternoon = Date.UTC(2031, 4, 6, 23, 30);
  expect(localDay(afternoon, "America/Los_Angeles")).toBe("2031-05-06");
  expect(localDay(afternoon + 60 * 60_000, "America/Los_Angeles")).toBe("2031-05-06");
  expect(localDay(afternoon + 60 * 60_000, "UTC")).toBe("2031-05-07");
  expect(localDay(afternoon, "Asia/Tokyo")).toBe("2031-05-07");
});

test("minutes of a day are from 0 to 1439, also at midnight and in summer", () => {
  expect(minuteOfDay(Date.UTC(2031, 0, 1, 23, 0), "Europe/Berlin")).toBe(0);
  expect(minuteOfDay(Date.UTC(2031, 0, 1, 22, 59), "Europe/Berlin")).toBe(1439);
  expect(minuteOfDay(Date.UTC(2031, 6, 1, 22, 0), "Europe/Berlin")).toBe(0);
  expect(minuteOfDay(Date.UTC(2031, 0, 1, 12, 0), "Asia/Kolkata")).toBe(17 * 60 + 30);
});

test("an empty name is the zone of the machine", () => {
  // Swedish dates are those of ISO 8601.
  const now = Date.UTC(2031, 4, 6, 23, 30);
  expect(localDay(now, "")).toBe(new Intl.DateTimeFormat("sv-SE").format(now));
});

test.each([
  ["Europe/Berlin", true],
  ["", true],
  ["UTC", true],
  ["Etc/GMT+5", true],
  ["Mars/Base", false],
  ["Europe/Berlin ", false],
  ["+05:30", true],
  ["T10:00[Europe/Berlin]", false],
  ["2031-05-06T10:00Z", false],
])("%p is a time zone: %p", (name, is) => expect(isTimeZone(name)).toBe(is));

test.each([
  ["00:00", 0],
  ["20:30", 1230],
  ["23:59", 1439],
  ["24:00", undefined],
  ["7:00", undefined],
  ["", undefined],
])("%p is minute %p of the day", (time, minute) => expect(minuteOf(time)).toBe(minute as number));
