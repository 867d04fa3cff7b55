import { expect, test } from "bun:test";
import fc from "fast-check";
import { eachInSlices, filterInSlices, nextTurn, sortInSlices } from "../../../src/core/long-lists.ts";
import { mostInOneTurn } from "../../helpers/turns.ts";

const pairs = fc.array(fc.tuple(fc.nat(20), fc.nat()), { maxLength: 300 });

test("a list is put in the order that a plain sort puts it in, equals in theirs, and is itself not changed", async () => {
  const byFirst = (a: readonly number[], b: readonly number[]) => (a[0] ?? 0) - (b[0] ?? 0);
  await fc.assert(
    fc.asyncProperty(pairs, async (list) => {
      const before = [...list];
      expect([...(await sortInSlices(list, byFirst))]).toEqual(list.toSorted(byFirst));
      expect(list).toEqual(before);
    }),
  );
});

test("a list is gone through whole and in its order, others having a turn after each thousand", async () => {
  const list = Array.from({ length: 4001 }, (_, at) => at);
  const seen: number[] = [];
  const most = await mostInOneTurn((count) =>
    eachInSlices(list, (one) => {
      seen.push(one);
      count();
    }),
  );
  expect(seen).toEqual(list);
  expect(most).toBe(1000);
  expect(await filterInSlices(list, (one) => one % 1000 === 1)).toEqual([1, 1001, 2001, 3001]);
});

test("five hundred comparisons are made in one turn", async () => {
  const list = Array.from({ length: 3000 }, (_, at) => (at * 7919) % 3000);
  const most = await mostInOneTurn(async (count) => {
    await sortInSlices(list, (a, b) => {
      count();
      return a - b;
    });
  });
  expect(most).toBeWithin(1, 501);
});

test("of tasks that yield at the same time, each goes on in a turn of its own", async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const seen = await Promise.all(Array.from({ length: 5 }, () => nextTurn().then(() => turns)));
  clearImmediate(counting);
  expect(new Set(seen).size).toBe(5);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
});
