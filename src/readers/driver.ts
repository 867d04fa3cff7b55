/**
 * The contract of a driver, and the connection strings that name one. A driver knows one kind of device: how to find it, open
 * it, and report its tags. It knows nothing of the bus, of scripts or of other readers. Supervision, debounce and retries are
 * the caller's.
 */

import { createHash } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Capability, Sighting } from "../core/token.ts";

export interface Driver {
  /** The part of a connection string before the colon: `pn532-uart`. */
  readonly id: string;
  /** The functions of its readers. With `removable`, sightings end when a card leaves, except those that say otherwise. */
  readonly capabilities: readonly Capability[];
  /**
   * The paths that may be this device, and the paths that cannot be. It opens no device. The method is absent if only the
   * config file can name the device.
   */
  detect?(signal: AbortSignal): Promise<readonly Candidate[]>;
  /**
   * Opens the device at `path` (the part of the connection string after the first colon) and proves that it is one.
   * Otherwise it closes the port and throws `ServiceError("reader-gone")` with a sentence on the answer of the port.
   */
  open(path: string, context: DriverContext, signal: AbortSignal): Promise<ReaderSession>;
}

export interface DriverContext {
  readonly clock: Clock;
  readonly log: Log;
  /** True if the settings allow the reader's own buzzer; absent means never. */
  readonly feedback?: () => boolean;
}

/** A device that `detect` found. */
export interface Candidate {
  readonly path: string;
  /**
   * A text that differs each time that the device is plugged in (for device nodes: inode and change time). A failed
   * candidate is tried again at once after a change of its stamp, and otherwise after growing waits.
   */
  readonly stamp: string;
  /** A name of the port that survives restarts and re-plugging, such as the by-path name; else the path. */
  readonly stablePath: string;
  /**
   * True if the USB ids are those of this device only. A failed open is then reported to people, and repeated without end.
   */
  readonly isCertain?: true;
  /**
   * True if other devices have the same USB ids, and opening one may disturb it. The port is then tried a few times only
   * (detection.ts).
   */
  readonly isShared?: true;
  /** True for a port of the board itself, which exists without a reader on it. */
  readonly isOnBoard?: true;
  /** The reason why it is opened only if the config names it, as a part of a sentence for the log. */
  readonly ruledOut?: string;
}

/** An open device. */
export interface ReaderSession {
  /** Chip and firmware for people, such as `PN532 v1.6`. */
  readonly info: string;
  /**
   * Reports the tags on the reader after each change and each new look. Resolves when `signal` aborts or the session is
   * closed, and rejects with `ServiceError("reader-gone")` when the device fails. Called once per session. The first report
   * comes within a second, even without a tag, because it ends the uncertainty after a fault. A tag that leaves while it
   * is read is not reported.
   */
  watch(report: Report, signal: AbortSignal): Promise<void>;
  /** Closes the device. Never throws; a second call does nothing. */
  close(): Promise<void>;
  /**
   * Writes a text to the next tag that the order claims, and resolves after it was read back equal. The tag may be on the
   * reader already. Absent if the reader cannot write. The watch does the work, one order at a time, and does not report
   * the tag meanwhile. Rejects with `writeFailed` for reasons of the tag, and with `reader-gone` if the device failed or
   * was closed. Rejects with the signal's reason if that aborts before a tag was claimed. A write that has begun is
   * finished. However the write ends, the tag holds its old message, the new one, or an empty one.
   */
  write?(order: WriteOrder, signal: AbortSignal): Promise<void>;
  /**
   * Shows a signal by the reader's lights or buzzer, for less than a second. Returns at once and never throws. A signal during
   * another one is dropped. Absent if the reader has neither.
   */
  signal?(kind: Signal): void;
  /** Only for simulated readers: puts a card with this content on the reader. */
  tap?(card: SimulatedCard, durationMs: number): void;
  /** Simulated readers only: removes the card. */
  untap?(): void;
}

/** Feedback on a card: it was read, its launch failed, or it was written. */
export type Signal = "scanned" | "failed" | "written";

export interface WriteOrder {
  /** The text to write. It is well-formed, without a byte-order mark, and written as UTF-8. */
  readonly text: string;
  /** The kind of the one record of the NDEF message: Text, in English, which is the default; or URI, which phones open. */
  readonly record?: "text" | "uri" | undefined;
  /** True to also write to a tag with foreign data (`foreign`). */
  readonly force: boolean;
  /** Called for each tag, with its UID in lower-case hex, before any other use of it. True selects the tag for the write. */
  claim(uid: string): boolean;
}

/** The reason why a tag was not written. */
export type WriteCause =
  /** The tag is read-only. */
  | "locked"
  /** The text does not fit. `bytesMissing` has the difference. */
  | "too-small"
  /** The tag left, or the reader failed, during the write. */
  | "gone"
  /** The bytes that were read back differ. */
  | "mismatch"
  | "password"
  /** The tag is an amiibo, a payment or transit card, or holds data of another kind. */
  | "foreign"
  /** Tags of this kind cannot be written. */
  | "unsupported"
  /** No tag came. */
  | "timeout";

export function writeFailed(
  cause: WriteCause,
  message: string,
  facts: Readonly<Record<string, unknown>> = {},
): ServiceError {
  return new ServiceError("write-failed", message, { data: { cause, ...facts } });
}

/**
 * A tag is removed once no report has named it for this long. A card bounces when a hand puts it down. The time is three
 * looks of a driver at a tag, and less than a person needs to change cards.
 */
export const removalDebounceMs = 300;

/** Takes all tags that are on the reader now. */
export type Report = (present: readonly Sighting[]) => void;

export interface SimulatedCard {
  readonly text: string;
  /** The UID of 14 hex digits; derived from the text if absent. */
  readonly uid?: string;
}

/** A connection string, `driver:path`, of the config file or of the API's settings. */
export interface ReaderConnection {
  readonly driver: Driver;
  readonly path: string;
}

/** Reads a connection string such as `pn532-uart:/dev/ttyAMA0`. The message of an error lists the drivers. */
export function parseConnection(text: string, drivers: readonly Driver[]) {
  const colon = text.indexOf(":");
  const id = colon < 0 ? text : text.slice(0, colon);
  const driver = drivers.find((candidate) => candidate.id === id);
  if (colon < 0 || driver === undefined) {
    const known = drivers.map((candidate) => `${candidate.id}:`).join(", ");
    return {
      kind: "error",
      message: `"${text}" is not a reader: write driver:path, with one of ${known}`,
    } as const;
  }
  return { kind: "connection", connection: { driver, path: text.slice(colon + 1) } } as const;
}

/** The id of a driver on a port, which survives restarts and re-plugging: `pn532-uart-3f9a1c2b`. */
export function readerIdOf(driverId: string, stablePath: string): string {
  const digest = createHash("sha256").update(`${driverId}\0${stablePath}`).digest("hex");
  return `${driverId}-${digest.slice(0, 8)}`;
}
