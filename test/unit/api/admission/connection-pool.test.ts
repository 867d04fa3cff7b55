/** Limits that all remote callers share: evicted connections, unread output, and bodies. */
import { expect, test } from "bun:test";
import {
  createBodyReader,
  createConnectionPool,
  createConnectionQuota,
  createSendBacklog,
  type PoolMember,
  type Recipient,
} from "../../../../src/api/admission/connection-pool.ts";
import {
  bodiesMax,
  bodiesPerAddressMax,
  connectionsForDevice,
  connectionsMax,
  connectionsPerAddressMax,
} from "../../../../src/core/limits.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

function createMembers() {
  const dropped: string[] = [];
  const member = (name: string, address = name): PoolMember => ({ address, drop: () => dropped.push(name) });
  return { dropped, member };
}

test("in a full pool the connection that was idle longest is evicted, and the newest comes in", () => {
  const { dropped, member } = createMembers();
  const crowd = createConnectionPool({ max: 3, perAddressMax: 3 });
  const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map((name) => member(name)) as [
    PoolMember,
    PoolMember,
    PoolMember,
    PoolMember,
    PoolMember,
  ];
  for (const one of [a, b, c]) crowd.enter(one);
  crowd.touch(a);
  crowd.enter(d);
  crowd.leave(c);
  crowd.enter(e);
  expect(dropped).toEqual(["b"]);
  crowd.touch(b);
  expect([a, b, c, d, e].map((one) => crowd.has(one))).toEqual([true, false, false, true, true]);
});

test("an address that has its share takes the place of its own", () => {
  const { dropped, member } = createMembers();
  const crowd = createConnectionPool({ max: 10, perAddressMax: 2 });
  for (const name of ["x1", "y1", "x2", "x3", "x4"]) crowd.enter(member(name, name.slice(0, 1)));
  expect(dropped).toEqual(["x1", "x2"]);
});

function createOutlet(bytes: number, dropped: string[], name: string) {
  const outlet = { bytes, unsentBytes: () => outlet.bytes, drop: () => void dropped.push(name) };
  return outlet satisfies Recipient;
}

test("if each connection may stay for a while, nobody has room before that, and no clock can keep others out", () => {
  const clock = createManualClock();
  const crowd = createConnectionPool({ max: 3, perAddressMax: 2, stay: { ms: 500, clock, trustedMax: 2 } });
  const { dropped, member } = createMembers();
  const second = member("second", "a");
  crowd.enter(member("first", "a"));
  crowd.enter(second);
  expect([crowd.hasRoom("a"), crowd.hasRoom("b")]).toEqual([false, true]);
  clock.advance(300);
  crowd.enter(member("third", "b"));
  expect([crowd.hasRoom("a"), crowd.hasRoom("b")]).toEqual([false, false]);
  // The stay of a connection counts from its beginning, and not from its last activity.
  crowd.touch(second);
  clock.advance(200);
  expect([crowd.hasRoom("a"), crowd.hasRoom("b"), crowd.hasRoom("c")]).toEqual([true, true, true]);
  crowd.leave(second);
  crowd.enter(member("fourth", "c"));
  expect(dropped).toEqual([]);
  crowd.enter(member("fifth", "c"));
  expect(dropped).toEqual(["first"]);
  expect(crowd.hasRoom("d")).toBe(false);
  // Known callers are accepted at once, and are not too many.
  for (const address of ["d", "e", "d", "f"]) crowd.trust(address);
  expect(["d", "e", "f"].map(crowd.hasRoom)).toEqual([true, false, true]);
  clock.advance(-60_000);
  expect(crowd.hasRoom("e")).toBe(true);
});

test("when too much lies here in all, the largest goes, and nobody who has read since", () => {
  const dropped: string[] = [];
  const unsent = createSendBacklog(100);
  const [small, reader, deaf] = [
    ["small", 30],
    ["reader", 45],
    ["deaf", 40],
  ].map(([name, bytes]) => createOutlet(Number(bytes), dropped, String(name)));
  if (small === undefined || reader === undefined || deaf === undefined) throw new Error("three were made");
  unsent.note(small);
  unsent.note(reader);
  reader.bytes = 0;
  unsent.note(deaf);
  expect(dropped).toEqual([]);
  deaf.bytes = 71;
  unsent.note(deaf);
  expect(dropped).toEqual(["deaf"]);
  small.bytes = 100;
  unsent.note(small);
  expect(dropped).toEqual(["deaf"]);
});

const never = () =>
  new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(Uint8Array.of(1)) });
const visitOf = (address: string, body: BodyInit, access: "device" | "remote" = "remote") => ({
  request: new Request("http://device/api", { method: "POST", body }),
  address,
  access,
});

test("bodies that never end make room for those that do, from the same address first", async () => {
  const bodies = createBodyReader();
  const ended: number[] = [];
  const hanging = Array.from({ length: bodiesMax }, (_, n) =>
    bodies.read(visitOf(`10.0.0.${n}`, never()), 100).then(({ kind }) => kind === "dropped" && ended.push(n)),
  );
  expect(await bodies.read(visitOf("10.0.1.1", "whole"), 100)).toMatchObject({ kind: "whole" });
  await hanging[0];
  expect(ended).toEqual([0]);
  const ofOne = Array.from({ length: bodiesPerAddressMax + 1 }, () =>
    bodies.read(visitOf("10.0.0.1", never()), 100),
  );
  const [first] = await Promise.all([ofOne[0] ?? hanging[1], hanging[1]]);
  expect([ended.slice(0, 2).includes(1), first !== undefined]).toEqual([true, true]);
});

test("callers on the device are not counted among the bodies of remote callers", async () => {
  const bodies = createBodyReader();
  let dropped = 0;
  for (let n = 0; n < 3 * bodiesMax; n++)
    void bodies.read(visitOf("127.0.0.1", never(), "device"), 100).then(() => dropped++);
  expect(await bodies.read(visitOf("10.0.0.1", "whole"), 100)).toMatchObject({ kind: "whole" });
  expect(dropped).toBe(0);
  expect(await bodies.read(visitOf("10.0.0.1", "x".repeat(101)), 100)).toEqual({ kind: "too-long" });
});

test("for any number of remote connections, some places are left for callers on the device", () => {
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

test("a pool without a stay has room for every address, because it evicts at once", () => {
  const { dropped, member } = createMembers();
  const pool = createConnectionPool({ max: 1, perAddressMax: 1 });
  pool.enter(member("a"));
  expect([pool.hasRoom("a"), pool.hasRoom("b")]).toEqual([true, true]);
  pool.enter(member("b"));
  expect(dropped).toEqual(["a"]);
});

test("an address may hold as many connections as its limit, and takes one again for each that it gives back", () => {
  const places = createConnectionQuota();
  const takeAll = () => {
    let taken = 0;
    for (; places.isFree("10.0.0.1", "remote"); taken++) places.take("10.0.0.1");
    return taken;
  };
  expect(takeAll()).toBe(connectionsPerAddressMax);
  places.giveBack("10.0.0.1");
  expect(takeAll()).toBe(1);
  for (let nth = 0; nth < connectionsPerAddressMax; nth++) places.giveBack("10.0.0.1");
  expect(takeAll()).toBe(connectionsPerAddressMax);
});

function createOutlets(bytesMax: number) {
  const dropped: string[] = [];
  let measured = 0;
  const backlog = createSendBacklog(bytesMax);
  const outlet = (name: string, bytes: number) => {
    const one = createOutlet(bytes, dropped, name);
    const unsentBytes = () => {
      measured += 1;
      return one.bytes;
    };
    return Object.assign(one, { unsentBytes });
  };
  return { backlog, dropped, outlet, measured: () => measured };
}

test("output up to the limit is kept, and nobody else is measured for it", () => {
  const { backlog, dropped, outlet, measured } = createOutlets(100);
  const [one, other] = [outlet("one", 60), outlet("other", 40)];
  backlog.note(one);
  backlog.note(other);
  expect([dropped, measured()]).toEqual([[], 2]);
  one.bytes = 59;
  other.bytes = 41;
  // The first recipient has read a byte meanwhile, so the two together are exactly at the limit.
  backlog.note(other);
  expect([dropped, measured()]).toEqual([[], 5]);
});

test("the last byte of a recipient counts, until it has read that one, too", () => {
  const { backlog, dropped, outlet } = createOutlets(100);
  const [one, other] = [outlet("one", 1), outlet("other", 100)];
  backlog.note(one);
  one.bytes = 0;
  backlog.note(one);
  backlog.note(other);
  expect(dropped).toEqual([]);
  one.bytes = 1;
  backlog.note(one);
  expect(dropped).toEqual(["other"]);
});

test("of two equal recipients the one that was measured first is dropped, and no limit is too small", () => {
  const { backlog, dropped, outlet } = createOutlets(1);
  for (const name of ["first", "second"]) backlog.note(outlet(name, 1));
  expect(dropped).toEqual(["first"]);
  const small = createOutlets(0);
  small.backlog.note(small.outlet("only", 1));
  expect(small.dropped).toEqual(["only"]);
});

test("a recipient whose connection has ended counts for nothing", () => {
  const { backlog, dropped, outlet } = createOutlets(100);
  const gone = outlet("gone", 90);
  backlog.note(gone);
  backlog.forget(gone);
  backlog.note(outlet("other", 100));
  expect(dropped).toEqual([]);
});

test("a body of the limit's length is read, and a longer one that says so is refused before it comes", async () => {
  const bodies = createBodyReader();
  const read = (body: BodyInit, length?: number) => {
    const visit = visitOf("10.0.0.1", body);
    if (length !== undefined) visit.request.headers.set("content-length", String(length));
    return bodies.read(visit, 100);
  };
  expect(await read("x".repeat(100))).toMatchObject({ kind: "whole" });
  expect(await read("x".repeat(100), 100)).toMatchObject({ kind: "whole" });
  expect(await read(never(), 101)).toEqual({ kind: "too-long" });
  expect(await bodies.read(visitOf("10.0.0.1", ""), 0)).toMatchObject({ kind: "whole" });
});
