/**
 * Commands to the player, in the words of cards and clients.
 * Covers: src/launch/playing.ts.
 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { actionNames, readAction, readPlace, readVolume } from "../../../src/core/playback.ts";

test.each([
  ["+10", { kind: "by", ms: 10_000 }],
  ["-10", { kind: "by", ms: -10_000 }],
  ["+1.5s", { kind: "by", ms: 1500 }],
  ["-500ms", { kind: "by", ms: -500 }],
  ["90", { kind: "to", ms: 90_000 }],
  ["0", { kind: "to", ms: 0 }],
  ["1:30", { kind: "to", ms: 90_000 }],
  ["1:02:03.5", { kind: "to", ms: 3_723_500 }],
  ["1h2m3s", { kind: "to", ms: 3_723_000 }],
  ["2m", { kind: "to", ms: 120_000 }],
  [" 50% ", { kind: "part", percent: 50 }],
  ["12.5%", { kind: "part", percent: 12.5 }],
] as const)("the place %p is understood", (text, place) => {
  expect(readPlace(text)).toEqual(place);
});

test.each([
  "",
  "+",
  "-",
  "%",
  "101%",
  "+50%",
  "soon",
  "1:",
  ":30",
  "1:2:3:4",
  "10 20",
  "1s1m",
  "1e3",
  "9999999",
  "--1",
  "s",
])("%p is no place", (text) => {
  expect(readPlace(text)).toBeUndefined();
});

test.each([
  ["50", { kind: "to", percent: 50 }],
  ["0%", { kind: "to", percent: 0 }],
  ["+5", { kind: "by", percent: 5 }],
  ["-100%", { kind: "by", percent: -100 }],
] as const)("the volume %p is understood", (text, change) => {
  expect(readVolume(text)).toEqual(change);
});

test.each(["", "101", "-101", "+", "5.5", "loud", "1e2", "50%%"])("%p is no volume", (text) => {
  expect(readVolume(text)).toBeUndefined();
});

test("every name of an action is one, in any capitals, and with a dash for a line", () => {
  for (const name of actionNames) {
    const place = name === "seek" || name === "volume" ? "10" : undefined;
    const read = readAction(name, place);
    expect(read.kind).toBe("action");
    expect(readAction(name.toUpperCase().replaceAll("_", "-"), place)).toEqual(read);
  }
});

test("the answer to any request is an action or a short sentence, and a place is a number that a player takes", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.constantFrom(...actionNames), fc.string({ maxLength: 300 })),
      fc.option(fc.oneof(fc.string(), fc.stringMatching(/^[+-]?[0-9:.hms%]{0,12}$/)), { nil: undefined }),
      (name, place) => {
        const read = readAction(name, place);
        if (read.kind === "error") return read.message.length < 600;
        const { action } = read;
        if (!("to" in action)) return true;
        const amount = action.to.kind === "part" ? action.to.percent : action.to.ms;
        return Number.isFinite(amount) && Math.abs(amount) < 4_000_000_000;
      },
    ),
  );
});
