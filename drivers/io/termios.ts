/**
 * Terminal settings in the kernel's form, with any baud rate; and pseudo-terminals for the emulated devices.
 *
 *   struct termios2, 44 bytes, native byte order (asm-generic/termbits.h):
 *   0 c_iflag  4 c_oflag  8 c_cflag  12 c_lflag  16 c_line  17 c_cc[19]  36 c_ispeed  40 c_ospeed
 *
 * qemu-user 7.2 does not know the termios2 calls. On it the old calls are used, for the standard rates only.
 */
import { closeSync, constants, openSync } from "node:fs";
import { serialBaudRateMax } from "../../src/core/limits.ts";
import { streamFd } from "./fd-stream.ts";
import { ioctl, requests } from "./libc.ts";

const termiosBytes = 44;
const bother = 0o010000; // The value of CBAUD for "the rate is in c_ospeed".
const cbaud = 0o010017;
const creadClocal = 0o200 | 0o4000;
const cs8 = 0o60;
const vtime = 5;
const vmin = 6;

// A receiver samples ten bits after one edge, so two ends that differ by 5 % misread the last bit. Each end may be off by
// half of that.
const rateErrorMax = 0.025;

/** The codes in CBAUD of the rates that every kernel knows (termbits.h). */
const standardRates: ReadonlyMap<number, number> = new Map([
  [9600, 0o15],
  [19_200, 0o16],
  [38_400, 0o17],
  [57_600, 0o10001],
  [115_200, 0o10002],
  [230_400, 0o10003],
  [460_800, 0o10004],
  [921_600, 0o10007],
]);

/**
 * Sets the line to raw bytes at `baudRate`: 8 data bits, no parity, 1 stop bit, no flow control. Returns false if the
 * rate is no whole number from 1 to `serialBaudRateMax`, or if the kernel refuses it or keeps a rate more than 2.5 %
 * away. The old settings then stay.
 */
export function setRaw(fd: number, baudRate: number): boolean {
  if (!Number.isInteger(baudRate) || baudRate < 1 || baudRate > serialBaudRateMax) return false;
  const before = new Uint8Array(termiosBytes);
  const restorable = ioctl(fd, requests.tcgets2, before);
  const termios = rawSettings(baudRate);
  if (ioctl(fd, requests.tcsets2, termios)) {
    const kept = baudRateOf(fd) ?? baudRate;
    if (Math.abs(kept - baudRate) <= baudRate * rateErrorMax) return true;
    if (restorable) ioctl(fd, requests.tcsets2, before);
    return false;
  }
  const code = standardRates.get(baudRate);
  if (code === undefined) return false;
  const view = new DataView(termios.buffer);
  view.setUint32(8, (view.getUint32(8, true) & ~cbaud) | code, true);
  return ioctl(fd, requests.tcsets, termios);
}

/** The output rate in baud; undefined if the descriptor is no terminal or its rate is unknown. */
export function baudRateOf(fd: number): number | undefined {
  const termios = new Uint8Array(termiosBytes);
  const view = new DataView(termios.buffer);
  if (ioctl(fd, requests.tcgets2, termios)) return view.getUint32(40, true);
  if (!ioctl(fd, requests.tcgets, termios)) return undefined;
  const code = view.getUint32(8, true) & cbaud;
  return [...standardRates].find(([, known]) => known === code)?.[0];
}

export function isTerminal(fd: number): boolean {
  return ioctl(fd, requests.tcgets, new Uint8Array(termiosBytes));
}

function rawSettings(baudRate: number): Uint8Array<ArrayBuffer> {
  const termios = new Uint8Array(termiosBytes);
  const view = new DataView(termios.buffer);
  view.setUint32(8, creadClocal | bother | cs8, true);
  view.setUint32(36, baudRate, true);
  view.setUint32(40, baudRate, true);
  termios[17 + vtime] = 0;
  termios[17 + vmin] = 1;
  return termios;
}

export interface Pty {
  /** The side that a driver opens, such as `/dev/pts/N`. */
  readonly path: string;
  /** Sets the one listener. The bytes are valid during the call only. */
  onBytes(listener: (bytes: Uint8Array) => void): void;
  write(bytes: Uint8Array): Promise<void>;
  /** The rate that the driver's side has set. */
  baudRate(): number;
  /** Hangs up. For the program on the other side, the device goes away. */
  close(): Promise<void>;
}

export function openPty(): Pty {
  const flags = constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK;
  const master = openSync("/dev/ptmx", flags);
  ioctl(master, requests.tiocsptlck, new Int32Array([0]));
  const number = new Int32Array(1);
  ioctl(master, requests.tiocgptn, number);
  const path = `/dev/pts/${number[0]}`;
  // The slave is held open, so the master continues to read while no driver has the line open.
  const slave = openSync(path, flags);
  setRaw(slave, 115_200);

  let listener: (bytes: Uint8Array) => void = () => {};
  const stream = streamFd(master, { bytes: (bytes) => listener(bytes), gone: () => {} });
  let closed = false;
  return {
    path,
    onBytes: (next) => {
      listener = next;
    },
    write: stream.write,
    baudRate: () => baudRateOf(master) ?? 0,
    async close() {
      if (closed) return;
      closed = true;
      await stream.close();
      closeSync(slave);
    },
  };
}
