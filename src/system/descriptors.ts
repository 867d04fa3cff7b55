/**
 * Counts the used descriptors of the process. The runtime raises the soft limit to the hard limit before any code of
 * this program runs.
 */
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import type { Descriptors } from "../core/operating-system.ts";

const limitWhereUnknown = 1024; // The usual limit of Linux (getrlimit(2)).

export function createDescriptors(): Descriptors {
  return {
    limit: readLimit(),
    used() {
      try {
        // The kernel returns the lowest free descriptor (open(2)), so all below it are in use.
        const lowest = openSync("/dev/null", "r");
        closeSync(lowest);
        return lowest;
      } catch {
        // The errors EMFILE and ENFILE mean that none is free.
        return Number.POSITIVE_INFINITY;
      }
    },
    count() {
      try {
        return readdirSync("/proc/self/fd").length;
      } catch {
        // The error EMFILE means that the call has found no free descriptor.
        return Number.POSITIVE_INFINITY;
      }
    },
  };
}

/** The limit in a line of proc(5): `Max open files            1024                 4096                 files`. */
function readLimit(): number {
  const line = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
  return line === null ? limitWhereUnknown : Number(line[1]);
}
