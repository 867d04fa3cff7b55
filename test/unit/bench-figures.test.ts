// Covers: test/bench/figures.ts.
import { expect, test } from "bun:test";
import { verdictOf } from "../bench/figures.ts";

test("a figure of the bench is hit, or missed by so much for a reason", () => {
  const most = { figure: 5, unit: "ms", bound: "the disk" };
  expect(verdictOf(5, most)).toBe("[aim: at most 5 ms: hit]");
  expect(verdictOf(6, most)).toBe("[aim: at most 5 ms: MISSED by 20 %; bounded by the disk]");
  const least = { figure: 100, unit: "files/s", isLeast: true, bound: "the walk" };
  expect(verdictOf(100, least)).toBe("[aim: at least 100 files/s: hit]");
  expect(verdictOf(75, least)).toBe("[aim: at least 100 files/s: MISSED by 25 %; bounded by the walk]");
});
