/** Both ends of a serial line on a pty, and their observation by a test. */
import { expect } from "bun:test";
import { closeSync, constants, openSync, readdirSync, readFileSync } from "node:fs";
import { ioctl, requests } from "../../drivers/io/libc.ts";
import { openPty, type Pty } from "../../drivers/io/termios.ts";
import { eventually } from "./processes.ts";

/** Calls `run` with a pty of its own, and closes the pty afterwards. */
export async function withPty(run: (far: Pty) => Promise<void>): Promise<void> {
  const far = openPty();
  try {
    await run(far);
  } finally {
    await far.close();
  }
}

/** A pty whose far end never reads: written bytes stay in the kernel until its buffer is full. */
export function openDeafPty() {
  const master = openSync("/dev/ptmx", constants.O_RDWR | constants.O_NOCTTY);
  ioctl(master, requests.tiocsptlck, new Int32Array([0]));
  const number = new Int32Array(1);
  ioctl(master, requests.tiocgptn, number);
  return { path: `/dev/pts/${number[0]}`, close: () => closeSync(master) };
}

/** Collects bytes, and resolves as soon as this many have arrived. */
export function createSink() {
  const parts: Uint8Array[] = [];
  let length = 0;
  return {
    take(bytes: Uint8Array) {
      parts.push(Uint8Array.from(bytes)); // A copy is made, because the slice of a Buffer would be a view.
      length += bytes.length;
    },
    length: () => length,
    async atLeast(wanted: number): Promise<Buffer> {
      await eventually(() => expect(length).toBeGreaterThanOrEqual(wanted));
      return Buffer.concat(parts);
    },
  };
}

export function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

/** How often threads of this process slept and woke. A busy wait raises it. */
export function wakeUps(): number {
  return readdirSync("/proc/self/task")
    .map((task) => readFileSync(`/proc/self/task/${task}/status`, "latin1"))
    .map((status) => Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(status)?.[1] ?? 0))
    .reduce((sum, count) => sum + count, 0);
}

/** The ticks of processor time that this process has used, in user and system mode (proc(5), fields 14 and 15). */
export function processorTicks(): number {
  const stat = readFileSync("/proc/self/stat", "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** Bytes that are the same in each run, and that do not repeat within 64 KiB. */
export function manyBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = 0x2545f491;
  for (let index = 0; index < length; index++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[index] = state & 0xff;
  }
  return bytes;
}
