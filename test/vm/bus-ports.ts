/**
 * The devices on the SPI and I2C buses of a virtual machine. The buses are the kernel's, and the controllers of
 * `bus-relay.c` send each transfer here. The first comment of that file has the form of a transfer.
 */
import type { I2cDevice, SpiDevice } from "../../drivers/io/links.ts";
import { createMachinePort, type MachinePort } from "./port.ts";

const headBytes = 4;
const acknowledged = 1;
const refused = 0;

interface BusRequest {
  readonly address: number;
  readonly reads: boolean;
  readonly count: number;
  readonly bytes: Uint8Array;
}

/** Serves the devices by their chip selects. Without a device, the lines read as zeros. */
export function createSpiPort(path: string, devices: readonly SpiDevice[]): MachinePort {
  const answer = ({ address, bytes }: BusRequest) =>
    Uint8Array.of(acknowledged, ...(devices[address]?.transfer(bytes) ?? new Uint8Array(bytes.length)));
  return createBusPort(path, () => true, answer);
}

/** Serves the device at this address of seven bits. The device throws if it does not acknowledge. */
export function createI2cPort(path: string, at: number, device: I2cDevice): MachinePort {
  const exchange = ({ address, reads, count, bytes }: BusRequest): Uint8Array => {
    if (address !== at) throw new Error("another address");
    if (reads) return device.readNow(count);
    device.write(bytes);
    return new Uint8Array();
  };
  return createBusPort(
    path,
    (reads) => !reads,
    (request) => {
      try {
        return Uint8Array.of(acknowledged, ...exchange(request));
      } catch {
        // An answer to a read has the requested number of bytes, even if the device refused.
        return Uint8Array.of(refused, ...new Uint8Array(request.reads ? request.count : 0));
      }
    },
  );
}

function createBusPort(
  path: string,
  carriesBytes: (reads: boolean) => boolean,
  answer: (request: BusRequest) => Uint8Array,
): MachinePort {
  const port = createMachinePort(path);
  let unread: Uint8Array = new Uint8Array();
  port.onBytes((bytes) => {
    unread = Uint8Array.of(...unread, ...bytes);
    while (unread.length >= headBytes) {
      const [address = 0, reads = 0, low = 0, high = 0] = unread;
      const count = low + 256 * high;
      const end = headBytes + (carriesBytes(reads === 1) ? count : 0);
      if (unread.length < end) return;
      const sent = unread.subarray(headBytes, end);
      unread = unread.slice(end);
      port.write(answer({ address, reads: reads === 1, count, bytes: sent }));
    }
  });
  return port;
}

/** Commands that join each bus to its port of the machine, which can be opened once. */
export const joinBuses = ["spi", "i2c"]
  .map((bus) => `exec 4<> /dev/${bus}; cat <&4 > /dev/${bus}-relay & cat /dev/${bus}-relay >&4 & exec 4<&-; `)
  .join("");
