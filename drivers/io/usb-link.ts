/**
 * A USB link: what a driver that speaks over the endpoints of one interface needs of it, and no more. A device on this
 * machine's bus and an emulated one are equals.
 */
export type UsbFaultKind =
  /** Nothing was transferred in the time that was given. */
  | "timed-out"
  /** The endpoint answers STALL until its halt is cleared (USB 2.0, 9.4.5). */
  | "stalled"
  /** It is unplugged, or the link is closed. */
  | "gone"
  | "failed";

/** Why a transfer came to nothing. */
export class UsbFault extends Error {
  override readonly name = "UsbFault";
  readonly kind: UsbFaultKind;

  constructor(kind: UsbFaultKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

export type UsbPipe = "bulk-in" | "bulk-out" | "interrupt-in";

/** One claimed interface. Transfers reject with `UsbFault`; each pipe carries one at a time. */
export interface UsbLink {
  /** For messages: the port path, `1-1.4`. */
  readonly path: string;
  /** Most bytes of one packet of the bulk-in pipe. */
  readonly packetBytes: number;
  /** Most bytes of one CCID message, as the class descriptor tells (CCID 1.1, 5.1). */
  readonly messageBytesMax: number;
  readonly hasInterrupts: boolean;
  bulkOut(bytes: Uint8Array, timeoutMs: number): Promise<void>;
  /** Resolves with one transfer: at most `bytesMax` bytes, fewer where a short packet ended it. */
  bulkIn(bytesMax: number, timeoutMs: number): Promise<Uint8Array>;
  interruptIn(bytesMax: number, timeoutMs: number): Promise<Uint8Array>;
  /** A class request without data to the interface. */
  controlOut(request: number, value: number, timeoutMs: number): Promise<void>;
  clearHalt(pipe: UsbPipe): Promise<void>;
  /** Resets the port; afterwards the link is as freshly opened. Rejects where it cannot be opened again. */
  reset(): Promise<void>;
  /** Frees the device, once the transfers that run have ended. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

/** The devices on a bus: this machine's, or emulated ones. */
export interface UsbBus {
  /** By looking only. */
  list(): Promise<readonly UsbDeviceInfo[]>;
  /** Claims the device's CCID interface, or throws `ServiceError("reader-gone")` with what was wrong and what to do. */
  open(device: UsbDeviceInfo): Promise<UsbLink>;
}

export interface UsbDeviceInfo {
  /** Bus and ports on the way to it, as the kernel names it: `1-1.4`. The same for the same socket. */
  readonly path: string;
  /** Changes when it was re-plugged: bus and device number. */
  readonly stamp: string;
  readonly busNumber: number;
  readonly deviceNumber: number;
  /** Four lower-case hex digits. */
  readonly vendorId: string;
  readonly productId: string;
  readonly product?: string;
  readonly interfaces: readonly UsbInterfaceInfo[];
}

export interface UsbInterfaceInfo {
  readonly number: number;
  /** bInterfaceClass, two lower-case hex digits: 0b is a smart-card reader. */
  readonly classCode: string;
  /** The kernel driver that has it; "usbfs" is another program. */
  readonly driver?: string;
}
