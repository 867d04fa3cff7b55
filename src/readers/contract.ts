/**
 * What a driver is. A driver knows one kind of device: how to find it, open it, and say what lies on it. It knows
 * nothing of the bus, of scripts or of other readers; supervision, debounce and healing are the caller's.
 */

import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Capability, Sighting } from "../core/token.ts";

export interface Driver {
  /** Literal id, the part before the colon of a connection string: `pn532-uart`. */
  readonly id: string;
  readonly capabilities: readonly Capability[];
  /**
   * Paths that may be this device, found by looking only: it opens no device and writes to none. Absent where a
   * device can only be named in the config file.
   */
  detect?(signal: AbortSignal): Promise<readonly Candidate[]>;
  /**
   * Opens the device at `path` (the part of the connection string behind the first colon) and proves that it is one.
   * Throws `ServiceError("reader-gone")` with a sentence on what was seen instead; nothing stays open then.
   */
  open(path: string, context: DriverContext, signal: AbortSignal): Promise<ReaderSession>;
}

export interface DriverContext {
  readonly clock: Clock;
  readonly log: Log;
}

/** A device that `detect` found. */
export interface Candidate {
  readonly path: string;
  /**
   * Changes whenever the device was re-plugged (for device nodes: inode and change time). A candidate that failed is
   * tried again only when this changed.
   */
  readonly stamp: string;
  /** Name of the port that survives restarts and re-plugging, such as the by-path name; else the path. */
  readonly stablePath: string;
}

/** An open device. */
export interface ReaderSession {
  /** A sentence for people: chip and firmware, such as `PN532 v1.6`. */
  readonly info: string;
  /**
   * Reports what lies on the reader, whenever it changed or was seen again, until `signal` aborts or the session is
   * closed (then it resolves), or the device fails (then it rejects with `ServiceError("reader-gone")`). Called once
   * per session. The first report follows within a second of the call, also where nothing lies there: it settles what
   * the reader held before a fault. A sighting is reported only when it was read as far as the tag allows: a tag that
   * left during the read is none.
   */
  watch(report: Report, signal: AbortSignal): Promise<void>;
  /** Lets go of the device. Never throws; a second call does nothing. */
  close(): Promise<void>;
  /** Simulated readers only: lays a card with this content on the reader for `durationMs` milliseconds. */
  tap?(card: SimulatedCard, durationMs: number): void;
}

/** Takes all that lies on the reader now: an empty list where nothing does. */
export type Report = (present: readonly Sighting[]) => void;

export interface SimulatedCard {
  readonly text: string;
  /** 14 hex digits; one is made from the text where absent. */
  readonly uid?: string;
}
