/** The two readers of the day, a PN532 on a line and an ACR122U on a bus, and the possible faults of each. */
import { acr122uOn } from "../../drivers/acr122u-usb.ts";
import { openPn532 } from "../../drivers/pn532-uart.ts";
import type { Driver } from "../../src/readers/driver.ts";
import { createCcidReader } from "../emulators/ccid-reader.ts";
import type { EmulatedTag } from "../emulators/emulated-tags.ts";
import { createPn532Device } from "../emulators/pn532-device.ts";
import { createUsbBus } from "../emulators/usb-bus.ts";
import type { EmulatedTime } from "./emulated-time.ts";
import { createWire } from "./wire.ts";

export type Random = (below: number) => number;

/** A fault. It begins at once, and ends by `end`, or by itself if `end` is absent. */
export interface Fault {
  readonly name: string;
  begin(random: Random): void;
  end?(): void;
}

export interface SoakReader {
  /** Driver and path, as in the config file. */
  readonly connection: string;
  readonly driver: Driver;
  put(tag: EmulatedTag): void;
  take(): void;
  plug(): void;
  unplug(): void;
  /** Called as each command of the driver arrives. */
  onCommand(listener: () => void): void;
  readonly faults: readonly Fault[];
  /** The number of handles of the device that the driver has open. */
  openLinks(): number;
  close(): Promise<void>;
}

export function pn532Reader(time: EmulatedTime): SoakReader {
  const path = "/dev/ttySoak";
  const wire = createWire(path, time);
  const device = createPn532Device({ timing: "none", socket: wire.socket });
  const { faults } = device;
  let onCommand = () => {};
  device.onCommand(() => onCommand());
  const twice = (count: number) => {
    let left = count;
    faults.split = (bytes) => {
      left -= 1;
      return left >= 0 ? [bytes, bytes] : [bytes];
    };
  };
  const list: readonly Fault[] = [
    { name: "lost bytes", begin: (random) => faults.loseBytes(1 + random(40)) },
    {
      name: "late answers",
      begin: (random) => faults.delayAnswers(5 + random(400)),
      end: () => faults.delayAnswers(0),
    },
    {
      name: "doubled frames",
      begin: (random) => twice(1 + random(6)),
      end: () => faults.splitReads(undefined),
    },
    { name: "altered bytes", begin: () => faults.corruptNext() },
    {
      name: "noise",
      begin: (random) => faults.noise(1 + random(1 << 30), 0.2 + random(80) / 100),
      end: () => faults.noise(1, 0),
    },
    {
      name: "single bytes",
      begin: () => faults.splitReads("every-byte"),
      end: () => faults.splitReads(undefined),
    },
    {
      name: "errors of the field",
      begin: (random) =>
        faults.failExchanges(Array.from({ length: 1 + random(4) }, () => [1, 2, 0x0a, 0x13][random(4)])),
    },
    { name: "dead chip", begin: device.kill, end: device.revive },
    { name: "chip without power for a moment", begin: device.revive },
    { name: "unplugged", begin: () => void device.unplug(), end: device.plug },
  ];
  return {
    connection: `pn532-uart:${path}`,
    driver: {
      id: "pn532-uart",
      capabilities: ["read", "write", "removable"],
      open: async (_path, context, signal) => openPn532(wire.open(), context, signal),
    },
    put: device.put,
    take: () => device.take(),
    plug: device.plug,
    unplug: () => void device.unplug(),
    onCommand: (listener) => {
      onCommand = listener;
    },
    faults: list,
    openLinks: () => wire.openLinks,
    close: device.close,
  };
}

export function acr122uReader(time: EmulatedTime): SoakReader {
  const bus = createUsbBus(time);
  const reader = createCcidReader({ kind: "acr122u", timing: "none", clock: time });
  const socket = bus.add(reader);
  const { faults } = reader;
  let onCommand = () => {};
  reader.onCommand(() => onCommand());
  const replug = () => {
    socket.unplug();
    socket.plug();
  };
  const list: readonly Fault[] = [
    { name: "lost answers", begin: (random) => faults.loseAnswers(1 + random(3)) },
    {
      name: "late answers",
      begin: (random) => faults.delayAnswers(5 + random(800)),
      end: () => faults.delayAnswers(0),
    },
    { name: "doubled answers", begin: (random) => faults.doubleAnswers(1 + random(6)) },
    // The altered byte is in the header, because USB's own sums protect the rest.
    { name: "altered bytes", begin: (random) => faults.alterAnswer(random(10)) },
    {
      name: "noise",
      begin: (random) => faults.noise(1 + random(1 << 30), 0.2 + random(80) / 100),
      end: () => faults.noise(1, 0),
    },
    { name: "asks for time", begin: (random) => faults.askForTime(1 + random(6)) },
    { name: "halted bulk-in", begin: () => faults.stall("bulk-in") },
    { name: "halted bulk-out", begin: () => faults.stall("bulk-out") },
    { name: "halted interrupt", begin: () => faults.stall("interrupt-in") },
    { name: "hangs until aborted", begin: () => faults.hang("abort") },
    { name: "hangs until switched", begin: () => faults.hang("power") },
    { name: "hangs until reset", begin: () => faults.hang("reset") },
    { name: "hangs until plugged anew", begin: () => faults.hang("replug"), end: replug },
    { name: "dead chip", begin: reader.killChip, end: replug },
    { name: "unplugged", begin: socket.unplug, end: socket.plug },
  ];
  return {
    connection: `acr122u-usb:${socket.path}`,
    driver: acr122uOn(bus),
    put: reader.put,
    take: () => reader.take(),
    plug: socket.plug,
    unplug: socket.unplug,
    onCommand: (listener) => {
      onCommand = listener;
    },
    faults: list,
    openLinks: () => socket.openLinks,
    close: async () => socket.remove(),
  };
}
