import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pn532Uart } from "../../../drivers/pn532-uart.ts";
import { simulated } from "../../../drivers/simulated.ts";
import { createBus } from "../../../src/bus.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import { faultLine, faultOf } from "../../../src/core/faults.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { Driver } from "../../../src/readers/driver.ts";
import { type Readers, radioPorts, startReaders } from "../../../src/readers/readers.ts";
import { createType2Tag } from "../../emulators/emulated-tags.ts";
import { createPn532Device, type Pn532Device } from "../../emulators/pn532-device.ts";
import { eventually } from "../../helpers/processes.ts";

const [one, two] = ["04a1a2a3a4a5a6", "04b1b2b3b4b5b6"].map((uid) =>
  createType2Tag("ntag213", { uid: Uint8Array.fromHex(uid), text: uid }),
);
const card = { type: "", uid: "", data: "", text: "" };

interface Bench {
  readonly readers: Readers;
  /** `readers.added` and similar events, each with its UID or path. */
  readonly events: readonly string[];
}

async function withReaders(
  connect: readonly string[],
  run: (bench: Bench) => Promise<void>,
  drivers: readonly Driver[] = [pn532Uart, simulated],
  detect = false,
  heldPorts: readonly string[] = [],
): Promise<void> {
  const bus = createBus(silentLog);
  const events: string[] = [];
  bus.on("readers.added", ({ path }) => events.push(`readers.added ${path}`));
  bus.on("readers.removed", ({ path }) => events.push(`readers.removed ${path}`));
  bus.on("tokens.added", ({ uid }) => events.push(`tokens.added ${uid}`));
  bus.on("tokens.removed", ({ uid }) => events.push(`tokens.removed ${uid}`));
  const readers = startReaders({
    drivers,
    connect,
    detect,
    bus,
    clock: systemClock,
    log: silentLog,
    radioPorts: () => heldPorts,
  });
  try {
    await run({ readers, events });
  } finally {
    await readers.close();
  }
}

async function withDevice(run: (device: Pn532Device, path: string) => Promise<void>): Promise<void> {
  const device = createPn532Device({ timing: "none" });
  try {
    await run(device, device.path);
  } finally {
    await device.close();
  }
}

test("a card that comes and goes is a token that is added and removed", () =>
  withDevice((device, path) =>
    withReaders([`pn532-uart:${path}`], async ({ readers, events }) => {
      await eventually(() => expect(events).toHaveLength(1));
      if (one !== undefined) device.put(one);
      await eventually(() => expect(events).toHaveLength(2));
      const [reader] = readers.list();
      expect(readers.tokens().active).toMatchObject([{ uid: "04a1a2a3a4a5a6", readerId: reader?.readerId }]);
      device.take();
      await eventually(() => expect(events).toHaveLength(3));
      expect(events).toEqual([
        `readers.added ${path}`,
        "tokens.added 04a1a2a3a4a5a6",
        "tokens.removed 04a1a2a3a4a5a6",
      ]);
      expect(readers.tokens()).toMatchObject({ active: [], last: { uid: "04a1a2a3a4a5a6" } });
    }),
  ));

test("a card that lies on its reader through a re-plugging is not tapped again", () =>
  withDevice((device, path) =>
    withReaders([`pn532-uart:${path}`], async ({ readers, events }) => {
      if (one !== undefined) device.put(one);
      await eventually(() => expect(events).toContain("tokens.added 04a1a2a3a4a5a6"));
      await device.unplug();
      await eventually(() => expect(events).toContain(`readers.removed ${path}`));
      expect(readers.tokens().active.length).toBe(1);
      device.plug();
      await eventually(() =>
        expect(events.filter((event) => event.startsWith("readers.added"))).toHaveLength(2),
      );
      // Another card ends the wait for the first.
      device.take();
      if (two !== undefined) device.put(two);
      await eventually(() => expect(events).toContain("tokens.added 04b1b2b3b4b5b6"));
      expect(events.filter((event) => event.startsWith("tokens"))).toEqual([
        "tokens.added 04a1a2a3a4a5a6",
        "tokens.removed 04a1a2a3a4a5a6",
        "tokens.added 04b1b2b3b4b5b6",
      ]);
    }),
  ));

test("a card that was changed while the reader was unplugged is one that left and one that came", () =>
  withDevice((device, path) =>
    withReaders([`pn532-uart:${path}`], async ({ events }) => {
      if (one !== undefined) device.put(one);
      await eventually(() => expect(events).toContain("tokens.added 04a1a2a3a4a5a6"));
      await device.unplug();
      device.take();
      if (two !== undefined) device.put(two);
      device.plug();
      await eventually(() => expect(events).toContain("tokens.added 04b1b2b3b4b5b6"));
      expect(events.filter((event) => event.startsWith("tokens.")).slice(1)).toEqual([
        "tokens.removed 04a1a2a3a4a5a6",
        "tokens.added 04b1b2b3b4b5b6",
      ]);
    }),
  ));

test("a configured reader that is not there is listed with its fault", () =>
  withReaders(["pn532-uart:/no/such/port", "acr1:/dev/x", "nonsense"], async ({ readers }) => {
    await eventually(() => expect(faultLine(readers.faults())).toContain("there is no such device"));
    expect(readers.list()).toMatchObject([{ path: "/no/such/port", connected: false, info: "" }]);
    const faults = readers.faults();
    expect(faults.map(({ code, of, subject }) => [code, of, subject])).toEqual([
      ["reader-unknown", "owner", "acr1:/dev/x"],
      ["reader-unknown", "owner", "nonsense"],
      ["reader-failed", "system", "/no/such/port"],
    ]);
    expect(faultLine(faults)).toContain(
      "is not a reader: write driver:path, with one of pn532-uart:, simulated:",
    );
  }));

test("a reader at the port of the radio is a conflict that health names, and the owner's", () =>
  withReaders(
    ["pn532-uart:/dev/no-such-ttyS0", "pn532-uart:/no/such/port"],
    async ({ readers }) => {
      await eventually(() => expect(readers.faults()).toHaveLength(2));
      expect(readers.faults()).toMatchObject([
        { code: "reader-port-taken", of: "owner", subject: "/dev/no-such-ttyS0" },
        { code: "reader-failed", of: "system", subject: "/no/such/port" },
      ]);
      expect(faultLine(readers.faults())).toContain(
        "the Bluetooth radio of this device uses /dev/no-such-ttyS0",
      );
    },
    undefined,
    undefined,
    ["/dev/no-such-ttyS0"],
  ));

test("a reader that is not connected has its reason in the list of refused ones", () =>
  withReaders(["pn532-uart:/no/such/port", "nonsense"], async ({ readers }) => {
    const path = "/no/such/port";
    await eventually(() =>
      expect(readers.refused()).toEqual([
        { why: expect.stringMatching(/^"nonsense" is not a reader/) },
        { driver: "pn532-uart", path, why: expect.stringContaining("there is no such device") },
      ]),
    );
  }));

test("the screen asked for a reader although a broken one was plugged in: a broken reader is reported, an absent one is not", async () => {
  const found = (path: string, isOnBoard: boolean): Driver => ({
    id: "silent",
    capabilities: [],
    detect: async () => [{ path, stamp: "1", stablePath: path, ...(isOnBoard ? { isOnBoard } : {}) }],
    open: () => Promise.reject(new ServiceError("reader-gone", `${path}: no chip answers`)),
  });
  const brokenOf = async (connect: readonly string[], driver: Driver) => {
    let seen: string | undefined;
    await withReaders(
      connect,
      async ({ readers }) => {
        await eventually(() => expect(readers.refused()).not.toEqual([]));
        seen = readers.broken();
      },
      [driver],
      connect.length === 0,
    );
    return seen;
  };
  expect(await brokenOf([], found("/no/ttyUSB0", false))).toBe("/no/ttyUSB0: no chip answers");
  expect(await brokenOf([], found("/no/ttyAMA0", true))).toBeUndefined();
  expect(await brokenOf(["silent:/no/such/port"], found("/no/such/port", false))).toBeUndefined();
  expect(await brokenOf(["silent:/dev/null"], found("/dev/null", false))).toBe("/dev/null: no chip answers");
});

const silentPort: Driver = {
  id: "silent",
  capabilities: [],
  detect: async () => [{ path: "/no/ttyAMA0", stamp: "1", stablePath: "/no/ttyAMA0", isOnBoard: true }],
  open: () => Promise.reject(new ServiceError("reader-gone", "/no/ttyAMA0: no chip answers")),
};
const silentFault = faultOf("reader-silent", { subject: "/no/ttyAMA0", why: "/no/ttyAMA0: no chip answers" });

test("a silent chip on the board's own port was in the log only: health reports it while no reader is connected", () =>
  withReaders(
    [],
    async ({ readers }) => {
      await eventually(() => expect(readers.faults()).toEqual([silentFault]));
      expect(readers.list()).toEqual([]);
    },
    [silentPort],
    true,
  ));

test("a silent port of the board is no fault beside a reader that is connected, and is listed as refused", () =>
  withReaders(
    ["simulated:"],
    async ({ readers }) => {
      const why = "/no/ttyAMA0: no chip answers";
      await eventually(() =>
        expect(readers.refused()).toEqual([{ driver: "silent", path: "/no/ttyAMA0", why }]),
      );
      expect(readers.faults()).toEqual([]);
    },
    [silentPort, simulated],
    true,
  ));

test("several readers are distinguished, by ids that stay the same", async () => {
  const ids: (readonly string[])[] = [];
  for (let round = 0; round < 2; round++) {
    await withReaders(["simulated:left", "simulated:right"], async ({ readers, events }) => {
      await eventually(() => expect(events).toHaveLength(2));
      ids.push(readers.list().map(({ readerId }) => readerId));
    });
  }
  expect(new Set(ids[0]).size).toBe(2);
  expect(ids[1]).toEqual(ids[0] ?? []);
});

test("a tap over the API reaches the simulated reader that it names, and the virtual one where it names none", () =>
  withReaders(["simulated:"], async ({ readers, events }) => {
    await eventually(() => expect(events).toHaveLength(1));
    const readerId = readers.list()[0]?.readerId;
    readers.scan({ ...card, text: "hello", uid: "04c1c2c3c4c5c6" }, 60_000, readerId);
    await eventually(() => expect(events).toContain("tokens.added 04c1c2c3c4c5c6"));
    readers.scan({ ...card, uid: "virtual" }, 10, undefined);
    await eventually(() => expect(events).toContain("tokens.removed virtual"));
    expect(readers.tokens().active.map(({ uid }) => uid)).toEqual(["04c1c2c3c4c5c6"]);
  }));

test("a tap on a reader that is unknown, gone or real is refused, each with its code", () =>
  withDevice((_device, path) =>
    withReaders([`pn532-uart:${path}`, "pn532-uart:/no/such/port"], async ({ readers, events }) => {
      await eventually(() => expect(events).toHaveLength(1));
      const codeOf = (readerId: string | undefined) => {
        try {
          readers.scan(card, 1000, readerId);
          return undefined;
        } catch (error) {
          return error instanceof ServiceError ? error.code : error;
        }
      };
      const ids = readers.list().map(({ readerId }) => readerId);
      expect(codeOf("pn532-uart-00000000")).toBe("not-found");
      expect(codeOf(ids[0])).toBe("invalid-params");
      expect(codeOf(ids[1])).toBe("no-reader");
    }),
  ));

test("closing ends an opening that never would", async () => {
  const stuck: Driver = {
    id: "stuck",
    capabilities: [],
    open: (_path, _context, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      }),
  };
  await withReaders(["stuck:"], async ({ readers }) => expect(readers.list().length).toBe(1), [stuck]);
});

/** Devices on serial lines, each by the node of the device tree. */
async function boardWith(...nodes: readonly string[]): Promise<string> {
  const board = await mkdtemp(join(tmpdir(), "tapdeck-radio-"));
  for (const [number, node] of nodes.entries()) {
    const device = join(board, `serial${number}-0`);
    await mkdir(join(board, "soc", node), { recursive: true });
    await mkdir(device, { recursive: true });
    await symlink(join(board, "soc", node), join(device, "of_node"));
  }
  return board;
}

test("a radio holds the UART that the device tree gives it, and no other device does", async () => {
  const devices = async (...nodes: readonly string[]) => {
    const board = await boardWith(...nodes);
    const links = join(board, "links");
    await mkdir(links);
    for (const [number] of nodes.entries())
      await symlink(join(board, `serial${number}-0`), join(links, `serial${number}-0`));
    const held = radioPorts(links);
    await rm(board, { recursive: true });
    return held;
  };
  expect(await devices("serial@7e215040/bluetooth")).toEqual(["/dev/ttyS0"]);
  expect(await devices("serial@7e201000/bluetooth")).toEqual(["/dev/ttyAMA0"]);
  expect(await devices("serial@7e201000/gnss")).toEqual([]);
  expect(await devices()).toEqual([]);
});

test("a machine without devices on serial lines has no such port", () => {
  expect(radioPorts("/no/such/folder")).toEqual([]);
});
