/** Writing to tags, from the call to the tag's memory: real driver, emulated chip on a pty, tags with memory. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { drivers } from "../../../drivers/index.ts";
import { pn532Uart } from "../../../drivers/pn532-uart.ts";
import { tagCommands } from "../../../drivers/protocol/type2-tag.ts";
import { simulated } from "../../../drivers/simulated.ts";
import { createBus } from "../../../src/bus.ts";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import { silentLog } from "../../../src/core/log.ts";
import { type Driver, type ReaderSession, removalDebounceMs } from "../../../src/readers/driver.ts";
import { createPresence } from "../../../src/readers/presence.ts";
import { type Readers, startReaders } from "../../../src/readers/readers.ts";
import { tagWaitMs } from "../../../src/readers/writing.ts";
import {
  createCardWithoutMessages,
  createClassicTag,
  createType2Tag,
  type EmulatedTag,
  type TearableTag,
  type Type2Kind,
  type2Kinds,
} from "../../emulators/emulated-tags.ts";
import { emulatedReaders } from "../../emulators/index.ts";
import { createPn532Device, type Pn532Device } from "../../emulators/pn532-device.ts";
import { textOn, unlessHeldUp } from "../../helpers/emulated.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const uid = Uint8Array.fromHex("04a1a2a3a4a5a6");
const hexUid = "04a1a2a3a4a5a6";
const otherUid = Uint8Array.fromHex("04b1b2b3b4b5b6");

interface Bench {
  readonly device: Pn532Device;
  readonly readers: Readers;
  readonly readerId: string;
  /** Lines such as `tokens.added UID TEXT`. */
  readonly events: readonly string[];
  /** Lets the waiting time of a write pass. */
  readonly passWait: () => void;
  /** Removes the tag, and resolves after its removal was reported. */
  readonly lift: () => Promise<void>;
}

async function withBench(run: (bench: Bench) => Promise<void>): Promise<void> {
  const device = createPn532Device({ timing: "none" });
  const bus = createBus(silentLog);
  const events: string[] = [];
  for (const name of ["tokens.added", "tokens.removed"] as const)
    bus.on(name, (token) => events.push(`${name} ${token.uid} ${token.text}`));
  let passWait = () => {};
  let left = 0;
  const clock: Clock = {
    ...systemClock,
    after(ms, callback) {
      if (ms === removalDebounceMs)
        return systemClock.after(ms, () => {
          callback();
          left += 1;
        });
      if (ms !== tagWaitMs) return systemClock.after(ms, callback);
      passWait = callback;
      return { [Symbol.dispose]: () => {} };
    },
  };
  const lift = async () => {
    const before = left;
    device.take();
    await eventually(() => expect(left).toBeGreaterThan(before));
  };
  const connect = [`pn532-uart:${device.path}`];
  const readers = startReaders({ drivers: [pn532Uart], connect, detect: false, bus, clock, log: silentLog });
  try {
    await eventually(() => expect(readers.list()[0]?.connected).toBe(true));
    const readerId = readers.list()[0]?.readerId ?? "";
    await run({ device, readers, readerId, events, passWait: () => passWait(), lift });
  } finally {
    await readers.close();
    await device.close();
  }
}

/** Writes with the session alone, on a tag that is present. */
type Run = (device: Pn532Device, session: ReaderSession) => Promise<void>;

const withSession = (run: Run): Promise<void> => unlessHeldUp(() => inSession(run));

async function inSession(run: Run): Promise<void> {
  const device = createPn532Device({ timing: "none" });
  const ending = new AbortController();
  const open = () => pn532Uart.open(device.path, { clock: systemClock, log: silentLog }, ending.signal);
  // On a busy machine the kernel moves the bytes of a pty too late for one opening, and nothing in this process shows that.
  const session = await open().catch(open);
  const watching = session.watch(() => {}, ending.signal).catch(() => {});
  try {
    await run(device, session);
  } finally {
    ending.abort(new Error("the test has ended"));
    await watching;
    await session.close();
    await device.close();
  }
}

function writeTo(session: ReaderSession, text: string, force = false): Promise<unknown> {
  const order = { text, force, claim: () => true };
  const writing = session.write?.(order, new AbortController().signal) ?? Promise.reject(new Error("cannot"));
  return writing.then(
    () => "written",
    (error: unknown) => error,
  );
}

function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "written",
    (error: unknown) => error,
  );
}

function expectFailure(error: unknown, code: string, cause?: string): void {
  expect(error).toBeInstanceOf(ServiceError);
  expect(error).toMatchObject(cause === undefined ? { code } : { code, data: { cause } });
}

const isWrite = (payload: Uint8Array) => payload[3] === tagCommands.write;

describe("a write", () => {
  test("waits for a tag, and that one is not launched until it was taken off and laid on again", () =>
    withBench(async ({ device, readers, events, lift }) => {
      const tag = createType2Tag("ntag213", { uid, text: "before" });
      const writing = readers.write({ text: "SNES/Game.sfc" });
      device.put(tag);
      await writing;
      expect(textOn(tag)).toBe("SNES/Game.sfc");
      // The driver has read the tag again, more than once.
      await seenAgain(device);
      expect([events, readers.tokens().active]).toEqual([[], []]);
      await lift();
      device.put(tag);
      await eventually(() => expect(events.length).toBeGreaterThan(0));
      expect(events).toEqual([`tokens.added ${hexUid} SNES/Game.sfc`]);
    }));

  test("takes a tag that lies there already, which stays the token that it was until it leaves", () =>
    withBench(async ({ device, readers, events }) => {
      const tag = createType2Tag("ntag215", { uid, text: "before" });
      device.put(tag);
      await eventually(() => expect(events).toHaveLength(1));
      await readers.write({ text: "after" });
      await seenAgain(device);
      expect(events).toEqual([`tokens.added ${hexUid} before`]);
      device.take();
      await eventually(() => expect(events).toHaveLength(2));
      device.put(tag);
      await eventually(() => expect(events).toHaveLength(3));
      expect(events.slice(1)).toEqual([`tokens.removed ${hexUid} before`, `tokens.added ${hexUid} after`]);
    }));

  test("that has to skip the last tag waits until that one was taken off, or another came", () =>
    withBench(async ({ device, readers, lift }) => {
      const [one, two] = [uid, otherUid].map((own) => createType2Tag("ntag213", { uid: own }));
      if (one === undefined || two === undefined) throw new Error("no tags");
      device.put(one);
      await readers.write({ text: "one" });
      const second = readers.write({ text: "two", newTag: true });
      await seenAgain(device);
      expect(textOn(one)).toBe("one");
      device.take();
      device.put(two);
      await second;
      expect([textOn(one), textOn(two)]).toEqual(["one", "two"]);
      const third = readers.write({ text: "three", newTag: true });
      await lift();
      device.put(two);
      await third;
      expect(textOn(two)).toBe("three");
      // Without that option, the driver writes the same tag again.
      await readers.write({ text: "four" });
      expect(textOn(two)).toBe("four");
    }));

  test("that a card asks for passes over that card, and takes the next one", () =>
    withBench(async ({ device, readers, events, lift }) => {
      const [asking, other] = [uid, otherUid].map((own) =>
        createType2Tag("ntag213", { uid: own, text: "before" }),
      );
      if (asking === undefined || other === undefined) throw new Error("no tags");
      device.put(asking);
      await eventually(() => expect(events).toHaveLength(1));
      const writing = readers.write({ text: "made", exceptUid: "04:A1:A2:A3:A4:A5:A6" });
      await seenAgain(device);
      await lift();
      device.put(asking);
      await eventually(() => expect(events).toHaveLength(3));
      device.take();
      device.put(other);
      await writing;
      expect([textOn(asking), textOn(other)]).toEqual(["before", "made"]);
      // The text of the written tag is not launched.
      expect(events.some((event) => event.startsWith(`tokens.added ${otherUid.toHex()}`))).toBe(false);
    }));

  test("ends when its caller is stopped, and leaves the reader free", () =>
    withBench(async ({ device, readers }) => {
      const asking = new AbortController();
      const stopped = failureOf(readers.write({ text: "x" }, asking.signal));
      asking.abort(new ServiceError("failed", "it was stopped"));
      expect(await stopped).toMatchObject({ code: "failed", message: "it was stopped" });
      expect(await failureOf(readers.write({ text: "x" }, asking.signal))).toMatchObject({
        message: "it was stopped",
      });
      const tag = createType2Tag("ntag213", { uid });
      const second = readers.write({ text: "y" });
      device.put(tag);
      await second;
      expect(textOn(tag)).toBe("y");
    }));

  test("that has to wait is not joined by a second one on its reader, and can be called off", () =>
    withBench(async ({ device, readers, readerId, events }) => {
      const first = failureOf(readers.write({ text: "x" }));
      expectFailure(await failureOf(readers.write({ text: "y", readerId })), "conflict");
      expectFailure(await failureOf((async () => readers.cancel("none-such"))()), "not-found");
      readers.cancel(readerId);
      expect(await first).toMatchObject({ code: "failed", message: "it was called off" });
      // No waiting write is left: the next tag is read.
      const tag = createType2Tag("ntag213", { uid, text: "before" });
      device.put(tag);
      await eventually(() => expect(events).toHaveLength(1));
      expect(textOn(tag)).toBe("before");
      const second = failureOf(readers.write({ text: "z", newTag: true }));
      await second;
      expect(textOn(tag)).toBe("z");
      readers.cancel(undefined);
    }));

  test("takes the place of an earlier one of its caller, and not that of another caller", () =>
    withBench(async ({ device, readers, readerId }) => {
      const [one, other] = [new AbortController().signal, new AbortController().signal];
      const first = failureOf(readers.write({ text: "first" }, one));
      const second = failureOf(readers.write({ text: "second", readerId }, one));
      // The second write still waits for the end of the first.
      expectFailure(await failureOf(readers.write({ text: "other" }, other)), "conflict");
      const third = failureOf(readers.write({ text: "third" }, one));
      expectFailure(await first, "conflict");
      expectFailure(await second, "conflict");
      expectFailure(await failureOf(readers.write({ text: "other" }, other)), "conflict");
      const tag = createType2Tag("ntag213", { uid });
      device.put(tag);
      expect(await third).toBe("written");
      expect(textOn(tag)).toBe("third");
      // The reader is free again, and a cancel ends the write that now uses it.
      const fourth = failureOf(readers.write({ text: "fourth", newTag: true }, other));
      const fifth = failureOf(readers.write({ text: "fifth", newTag: true }, other));
      readers.cancel(undefined);
      expectFailure(await fourth, "conflict");
      expect(await fifth).toMatchObject({ code: "failed", message: "it was called off" });
    }));

  test("that takes the place of one that has begun lets it finish", () =>
    withBench(async ({ device, readers, lift }) => {
      const [tag, next] = [uid, otherUid].map((own) => createType2Tag("ntag213", { uid: own }));
      if (tag === undefined || next === undefined) throw new Error("no tags");
      const caller = new AbortController().signal;
      let second: Promise<unknown> | undefined;
      device.onCommand((payload) => {
        if (isWrite(payload)) second ??= failureOf(readers.write({ text: "second", newTag: true }, caller));
      });
      device.put(tag);
      await readers.write({ text: "first" }, caller);
      expect(textOn(tag)).toBe("first");
      await lift();
      device.put(next);
      expect(await second).toBe("written");
      expect([textOn(tag), textOn(next)]).toEqual(["first", "second"]);
    }));

  test("for which no tag comes says so, before known clients give up", () =>
    withBench(async ({ readers, passWait }) => {
      const writing = failureOf(readers.write({ text: "x" }));
      passWait();
      expectFailure(await writing, "write-failed", "timeout");
      expect(await writing).toMatchObject({ message: "no tag was laid on the reader within 28 s" });
    }));

  test("needs a reader that is there, and says which one is not", () =>
    withBench(async ({ device, readers, readerId }) => {
      expectFailure(await failureOf(readers.write({ text: "x", readerId: "none-such" })), "not-found");
      const waiting = failureOf(readers.write({ text: "x" }));
      await device.unplug();
      expectFailure(await waiting, "no-reader");
      await eventually(() => expect(readers.list()[0]?.connected).toBe(false));
      expectFailure(await failureOf(readers.write({ text: "x", readerId })), "no-reader");
      expectFailure(await failureOf(readers.write({ text: "x" })), "no-reader");
    }));

  test("of a text that no tag can give back is refused before a tag is asked for", () =>
    withBench(async ({ readers }) => {
      for (const text of ["", "\ud800", "\ufeffx", "x".repeat(16 * 1024 + 1)])
        expectFailure(await failureOf(readers.write({ text })), "invalid-params");
    }));

  test("on a reader that fails in the middle of it says that the tag may be blank, and the reader comes back", () =>
    withBench(async ({ device, readers, events }) => {
      let writes = 0;
      device.onCommand((payload) => {
        if (isWrite(payload)) writes += 1;
        if (writes === 3) void device.unplug();
      });
      const tag = createType2Tag("ntag213", { uid, text: "before" });
      const writing = failureOf(readers.write({ text: "afterwards" }));
      device.put(tag);
      expectFailure(await writing, "write-failed", "gone");
      expect(textOn(tag)).toBeUndefined();
      device.onCommand(() => {});
      device.plug();
      await eventually(() => expect(readers.list()[0]?.connected).toBe(true));
      await readers.write({ text: "afterwards" });
      expect(textOn(tag)).toBe("afterwards");
      expect(events).toEqual([]);
    }));

  test("that is going on when the readers are closed ends", () =>
    withBench(async ({ device, readers }) => {
      const writing = failureOf(readers.write({ text: "x" }));
      await readers.close();
      expectFailure(await writing, "no-reader");
      device.take();
    }));
});

test("a reader that cannot write is passed over, and says so where it is named", async () => {
  const { capabilities: _, ...rest } = simulated;
  const mute = {
    ...rest,
    id: "mute",
    capabilities: ["read"],
    async open(path, context, signal) {
      const { write: _write, ...session } = await simulated.open(path, context, signal);
      return session;
    },
  } as const satisfies Driver;
  const bus = createBus(silentLog);
  const connect = ["mute:", "simulated:"];
  const readers = startReaders({
    drivers: [mute, simulated],
    connect,
    detect: false,
    bus,
    clock: systemClock,
    log: silentLog,
  });
  try {
    await eventually(() => expect(readers.list().filter(({ connected }) => !connected)).toEqual([]));
    const [first, second] = readers.list();
    const card = { type: "", uid: "", data: "", text: "before" };
    const named = failureOf(readers.write({ text: "x", readerId: first?.readerId }));
    expectFailure(await named, "no-reader");
    const writing = readers.write({ text: "x" });
    readers.scan(card, 10_000, second?.readerId);
    await writing;
  } finally {
    await readers.close();
  }
});

test("every driver says that it can write where its readers can, and only there", async () => {
  for (const driver of drivers) {
    const reader = emulatedReaders[driver.id]?.();
    if (reader === undefined) throw new Error(`${driver.id} has no emulated device`);
    const context = { clock: systemClock, log: silentLog };
    const session = await (reader.driver ?? driver).open(reader.path, context, new AbortController().signal);
    expect([driver.id, session.write !== undefined]).toEqual([
      driver.id,
      driver.capabilities.includes("write"),
    ]);
    await session.close();
    await reader.close();
  }
});

describe("a tag that cannot be written says why, and is left as it is:", () => {
  const edited = (kind: Type2Kind, edit: (memory: Uint8Array) => void, text?: string) => {
    const tag = createType2Tag(kind, text === undefined ? { uid } : { uid, text });
    edit(tag.memory);
    return tag;
  };
  const cases: readonly (readonly [name: string, tag: EmulatedTag, cause: string])[] = [
    ["locked by its lock bits", edited("ntag213", (memory) => memory.set([0xff, 0xff], 10), "x"), "locked"],
    ["locked by its container", edited("ntag216", (memory) => memory.fill(0x0f, 15, 16), "x"), "locked"],
    [
      "an Ultralight that is locked",
      edited("ultralight", (memory) => memory.set([0xf0, 0xff], 10)),
      "locked",
    ],
    ["a password for writing", edited("ntag213", (memory) => memory.set([4], 0x29 * 4 + 3), "x"), "password"],
    [
      "a password for reading and writing",
      edited("ntag215", (memory) => memory.set([4, 0x80], 0x83 * 4 + 3), "x"),
      "password",
    ],
    ["an amiibo", edited("ntag215", (memory) => memory.set([0xf1, 0x10, 0xff, 0xee, 0xa5], 12)), "foreign"],
    ["a ticket", edited("ultralight", (memory) => memory.set([0, 0, 0, 1, 7, 7], 12)), "foreign"],
    ["a payment card", createCardWithoutMessages(uid, Uint8Array.of(0x78, 0x80, 0x70, 0x02)), "foreign"],
    ["a MIFARE Classic with keys of its own", createClassicTag(Uint8Array.fromHex("de4a1b7c")), "password"],
    [
      "more memory than it has",
      edited("ultralight", (memory) => memory.set([0xe1, 0x10, 0xff, 0], 12)),
      "unsupported",
    ],
  ];
  for (const [name, tag, cause] of cases) {
    test(name, () =>
      withSession(async (device, session) => {
        const before = tag.memory.slice();
        device.put(tag);
        expectFailure(await writeTo(session, "SNES/Game.sfc"), "write-failed", cause);
        expect(tag.memory).toEqual(before);
      }),
    );
  }

  test("too small, and by how many bytes", () =>
    withSession(async (device, session) => {
      device.put(createType2Tag("ultralight", { uid }));
      const error = await writeTo(session, "x".repeat(50));
      expectFailure(error, "write-failed", "too-small");
      expect(error).toMatchObject({ data: { bytesMissing: 11 } });
      expect(String(error)).toContain("11 bytes are missing");
    }));

  for (const isLast of [false, true]) {
    test(`memory that does not hold what was written, ${isLast ? "in the end" : "at first"}: it is left blank`, () =>
      withSession(async (device, session) => {
        const tag = createType2Tag("ntag213", { uid, text: "before" });
        let length: number | undefined;
        device.onCommand((payload) => {
          // The length is in page 5; it is 0 until the rest was read back.
          if (isWrite(payload)) length = payload[4] === 5 ? payload[7] : length;
          // A bit of the message flips before it is read back.
          else if (length !== undefined && length > 0 === isLast) tag.memory[32] = 0x00;
        });
        device.put(tag);
        expectFailure(await writeTo(session, "afterwards"), "write-failed", "mismatch");
        expect(textOn(tag)).toBeUndefined();
      }));
  }

  test("a foreign tag is written where that is forced", () =>
    withSession(async (device, session) => {
      const tag = edited("ultralight", (memory) => memory.set([7, 7, 7], 20));
      device.put(tag);
      expectFailure(await writeTo(session, "x"), "write-failed", "foreign");
      expect(await writeTo(session, "x", true)).toBe("written");
      expect(textOn(tag)).toBe("x");
    }));
});

test("a page whose answer was lost in the air is written once more", () =>
  withSession(async (device, session) => {
    const tag = createType2Tag("ntag213", { uid, text: "before" });
    const pages: unknown[] = [];
    device.onCommand((payload) => {
      if (isWrite(payload) && pages.push(payload[4]) === 2) tag.tearNextWrite(4);
    });
    device.put(tag);
    expect(await writeTo(session, "afterwards")).toBe("written");
    expect([textOn(tag), pages.slice(0, 4)]).toEqual(["afterwards", [5, 6, 6, 7]]);
  }));

describe("every kind of tag", () => {
  for (const kind of type2Kinds) {
    test(`of ${kind}: blank, with a text, and again, over a line with noise`, () =>
      withSession(async (device, session) => {
        device.faults.noise(7, 0.3);
        const tag = createType2Tag(kind, { uid });
        device.put(tag);
        for (const text of ["SNES/Game.sfc", "https://example.org/a", "ゼルダ 🗡", "**delay:1||x"]) {
          expect(await writeTo(session, text)).toBe("written");
          expect(textOn(tag)).toBe(text);
        }
        if (kind === "ntag216") expect(await writeTo(session, "é".repeat(400))).toBe("written");
      }));
  }
});

describe("a tag that is pulled away at any page, and any byte of it,", () => {
  const tear = async (create: () => TearableTag, cut: number) => {
    const found = new Set<string | undefined>();
    for (let at = 1; ; at++) {
      let isTorn = false;
      await withSession(async (device, session) => {
        const tag = create();
        let writes = 0;
        device.onCommand((payload) => {
          if (isTorn) device.take(tag);
          if (!isWrite(payload) || isTorn) return;
          writes += 1;
          if (writes < at) return;
          isTorn = true;
          tag.tearNextWrite(cut);
        });
        device.put(tag);
        const result = await writeTo(session, "afterwards");
        if (isTorn) expectFailure(result, "write-failed", "gone");
        else expect(result).toBe("written");
        found.add(textOn(tag));
        // Another try is possible.
        isTorn = false;
        device.onCommand(() => {});
        const again = writeTo(session, "afterwards");
        device.put(tag);
        expect(await again).toBe("written");
        expect(textOn(tag)).toBe("afterwards");
        isTorn = writes >= at;
      });
      if (!isTorn) return found;
    }
  };
  for (const cut of [0, 1, 2, 3, 4]) {
    test(`after ${cut} bytes, holds the old text, the new one, or none`, async () => {
      const found = await tear(() => createType2Tag("ntag213", { uid, text: "before" }), cut);
      // The length is the third byte of its page: after that byte, the old text is gone.
      const old = cut < 3 ? ["before"] : [];
      expect(found).toEqual(new Set([...old, undefined, "afterwards"]));
    });
  }
  test("is formatted or not, and blank, where it was new", async () => {
    expect(await tear(() => createType2Tag("ultralight", { uid }), 2)).toEqual(
      new Set([undefined, "afterwards"]),
    );
  });
});

describe("a line and a chip that fail", () => {
  test("leave a tag with the old text, the new one, or none, and the write says which way it ended", async () => {
    const ends = new Map<unknown, number>();
    for (let seed = 1; seed <= 40; seed++) {
      await withSession(async (device, session) => {
        const random = seededRandom(seed);
        const tag = createType2Tag(random() < 0.5 ? "ntag213" : "ultralight", { uid, text: "before" });
        const [at, fault] = [Math.floor(random() * 16), Math.floor(random() * 4)];
        let commands = 0;
        device.onCommand(() => {
          commands += 1;
          if (commands !== at) return;
          if (fault === 0) device.faults.loseBytes(1 + Math.floor(random() * 12));
          else if (fault === 1) device.faults.corruptNext();
          else if (fault === 2) device.kill();
          else void device.unplug();
        });
        device.put(tag);
        const result = await writeTo(session, "afterwards");
        const found = textOn(tag);
        expect([undefined, "before", "afterwards"]).toContain(found);
        if (result === "written") expect(found).toBe("afterwards");
        else expect(result).toBeInstanceOf(ServiceError);
        const end = result instanceof ServiceError ? result.code : result;
        ends.set(end, (ends.get(end) ?? 0) + 1);
      });
    }
    // A line that loses or alters bytes is repaired; a dead or missing chip is not the tag's fault.
    expect([...ends.keys()].toSorted()).toEqual(["reader-gone", "written"]);
  });

  test("for any content of a tag, a write ends well or in a sentence, and a refused one leaves every byte", async () => {
    await withSession(async (device, session) => {
      for (let seed = 1; seed <= 60; seed++) {
        const random = seededRandom(seed);
        const kind = type2Kinds[seed % type2Kinds.length] ?? "ntag213";
        const tag = createType2Tag(kind, { uid });
        const from = random() < 0.5 ? 12 : 16;
        const to = Math.floor(from + random() * 40);
        for (let index = from; index < to; index++) tag.memory[index] = Math.floor(random() * 256);
        const before = tag.memory.slice();
        device.put(tag);
        const result = await writeTo(session, "afterwards", random() < 0.3);
        if (result === "written") expect(textOn(tag)).toBe("afterwards");
        else {
          expect(result).toMatchObject({ code: "write-failed" });
          expect(tag.memory).toEqual(before);
        }
        device.take();
      }
    });
  });
});

test("for any coming and going, a written tag is no news until it has left", () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant("see" as const),
      uids: fc.subarray(["a", "b"]),
      text: fc.constantFrom("one", "two"),
    }),
    fc.record({ kind: fc.constant("write" as const), uid: fc.constantFrom("a", "b") }),
    fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(2 * removalDebounceMs) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const clock = createManualClock();
      const events: string[] = [];
      const wrong: string[] = [];
      const presence = createPresence({
        clock,
        added: ({ uid: own }) => {
          if (presence.wasWritten(own)) wrong.push(own);
          events.push(`+${own}`);
        },
        removed: ({ uid: own }) => events.push(`-${own}`),
      });
      for (const one of steps) {
        if (one.kind === "wait") clock.advance(one.ms);
        else if (one.kind === "write") presence.writing(one.uid);
        else
          presence.see(
            one.uids.map((own) => ({ type: "NTAG" as const, uid: own, text: one.text, data: "" })),
          );
      }
      expect(wrong).toEqual([]);
      for (const own of ["a", "b"]) {
        const marks = events.filter((event) => event.endsWith(own)).map((event) => event[0]);
        expect(marks).toEqual(marks.map((_, index) => (index % 2 === 0 ? "+" : "-")));
      }
    }),
    { seed: 31, numRuns: 1000 },
  );
});

/** Park and Miller's generator, which is good enough for choices. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Resolves once the driver has looked for the tag several times more. */
async function seenAgain(device: Pn532Device): Promise<void> {
  let commands = 0;
  device.onCommand(() => {
    commands += 1;
  });
  await eventually(() => expect(commands).toBeGreaterThan(6));
  device.onCommand(() => {});
}
