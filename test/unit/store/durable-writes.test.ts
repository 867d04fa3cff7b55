/** Syncs in the background. `store.test.ts` has the cases of `durable`. */
import { expect, test } from "bun:test";
import { createLaterSync } from "../../../src/store/durable-writes.ts";

test("1000 requests during one sync cost one more sync, and not a descriptor each", async () => {
  const syncs: PromiseWithResolvers<void>[] = [];
  const syncLater = createLaterSync(() => {
    const sync = Promise.withResolvers<void>();
    syncs.push(sync);
    return sync.promise;
  });
  for (let n = 0; n < 1000; n++) syncLater();
  expect(syncs).toHaveLength(1);
  syncs[0]?.resolve();
  await Bun.sleep(0);
  expect(syncs).toHaveLength(2);
  syncs[1]?.resolve();
  await Bun.sleep(0);
  expect(syncs).toHaveLength(2);
  syncLater();
  expect(syncs).toHaveLength(3);
});

test("a disk that refuses a sync does not stop the next one", async () => {
  let syncs = 0;
  const syncLater = createLaterSync(async () => {
    syncs++;
    throw new Error("the disk is broken");
  });
  syncLater();
  await Bun.sleep(0);
  syncLater();
  expect(syncs).toBe(2);
});
