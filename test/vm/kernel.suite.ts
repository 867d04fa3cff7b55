/**
 * The real drivers, in the real binary, on a real kernel: seven readers in the sockets of one virtual machine. The keyboards
 * and gamepads of macros are tested in the same machine. `make test-vm` runs it; its packages come with those of the image.
 *
 *   PN532          also on the kernel's I2C bus, and on its SPI bus at CE1: as the MFRC522
 *   PN532          QEMU's FTDI converter, joined to the emulated chip
 *   MFRC522        the kernel's SPI bus and spidev, with a controller that hands transfers to the emulated chip
 *   ACR122U        QEMU's usb-redir, joined to the emulated reader; the kernel's pn533_usb has it first
 *   HID keyboard   /dev/uhid of the guest
 *   Toy Pad        /dev/uhid of the guest
 *   macros         /dev/uinput of the guest
 *   lights         the kernel's class of LEDs, with two lights of `case-lights.c`
 *   television     the kernel's vivid, whose input is the television and whose output the deck's
 */
import { afterAll, beforeAll } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { i2cAddress } from "../../drivers/pn532/polled-link.ts";
import { createCcidReader } from "../emulators/ccid-reader.ts";
import { createMfrc522Device } from "../emulators/mfrc522-device.ts";
import { createI2cPn532, createSpiPn532 } from "../emulators/pn532-bus.ts";
import { createToypadDevice } from "../emulators/toypad-device.ts";
import { testAcr122u } from "./acr122u.ts";
import { createI2cPort, createSpiPort, joinBuses } from "./bus-ports.ts";
import { type Deck, startDeck } from "./deck.ts";
import { testInput } from "./input.ts";
import { testLights } from "./lights.ts";
import { createMachinePort } from "./port.ts";
import { testReaders } from "./readers.ts";
import { createSerialPn532 } from "./serial-port.ts";
import { cardConfig, cardFiles } from "./taps.ts";
import { testTelevision } from "./television.ts";
import { createUhidDevice, keyboardDescriptor, padDescriptor } from "./uhid.ts";
import { createUsbPort } from "./usb-redir.ts";

const testMs = 600_000;
const folder = await mkdtemp(join(tmpdir(), "tapdeck-sockets-"));
const socket = (name: string) => join(folder, name);

const reader = createCcidReader({ kind: "acr122u", timing: "none" });
const port = createUsbPort(socket("usb"), reader);
const { device: pn532 } = createSerialPn532(socket("serial"));
const mfrc522 = createMfrc522Device({ path: "/dev/spidev0.0" });
const pn532OnI2c = createI2cPn532("/dev/i2c-1");
const pn532OnSpi = createSpiPn532("/dev/spidev0.1");
// Each reader gets its power in its test.
mfrc522.unplug();
await Promise.all([pn532OnI2c, pn532OnSpi].map(({ device }) => device.unplug()));
const spiPort = createSpiPort(socket("spi"), [mfrc522.open(), pn532OnSpi.open()]);
const i2cPort = createI2cPort(socket("i2c"), i2cAddress, pn532OnI2c.open());
const pad = createToypadDevice();
const padPort = createMachinePort(socket("pad"));
const padHid = createUhidDevice(padPort, {
  name: "LEGO READER V2.10",
  vendor: 0x0e6f,
  product: 0x0241,
  descriptor: padDescriptor,
  output: pad.receive,
});
pad.onReport(padHid.input);
const keysPort = createMachinePort(socket("keys"));
const keys = createUhidDevice(keysPort, {
  name: "Symbol Bar Code Scanner",
  vendor: 0x05e0,
  product: 0x1200,
  descriptor: keyboardDescriptor,
});

let deck: Deck | undefined;
const deckOf = () => {
  if (deck === undefined) throw new Error("the machine did not start");
  return deck;
};

beforeAll(async () => {
  deck = await startDeck({
    folder,
    usbPorts: [port.socketPath],
    serialPorts: [socket("serial")],
    ports: { pad: padPort.path, keys: keysPort.path, spi: spiPort.path, i2c: i2cPort.path },
    config: cardConfig,
    files: cardFiles,
  });
  await deck.guest.ask(joinBuses);
  await deck.guest.ask("uhid-relay /dev/pad & uhid-relay /dev/keys &");
}, testMs);

afterAll(async () => {
  await deck?.[Symbol.asyncDispose]();
  for (const one of [port, padPort, keysPort, spiPort, i2cPort]) one.close();
  await pn532.close();
  await rm(folder, { recursive: true, force: true });
});

testAcr122u(deckOf, { reader, port }, testMs);
testReaders(
  deckOf,
  { pn532, pn532OnI2c: pn532OnI2c.device, pn532OnSpi: pn532OnSpi.device, mfrc522, pad, padHid, keys },
  testMs,
);
testTelevision(deckOf, testMs);
// The last test of this group ends the service.
testLights(deckOf, testMs);
testInput(deckOf, testMs);
