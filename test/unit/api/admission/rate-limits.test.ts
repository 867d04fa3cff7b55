/** Token buckets, and addresses whose handshakes fail. */
import { expect, test } from "bun:test";
import {
  createFailedAttempts,
  createHandshakeRate,
  createRateLimit,
  TokenBucket,
} from "../../../../src/api/admission/rate-limits.ts";
import {
  anonymousBytesBurst,
  anonymousBytesPerSecondMax,
  handshakeBlockMsMax,
  handshakeBlockMsMin,
  handshakeFailuresMax,
  handshakesAfterFailuresPerSecondMax,
  handshakesPerSecondMax,
  ratedAddressesMax,
} from "../../../../src/core/limits.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

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

test("an allowance that is spent fills with time, and not beyond its burst", async () => {
  const clock = createManualClock();
  const allowance = new TokenBucket(clock, {
    tokenMs: 1000 / anonymousBytesPerSecondMax,
    burst: anonymousBytesBurst,
  });
  await clock.advance(60_000);
  allowance.spend(anonymousBytesBurst + anonymousBytesPerSecondMax);
  expect(allowance.isSpent()).toBe(true);
  await clock.advance(900);
  expect(allowance.isSpent()).toBe(true);
  await clock.advance(200);
  expect(allowance.isSpent()).toBe(false);
});

function failing() {
  const clock = createManualClock();
  const failures = createFailedAttempts(clock);
  const fail = (count: number, address = "10.0.0.9") => {
    for (let n = 0; n < count; n++) failures.note(address);
    return failures.blockedMs(address);
  };
  return { clock, failures, fail };
}

test("a few failures are nobody's fault; then each one more shuts an address out for twice as long, up to half an hour", () => {
  const { failures, fail } = failing();
  expect(fail(handshakeFailuresMax - 1)).toBe(0);
  expect(fail(1)).toBe(handshakeBlockMsMin);
  expect(fail(1)).toBe(2 * handshakeBlockMsMin);
  expect(fail(100)).toBe(handshakeBlockMsMax);
  expect(failures.blockedMs("10.0.0.1")).toBe(0);
});

test("a block ends by itself, and half an hour without a failure is a new beginning", async () => {
  const { clock, failures, fail } = failing();
  fail(handshakeFailuresMax);
  await clock.advance(handshakeBlockMsMin);
  expect(failures.blockedMs("10.0.0.9")).toBe(0);
  await clock.advance(handshakeBlockMsMax + 1);
  expect(fail(handshakeFailuresMax - 1)).toBe(0);
});

test("failures of more addresses than are remembered push out the oldest, and cost no more memory", () => {
  const { failures, fail } = failing();
  fail(handshakeFailuresMax, "10.9.9.9");
  for (let n = 0; n < ratedAddressesMax; n++) fail(1, `fd00::${n}`);
  expect(failures.blockedMs("10.9.9.9")).toBe(0);
  expect(failures.blockedMs("fd00::0")).toBe(0);
});

test("addresses with many failures share a rate of handshakes, and leave the others theirs", async () => {
  const { clock, failures, fail } = failing();
  fail(handshakeFailuresMax, "10.0.0.1");
  const refusalOf = createHandshakeRate(clock, failures);
  const limitOf = (address: string) => refusalOf(address)?.data?.limit;
  // A right secret from the address passes as well, because it is checked.
  for (let nth = 0; nth < handshakesAfterFailuresPerSecondMax; nth++)
    expect(limitOf("10.0.0.1")).toBeUndefined();
  expect(limitOf("10.0.0.1")).toBe("handshakesAfterFailuresPerSecondMax");
  for (let nth = 0; nth < handshakesPerSecondMax; nth++) expect(limitOf("10.0.0.2")).toBeUndefined();
  expect(limitOf("10.0.0.2")).toBe("handshakesPerSecondMax");
  await clock.advance(1000 / handshakesAfterFailuresPerSecondMax);
  expect(limitOf("10.0.0.1")).toBeUndefined();
  expect(limitOf("10.0.0.1")).toBe("handshakesAfterFailuresPerSecondMax");
});
