/** Runs that must not overlap. */
import { expect, test } from "bun:test";
import { createCoalesced } from "../../../src/core/serial-queue.ts";

test("1000 calls during one run cost one more run", async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const run = createCoalesced(() => {
    const one = Promise.withResolvers<void>();
    runs.push(one);
    return one.promise;
  });
  for (let n = 0; n < 1000; n++) void run();
  expect(runs).toHaveLength(1);
  runs[0]?.resolve();
  await Bun.sleep(0);
  expect(runs).toHaveLength(2);
  const last = run();
  runs[1]?.resolve();
  await Bun.sleep(0);
  expect(runs).toHaveLength(3);
  runs[2]?.resolve();
  await last;
  void run();
  expect(runs).toHaveLength(4);
});

test("a call in the same turn as the end of a run was lost", async () => {
  for (let turns = 0; turns < 10; turns++) {
    let wanted = 0;
    let done = -1;
    const gate = Promise.withResolvers<void>();
    const run = createCoalesced(async () => {
      const mine = wanted;
      await gate.promise;
      done = mine;
    });
    void run();
    gate.resolve();
    for (let turn = 0; turn < turns; turn++) await undefined;
    wanted = 1;
    await run();
    expect(done).toBe(1);
  }
});

test("a run that fails does not stop the next one", async () => {
  let runs = 0;
  const run = createCoalesced(async () => {
    runs++;
    throw new Error("the disk is broken");
  });
  await expect(run()).rejects.toThrow("the disk is broken");
  await expect(run()).rejects.toThrow("the disk is broken");
  expect(runs).toBe(2);
});
