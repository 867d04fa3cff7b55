/** Addresses whose handshakes fail, and connections that nobody from afar may take. */
import { expect, test } from "bun:test";
import { createConnectionQuota } from "../../../../src/api/admission/connection-pool.ts";
import { createFailedAttempts } from "../../../../src/api/admission/rate-limits.ts";
import {
  connectionsForDevice,
  connectionsMax,
  connectionsPerAddressMax,
  handshakeBlockMsMax,
  handshakeBlockMsMin,
  handshakeFailuresMax,
  ratedAddressesMax,
} from "../../../../src/core/limits.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

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

test("however many connections come from afar, some places are left for callers on the device", () => {
  const places = createConnectionQuota();
  let taken = 0;
  for (let host = 0; host < 100; host++) {
    const address = `10.0.0.${host}`;
    let ofThis = 0;
    for (; places.isFree(address, "remote"); ofThis++) places.take(address);
    expect(ofThis).toBeLessThanOrEqual(connectionsPerAddressMax);
    taken += ofThis;
  }
  expect(taken).toBe(connectionsMax - connectionsForDevice);
  for (let n = 0; n < connectionsForDevice; n++) {
    expect(places.isFree("127.0.0.1", "device")).toBe(true);
    places.take("127.0.0.1");
  }
  expect(places.isFree("127.0.0.1", "device")).toBe(false);
});
