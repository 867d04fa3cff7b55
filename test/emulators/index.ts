/** The emulated device of each driver, for the conformance suite, which fails for a driver without one. */
import { acr122uOn } from "../../drivers/acr122u-usb.ts";
import type { UsbBus, UsbLink } from "../../drivers/io/links.ts";
import { createMfrc522Spi } from "../../drivers/mfrc522-spi.ts";
import { createPn532I2c, createPn532Spi } from "../../drivers/pn532-bus.ts";
import { createPn532Uart } from "../../drivers/pn532-uart.ts";
import { ccidOut } from "../../drivers/protocol/ccid.ts";
import { encodeTextMessage } from "../../drivers/protocol/ndef.ts";
import { tagCommands, wrapMessage } from "../../drivers/protocol/type2-tag.ts";
import type { FaultCode } from "../../src/core/faults.ts";
import { toHex } from "../../src/core/hex.ts";
import type { Sighting } from "../../src/core/token.ts";
import type { Driver, ReaderSession } from "../../src/readers/driver.ts";
import { createCcidReader } from "./ccid-reader.ts";
import { seededRandom } from "./emulated-line.ts";
import {
  createClassic,
  createFelicaTag,
  createType2Tag,
  createType4Tag,
  type EmulatedTag,
} from "./emulated-tags.ts";
import { fileReader } from "./file-reader.ts";
import { keyboardReader } from "./keyboard-reader.ts";
import { linesOnPty } from "./line-reader.ts";
import { createMfrc522Device } from "./mfrc522-device.ts";
import { createI2cPn532, createSpiPn532 } from "./pn532-bus.ts";
import { createPn532Device, type Pn532Device } from "./pn532-device.ts";
import { toypadReader } from "./toypad-reader.ts";
import { createUsbBus } from "./usb-bus.ts";

/** A card that the reader can read completely. */
export interface Card {
  /** The UID in 14 hex digits. */
  readonly uid: string;
  readonly text: string;
}

export interface EmulatedReader {
  /** The part of a connection string after the colon. */
  readonly path: string;
  /** Tags of other kinds that the reader can read, with the driver's report of each. */
  readonly others?: readonly OtherTag[];
  /** The driver's report of this card. */
  expected(card: Card): Sighting;
  lay(session: ReaderSession, card: Card): void;
  lift(session: ReaderSession): void;
  readonly line: Line | NoLine;
  /** The device in the form that a driver with detection looks for. */
  readonly found?: FoundDevice;
  /** The listed driver over an emulated link; absent if the driver opens `path` by itself. */
  readonly driver?: Driver;
  close(): Promise<void>;
}

export interface FoundDevice {
  /** True for ids that only such a reader has. */
  readonly isCertain: boolean;
  /** The fault while the reader cannot be opened and no other reader is connected. */
  readonly fault: FaultCode;
  /** Makes the reader present, but impossible to open. */
  deafen(): void | Promise<void>;
  /** Makes it possible to open the reader again, without plugging it in again. */
  heal(): void | Promise<void>;
}

export interface OtherTag {
  readonly name: string;
  lay(): void;
  readonly expected: Sighting;
}

/** Faults between the reader and this machine. */
export interface Line {
  readonly kind: "line";
  plug(): void;
  unplug(): Promise<void>;
  /** True if the reader takes no commands. */
  readonly speaksOnly?: boolean;
  /** Called as each command of the host arrives, before it is answered. */
  onCommand(run: () => void): void;
  /** Called once, as the driver begins to read the memory of a card. */
  onceReading(run: () => void): void;
  /** Sends random bytes between the reader's answers from now on. The same seed gives the same bytes. */
  noise(seed: number): void;
}

/** The reason why behaviours of a line are skipped for this reader. */
export interface NoLine {
  readonly kind: "none";
  readonly why: string;
}

export const emulatedReaders: Readonly<Record<string, () => EmulatedReader>> = {
  "pn532-uart": pn532OnPty,
  "pn532-i2c": pn532OnI2c,
  "pn532-spi": pn532OnSpi,
  "mfrc522-spi": mfrc522OnSpi,
  "serial-line": linesOnPty,
  file: fileReader,
  "hid-keyboard": keyboardReader,
  toypad: toypadReader,
  "acr122u-usb": acr122uOnBus,
  simulated: () => ({
    path: "",
    expected: sightingOfNtag,
    lay: (session, card) => session.tap?.(card, longMs),
    lift: (session) => session.tap?.({ text: "" }, 0),
    line: { kind: "none", why: "it is made by the driver itself, of the parts of pn532-uart" },
    close: async () => {},
  }),
};

/** Emulated readers are plugged into this bus, and the drivers of USB readers look for theirs on it. */
const usbBus = createUsbBus();

const longMs = 60_000;
const text = "SNES/Game.sfc";
const longUid = Uint8Array.fromHex("04c1c2c3c4c5c6");
const shortUid = Uint8Array.fromHex("de4a1b7c");
const idm = Uint8Array.fromHex("0127006812345678");
const noiseOfAir = 0.1;
const noiseRate = 0.5; // The overhead of the frames.

function pn532OnPty(): EmulatedReader {
  const device = createPn532Device({ timing: "none" });
  const list = async () => [{ path: device.path, driver: "uart-pl011", hasHid: false, stamp: "1" }];
  return {
    ...pn532Of(device),
    driver: createPn532Uart(list),
    found: { isCertain: false, fault: "reader-silent", deafen: device.kill, heal: device.revive },
  };
}

function pn532OnI2c(): EmulatedReader {
  const { device, open } = createI2cPn532("/dev/i2c-1");
  return { ...pn532Of(device), driver: createPn532I2c(open) };
}

function pn532OnSpi(): EmulatedReader {
  const { device, open } = createSpiPn532("/dev/spidev0.0");
  return { ...pn532Of(device), driver: createPn532Spi(open) };
}

function mfrc522OnSpi(): EmulatedReader {
  const device = createMfrc522Device({ path: "/dev/spidev0.0" });
  const known = otherTags.filter(({ expected }) => expected.type !== "FeliCa");
  let onceReading: (() => void) | undefined;
  device.onFrame(([code]) => {
    if (code !== tagCommands.fastRead && code !== tagCommands.read) return;
    const run = onceReading;
    onceReading = undefined;
    run?.();
  });
  return {
    path: device.path,
    driver: createMfrc522Spi(device.open),
    expected: sightingOfNtag,
    lay: (_session, { uid, text }) =>
      device.put(createType2Tag("ntag215", { uid: Uint8Array.fromHex(uid), text })),
    lift: () => device.take(),
    others: known.map(({ name, make, expected }) => ({ name, lay: () => device.put(make()), expected })),
    line: {
      kind: "line",
      plug: device.plug,
      unplug: async () => device.unplug(),
      onCommand: device.onCommand,
      onceReading: (run) => {
        onceReading = run;
      },
      // The noise is on the radio side, because SPI has no frames between which it could be.
      noise(seed) {
        const random = seededRandom(seed);
        device.disturb(() => seed !== 0 && random() < noiseOfAir);
      },
    },
    close: async () => device.unplug(),
  };
}

function pn532Of(device: Pn532Device): Omit<EmulatedReader, "driver" | "found"> {
  return {
    path: device.path,
    expected: sightingOfNtag,
    lay: (_session, { uid, text }) =>
      device.put(createType2Tag("ntag215", { uid: Uint8Array.fromHex(uid), text })),
    lift: () => device.take(),
    others: otherTags.map(({ name, make, expected }) => ({ name, lay: () => device.put(make()), expected })),
    line: lineOf(device),
    close: device.close,
  };
}

/**
 * One tag of each kind, for readers that know them all. The reported part of a tag's memory does not depend on the reader.
 */
export const otherTags: readonly {
  readonly name: string;
  readonly make: () => EmulatedTag;
  readonly expected: Sighting;
}[] = [
  {
    name: "an Ultralight",
    make: () => createType2Tag("ultralight", { uid: longUid, text }),
    expected: { type: "Ultralight", uid: toHex(longUid), text, data: blockOf(text) },
  },
  {
    name: "a MIFARE Classic 1K",
    make: () => createClassic("classic-1k", { uid: shortUid, text }),
    expected: { type: "MIFARE", uid: toHex(shortUid), text, data: blockOf(text) },
  },
  {
    name: "a DESFire",
    make: () => createType4Tag({ uid: longUid, text }),
    expected: { type: "DESFire", uid: toHex(longUid), text, data: `0014${toHex(encodeTextMessage(text))}` },
  },
  {
    name: "a FeliCa Lite-S",
    make: () => createFelicaTag({ uid: idm, text }),
    expected: { type: "FeliCa", uid: toHex(idm), text, data: toHex(encodeTextMessage(text)) },
  },
  {
    name: "an amiibo",
    make() {
      const tag = createType2Tag("ntag215", { uid: longUid });
      tag.memory.set([0xf1, 0x10, 0xff, 0xee, 0xa5], 12);
      tag.memory.set(Uint8Array.fromHex("01000000034b0902"), 21 * 4);
      return tag;
    },
    expected: { type: "Amiibo", uid: toHex(longUid), text: "", data: "01000000034b0902" },
  },
];

function lineOf(device: Pn532Device): Line {
  let onCommand = () => {};
  let onceReading: (() => void) | undefined;
  device.onCommand((payload) => {
    onCommand();
    const reads = payload[2] === tagCommands.fastRead || payload[3] === tagCommands.read;
    if (!reads) return;
    const run = onceReading;
    onceReading = undefined;
    run?.();
  });
  return {
    kind: "line",
    plug: device.plug,
    unplug: device.unplug,
    onCommand: (run) => {
      onCommand = run;
    },
    onceReading: (run) => {
      onceReading = run;
    },
    noise: (seed) => device.faults.noise(seed, noiseRate),
  };
}

function acr122uOnBus(): EmulatedReader {
  const reader = createCcidReader({ kind: "acr122u", timing: "none" });
  const socket = usbBus.add(reader);
  let onCommand = () => {};
  let onceReading: (() => void) | undefined;
  reader.onCommand(({ type, data }) => {
    onCommand();
    const chipCommand = type === ccidOut.block ? data.subarray(5) : new Uint8Array();
    const reads = chipCommand[2] === tagCommands.fastRead || chipCommand[3] === tagCommands.read;
    if (!reads) return;
    const run = onceReading;
    onceReading = undefined;
    run?.();
  });
  let other: UsbLink | undefined;
  return {
    driver: acr122uOn(onlyOn(usbBus, socket.path)),
    path: socket.path,
    found: {
      isCertain: true,
      fault: "reader-failed",
      async deafen() {
        const device = (await usbBus.list()).find(({ path }) => path === socket.path);
        if (device !== undefined) other = await usbBus.open(device);
      },
      heal: () => other?.close(),
    },
    expected: sightingOfNtag,
    lay: (_session, { uid, text }) =>
      reader.put(createType2Tag("ntag215", { uid: Uint8Array.fromHex(uid), text })),
    lift: () => reader.take(),
    others: otherTags.map(({ name, make, expected }) => ({ name, lay: () => reader.put(make()), expected })),
    line: {
      kind: "line",
      plug: socket.plug,
      unplug: async () => socket.unplug(),
      onCommand: (run) => {
        onCommand = run;
      },
      onceReading: (run) => {
        onceReading = run;
      },
      noise: (seed) => reader.faults.noise(seed, noiseRate),
    },
    close: async () => socket.remove(),
  };
}

/** The bus as if it had only this device. */
function onlyOn(bus: UsbBus, path: string): UsbBus {
  return { ...bus, list: async () => (await bus.list()).filter((device) => device.path === path) };
}

function sightingOfNtag({ uid, text }: Card): Sighting {
  return { type: "NTAG", uid, text, data: blockOf(text) };
}

/**
 * The reported memory of a message: it begins at the first place of messages and ends with the message, so it has the
 * block's header and the message.
 */
function blockOf(text: string): string {
  return toHex(wrapMessage(encodeTextMessage(text)).slice(0, -1));
}
