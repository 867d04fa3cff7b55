/** Patterns of the config file. */
import { expect, test } from "bun:test";
import { createPatterns } from "../../../src/launch/patterns.ts";

test("a pattern matches the whole text or nothing of it", () => {
  const patterns = createPatterns();
  expect(["b", "abc", "a.c", "(?m)^b$", "a|abc"].map((pattern) => patterns.test(pattern, "abc"))).toEqual([
    false,
    true,
    true,
    false,
    true,
  ]);
  expect(patterns.test("(?m)^b$", "a\nb\nc")).toBe(false);
});

test("a pattern let go for another is compiled again", () => {
  const patterns = createPatterns(2);
  const asked = [".*a.*", ".*b.*", ".*c.*", ".*a.*", "(", ".*c.*", ".*b.*", ".*d.*", "("];
  expect(asked.map((pattern) => patterns.test(pattern, "abc"))).toEqual([
    true,
    true,
    true,
    true,
    false,
    true,
    true,
    false,
    false,
  ]);
});
