/** Patterns of the config file, and `api.allow_launch`: which texts a remote caller may launch over GET. */
import { expect, test } from "bun:test";
import { silentLog } from "../../../../src/core/log.ts";
import { createAllowLaunch, createPatterns } from "../../../../src/launch/rules/allow-patterns.ts";

const allows = (rule: boolean | readonly string[], text: string) =>
  createAllowLaunch(() => rule, silentLog)(text);

test("a pattern for one command says nothing of those that somebody puts behind it", () => {
  const patterns = ["SNES/.*", "\\*\\*stop"];
  expect(allows(patterns, "SNES/Game.sfc")).toBe(true);
  expect(allows(patterns, "SNES/Game.sfc||SNES/Other.sfc")).toBe(true);
  for (const more of ["Audio/Chime.wav", "**volume:100", "**launch.random:all", "", "**delay:10m"])
    expect([more, allows(patterns, `SNES/Game.sfc?when=0||${more}`)]).toEqual([more, false]);
});

test("a pattern that names || is for all the commands that it matches", () => {
  const patterns = ["\\*\\*delay:1\\|\\|SNES/Game\\.sfc"];
  expect(allows(patterns, "**delay:1||SNES/Game.sfc")).toBe(true);
  expect(allows(patterns, "**delay:1||SNES/Game.sfc||**stop")).toBe(false);
});

test("a pattern that names || and ends in anything admits no more commands than it names", () => {
  const patterns = ["\\*\\*delay:1\\|\\|SNES/.*"];
  expect(allows(patterns, "**delay:1||SNES/Game.sfc")).toBe(true);
  for (const more of ["**stop", "**launch.random:all", "SNES/Other.sfc", ""])
    expect([more, allows(patterns, `**delay:1||SNES/Game.sfc||${more}`)]).toEqual([more, false]);
  // A text with fewer commands is not allowed: an optional part of the pattern does not count as named.
  expect(allows(["SNES/Game\\.sfc(\\|\\|.*)*"], "SNES/Game.sfc||a||b")).toBe(false);
  expect(allows(["[^|]*\\|\\|[^|]*\\|\\|.*"], "a||b||c")).toBe(true);
  // A backslash that stands for itself does not escape a bar.
  expect(allows(["a\\\\|\\|.*", "a\\|\\|.*\\\\|\\|c"], "a||b||c")).toBe(false);
});

test("a text that leads out of the folder that its pattern names is not allowed", () => {
  for (const text of ["SNES/../Audio/Chime.wav", "SNES/..", "SNES/..\\\\Audio/x"])
    expect([text, allows(["SNES/.*"], text)]).toEqual([text, false]);
  expect(allows(["SNES/.*"], "SNES/Who.. me.sfc")).toBe(true);
});

test("a text that an escape or an expression turns into another one is not allowed", () => {
  for (const text of ["SNES/.^./NES/x", '[["SNES"]]/x', 'SNES/[["."]][["."]]/NES/x', 'SNES/[["../NES/x"]]'])
    expect([text, allows([".*"], text)]).toEqual([text, false]);
});

test("true allows every text, and false none", () => {
  expect(allows(true, "a||b/../c")).toBe(true);
  expect(allows(false, "a")).toBe(false);
});

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
