/** Signals of readers by their own lights: the ACR122U, the Toy Pad, and the callers. */
import { expect, test } from "bun:test";
import { acrSignal } from "../../../drivers/protocol/apdu.ts";
import { createToypad } from "../../../drivers/toypad.ts";
import { createBus } from "../../../src/bus.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { Token } from "../../../src/core/token.ts";
import type { Driver, Signal } from "../../../src/readers/driver.ts";
import { startReaders } from "../../../src/readers/readers.ts";
import { showOnReaders } from "../../../src/services/devices.ts";
import { createType2Tag } from "../../emulators/emulated-tags.ts";
import { createCable, createToypadDevice } from "../../emulators/toypad-device.ts";
import { withCcid } from "../../helpers/ccid-bench.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const uid = Uint8Array.fromHex("04a1b2c3d4e5f6");
const card = () => createType2Tag("ntag213", { uid, text: "one" });

test("an ACR122U blinks red where it failed and green where it was written, sounds, and hears the next card", () =>
  withCcid({}, async ({ reader, session, sees }) => {
    await sees("");
    session.signal?.("scanned");
    session.signal?.("failed");
    session.signal?.("written");
    await eventually(() => expect(reader.shown).toHaveLength(1));
    reader.put(card());
    await sees("04a1b2c3d4e5f6 one");
    session.signal?.("written");
    await eventually(() => expect(reader.shown).toHaveLength(2));
    // A signal during another one is dropped. The reader itself shows that it has read a card.
    expect(reader.shown).toEqual([
      { blinks: ["red"], times: 1, buzzes: true, lights: 2 },
      { blinks: ["green"], times: 2, buzzes: true, lights: 2 },
    ]);
    reader.take();
    await sees("");
  }));

test("the bits of the ACR122U's lights are those of its manual", () => {
  // Application Programming Interface 2.04, section 6.2.
  expect(acrSignal("failed").toHex()).toBe("ff00405e0403010101");
  expect(acrSignal("written").toHex()).toBe("ff0040ae0401010201");
});

test("a reader that dies while it shows something ends its session, and nothing else", () =>
  withCcid({}, async ({ reader, session, ended, sees }) => {
    await sees("");
    reader.faults.hang("replug");
    session.signal?.("failed");
    expect(await ended).toMatchObject({ code: "reader-gone" });
  }));

test("a Toy Pad is red for a moment where it failed, and then as before", async () => {
  const device = createToypadDevice();
  const cable = createCable(device);
  const clock = createManualClock();
  const ending = new AbortController();
  const session = await createToypad(cable.open).open(
    "/dev/hidraw0",
    { clock, log: silentLog },
    ending.signal,
  );
  const watching = session.watch(() => {}, ending.signal);
  const colours = () => [1, 2, 3].map((zone) => Uint8Array.from(device.colours().get(zone) ?? []).toHex());
  device.put(card(), 2);
  await eventually(() => expect(colours()[1]).toBe("ffffff"));
  session.signal?.("scanned");
  session.signal?.("failed");
  session.signal?.("written");
  await eventually(() => expect(new Set(colours())).toEqual(new Set(["ff0000"])));
  await eventually(() => {
    // The time of the signal begins with the pad's answer, and no event shows that answer here.
    clock.advance(50);
    expect(colours().join(" ")).toBe("000000 ffffff 000000");
  });
  await eventually(() => {
    // A signal is dropped until the pad has answered to the last colour of the previous signal.
    session.signal?.("failed");
    expect(new Set(colours())).toEqual(new Set(["ff0000"]));
  });
  ending.abort(new Error("the test has ended"));
  await watching;
  await session.close();
  expect(colours()).toEqual(["000000", "000000", "000000"]);
});

const token: Token = {
  type: "NTAG",
  uid: "04a1",
  text: "x",
  data: "",
  scanTime: "2030-01-01T00:00:00.000Z",
  readerId: "r-1",
};

test("a card that was heard, and one whose launch failed, are shown by the reader that it lies on, behind the tap", () => {
  const clock = createManualClock();
  const bus = createBus(silentLog);
  const shown: string[] = [];
  const readers = {
    tokens: () => ({ active: [], last: token }),
    signal: (readerId: string, kind: Signal) => void shown.push(`${readerId} ${kind}`),
  };
  const showing = showOnReaders({ bus, clock, behindTapMs: 30, readers: () => readers });
  const finish = (of: string, success: boolean) =>
    bus.emit("launch.finished", { time: token.scanTime, uid: of, text: "x", success });
  bus.emit("tokens.added", token);
  finish("04a1", true);
  finish("04a1", false);
  finish("", false); // A token of the API, which no reader has seen.
  finish("04ff", false);
  expect(shown).toEqual([]);
  clock.advance(30);
  expect(shown).toEqual(["r-1 scanned", "r-1 failed"]);
  showing[Symbol.dispose]();
  bus.emit("tokens.added", token);
  clock.advance(30);
  expect(shown.length).toBe(2);
});

test("a card that another one took over, that was taken off, or that is to be tapped again was shown as failed", () => {
  const clock = createManualClock();
  const bus = createBus(silentLog);
  const shown: string[] = [];
  const readers = {
    tokens: () => ({ active: [token], last: token }),
    signal: (readerId: string, kind: Signal) => void shown.push(`${readerId} ${kind}`),
  };
  const showing = showOnReaders({ bus, clock, behindTapMs: 30, readers: () => readers });
  for (const reason of ["taken-over", "stopped", "held-back", "media-not-found"] as const)
    bus.emit("launch.finished", { time: token.scanTime, uid: "04a1", text: "x", success: false, reason });
  clock.advance(30);
  expect(shown).toEqual(["r-1 failed"]);
  showing[Symbol.dispose]();
});

test("a write is shown by its reader, well or badly done, and nothing where the settings want quiet", async () => {
  const shown: Signal[] = [];
  let feedback = true;
  let failing = false;
  const driver: Driver = {
    id: "lit",
    capabilities: ["write"],
    async open(_path, _context, opening) {
      return {
        info: "lit",
        watch: (_report, signal) =>
          new Promise((resolve) => {
            AbortSignal.any([signal, opening]).addEventListener("abort", () => resolve(), { once: true });
          }),
        close: async () => {},
        async write() {
          if (failing) throw new Error("worn out");
        },
        signal: (kind) => void shown.push(kind),
      };
    },
  };
  const readers = startReaders({
    drivers: [driver],
    connect: ["lit:/dev/lit"],
    detect: false,
    bus: createBus(silentLog),
    clock: systemClock,
    log: silentLog,
    feedback: () => feedback,
  });
  try {
    await eventually(() =>
      expect(readers.list()).toContainEqual(expect.objectContaining({ connected: true })),
    );
    await readers.write({ text: "x" });
    failing = true;
    await readers.write({ text: "x" }).catch(() => {});
    feedback = false;
    await readers.write({ text: "x" }).catch(() => {});
    expect(shown).toEqual(["written", "failed"]);
  } finally {
    await readers.close();
  }
});
