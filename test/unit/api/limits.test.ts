/** How often an address may ask, and whose turn it is. */
import { expect, test } from "bun:test";
import { createRateLimit } from "../../../src/api/admission/rate-limits.ts";
import { createFairScheduler, type Lane } from "../../../src/api/fair-scheduler.ts";
import { ratedAddressesMax, requestsWaitingMax } from "../../../src/core/limits.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

test("an address has a burst of 20, then one each 600 ms, and others are not touched by it", async () => {
  const clock = createManualClock();
  const rate = createRateLimit(clock);
  const taken = () => Array.from({ length: 30 }, () => rate.take("10.0.0.1")).filter(Boolean).length;
  expect(taken()).toBe(20);
  expect(rate.take("10.0.0.2")).toBe(true);
  await clock.advance(600);
  expect(taken()).toBe(1);
  await clock.advance(60_000);
  expect(taken()).toBe(20);
});

test("ten minutes of asking come to 100 a minute", async () => {
  const clock = createManualClock();
  const rate = createRateLimit(clock);
  let taken = 0;
  for (let step = 0; step < 6000; step++) {
    if (rate.take("10.0.0.1")) taken += 1;
    await clock.advance(100);
  }
  expect(taken).toBeWithin(1000, 1022);
});

test("a flood from more addresses than are remembered still lets a new one ask", () => {
  const rate = createRateLimit(createManualClock());
  for (let n = 0; n < ratedAddressesMax + 100; n++) rate.take(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
  expect(rate.take("192.168.0.1")).toBe(true);
});

/** A lane, and what it did in one go. */
function createLane(): Lane & { readonly goes: string[][] } {
  const goes: string[][] = [];
  return {
    goes,
    waiting: [],
    cork(work) {
      goes.push([]);
      work();
    },
  };
}

/** Until everything that was scheduled has run. */
const settled = async (isDone: () => boolean) => {
  while (!isDone()) await new Promise((resolve) => setImmediate(resolve));
};

test("the work of one lane runs in the order in which it came, whether it waited or not", async () => {
  const turns = createFairScheduler();
  const lane = createLane();
  const done: number[] = [];
  const busy = () => {
    const endMs = performance.now() + 0.05;
    while (performance.now() < endMs);
  };
  for (let n = 0; n < 500; n++) {
    turns.take(
      lane,
      () => {
        busy();
        done.push(n);
      },
      10,
    );
  }
  expect(done.length).toBeLessThan(500);
  await settled(() => done.length === 500);
  expect(done).toEqual(Array.from({ length: 500 }, (_, n) => n));
});

test("a lane with little work does not wait behind one that floods", async () => {
  const turns = createFairScheduler();
  const [flood, quiet] = [createLane(), createLane()];
  const order: string[] = [];
  const busy = () => {
    const endMs = performance.now() + 0.1;
    while (performance.now() < endMs);
  };
  for (let n = 0; n < 1000; n++)
    turns.take(
      flood,
      () => {
        busy();
        order.push("flood");
      },
      10,
    );
  turns.take(quiet, () => order.push("quiet"), 10);
  await settled(() => order.length === 1001);
  // It came last, and was served behind at most a few rounds of the other.
  expect(order.indexOf("quiet")).toBeLessThan(300);
});

test("what waits is bounded: one more than the limit is worked off at once", () => {
  const turns = createFairScheduler();
  const lane = createLane();
  let done = 0;
  const endMs = performance.now() + 3;
  turns.take(
    lane,
    () => {
      while (performance.now() < endMs);
    },
    1,
  );
  for (let n = 0; n < requestsWaitingMax + 1; n++) turns.take(lane, () => void done++, 1);
  expect(lane.waiting.length).toBeLessThan(requestsWaitingMax);
  expect(done).toBeGreaterThan(0);
});
