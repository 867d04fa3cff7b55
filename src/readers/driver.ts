/**
 * What a driver is. A driver knows one kind of device: how to find it, open it, and say what lies on it. It knows
 * nothing of the bus, of scripts or of other readers; supervision, debounce and healing are the caller's.
 */

import { createHash } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
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
  /** Whether a reader with a buzzer of its own may sound it with a card, as the settings are now; absent means never. */
  readonly feedback?: () => boolean;
}

/** A device that `detect` found. */
export interface Candidate {
  readonly path: string;
  /**
   * Changes whenever the device was re-plugged (for device nodes: inode and change time). A candidate that failed is
   * tried again at once when this changed, and ever more seldom while it did not.
   */
  readonly stamp: string;
  /** Name of the port that survives restarts and re-plugging, such as the by-path name; else the path. */
  readonly stablePath: string;
  /**
   * It is this driver's device by its very numbers: where it cannot be opened, people are told why, and it is tried
   * again. Absent for what may as well be something else.
   */
  readonly isCertain?: true;
  /**
   * Devices of other people look the same, and may be disturbed by an opening: it is tried a few times only, and then left
   * alone until it was re-plugged.
   */
  readonly isShared?: true;
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
  /**
   * Writes a text to the next tag that the order claims, also to one that lies there already, and resolves once it
   * was read back equal. Absent: it cannot write. The watch does the work, one order at a time, and reports nothing
   * of the tag meanwhile. Rejects with `writeFailed` of the tag's own reasons, with `reader-gone` where the device
   * failed or was closed, and with the signal's reason where that aborts before a tag was claimed; a write that has
   * begun is carried out. Whenever it ends, the tag holds its old message, the new one, or plainly none.
   */
  write?(order: WriteOrder, signal: AbortSignal): Promise<void>;
  /**
   * Shows how it went by lights or a buzzer of its own, for less than a second. Returns at once and never throws; dropped
   * while another is shown. Absent: it has none.
   */
  signal?(kind: Signal): void;
  /** Simulated readers only: lays a card with this content on the reader for `durationMs` milliseconds. */
  tap?(card: SimulatedCard, durationMs: number): void;
  /** Simulated readers only: takes off what lies there. */
  untap?(): void;
}

/** What people are told of a card: that it was heard, that what it asks for failed, and that it was written. */
export type Signal = "scanned" | "failed" | "written";

export interface WriteOrder {
  /** In UTF-8; it is well-formed and has no byte-order mark. */
  readonly text: string;
  /** The NDEF message's one record: Text, in English, where absent; or URI, which phones open. */
  readonly record?: "text" | "uri" | undefined;
  /** Also onto a tag that holds something that is not ours to replace (`foreign`). */
  readonly force: boolean;
  /** Asked of each tag, by its UID in lower-case hex, before anything is done with it: true where it is to be written. */
  claim(uid: string): boolean;
}

/** Why a tag was not written. */
export type WriteCause =
  /** It can be read only. */
  | "locked"
  /** `bytesMissing` says by how much. */
  | "too-small"
  /** It was taken off in the middle, or the reader failed then. */
  | "gone"
  /** It took the bytes, and told others afterwards. */
  | "mismatch"
  | "password"
  /** It is an amiibo, a payment or transit card, or holds data of another kind. */
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

/** Takes all that lies on the reader now: an empty list where nothing does. */
export type Report = (present: readonly Sighting[]) => void;

export interface SimulatedCard {
  readonly text: string;
  /** 14 hex digits; one is made from the text where absent. */
  readonly uid?: string;
}

export interface Connection {
  readonly driver: Driver;
  readonly path: string;
}

export type ParsedConnection =
  | { readonly kind: "connection"; readonly connection: Connection }
  | { readonly kind: "error"; readonly message: string };

/** Reads `pn532-uart:/dev/ttyAMA0`; the message of an error says which drivers there are. */
export function parseConnection(text: string, drivers: readonly Driver[]): ParsedConnection {
  const colon = text.indexOf(":");
  const id = colon < 0 ? text : text.slice(0, colon);
  const driver = drivers.find((candidate) => candidate.id === id);
  if (colon < 0 || driver === undefined) {
    const known = drivers.map((candidate) => `${candidate.id}:`).join(", ");
    return { kind: "error", message: `"${text}" is not a reader: write driver:path, with one of ${known}` };
  }
  return { kind: "connection", connection: { driver, path: text.slice(colon + 1) } };
}

/** The same for the same driver on the same port, over restarts and re-plugging: `pn532-uart-3f9a1c2b`. */
export function readerIdOf(driverId: string, stablePath: string): string {
  const digest = createHash("sha256").update(`${driverId}\0${stablePath}`).digest("hex");
  return `${driverId}-${digest.slice(0, 8)}`;
}
