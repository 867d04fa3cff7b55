/**
 * The emulated PN532 on an I2C or SPI bus, behind the calls of the kernel: the chip with its state, its status byte, its sleep,
 * and the frames that wait for the host. The emulator is written from UM0701-02, 6.2.4, 6.2.5 and 7.2.11, not from the driver.
 */
import type { I2cDevice, SpiDevice } from "../../drivers/io/links.ts";
import { createPn532Device, type Pn532Device } from "./pn532-device.ts";

/** A byte that has no meaning after the end of a frame. */
const nothing = 0xa5;
const wakeByte = 0x55;
const serialBaudRate = 115_200;
const ready = 0x01;
const busy = 0x00;

interface Bus {
  readonly device: Pn532Device;
  /** Takes a frame of the host. Throws while no chip acknowledges. */
  take(frame: Uint8Array): void;
  isReady(): boolean;
  /** Returns and drops the frame that has waited longest, followed by bytes without a meaning. */
  next(count: number): Uint8Array;
}

function createBus(path: string, options: { readonly sleeps: boolean }): Bus {
  let hear: ((bytes: Uint8Array) => void) | undefined;
  let isAsleep = false;
  let waiting: Uint8Array[] = [];
  const device = createPn532Device({
    timing: "none",
    socket: {
      path,
      plug() {
        waiting = [];
        isAsleep = options.sleeps;
        return {
          onBytes(listener) {
            hear = listener;
          },
          async write(bytes) {
            waiting.push(bytes.slice());
          },
          baudRate: () => serialBaudRate,
          async close() {
            hear = undefined;
            waiting = [];
          },
        };
      },
    },
  });
  const refuse = () => {
    throw Object.assign(new Error("EREMOTEIO: no acknowledgement"), { code: "EREMOTEIO" });
  };
  return {
    device,
    take(frame) {
      if (hear === undefined) return refuse();
      if (isAsleep) {
        isAsleep = false;
        return refuse();
      }
      // A new frame of the host drops the frames that were not fetched.
      waiting = [];
      // The emulated chip expects a serial line, so a wake-up byte comes before the frame.
      hear(Uint8Array.of(wakeByte, ...frame));
    },
    isReady() {
      if (hear === undefined) refuse();
      return waiting.length > 0;
    },
    next(count) {
      const frame = waiting.shift() ?? new Uint8Array();
      const bytes = new Uint8Array(count).fill(nothing);
      bytes.set(frame.subarray(0, count));
      return bytes;
    },
  };
}

/** The device at the chip's address, and the chip. The device does not acknowledge the first transfer after power-up. */
export function createI2cPn532(path: string): {
  readonly device: Pn532Device;
  readonly open: () => I2cDevice;
} {
  const bus = createBus(path, { sleeps: true });
  const read = (count: number) => {
    const isReady = bus.isReady();
    // A read of the status alone does not take the frame.
    if (!isReady || count === 1) return new Uint8Array(count).fill(isReady ? ready : busy);
    return Uint8Array.of(ready, ...bus.next(count - 1));
  };
  return {
    device: bus.device,
    open: () => ({
      write: bus.take,
      readNow: read,
      read: async (count) => read(count),
      close() {},
    }),
  };
}

/** The same chip on SPI, with a select line. SPI has no acknowledgement, so without a chip all bytes are zeros. */
export function createSpiPn532(path: string): {
  readonly device: Pn532Device;
  readonly open: () => SpiDevice;
} {
  const bus = createBus(path, { sleeps: false });
  const answer = ([kind = 0, ...rest]: Uint8Array): Uint8Array => {
    const whole = new Uint8Array(1 + rest.length);
    if (kind === 0x01) bus.take(Uint8Array.from(rest));
    else if (kind === 0x02) whole[1] = bus.isReady() ? ready : busy;
    else if (kind === 0x03 && bus.isReady()) whole.set(bus.next(rest.length), 1);
    return whole;
  };
  return {
    device: bus.device,
    open: () => ({
      transfer(bytes) {
        try {
          return turned(answer(turned(bytes)));
        } catch {
          return new Uint8Array(bytes.length);
        }
      },
      close() {},
    }),
  };
}

/** The bits of each byte in the opposite order: the chip has the lowest first on its lines, the host the highest. */
function turned(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte) =>
    Number.parseInt(byte.toString(2).padStart(8, "0").split("").reverse().join(""), 2),
  );
}
