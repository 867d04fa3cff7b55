/** The emulated device of each driver, for the conformance suite: it fails for a driver that has none here. */
import { createPn532Device, type Pn532Device } from "../../drivers/emulator/pn532-device.ts";

export interface EmulatedReader {
  /** What stands behind the colon of a connection string. */
  readonly path: string;
  /** Absent where the driver lays its cards by itself. */
  readonly device?: Pn532Device;
  close(): Promise<void>;
}

export const emulatedReaders: Readonly<Record<string, () => EmulatedReader>> = {
  "pn532-uart": () => {
    const device = createPn532Device({ timing: "none" });
    return { path: device.path, device, close: device.close };
  },
  simulated: () => ({ path: "", close: async () => {} }),
};
