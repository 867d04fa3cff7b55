/**
 * An emulated HID device in a guest's kernel: events of /dev/uhid (linux/uhid.h, packed, little-endian), which
 * test/vm/uhid-relay.c carries.
 *
 *   event          type(4) then, by type:
 *   11 CREATE2     name(128) phys(64) uniq(64) rd_size(2) bus(2) vendor(4) product(4) version(4) country(4) descriptor(4096)
 *   12 INPUT2      size(2) data
 *   6 OUTPUT       data(4096) size(2) rtype(1); the first byte of an unnumbered report is 0
 *   1 DESTROY      nothing more
 */
import type { MachinePort } from "./port.ts";

const type = { destroy: 1, output: 6, create2: 11, input2: 12 } as const;
const usbBus = 3;
const dataBytes = 4096;

export interface UhidOptions {
  readonly name: string;
  readonly vendor: number;
  readonly product: number;
  readonly descriptor: Uint8Array;
  /** Called with each output report, without its number. */
  readonly output?: (report: Uint8Array) => void;
}

export interface UhidDevice {
  plug(): void;
  unplug(): void;
  input(report: Uint8Array): void;
}

export function createUhidDevice(port: MachinePort, options: UhidOptions): UhidDevice {
  let received: Uint8Array = new Uint8Array();
  const send = (event: Uint8Array) => port.write(Uint8Array.of(...words(event.length), ...event));
  port.onBytes((bytes) => {
    received = Uint8Array.of(...received, ...bytes);
    while (received.length >= 4) {
      const end = 4 + new DataView(received.buffer, received.byteOffset).getUint32(0, true);
      if (received.length < end) return;
      take(received.slice(4, end));
      received = received.subarray(end);
    }
  });
  const take = (event: Uint8Array) => {
    if (event[0] !== type.output) return;
    const size = (event[4 + dataBytes] ?? 0) + 256 * (event[5 + dataBytes] ?? 0);
    options.output?.(event.slice(5, 4 + size));
  };
  return {
    plug() {
      const { name, vendor, product, descriptor } = options;
      const event = new Uint8Array(4 + 128 + 64 + 64 + 20 + descriptor.length);
      const text = new TextEncoder();
      event.set(words(type.create2), 0);
      event.set(text.encode(name), 4);
      event.set(text.encode(`usb-emulated-${product.toString(16)}/input0`), 4 + 128);
      const numbers = new DataView(event.buffer, 4 + 256);
      numbers.setUint16(0, descriptor.length, true);
      numbers.setUint16(2, usbBus, true);
      numbers.setUint32(4, vendor, true);
      numbers.setUint32(8, product, true);
      event.set(descriptor, 4 + 256 + 20);
      send(event);
    },
    unplug: () => send(Uint8Array.from(words(type.destroy))),
    input: (report) => send(Uint8Array.of(...words(type.input2), report.length, 0, ...report)),
  };
}

/** A boot keyboard (HID 1.11, appendix B.1), whose reports are modifiers, a zero, and six keys. */
export const keyboardDescriptor = Uint8Array.fromHex(
  "05010906a101050719e029e71500250175019508810295017508810195067508150025650507190029658100c0",
);
/** Reports of 32 bytes both ways, of a page of the vendor's own. */
export const padDescriptor = Uint8Array.fromHex(
  "0600ff0901a1011901292015002 6ff00750895208100190129209100c0".replaceAll(" ", ""),
);

const [leftShift, enter] = [0x02, 0x28];

/** The reports that type a line on a US keyboard (HID Usage Tables, keyboard page). */
export function typed(line: string): readonly Uint8Array[] {
  const reports = [...line].map((letter) => pressed(letter));
  const up = new Uint8Array(8);
  return [...reports, Uint8Array.of(0, 0, enter, 0, 0, 0, 0, 0)].flatMap((down) => [down, up]);
}

function pressed(letter: string): Uint8Array {
  const lower = letter.toLowerCase();
  const shift = lower === letter ? 0 : leftShift;
  const at = "abcdefghijklmnopqrstuvwxyz1234567890".indexOf(lower);
  const usage = at >= 0 ? 4 + at : { "-": 0x2d, ".": 0x37, "/": 0x38 }[letter];
  if (usage === undefined) throw new Error(`no key types ${letter}`);
  return Uint8Array.of(shift, 0, usage, 0, 0, 0, 0, 0);
}

function words(value: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(value).buffer);
}
