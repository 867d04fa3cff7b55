// Covers: src/readers/attendance.ts.
import { afterEach, expect, test } from "bun:test";
import { simulated } from "../../../drivers/simulated.ts";
import { createBus } from "../../../src/bus.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { faultLine } from "../../../src/core/faults.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { Token } from "../../../src/core/token.ts";
import type { Driver } from "../../../src/readers/driver.ts";
import { type Readers, type ReadersConfig, startReaders } from "../../../src/readers/readers.ts";
import { eventually } from "../../helpers/processes.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface World {
  readonly readers: Readers;
  /** `open a:x` and `close a:x`, in their order. */
  readonly did: string[];
  /** Paths that the driver `a` detects. */
  readonly plugged: string[];
  readonly taps: Token[];
  readonly connected: () => readonly string[];
}

/** Readers with two drivers, `a` and `b`, whose devices are emulated chips on real ptys. */
function start(config: ReadersConfig): World {
  const [did, plugged, taps]: [string[], string[], Token[]] = [[], [], []];
  const driver = (id: string): Driver => ({
    id,
    capabilities: ["read"],
    async open(path, context, signal) {
      const session = await simulated.open(path, context, signal);
      did.push(`open ${id}:${path}`);
      return {
        ...session,
        async close() {
          await session.close();
          did.push(`close ${id}:${path}`);
        },
      };
    },
  });
  const detecting: Driver = {
    ...driver("a"),
    detect: async () => plugged.map((path) => ({ path, stamp: "1", stablePath: `port of ${path}` })),
  };
  const bus = createBus(silentLog);
  bus.on("tokens.added", (token) => taps.push(token));
  const drivers = [detecting, driver("b")];
  const readers = startReaders({ ...config, drivers, bus, clock: systemClock, log: silentLog });
  closing.push(() => readers.close());
  const connected = () =>
    readers
      .list()
      .filter((reader) => reader.connected)
      .map(({ driver, path }) => `${driver}:${path}`);
  return { readers, did, plugged, taps, connected };
}

test("a reader that the settings name again is opened, and the one beside it is left alone", async () => {
  const { readers, did, connected } = start({ connect: ["a:/1"], detect: false });
  await eventually(() => expect(connected()).toHaveLength(1));
  await readers.reconfigure({ connect: ["a:/1", "b:/2"], detect: false });
  await eventually(() => expect(connected()).toHaveLength(2));
  expect(did).toEqual(["open a:/1", "open b:/2"]);
});

test("a reader that is no longer named is closed when the change is done, and the one beside it is left alone", async () => {
  const { readers, did, connected } = start({ connect: ["a:/1", "b:/2"], detect: false });
  await eventually(() => expect(connected()).toHaveLength(2));
  did.length = 0;
  await readers.reconfigure({ connect: ["b:/2"], detect: false });
  expect(did).toEqual(["close a:/1"]);
  expect(connected()).toEqual(["b:/2"]);
});

test("the same config again changes nothing", async () => {
  const { readers, did, connected } = start({ connect: ["a:/1"], detect: true });
  await eventually(() => expect(connected()).toHaveLength(1));
  await readers.reconfigure({ connect: ["a:/1"], detect: true });
  expect(did).toEqual(["open a:/1"]);
});

test("another driver gets a port only when the one before has let go of it", async () => {
  const { readers, did, connected } = start({ connect: ["a:/1"], detect: false });
  await eventually(() => expect(connected()).toHaveLength(1));
  await readers.reconfigure({ connect: ["b:/1"], detect: false });
  await eventually(() => expect(connected()).toContain("b:/1"));
  expect(did).toEqual(["open a:/1", "close a:/1", "open b:/1"]);
});

test("other options of a port are heeded: it is opened again", async () => {
  const { readers, did, connected } = start({ connect: ["a:/1"], detect: false });
  await eventually(() => expect(connected()).toHaveLength(1));
  await readers.reconfigure({ connect: ["a:/1?baud=9600"], detect: false });
  await eventually(() => expect(did).toHaveLength(3));
  expect(did).toEqual(["open a:/1", "close a:/1", "open a:/1?baud=9600"]);
});

test("a detected reader that is then named stays open, and the card on it is not tapped again; and back", async () => {
  const world = start({ connect: [], detect: true });
  const { readers, did, plugged, taps, connected } = world;
  plugged.push("/1");
  await readers.reconfigure({ connect: [], detect: true });
  await eventually(() => expect(connected()).toHaveLength(1));
  const [reader] = readers.list();
  readers.scan({ type: "", uid: "", text: "x", data: "" }, 60_000, reader?.readerId);
  await eventually(() => expect(taps).toHaveLength(1));
  await readers.reconfigure({ connect: ["a:/1"], detect: true });
  await readers.reconfigure({ connect: ["a:/1"], detect: false });
  await readers.reconfigure({ connect: [], detect: true });
  expect(did).toEqual(["open a:/1"]);
  expect(taps.length).toBe(1);
  expect(readers.tokens().active.length).toBe(1);
});

test("switching detection off closes what was detected, and keeps what is named; on again finds it", async () => {
  const { readers, did, plugged, connected } = start({ connect: ["b:/2"], detect: false });
  await eventually(() => expect(connected()).toEqual(["b:/2"]));
  plugged.push("/1");
  await readers.reconfigure({ connect: ["b:/2"], detect: true });
  await eventually(() => expect(connected()).toHaveLength(2));
  await readers.reconfigure({ connect: ["b:/2"], detect: false });
  expect(connected()).toEqual(["b:/2"]);
  await readers.reconfigure({ connect: ["b:/2"], detect: true });
  await eventually(() => expect(connected()).toHaveLength(2));
  expect(did).toEqual(["open b:/2", "open a:/1", "close a:/1", "open a:/1"]);
});

test("a token on a reader that was let go of is not active, and is not tapped again when the reader is back", async () => {
  const { readers, taps, connected } = start({ connect: ["b:/2"], detect: false });
  await eventually(() => expect(connected()).toHaveLength(1));
  const readerId = readers.list()[0]?.readerId;
  readers.scan({ type: "", uid: "", text: "x", data: "" }, 60_000, readerId);
  await eventually(() => expect(taps).toHaveLength(1));
  await readers.reconfigure({ connect: [], detect: false });
  expect(readers.tokens().active).toEqual([]);
  expect(readers.list()).toEqual([]);
  await readers.reconfigure({ connect: ["b:/2"], detect: false });
  expect(readers.tokens().active.length).toBe(1);
  expect(taps.length).toBe(1);
});

test("a text that is no reader is a fault until it is mended", async () => {
  const { readers } = start({ connect: [], detect: false });
  await readers.reconfigure({ connect: ["nonsense:x"], detect: false });
  expect(faultLine(readers.faults())).toBe(
    '"nonsense:x" is not a reader: write driver:path, with one of a:, b:',
  );
  await readers.reconfigure({ connect: [], detect: false });
  expect(readers.faults()).toEqual([]);
});

test("changes of one moment are answered one after another, and the last one stays", async () => {
  const { readers, did, connected } = start({ connect: [], detect: false });
  const wishes = [["a:/1"], ["b:/1"], [], ["a:/1", "b:/2"]];
  await Promise.all(wishes.map((connect) => readers.reconfigure({ connect, detect: false })));
  await eventually(() => expect(connected()).toHaveLength(2));
  expect(connected().toSorted()).toEqual(["a:/1", "b:/2"]);
  const open = new Set<string>();
  for (const step of did) {
    const [what = "", which = ""] = step.split(" ");
    if (what === "open") open.add(which);
    else open.delete(which);
    expect(open.has("a:/1") && open.has("b:/1")).toBe(false);
  }
});

test("closing in the middle of a change closes every device", async () => {
  const { readers, did, connected } = start({ connect: ["a:/1"], detect: false });
  await eventually(() => expect(connected()).toHaveLength(1));
  const changed = readers.reconfigure({ connect: ["b:/2"], detect: true });
  await readers.close();
  await changed;
  expect(did.filter((step) => step.startsWith("open")).length).toBe(
    did.filter((step) => step.startsWith("close")).length,
  );
});
