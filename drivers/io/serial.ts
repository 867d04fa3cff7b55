/**
 * A serial port as a byte link: raw, 8 data bits, no parity, 1 stop bit, any baud rate the device can make.
 *
 * The port is opened for this process alone, and in low-latency mode if the kernel has it. Otherwise an FTDI converter
 * holds each answer back for 16 ms (Linux, drivers/usb/serial/ftdi_sio.c: its default latency timer).
 */
import { closeSync, constants } from "node:fs";
import type { ServiceError } from "../../src/core/errors.ts";
import { FdError, linkTo, openDevice } from "./fd-stream.ts";
import { ioctl, ioctlValue, lockExclusively, requests, unlock } from "./libc.ts";
import { type ByteLink, readerGone, unplugged } from "./links.ts";
import { isTerminal, setRaw } from "./termios.ts";

// The size of struct serial_struct (linux/serial.h): 72 bytes, with the flags at 16.
const serialStructBytes = 72;
const serialFlagsOffset = 16;
const asyncLowLatency = 1 << 13;

const bothQueues = 2; // The argument TCIOFLUSH.
const transmitterEmpty = 1; // The flag TIOCSER_TEMT.
const drainPollMs = 2;
// A line at 9600 baud empties a full kernel buffer of 4 KiB in 4.3 s.
const drainMsMax = 5000;

/** Opens `path`, or throws `ServiceError("reader-gone")` with what was wrong and what to do. */
export async function openSerial(
  path: string,
  { baudRate }: { readonly baudRate: number },
): Promise<ByteLink> {
  const fd = openPort(path, baudRate);
  const { stream, isClosed, gone, onBytes, onGone, close } = linkTo(fd, (cause) => portError(path, cause));
  const refuseUnlessOpen = () => {
    // A closed descriptor is not used, because its number may belong to another file already.
    if (isClosed()) throw portError(path, new FdError("closed"));
    const reason = gone();
    if (reason !== undefined) throw reason;
  };
  return {
    path,
    onBytes,
    onGone,
    write: (bytes) =>
      stream.write(bytes).catch((error: unknown) => {
        throw portError(path, error);
      }),
    async setBaudRate(next) {
      refuseUnlessOpen();
      await stream.written();
      const deadline = performance.now() + drainMsMax;
      await drain(fd, () => !isClosed() && performance.now() < deadline);
      refuseUnlessOpen();
      if (!setRaw(fd, next)) throw readerGone(path, `it cannot run at ${next} baud`);
    },
    close: () => close(() => releasePort(fd)),
  };
}

function portError(path: string, cause: unknown): ServiceError {
  const closed = cause instanceof FdError && cause.why === "closed";
  return closed ? readerGone(path, "the port is closed: open it again", cause) : unplugged(path, cause);
}

/**
 * Opens a serial port as a non-blocking descriptor: raw, with both queues empty, and for this process alone. Throws
 * `ServiceError("reader-gone")`, and nothing stays open then.
 */
function openPort(path: string, baudRate: number): number {
  const fd = openDevice(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK, openReasons);
  const refuse = (why: string) => {
    closeSync(fd);
    return readerGone(path, why);
  };
  if (!isPlain(fd)) throw refuse("the kernel uses it, as for Bluetooth or a modem: name another port");
  if (!isTerminal(fd)) throw refuse("it is no serial port: name another one");
  // TIOCEXCL does not bind root, and a lock binds only programs that ask for it. Together they cover both cases.
  if (!lockExclusively(fd)) throw refuse(inUse);
  ioctlValue(fd, requests.tiocexcl, 0);
  if (!setRaw(fd, baudRate)) {
    releasePort(fd);
    throw refuse(`it cannot run at ${baudRate} baud: choose another rate`);
  }
  preferLowLatency(fd);
  ioctlValue(fd, requests.tcflsh, bothQueues);
  return fd;
}

/**
 * Releases the port. Call it before the descriptor is closed, because Bun's copy of the descriptor lives a moment
 * longer, and so do our claims.
 */
function releasePort(fd: number): void {
  ioctlValue(fd, requests.tiocnxcl, 0);
  unlock(fd);
}

/**
 * Waits until the line has sent all bytes in the kernel and, if the driver reports it, in the hardware. The wait also
 * ends if the device is gone, or `mayWait` returns false. After that the descriptor is not used.
 */
async function drain(fd: number, mayWait: () => boolean): Promise<void> {
  const queued = new Int32Array(1);
  const lineStatus = new Int32Array(1);
  while (mayWait()) {
    if (!ioctl(fd, requests.tiocoutq, queued)) return;
    // Most converters do not report this. Their bytes leave within a millisecond of USB.
    const told = ioctl(fd, requests.tiocsergetlsr, lineStatus);
    const left = !told || ((lineStatus[0] ?? 0) & transmitterEmpty) !== 0;
    if (queued[0] === 0 && left) return;
    await Bun.sleep(drainPollMs);
  }
}

const inUse = "another program has it open: end that one, or name another port";

const openReasons = {
  ENOENT: "there is no such device: is it plugged in?",
  EACCES: "this user may not open it: join the group dialout and log in again",
  EBUSY: inUse,
  EIO: "there is no device behind it: is it plugged in?",
  ENXIO: "there is no device behind it: is it plugged in?",
  ENODEV: "there is no device behind it: is it plugged in?",
  EISDIR: "it is no serial port: name another one",
};

/** True if the port's bytes go to programs, and not to a line discipline of the kernel (linux/tty.h: N_TTY). */
function isPlain(fd: number): boolean {
  const discipline = new Int32Array(1);
  return !ioctl(fd, requests.tiocgetd, discipline) || discipline[0] === 0;
}

// Sets the low-latency mode. Not every driver has it, and not every user may set it. The port then keeps its latency.
function preferLowLatency(fd: number): void {
  const settings = new Uint8Array(serialStructBytes);
  if (!ioctl(fd, requests.tiocgserial, settings)) return;
  const view = new DataView(settings.buffer);
  view.setInt32(serialFlagsOffset, view.getInt32(serialFlagsOffset, true) | asyncLowLatency, true);
  ioctl(fd, requests.tiocsserial, settings);
}
