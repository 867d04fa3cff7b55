/**
 * A byte link: what a driver that speaks over a line needs of it, and no more. The serial port, a pty with an
 * emulated chip behind it and a scripted link of a test are equals.
 */
export interface ByteLink {
  /** The device path, for messages. */
  readonly path: string;
  /**
   * Called with each run of bytes as it arrives; the bytes are valid during the call only. There is one listener: a
   * later one takes the place of an earlier.
   */
  onBytes(listener: (bytes: Uint8Array) => void): void;
  /** Called once when the device went away or failed; never after `close`. */
  onGone(listener: (reason: Error) => void): void;
  /** Resolves once the kernel has taken all bytes; rejects when the device went away. */
  write(bytes: Uint8Array): Promise<void>;
  /** Waits until all written bytes have left, then changes the rate, in baud. Rejects where the line cannot. */
  setBaudRate(baudRate: number): Promise<void>;
  /** Frees the descriptor. Never throws; a second call does nothing. */
  close(): Promise<void>;
}
