/**
 * The supervisor of one reader: opens it, listens until it fails, backs off, opens it again, for as long as it is
 * wanted. It never gives up on a reader that once worked, and a fault is never a removal.
 */
import { type Clock, sleep } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Reader } from "../core/token.ts";
import { type Connection, type ReaderSession, readerIdOf } from "./driver.ts";
import type { Presence } from "./presence.ts";

// Opening a port that is not there costs one system call. Two seconds are promised from the moment a reader is back;
// a probe of a silent chip takes about half a second of them.
const retryMsFirst = 100;
const retryMsMax = 800;
// A reader that fails sooner than this after each opening is opened ever more seldom, not ten times a second.
const steadyMs = 1000;

export interface SupervisorOptions {
  readonly connection: Connection;
  readonly stablePath: string;
  readonly clock: Clock;
  readonly log: Log;
  /** As in the driver contract. */
  readonly feedback?: (() => boolean) | undefined;
  /** It was tried before, in vain: that it cannot be opened is logged for those who look for it only. */
  readonly isRetry?: boolean;
  readonly connected: (reader: Reader) => void;
  readonly disconnected: (reader: Reader) => void;
  /** What lies on this reader. It outlives the supervision: a card that stays through a re-plugging is not tapped. */
  readonly presence: Pick<Presence, "see" | "hold">;
  /** Asked after a failed open: false ends the supervision. `everOpened` is true where it worked before. */
  readonly wanted: (everOpened: boolean) => boolean | Promise<boolean>;
}

export interface Supervisor {
  /** The reader's record; `connected` is false while it is being reopened. */
  readonly record: () => Reader;
  /** Why the reader is not connected; undefined while it is. */
  readonly fault: () => string | undefined;
  /** The open device; undefined while there is none. */
  readonly session: () => ReaderSession | undefined;
  /** Resolves when the supervision has ended and the device is closed. */
  readonly ended: Promise<void>;
}

/** Supervises until `signal` aborts or `wanted` says no. */
export function supervise(options: SupervisorOptions, signal: AbortSignal): Supervisor {
  const { connection, clock, log, feedback, presence } = options;
  const context = { clock, log, ...(feedback === undefined ? {} : { feedback }) };
  const readerId = readerIdOf(connection.driver.id, options.stablePath);
  let session: ReaderSession | undefined;
  let info = "";
  let fault: string | undefined = "not opened yet";
  let openedMs = 0;

  // A driver without device paths stands for itself.
  const path = connection.path === "" ? connection.driver.id : connection.path;
  const record = (): Reader => ({
    id: path,
    readerId,
    driver: connection.driver.id,
    path,
    info,
    connected: session !== undefined,
    capabilities: connection.driver.capabilities,
  });

  /** One life of the device: from open to its end. Throws what ended it. */
  const live = async () => {
    const opened = await connection.driver.open(connection.path, context, signal);
    session = opened;
    info = opened.info;
    fault = undefined;
    openedMs = clock.now();
    log.info("readers", "connected", { reader: readerId, path: connection.path, info });
    try {
      options.connected(record());
      await opened.watch(presence.see, signal);
    } finally {
      presence.hold();
      session = undefined;
      try {
        await opened.close();
      } finally {
        // Also where a driver breaks its word and throws: who was told that it came hears that it went.
        options.disconnected(record());
      }
    }
  };

  const run = async () => {
    let everOpened = false;
    let retryMs = retryMsFirst;
    while (!signal.aborted) {
      try {
        await live();
      } catch (error) {
        // Whatever ended this life, the next try answers it; the reason is kept for `readers` and `health`.
        if (signal.aborted) break;
        const isNews = fault !== messageOf(error);
        const level = options.isRetry && !everOpened && fault !== undefined ? "debug" : "warn";
        if (isNews) log[level]("readers", messageOf(error), { reader: readerId });
        if (fault === undefined) {
          everOpened = true;
          if (clock.now() - openedMs >= steadyMs) retryMs = retryMsFirst;
        }
        fault = messageOf(error);
      }
      if (signal.aborted || !(await options.wanted(everOpened))) break;
      // The wait rejects only where it is aborted, and the loop's own condition sees that.
      await sleep(clock, retryMs, signal).catch(() => {});
      retryMs = Math.min(retryMs * 2, retryMsMax);
    }
  };

  return { record, fault: () => fault, session: () => session, ended: run() };
}
