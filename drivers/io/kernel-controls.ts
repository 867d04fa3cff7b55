/** Kernel calls besides device I/O: no core dumps, and the mode of a virtual terminal. */

import { closeSync, constants, openSync, writeFileSync } from "node:fs";
import type { SetConsole } from "../../src/core/operating-system.ts";
import { ioctlValue, limitOf, requests, setLimit } from "./libc.ts";

const rlimitCore = 4; // The number of the limit in asm-generic/resource.h.

/**
 * One byte is less than any dump, so no file is written. With a limit of 0 the kernel would still start the program that
 * core_pattern may name after a pipe (fs/coredump.c). A hard limit of 0 cannot be raised, so the filter also excludes all
 * memory from dumps.
 */
export function forbidCoreDumps(): void {
  const hard = limitOf(rlimitCore)?.[1] ?? 0n;
  const limit = hard < 1n ? hard : 1n;
  setLimit(rlimitCore, limit, limit);
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // A /proc that is read-only or missing has no filter. The limit still applies.
  }
}

// A terminal of another session is not taken away (ioctl_tty(2), "TIOCSCTTY").
const keepOthers = 0;
const modes = { text: 0, graphics: 1 } as const;

/**
 * The kernel lets root and the session of the terminal change the mode. A process without root's rights must therefore lead a
 * session that has no terminal yet, and this terminal becomes its terminal. The end of the process gives the terminal back.
 */
export const setConsole: SetConsole = (path, mode) => {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
    ioctlValue(fd, requests.tiocsctty, keepOthers);
    return ioctlValue(fd, requests.kdsetmode, modes[mode]);
  } catch {
    // The terminal does not exist, or this user may not open it: its mode stays.
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
};
