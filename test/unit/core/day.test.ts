/**
 * A short form of `make soak`: the same day, for half a minute.
 * Covers: test/soak.
 */
import { expect, test } from "bun:test";
import { liveDay } from "../../soak/day.ts";
import { growthOf } from "../../soak/memory.ts";

// The fault: the figures of memory were printed, and no check failed because of them.
test("a day with memory that grows all day long is reported, and one that fills its caches in the morning is not", () => {
  const along = (mbAt: (moment: number) => number) => Array.from({ length: 30 }, (_, moment) => mbAt(moment));
  const noisy = (moment: number) => ((moment * 7) % 5) / 10;
  expect(growthOf(along((moment) => 20 + noisy(moment)))).toBeUndefined();
  expect(growthOf(along((moment) => 20 + Math.min(moment, 8) + noisy(moment)))).toBeUndefined();
  // A single high value, as of a check just before a collection, is not reported.
  expect(growthOf(along((moment) => (moment === 27 ? 60 : 20)))).toBeUndefined();
  // The growth is 120 bytes for each of 100,000 taps.
  expect(growthOf(along((moment) => 20 + (12 * moment) / 30))).toContain("the heap grew from");
  expect(growthOf([20])).toContain("too few");
});

test("1500 taps with a fault in every second one are each reported once, in time, and launched once", async () => {
  const day = await liveDay({ taps: 1500, seed: 7 });
  expect(day.failures).toEqual([]);
  expect(day.launches).toBe(day.taps);
  expect(day.faults.size).toBeGreaterThan(25);
  expect(day.readerEvents.added).toBe(day.readerEvents.removed);
  expect(day.timers).toBeLessThan(20);
}, 240_000);
