/**
 * The mode of a virtual terminal (linux/kd.h): in graphics mode the kernel draws no text on the screen, whatever is written
 * to the terminal. The mode stays when the process ends (ioctl_console(2), "KDSETMODE").
 */
import { closeSync, constants, openSync } from "node:fs";
import type { SetConsole } from "../../src/core/operating-system.ts";
import { ioctlValue, requests } from "./libc.ts";

// A terminal of another session is not taken away (ioctl_tty(2), "TIOCSCTTY").
const keepOthers = 0;
const modes = { text: 0, graphics: 1 } as const;

/**
 * The kernel lets root and the session of the terminal change the mode. A process without rights must therefore lead a
 * session without a terminal, and this one becomes its terminal: the end of the process gives it back.
 */
export const setConsole: SetConsole = (path, mode) => {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
    ioctlValue(fd, requests.tiocsctty, keepOthers);
    return ioctlValue(fd, requests.kdsetmode, modes[mode]);
  } catch {
    // No such terminal, or not for this user: it stays in the mode that it has.
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
};
