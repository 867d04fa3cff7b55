/**
 * Links: the parts of a serial line, a HID device or a USB interface that a driver needs, and no more. The real device,
 * an emulated one and a scripted one of a test are interchangeable.
 */
import { ServiceError } from "../../src/core/errors.ts";

/** The error of a device that does not exist or does not work. Its sentence states the cause, and what to do. */
export function readerGone(path: string, why: string, cause?: unknown): ServiceError {
  return new ServiceError("reader-gone", `${path}: ${why}`, { cause });
}

/** The error of a link whose device went away. */
export function unplugged(path: string, cause: unknown): ServiceError {
  return readerGone(path, "the device went away: is it plugged in?", cause);
}

export interface ByteLink {
  readonly path: string;
  /** Called with each run of bytes, which are valid during the call only. A later listener replaces this one. */
  onBytes(listener: (bytes: Uint8Array) => void): void;
  /** Called once when the device went away or failed; never after `close`. */
  onGone(listener: (reason: Error) => void): void;
  /** Resolves once the kernel has taken all bytes; rejects when the device went away. */
  write(bytes: Uint8Array): Promise<void>;
  /** Waits until all written bytes have left, then changes the rate, in baud. Rejects if the line cannot do so. */
  setBaudRate(baudRate: number): Promise<void>;
  /** Frees the descriptor. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

export interface HidLink {
  readonly path: string;
  /** Called with each input report; its bytes are valid during the call only. A later listener replaces this one. */
  onReport(listener: (report: Uint8Array) => void): void;
  /** Called once when the device went away or failed; never after `close`. */
  onGone(listener: (reason: Error) => void): void;
  /** Sends one output report of a device without report numbers. Rejects if the device went away. */
  write(report: Uint8Array): Promise<void>;
  /** Frees the device. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

export interface HidOptions {
  readonly reportBytes: number;
}

/** Opens `path`, or throws `ServiceError("reader-gone")` with the cause and what to do. */
export type OpenHid = (path: string, options: HidOptions) => Promise<HidLink>;

/** One device on an I2C bus. Each call is one transfer, and throws if the device does not acknowledge its address. */
export interface I2cDevice {
  write(bytes: Uint8Array): void;
  /** Reads in a short transfer, and blocks until it has ended. */
  readNow(count: number): Uint8Array;
  read(count: number): Promise<Uint8Array>;
  close(): void;
}

/**
 * One device on an SPI bus. A transfer sends bytes and receives as many, and the chip is selected from the first byte to
 * the last.
 */
export interface SpiDevice {
  transfer(bytes: Uint8Array): Uint8Array;
  close(): void;
}

export type UsbFaultKind =
  /** No byte was transferred in the time that was given. */
  | "timed-out"
  /** The endpoint answers STALL until its halt is cleared (USB 2.0, 9.4.5). */
  | "stalled"
  /** The device is unplugged, or the link is closed. */
  | "gone"
  | "failed";

/** The reason why a transfer failed. */
export class UsbFault extends Error {
  override readonly name = "UsbFault";
  readonly kind: UsbFaultKind;

  constructor(kind: UsbFaultKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

type UsbPipe = "bulk-in" | "bulk-out" | "interrupt-in";

/** One claimed interface. Transfers reject with `UsbFault`; each pipe carries one at a time. */
export interface UsbLink {
  /** The path of the port, for messages: `1-1.4`. */
  readonly path: string;
  /** The largest packet of the bulk-in pipe, in bytes. */
  readonly packetBytes: number;
  /** The longest CCID message, in bytes, from the class descriptor (CCID 1.1, 5.1). */
  readonly messageBytesMax: number;
  readonly hasInterrupts: boolean;
  bulkOut(bytes: Uint8Array, timeoutMs: number): Promise<void>;
  /** Resolves with one transfer: at most `bytesMax` bytes, fewer if a short packet ended it. */
  bulkIn(bytesMax: number, timeoutMs: number): Promise<Uint8Array>;
  interruptIn(bytesMax: number, timeoutMs: number): Promise<Uint8Array>;
  /** A class request without data to the interface. */
  controlOut(request: number, value: number, timeoutMs: number): Promise<void>;
  clearHalt(pipe: UsbPipe): Promise<void>;
  /** Resets the port; afterwards the link is in the state of a freshly opened one. Rejects if it cannot be opened again. */
  reset(): Promise<void>;
  /** Frees the device, once the transfers that run have ended. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

/** The devices on a bus: this machine's, or emulated ones. */
export interface UsbBus {
  /** Lists the devices, and opens none. */
  list(): Promise<readonly UsbDeviceInfo[]>;
  /** Claims the device's CCID interface, or throws `ServiceError("reader-gone")` with the cause and what to do. */
  open(device: UsbDeviceInfo): Promise<UsbLink>;
}

export interface UsbDeviceInfo {
  /**
   * The bus and the ports on the way to the device, as the kernel names them: `1-1.4`. The path stays the same for a
   * physical port.
   */
  readonly path: string;
  /** A text that changes when the device is plugged in again: bus and device number. */
  readonly stamp: string;
  readonly busNumber: number;
  readonly deviceNumber: number;
  /** The id in four lower-case hex digits. */
  readonly vendorId: string;
  readonly productId: string;
  readonly product?: string;
  readonly interfaces: readonly UsbInterfaceInfo[];
}

export interface UsbInterfaceInfo {
  readonly number: number;
  /** The bInterfaceClass in two lower-case hex digits: 0b is a smart-card reader. */
  readonly classCode: string;
  /** The kernel driver that has claimed the interface. The name "usbfs" stands for another program. */
  readonly driver?: string;
}
