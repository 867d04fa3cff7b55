/** The days of the page's times. */
import { expect, test } from "bun:test";
import { whenOf } from "../../../../src/web/page/local-forms.ts";

/** A local time, as the service writes it. */
const at = (day: number, hour: number, minute = 0) => new Date(2026, 10, day, hour, minute).toISOString();

test("a time of today and one of yesterday name their day, at any hour, and earlier ones have a date", () => {
  const now = new Date(2026, 10, 27, 0, 10);
  expect(whenOf(at(27, 0, 5), now)).toMatch(/^today, 12:05\s?AM$/);
  expect(whenOf(at(26, 23, 59), now)).toMatch(/^yesterday, 11:59\s?PM$/);
  expect(whenOf(at(26, 0), now)).toMatch(/^yesterday, /);
  expect(whenOf(at(25, 23, 59), now)).toStartWith("11/25/26, ");
  // A time in the future comes from a wrong clock, and is shown with its whole date.
  expect(whenOf(at(28, 1), now)).toStartWith("11/28/26, ");
});
