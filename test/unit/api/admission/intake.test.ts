/** The messages of callers without an identity: of one connection, and of all together. */
import { expect, test } from "bun:test";
import { createIntake } from "../../../../src/api/admission/intake.ts";
import { createCollector } from "../../../../src/core/garbage.ts";
import {
  anonymousBytesPerConnectionMax,
  anonymousMessagesPerConnectionMax,
  anonymousMessagesPerSecondMax,
  anonymousParsedBytesPerSecondMax,
  messageBytesMax,
  shortMessageBytesMax,
} from "../../../../src/core/limits.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

const taken = { kind: "taken" } as const;
const burst = 4; // Each token bucket holds this many seconds of its rate.
const times = <T>(count: number, make: () => T) => Array.from({ length: count }, make);

function makeIntake() {
  const clock = createManualClock();
  let collections = 0;
  const collector = createCollector(() => {
    collections += 1;
  });
  const intake = createIntake(clock, collector);
  return { clock, intake, collections: () => collections };
}

test("a connection may send the longest message, and is a flood with the next one until its bytes have come back", () => {
  const { clock, intake } = makeIntake();
  const line = intake.connection();
  expect(line.take(messageBytesMax)).toEqual(taken);
  expect(line.take(1)).toEqual({ kind: "flood", limit: "anonymousBytesPerConnectionMax" });
  clock.advance(1000);
  expect(line.take(anonymousBytesPerConnectionMax)).toEqual(taken);
  expect(line.take(1)).toMatchObject({ kind: "flood" });
});

test("a connection may send a burst of messages, then its rate, and more is a flood", () => {
  const { clock, intake } = makeIntake();
  const line = intake.connection();
  const most = burst * anonymousMessagesPerConnectionMax;
  expect(new Set(times(most, () => line.take(100).kind))).toEqual(new Set(["taken"]));
  expect(line.take(100)).toEqual({ kind: "flood", limit: "anonymousMessagesPerConnectionMax" });
  clock.advance(1000);
  const kinds = times(anonymousMessagesPerConnectionMax + 1, () => line.take(100).kind);
  expect(kinds.filter((kind) => kind === "taken").length).toBe(anonymousMessagesPerConnectionMax);
});

test("many connections share the bytes that are parsed, and short messages of others pass all the same", () => {
  const { clock, intake } = makeIntake();
  const kinds = times(16, () => intake.connection().take(messageBytesMax));
  const parsed = kinds.filter(({ kind }) => kind === "taken").length;
  expect(parsed).toBe((burst * anonymousParsedBytesPerSecondMax) / messageBytesMax);
  expect(kinds[parsed]).toEqual({ kind: "refused", limit: "anonymousParsedBytesPerSecondMax" });
  expect(kinds.at(-1)).toEqual({ kind: "flood", limit: "anonymousReceivedBytesPerSecondMax" });
  expect(intake.spentFor(messageBytesMax)).toBeDefined();
  expect(intake.take(shortMessageBytesMax)).toBeUndefined();
  expect(intake.connection().take(shortMessageBytesMax)).toEqual(taken);
  clock.advance(60_000);
  expect(intake.connection().take(messageBytesMax)).toEqual(taken);
});

test("many connections share the number of messages, and are refused above it", () => {
  const { intake } = makeIntake();
  const most = burst * anonymousMessagesPerSecondMax;
  const kinds = times(2 * most, () => intake.connection().take(10));
  expect(kinds.filter(({ kind }) => kind === "taken").length).toBe(most);
  expect(kinds.at(-1)).toEqual({ kind: "refused", limit: "anonymousMessagesPerSecondMax" });
});

test("garbage is collected after each 4 MiB of messages, refused ones included", () => {
  const { intake, collections } = makeIntake();
  times(3, () => intake.connection().take(messageBytesMax));
  expect(collections()).toBe(0);
  times(5, () => intake.connection().take(messageBytesMax));
  expect(collections()).toBe(2);
});
