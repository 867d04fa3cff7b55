/** Counts the connections that stay, in all and by address. */
import { connectionsForDevice, connectionsMax, connectionsPerAddressMax } from "../../core/limits.ts";
import type { Access } from "./access.ts";

export interface Places {
  /** A caller on the device is counted in all only, and has places that nobody else gets. */
  isFree(address: string, access: Access): boolean;
  take(address: string): void;
  leave(address: string): void;
}

export function createPlaces(): Places {
  const byAddress = new Map<string, number>();
  let taken = 0;
  const count = (address: string, change: 1 | -1) => {
    taken += change;
    const left = (byAddress.get(address) ?? 0) + change;
    if (left === 0) byAddress.delete(address);
    else byAddress.set(address, left);
  };
  return {
    isFree: (address, access) =>
      access === "device"
        ? taken < connectionsMax
        : taken < connectionsMax - connectionsForDevice &&
          (byAddress.get(address) ?? 0) < connectionsPerAddressMax,
    take: (address) => count(address, 1),
    leave: (address) => count(address, -1),
  };
}
