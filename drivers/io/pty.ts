/** A pseudo-terminal: the far end of a serial line, for the emulated devices. */
import { closeSync, constants, openSync } from "node:fs";
import { streamFd } from "./fd-stream.ts";
import { ioctl, requests } from "./libc.ts";
import { baudRateOf, setRaw } from "./termios.ts";

export interface Pty {
  /** The side that a driver opens: `/dev/pts/N`. */
  readonly path: string;
  /** One listener; the bytes are valid during the call only. */
  onBytes(listener: (bytes: Uint8Array) => void): void;
  write(bytes: Uint8Array): Promise<void>;
  /** The rate that the driver's side has set. */
  baudRate(): number;
  /** Hangs up: whoever has the other side open sees the device go away. */
  close(): Promise<void>;
}

export function openPty(): Pty {
  const flags = constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK;
  const master = openSync("/dev/ptmx", flags);
  ioctl(master, requests.tiocsptlck, new Int32Array([0]));
  const number = new Int32Array(1);
  ioctl(master, requests.tiocgptn, number);
  const path = `/dev/pts/${number[0]}`;
  // Held open, so that the master reads on while no driver has the line.
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
