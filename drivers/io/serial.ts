/**
 * A serial port as a byte link: raw, 8 data bits, no parity, 1 stop bit, any baud rate the device can make.
 *
 * Opened for this process alone, and in low-latency mode where the kernel has it: an FTDI converter otherwise holds
 * each answer back for 16 ms (Linux, drivers/usb/serial/ftdi_sio.c: its default latency timer).
 */
import { closeSync, constants, openSync } from "node:fs";
import { ServiceError } from "../../src/core/errors.ts";
import type { ByteLink } from "./byte-link.ts";
import { streamFd } from "./fd-stream.ts";
import { ioctl, ioctlValue, lockExclusively, requests, unlock } from "./libc.ts";
import { setRaw } from "./termios.ts";

// struct serial_struct (linux/serial.h): 72 bytes, flags at 16.
const serialStructBytes = 72;
const serialFlagsOffset = 16;
const asyncLowLatency = 1 << 13;

// A line at 9600 baud empties a full kernel buffer of 4 KiB in 4.3 s.
const drainMsMax = 5000;
const drainPollMs = 2;

export interface SerialOptions {
  readonly baudRate: number;
}

/** Opens `path`, or throws `ServiceError("reader-gone")` with what was wrong and what to do. */
export async function openSerial(path: string, { baudRate }: SerialOptions): Promise<ByteLink> {
  const fd = openPort(path, baudRate);
  let onBytes: (bytes: Uint8Array) => void = () => {};
  let onGone: (reason: Error) => void = () => {};
  let gone: Error | undefined;
  let closed = false;
  const stream = streamFd(fd, {
    bytes: (bytes) => onBytes(bytes),
    gone: (reason) => {
      gone = reason;
      onGone(reason);
    },
  });
  return {
    path,
    onBytes: (listener) => {
      onBytes = listener;
    },
    onGone(listener) {
      onGone = listener;
      // It may have gone before anybody asked.
      if (gone !== undefined) listener(gone);
    },
    write: stream.write,
    async setBaudRate(next) {
      await drain(fd);
      if (!setRaw(fd, next)) throw new ServiceError("reader-gone", `${path} cannot run at ${next} baud`);
    },
    async close() {
      // Bun's copy of the descriptor lives a moment longer, and the lock with it.
      if (!closed) unlock(fd);
      closed = true;
      await stream.close();
    },
  };
}

/** A descriptor that is ours alone, raw and at `baudRate`; on any refusal nothing stays open. */
export function openPort(path: string, baudRate: number): number {
  const fd = openDevice(path);
  const refuse = (why: string) => {
    closeSync(fd);
    return new ServiceError("reader-gone", `${path}: ${why}`);
  };
  // TIOCEXCL does not bind root, and a lock binds only who asks for it: together they cover other programs and us.
  if (!lockExclusively(fd)) throw refuse("another program has it open: end that one, or name another port");
  ioctlValue(fd, requests.tiocexcl, 0);
  if (!setRaw(fd, baudRate)) throw refuse(`it is no serial port, or cannot run at ${baudRate} baud`);
  preferLowLatency(fd);
  ioctlValue(fd, requests.tcflsh, 2);
  return fd;
}

/** Resolves once the line has sent all that the kernel holds; gives up quietly after `drainMsMax`. */
export async function drain(fd: number): Promise<void> {
  const waiting = new Int32Array(1);
  for (let waitedMs = 0; waitedMs < drainMsMax; waitedMs += drainPollMs) {
    if (!ioctl(fd, requests.tiocoutq, waiting) || waiting[0] === 0) return;
    await Bun.sleep(drainPollMs);
  }
}

function openDevice(path: string): number {
  try {
    return openSync(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    const why: Readonly<Record<string, string>> = {
      ENOENT: "there is no such device: is it plugged in?",
      EACCES: "this user may not open it: join the group dialout and log in again",
      EBUSY: "another program has it open: end that one, or name another port",
      ENXIO: "there is no device behind it: is it plugged in?",
    };
    const sentence = why[String(code)] ?? (error instanceof Error ? error.message : String(error));
    throw new ServiceError("reader-gone", `${path}: ${sentence}`, { cause: error });
  }
}

// Not every driver has it, and not every user may: then the port is as fast as it is.
function preferLowLatency(fd: number): void {
  const settings = new Uint8Array(serialStructBytes);
  if (!ioctl(fd, requests.tiocgserial, settings)) return;
  const view = new DataView(settings.buffer);
  view.setInt32(serialFlagsOffset, view.getInt32(serialFlagsOffset, true) | asyncLowLatency, true);
  ioctl(fd, requests.tiocsserial, settings);
}
