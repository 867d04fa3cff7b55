/**
 * An emulated PN532 behind a virtual machine's USB-serial converter, QEMU's FTDI: the converter is plugged in while its
 * socket is connected. QEMU does not report the rate that the guest sets, so the chip assumes its own rate.
 */
import { createPn532Device, type Pn532Device } from "../emulators/pn532-device.ts";
import { createMachinePort } from "./port.ts";

export interface SerialPn532 {
  readonly device: Pn532Device;
  readonly socketPath: string;
}

/** Makes the chip, which is not plugged in yet. */
export function createSerialPn532(socketPath: string): SerialPn532 {
  const device = createPn532Device({
    timing: "none",
    isUnplugged: true,
    socket: {
      path: socketPath,
      plug() {
        const port = createMachinePort(socketPath);
        return {
          onBytes: port.onBytes,
          write: async (bytes) => port.write(bytes),
          baudRate: () => device.baudRate,
          close: async () => port.close(),
        };
      },
    },
  });
  return { device, socketPath };
}
