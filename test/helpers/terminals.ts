/** A virtual terminal of the kernel for tests. The tests need the right to make device nodes (root, on a test machine). */
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ioctl, requests } from "../../drivers/io/libc.ts";

// The last terminal number, which no system uses (Documentation/admin-guide/devices.txt).
const spare = { major: 4, minor: 63 };

export const canMakeTerminals = await hasTerminals();

/** Makes a node of a terminal that no program shows. Returns false without the right to do so. */
export function makeTerminal(path: string): boolean {
  const made = Bun.spawnSync(["mknod", path, "c", String(spare.major), String(spare.minor)]);
  return made.exitCode === 0;
}

/** True if this user may make a terminal, and the kernel has one with this number. */
async function hasTerminals(): Promise<boolean> {
  const place = await mkdtemp(join(tmpdir(), "tapdeck-tty-"));
  try {
    return makeTerminal(join(place, "tty")) && modeOf(join(place, "tty")) === 0;
  } catch {
    // The kernel has no virtual terminals.
    return false;
  } finally {
    await rm(place, { recursive: true });
  }
}

/** The mode of a terminal: 0 is text, 1 graphics (linux/kd.h). */
export function modeOf(path: string): number | undefined {
  const fd = openSync(path, constants.O_RDWR | constants.O_NOCTTY);
  const mode = Int32Array.of(-1);
  try {
    return ioctl(fd, requests.kdgetmode, mode) ? mode[0] : undefined;
  } finally {
    closeSync(fd);
  }
}
