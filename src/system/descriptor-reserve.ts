/**
 * How many of the process's descriptors are in use. The runtime has raised the soft limit to the hard one by the time that
 * any of our code runs.
 */
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import type { Descriptors } from "../core/descriptors.ts";

// A flood may take all that there are in one go, before anything else runs.
const reserveMax = 256; // What a launch and a caller at the socket's file need until those from afar have gone.
const limitWhereUnknown = 1024; // Of every Linux since ever (getrlimit(2)).

export function createDescriptors(): Descriptors {
  const limit = readLimit();
  const reserveCount = Math.min(reserveMax, Math.floor(limit / 8));
  const reserve: number[] = [];
  const openOne = () => openSync("/dev/null", "r");
  const descriptors: Descriptors = {
    limit,
    used() {
      try {
        // The kernel gives the lowest that is free (open(2)): all below it are in use.
        const lowest = openOne();
        closeSync(lowest);
        return lowest;
      } catch {
        // EMFILE or ENFILE: there is none.
        return Number.POSITIVE_INFINITY;
      }
    },
    count() {
      try {
        return readdirSync("/proc/self/fd").length;
      } catch {
        // It takes one itself.
        return Number.POSITIVE_INFINITY;
      }
    },
    keepReserve() {
      try {
        while (reserve.length < reserveCount) reserve.push(openOne());
      } catch {
        // Then there is none to keep.
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
