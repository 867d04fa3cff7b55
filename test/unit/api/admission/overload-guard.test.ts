/** The times at which ports are shut to remote callers. */
import { expect, test } from "bun:test";
import { createOverloadGuard } from "../../../../src/api/admission/overload-guard.ts";
import { turnedAwayPerSecondMax } from "../../../../src/core/limits.ts";
import { createLog } from "../../../../src/core/log.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

function gateOf(canOpen: () => boolean = () => true) {
  const clock = createManualClock();
  const said: string[] = [];
  const log = {
    debugging: false,
    debug() {},
    info() {},
    warn: (_: string, text: string) => void said.push(text),
    error() {},
  };
  const state = { used: 10, turnedAway: 0 };
  const did: string[] = [];
  const door = {
    name: "TLS",
    shutAt: 100,
    turnedAway: () => state.turnedAway,
    turnedAwayPerSecondMax,
    shut: () => void did.push("shut"),
    open() {
      if (!canOpen()) throw new Error("taken");
      did.push("open");
    },
  };
  const descriptors = {
    limit: 200,
    // The lowest free descriptor does not show the load while connections end.
    used: () => (did.at(-1) === "shut" && Number.isFinite(state.used) ? 3 : state.used),
    count: () => state.used,
  };
  const gate = createOverloadGuard([door], { clock, log, descriptors });
  return { clock, said, state, did, gate };
}

test("a door is shut at its mark, open again at half of it, tried again where that fails, and the log hears of it once", async () => {
  let canOpen = false;
  const { clock, said, state, did, gate } = gateOf(() => canOpen);
  using _gate = gate;
  await clock.advance(1000);
  state.used = Number.POSITIVE_INFINITY;
  await clock.advance(1000);
  expect(did).toEqual(["shut"]);
  state.used = 60;
  await clock.advance(1000);
  state.used = 40;
  await clock.advance(1000);
  expect(did).toEqual(["shut"]);
  canOpen = true;
  await clock.advance(1000);
  expect(did).toEqual(["shut", "open"]);
  expect(said.length).toBe(1);
});

test("a door is shut for a second when many a second are turned away there, again as long as they come, and not for a few", async () => {
  const { clock, said, state, did, gate } = gateOf();
  using _gate = gate;
  const comeFor = async (ms: number, perSecond: number) => {
    for (let elapsed = 0; elapsed < ms; elapsed += 100) {
      state.turnedAway += perSecond / 10;
      await clock.advance(100);
    }
  };
  await comeFor(10_000, turnedAwayPerSecondMax);
  expect(did).toEqual([]);
  await comeFor(100, 2 * turnedAwayPerSecondMax);
  expect(did).toEqual(["shut"]);
  await clock.advance(900);
  expect(did).toEqual(["shut"]);
  await clock.advance(100);
  expect(did).toEqual(["shut", "open"]);
  // Requests on connections that were open before do not count.
  await comeFor(100, 2 * turnedAwayPerSecondMax);
  expect(did).toEqual(["shut", "open", "shut"]);
  await comeFor(1000, 2 * turnedAwayPerSecondMax);
  await comeFor(100, 0);
  await clock.advance(60_000);
  expect(did).toEqual(["shut", "open", "shut", "open"]);
  // There were enough descriptors, so the guard counts them as often as before.
  await comeFor(100, 2 * turnedAwayPerSecondMax);
  state.used = Number.POSITIVE_INFINITY;
  await clock.advance(2000);
  state.used = 10;
  await clock.advance(100);
  expect(did).toEqual(["shut", "open", "shut", "open", "shut", "open"]);
  expect(said).toEqual(["a flood of remote requests: the port refuses remote connections until it is over"]);
});

/** A guard of one port, and its calls to the port and to the descriptors. */
function guardOf() {
  const clock = createManualClock();
  const state = { used: 10, count: 10, turnedAway: 0 };
  const did: string[] = [];
  const said: string[] = [];
  const port = {
    name: "TLS",
    shutAt: 100,
    turnedAway: () => state.turnedAway,
    turnedAwayPerSecondMax,
    shut: () => void did.push("shut"),
    open: () => void did.push("open"),
  };
  const descriptors = {
    limit: 200,
    used: () => state.used,
    count: () => state.count,
  };
  const log = createLog({ debug: false, write: (line) => said.push(line) });
  const guard = createOverloadGuard([port], { clock, log, descriptors });
  /** The guard's actions in the next `ms`. */
  const doneIn = (ms: number) => {
    did.length = 0;
    clock.advance(ms);
    return [...did];
  };
  return { state, said, guard, doneIn };
}

test("the last descriptor of a port shuts it, and it opens below the half of them, not at it", () => {
  const { state, guard, doneIn } = guardOf();
  using _guard = guard;
  state.used = 99;
  expect(doneIn(100)).toEqual([]);
  state.used = state.count = 100;
  expect(doneIn(100)).toEqual(["shut"]);
  state.count = 50;
  // Connections that have ended leave gaps, so the lowest free descriptor does not show the load.
  state.used = 3;
  expect(doneIn(3000)).toEqual([]);
  state.count = 49;
  expect(doneIn(1000)).toEqual(["open"]);
  // While the port is open, new connections fill the gaps.
  state.count = 200;
  expect(doneIn(300)).toEqual([]);
});

test("the first look measures by the lowest free descriptor, which is cheap", () => {
  const { state, guard, doneIn } = guardOf();
  using _guard = guard;
  state.count = 200;
  expect(doneIn(100)).toEqual([]);
});

test("a flood in the first moment of the service shuts the port, at one refusal above its share", () => {
  for (const [more, done] of [
    [0, []],
    [1, ["shut"]],
  ] as const) {
    const { state, guard, doneIn } = guardOf();
    using _guard = guard;
    state.turnedAway = turnedAwayPerSecondMax / 10 + more;
    expect(doneIn(100)).toEqual([...done]);
  }
});

test("the log hears of a second flood ten minutes after the first one, and not before", () => {
  for (const [ms, lines] of [
    [10 * 60_000 - 100, 1],
    [10 * 60_000, 2],
  ] as const) {
    const { state, said, guard, doneIn } = guardOf();
    using _guard = guard;
    state.turnedAway += turnedAwayPerSecondMax;
    doneIn(100);
    doneIn(ms - 100);
    state.turnedAway += turnedAwayPerSecondMax;
    expect(doneIn(100)).toEqual(["shut"]);
    expect(said).toHaveLength(lines);
  }
});
