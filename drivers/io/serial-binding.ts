/**
 * Our Linux binding for `@serialport/stream`, on the same core as the byte link in serial.ts. The stock one,
 * `@serialport/bindings-cpp`, needs `uv_poll_init`, which Bun lacks: opening a port with it aborts the process.
 *
 * The interface is that of `@serialport/bindings-interface` 1.2.2, declared here because its types do not resolve
 * through its own `exports`. The stream interprets a rejection: `canceled` is a requested end, anything
 * else is an unplugged device, after which it closes the port. So `isOpen` stays true until `close`.
 */
import { basename } from "node:path";
import { type FdChannel, FdError, openFd } from "./fd-stream.ts";
import { ioctl, ioctlValue, requests } from "./libc.ts";
import { readerGone } from "./links.ts";
import { discardQueues, drain, openPort, type PortOptions, portError, releasePort } from "./serial.ts";
import { listSerialPorts } from "./serial-list.ts";
import { baudRateOf, setRaw } from "./termios.ts";

/** All ports with hardware behind them, and how one is opened: pass it to `SerialPortStream` as `binding`. */
export const serialBinding = { list: listForStream, open: openForStream };

export interface SerialBindingOptions extends PortOptions {
  readonly path: string;
  /** A whole number from 1 to `serialBaudRateMax`. */
  readonly baudRate: number;
}

interface ModemOutputs {
  readonly brk?: boolean;
  readonly cts?: boolean;
  readonly dsr?: boolean;
  readonly dtr?: boolean;
  readonly rts?: boolean;
}

export class SerialBindingError extends Error {
  override readonly name = "SerialBindingError";
  readonly canceled: boolean;
  readonly disconnected: boolean;

  constructor(message: string, why: "canceled" | "disconnected" | "refused", cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.canceled = why === "canceled";
    this.disconnected = why === "disconnected";
  }
}

const modemBits = { dtr: 0x002, rts: 0x004, cts: 0x020, dcd: 0x040, dsr: 0x100 } as const; // TIOCM_*, asm-generic/termios.h.
const settableBits = modemBits.dtr | modemBits.rts | modemBits.cts | modemBits.dsr;

async function listForStream() {
  const ports = await listSerialPorts();
  return ports.map(({ path, manufacturer, serialNumber, byId, productId, vendorId }) => ({
    path,
    manufacturer,
    serialNumber,
    pnpId: byId === undefined ? undefined : basename(byId),
    // Other systems have it; Linux does not.
    locationId: undefined,
    productId,
    vendorId,
  }));
}

/** Rejects with `ServiceError("reader-gone")`, a sentence on what was wrong and what to do. */
async function openForStream(options: SerialBindingOptions): Promise<ReturnType<typeof createPort>> {
  const openOptions: Required<SerialBindingOptions> = {
    lock: true,
    dataBits: 8,
    parity: "none",
    stopBits: 1,
    hupcl: true,
    rtscts: false,
    xon: false,
    xoff: false,
    xany: false,
    ...options,
  };
  refuseFraming(openOptions);
  return createPort(openPort(openOptions.path, openOptions.baudRate, openOptions), openOptions);
}

// Programs without types pass what other systems can: 1.5 stop bits, mark and space parity.
function refuseFraming({ path, dataBits, parity, stopBits }: Required<SerialBindingOptions>): void {
  const refuse = (what: string, choice: string) =>
    readerGone(path, `it cannot run with ${what}: choose ${choice}`);
  if (![5, 6, 7, 8].includes(dataBits)) throw refuse(`${dataBits} data bits`, "5, 6, 7 or 8");
  if (!["none", "even", "odd"].includes(parity)) throw refuse(`${parity} parity`, "none, even or odd");
  if (![1, 2].includes(stopBits)) throw refuse(`${stopBits} stop bits`, "1 or 2");
}

function createPort(fd: number, openOptions: Required<SerialBindingOptions>) {
  const { path } = openOptions;
  const channel = openFd(fd);
  const reads = createReads(channel, path);
  let isOpen = true;
  const refuseUnlessOpen = () => {
    if (!isOpen) throw failure(path, new FdError("closed"));
  };
  const empty = async () => {
    refuseUnlessOpen();
    await channel.written();
    const drained = await drain(fd, () => isOpen);
    refuseUnlessOpen();
    if (!drained) throw failure(path, new FdError("gone"));
  };
  return {
    openOptions,
    /** True until `close` is called, even if the device is gone. */
    get isOpen() {
      return isOpen;
    },
    /** Rejects a waiting read and a waiting write with `canceled`. Rejects if it was closed before. */
    async close() {
      refuseUnlessOpen();
      isOpen = false;
      if (openOptions.lock) releasePort(fd);
      await channel.close();
    },
    /** Fills `buffer` from `offset` with 1 to `length` bytes. One read at a time. */
    async read(buffer: Buffer, offset: number, length: number) {
      refuseUnlessOpen();
      return reads.read(buffer, offset, length);
    },
    /** Resolves once the kernel has taken all bytes. */
    write: (buffer: Buffer) =>
      channel.write(buffer).catch((error: unknown) => {
        throw failure(path, error);
      }),
    /** Waits until what was written has left, then changes the rate. Rejects if the line cannot. */
    async update({ baudRate }: { readonly baudRate: number }) {
      await empty();
      insist(
        setRaw(fd, baudRate, openOptions),
        `${path}: it cannot run at ${baudRate} baud: choose another rate`,
      );
    },
    /** Drops what was received but not read, and written but not sent. */
    async flush() {
      refuseUnlessOpen();
      // The kernel's buffer first: a waiting read starts again at once, and must not find the old bytes there.
      if (!discardQueues(fd)) throw failure(path, new FdError("gone"));
      await reads.discard();
    },
    /** Resolves once a write that runs has ended and the line has sent everything; waits as long as that takes. */
    drain: empty,
    ...createControls(fd, path, refuseUnlessOpen),
  };
}

/** Reads of a stated length from a channel that returns any length. */
function createReads({ read, discard }: FdChannel, path: string) {
  let isReading = false;
  let unread: Uint8Array = new Uint8Array(0);
  return {
    async read(buffer: Buffer, offset: number, length: number) {
      insist(!isReading, `${path}: a read waits already: one at a time`);
      insist(
        length >= 1 && offset >= 0 && offset + length <= buffer.length,
        `${path}: the buffer is too small for the read`,
      );
      isReading = true;
      try {
        if (unread.length === 0) unread = await read();
        const taken = unread.subarray(0, length);
        buffer.set(taken, offset);
        unread = unread.subarray(taken.length);
        return { buffer, bytesRead: taken.length };
      } catch (error) {
        throw failure(path, error);
      } finally {
        isReading = false;
      }
    },
    async discard() {
      unread = new Uint8Array(0);
      await discard();
    },
  };
}

function createControls(fd: number, path: string, refuseUnlessOpen: () => void) {
  return {
    /** Every line is set on each call; an absent one is off. Rejects if the port has no such lines. */
    async set(lines: ModemOutputs) {
      refuseUnlessOpen();
      insist(setModemLines(fd, lines), `${path}: it has no modem lines to set`);
    },
    async get() {
      refuseUnlessOpen();
      const bits = new Int32Array(1);
      insist(ioctl(fd, requests.tiocmget, bits), `${path}: it has no modem lines to read`);
      const isOn = (bit: number) => ((bits[0] ?? 0) & bit) !== 0;
      return { cts: isOn(modemBits.cts), dsr: isOn(modemBits.dsr), dcd: isOn(modemBits.dcd) };
    },
    async getBaudRate() {
      refuseUnlessOpen();
      const baudRate = baudRateOf(fd);
      if (baudRate === undefined) throw failure(path, new FdError("gone"));
      return { baudRate };
    },
  };
}

function setModemLines(fd: number, lines: ModemOutputs): boolean {
  const bits = new Int32Array(1);
  if (!ioctl(fd, requests.tiocmget, bits)) return false;
  const on = (["dtr", "rts", "cts", "dsr"] as const).filter((line) => lines[line] === true);
  bits[0] = on.reduce((sum, line) => sum | modemBits[line], (bits[0] ?? 0) & ~settableBits);
  const setsBreak = ioctlValue(fd, lines.brk === true ? requests.tiocsbrk : requests.tioccbrk, 0);
  return setsBreak && ioctl(fd, requests.tiocmset, bits);
}

/** Throws unless the condition holds. */
function insist(holds: boolean, otherwise: string): void {
  if (!holds) throw new SerialBindingError(otherwise, "refused");
}

function failure(path: string, cause: unknown): SerialBindingError {
  const closed = cause instanceof FdError && cause.why === "closed";
  return new SerialBindingError(portError(path, cause).message, closed ? "canceled" : "disconnected", cause);
}
