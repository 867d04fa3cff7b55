/** The gate's share of `make soak`: the same day, as far as half a minute goes. */
import { expect, test } from "bun:test";
import { liveDay } from "../soak/day.ts";

test("1500 taps with a fault in every second one are each told once, in time, and launched once", async () => {
  const day = await liveDay({ taps: 1500, seed: 7 });
  expect(day.failures).toEqual([]);
  expect(day.launches).toBe(day.taps);
  expect(day.faults.size).toBeGreaterThan(25);
  expect(day.readerEvents.added).toBe(day.readerEvents.removed);
  expect(day.timers).toBeLessThan(20);
}, 240_000);
