/**
 * The real drivers, in the real binary, on a real kernel: four readers in the sockets of one virtual machine. Also the
 * keyboards and gamepads of macros. `make test-vm` runs it; its packages come with those of the image.
 *
 *   PN532          QEMU's FTDI converter, joined to the emulated chip
 *   ACR122U        QEMU's usb-redir, joined to the emulated reader; the kernel's pn533_usb has it first
 *   HID keyboard   /dev/uhid of the guest
 *   Toy Pad        /dev/uhid of the guest
 *   macros         /dev/uinput of the guest
 *   television     the kernel's vivid, whose input is the television and whose output the deck's
 */
import { afterAll, beforeAll } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCcidReader } from "../emulators/ccid-reader.ts";
import { createToypadDevice } from "../emulators/toypad-device.ts";
import { testAcr122u } from "./acr122u.ts";
import { type Deck, startDeck } from "./deck.ts";
import { testInput } from "./input.ts";
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
    ports: { pad: padPort.path, keys: keysPort.path },
    config: cardConfig,
    files: cardFiles,
  });
  await deck.guest.ask("uhid-relay /dev/pad & uhid-relay /dev/keys &");
}, testMs);

afterAll(async () => {
  await deck?.[Symbol.asyncDispose]();
  for (const one of [port, padPort, keysPort]) one.close();
  await pn532.close();
  await rm(folder, { recursive: true, force: true });
});

testAcr122u(deckOf, { reader, port }, testMs);
testReaders(deckOf, { pn532, pad, padHid, keys }, testMs);
testTelevision(deckOf, testMs);
// Its last test ends the service.
testInput(deckOf, testMs);
