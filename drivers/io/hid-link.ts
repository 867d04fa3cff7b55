/** A HID device as drivers see it: reports in, reports out. The real one and an emulated one are equals. */
export interface HidLink {
  /** The device path, for messages. */
  readonly path: string;
  /** Called with each input report; the bytes are valid during the call only. One listener: a later one takes its place. */
  onReport(listener: (report: Uint8Array) => void): void;
  /** Called once when the device went away or failed; never after `close`. */
  onGone(listener: (reason: Error) => void): void;
  /** Sends one output report of a device without report numbers. Rejects where the device went away. */
  write(report: Uint8Array): Promise<void>;
  /** Frees the device. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

export interface HidOptions {
  /** Bytes of every input report. */
  readonly reportBytes: number;
}

/** Opens `path`, or throws `ServiceError("reader-gone")` with what was wrong and what to do. */
export type OpenHid = (path: string, options: HidOptions) => Promise<HidLink>;
