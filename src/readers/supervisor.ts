/**
 * The supervisor of one reader: opens it, watches it until it fails, waits, and opens it again, as long as it is wanted. It
 * never gives up a reader that worked before, and a fault removes no tag.
 */
import { type Clock, sleep } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { readerFaults } from "../core/reader-faults.ts";
import type { Reader } from "../core/token.ts";
import { type ReaderConnection, type ReaderSession, readerIdOf } from "./driver.ts";
import type { Presence } from "./presence.ts";

// Opening a missing port takes one system call. A reader works within two seconds after it is back. Half a second of this
// is the probe of a silent chip.
const retryMsFirst = 100;
const retryMsMax = 800;
// The waits grow for a reader that fails sooner than this after each opening.
const steadyMs = 1000;

interface SupervisorOptions {
  readonly connection: ReaderConnection;
  readonly stablePath: string;
  readonly clock: Clock;
  readonly log: Log;
  /** The same as `DriverContext.feedback`. */
  readonly feedback?: (() => boolean) | undefined;
  /** True if an earlier try failed. A further failure is then logged at `debug`. */
  readonly isRetry?: boolean;
  readonly connected: (reader: Reader) => void;
  readonly disconnected: (reader: Reader) => void;
  /** The presence outlives the supervisor, because a card that stays on a re-plugged reader is no new tap. */
  readonly presence: Pick<Presence, "see" | "hold">;
  /** Called after a failure, with its sentence: false ends the supervisor. `everOpened` is true if the reader worked before. */
  readonly wanted: (everOpened: boolean, why: string) => boolean | Promise<boolean>;
}

export type Supervisor = ReturnType<typeof supervise>;

/** Supervises until `signal` aborts or `wanted` returns false. */
export function supervise(options: SupervisorOptions, signal: AbortSignal) {
  const { connection, clock, log, feedback, presence } = options;
  const context = { clock, log, ...(feedback === undefined ? {} : { feedback }) };
  const readerId = readerIdOf(connection.driver.id, options.stablePath);
  let session: ReaderSession | undefined;
  let info = "";
  let fault: string | undefined = "not opened yet";
  let openedMs = 0;

  // A driver without device paths has its id as path.
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

  /** Opens the device and watches it until it ends. Throws the error that ended it. */
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
        // Even if `close` throws against its contract, each `connected` needs a `disconnected`.
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
        // The loop tries again. The message is kept for `readers` and `health`.
        if (signal.aborted) break;
        const isNews = fault !== messageOf(error);
        const level = options.isRetry && !everOpened && fault !== undefined ? "debug" : "warn";
        if (isNews) log[level]("readers", messageOf(error), { reader: readerId });
        if (fault === undefined) {
          everOpened = true;
          readerFaults.resets += 1;
          if (clock.now() - openedMs >= steadyMs) retryMs = retryMsFirst;
        }
        fault = messageOf(error);
      }
      if (signal.aborted || !(await options.wanted(everOpened, fault ?? ""))) break;
      // The wait rejects only after an abort, which the condition of the loop detects.
      await sleep(clock, retryMs, signal).catch(() => {});
      retryMs = Math.min(retryMs * 2, retryMsMax);
    }
  };

  return {
    /** `connected` is false while the reader is reopened. */
    record,
    /** The reason why the reader is not connected; undefined while it is connected. */
    fault: () => fault,
    /** The open device; undefined while it is closed. */
    session: () => session,
    /** Resolves when the supervisor has ended and the device is closed. */
    ended: run(),
  };
}
