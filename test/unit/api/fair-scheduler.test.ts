/** The order in which connections are served. */
import { expect, test } from "bun:test";
import { createFairScheduler, type Lane } from "../../../src/api/fair-scheduler.ts";
import { requestsWaitingMax } from "../../../src/core/limits.ts";

/** A lane, and its requests in one turn. */
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

/** Waits until everything that was scheduled has run. */
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
  // The quiet connection asked last, and was served after at most a few rounds of the other one.
  expect(order.indexOf("quiet")).toBeLessThan(300);
});

test("the waiting requests are bounded: one more than the limit is worked off at once", () => {
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
