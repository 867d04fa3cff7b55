/**
 * The number of used descriptors of the process, and a reserve of descriptors. The runtime raises the soft limit to the hard
 * limit before any code of this program runs.
 */
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import type { Descriptors } from "../core/operating-system.ts";

// A flood may take all free descriptors before other code runs. A launch and local callers need the reserve until the service
// has closed remote connections.
const reserveMax = 256;
const limitWhereUnknown = 1024; // The usual limit of Linux (getrlimit(2)).

export function createDescriptors(): Descriptors {
  const limit = readLimit();
  const reserveCount = Math.min(reserveMax, Math.floor(limit / 8));
  const reserve: number[] = [];
  const openOne = () => openSync("/dev/null", "r");
  const descriptors: Descriptors = {
    limit,
    used() {
      try {
        // The kernel returns the lowest free descriptor (open(2)): all below it are in use.
        const lowest = openOne();
        closeSync(lowest);
        return lowest;
      } catch {
        // EMFILE or ENFILE: none is free.
        return Number.POSITIVE_INFINITY;
      }
    },
    count() {
      try {
        return readdirSync("/proc/self/fd").length;
      } catch {
        // EMFILE: the call needs a descriptor itself.
        return Number.POSITIVE_INFINITY;
      }
    },
    keepReserve() {
      try {
        while (reserve.length < reserveCount) reserve.push(openOne());
      } catch {
        // None is free; the next call tries again.
      }
    },
    giveReserve() {
      for (const one of reserve.splice(0)) closeSync(one);
    },
  };
  descriptors.keepReserve();
  return descriptors;
}

/** proc(5): `Max open files            1024                 4096                 files`. */
function readLimit(): number {
  const line = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
  return line === null ? limitWhereUnknown : Number(line[1]);
}
