/** Which readers are devices, and which only take what the API lays on them. */
import type { Bus } from "../../bus.ts";

/** Its cards are laid on it over the API. */
const simulatedDriver = "simulated";

export interface DeviceReaders extends Disposable {
  /** False for the API's virtual reader, for a simulated one, and for one that was never heard of. */
  has(readerId: string): boolean;
}

/** Listens until disposed. A reader is announced before its first card. */
export function followDeviceReaders(bus: Bus): DeviceReaders {
  // Bounded by the ports that this machine has ever shown.
  const ids = new Set<string>();
  const listening = bus.on("readers.added", ({ readerId, driver }) => {
    if (driver === simulatedDriver) ids.delete(readerId);
    else ids.add(readerId);
  });
  return {
    has: (readerId) => readerId !== "" && ids.has(readerId),
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
