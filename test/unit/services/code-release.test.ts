/** The moments at which the service releases code that it needs no more. */
import { expect, test } from "bun:test";
import { createBus } from "../../../src/bus.ts";
import { silentLog } from "../../../src/core/log.ts";
import { compiledMs, followCode, settledMs } from "../../../src/services/code-release.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

function makeFollowed() {
  const clock = createManualClock();
  const bus = createBus(silentLog);
  let releases = 0;
  const releaseCode = async () => {
    releases += 1;
    // A kernel without smaps cannot tell the mappings.
    if (releases === 2) throw new Error("ENOENT");
  };
  const follower = followCode({ bus, clock, releaseCode });
  const index = (indexing: boolean) =>
    bus.emit("media.indexing", { exists: true, indexing, optimizing: false });
  return { clock, follower, index, count: () => releases };
}

test("code is released twice after the start and after each index run, and not during a run", () => {
  const { clock, follower, index, count } = makeFollowed();
  clock.advance(settledMs - 1);
  expect(count()).toBe(0);
  // The run of the start begins before the code of the start is released.
  index(true);
  clock.advance(10 * settledMs);
  expect(count()).toBe(0);
  index(false);
  index(false);
  clock.advance(settledMs);
  expect(count()).toBe(1);
  clock.advance(compiledMs - 1);
  expect(count()).toBe(1);
  clock.advance(1);
  expect(count()).toBe(2);
  clock.advance(10 * compiledMs);
  expect(count()).toBe(2);
  for (const run of [3, 4]) {
    index(true);
    index(false);
    clock.advance(settledMs);
    expect(count()).toBe(run);
  }
  follower[Symbol.dispose]();
  expect(clock.waiting()).toBe(0);
});

test("a service without media releases the code of its start, and none after its stop", () => {
  const { clock, follower, index, count } = makeFollowed();
  clock.advance(settledMs);
  expect(count()).toBe(1);
  index(false);
  follower[Symbol.dispose]();
  clock.advance(10 * compiledMs);
  expect(count()).toBe(1);
});
