/** Keeps the memory of this process, with its keys, out of core dumps (core(5)). Its players inherit that. */
import { writeFileSync } from "node:fs";
import { limitOf, setLimit } from "./libc.ts";

const rlimitCore = 4; // asm-generic/resource.h.

/**
 * One byte is less than any dump, so that no file is written. It is also the one limit that a pipe in core_pattern heeds: with 0
 * the kernel calls the program there (fs/coredump.c). A hard limit of 0 cannot be raised to it, so that the dump, if somebody
 * wants one all the same, is told to hold no memory.
 */
export function forbidCoreDumps(): void {
  const hard = limitOf(rlimitCore)?.[1] ?? 0n;
  const limit = hard < 1n ? hard : 1n;
  setLimit(rlimitCore, limit, limit);
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // A /proc that is read-only, or not there: the limit counts.
  }
}
