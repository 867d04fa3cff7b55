/**
 * The readers that are attended: one supervision each, by reader id. A configured one is wanted for as long as the
 * config names it, a detected one for as long as it is there.
 */
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { readersMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { Found } from "./detection.ts";
import type { Presence } from "./presence.ts";
import { type Connection, readerIdOf } from "./reader-connection.ts";
import { type Supervisor, supervise } from "./supervisor.ts";

const named: Found = { isCertain: false, wasRefused: false };

/** Asked after a failed open: whether the reader is still wanted. `everOpened` is true where it worked before. */
export type Wanted = (everOpened: boolean) => boolean | Promise<boolean>;

export interface Attended {
  readonly readerId: string;
  readonly connection: Connection;
  readonly supervisor: Supervisor;
  /** The path by which the config names it, so that its faults matter; undefined for a detected one. */
  readonly namedPath: () => string | undefined;
  /** It is a reader for sure, named or detected: its faults matter, too. */
  readonly isCertain: boolean;
  /** From now on it is a configured one, named by this path, without being opened anew. */
  adopt(path: string): void;
  /** From now on it is a detected one, wanted as `wanted` says, without being opened anew. */
  release(wanted: Wanted): void;
  /** Lets go of it; resolves when the device is closed. */
  dismiss(): Promise<void>;
}

export interface Attendance {
  all(): readonly Attended[];
  byId(readerId: string): Attended | undefined;
  /** Attends a reader unless it is attended already. `wanted` is undefined for a configured one. */
  attend(connection: Connection, stablePath: string, wanted: Wanted | undefined, found?: Found): void;
}

export interface AttendanceParts {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly feedback?: (() => boolean) | undefined;
  readonly presenceOf: (readerId: string) => Presence;
}

/** Everything that it attends ends when `signal` aborts. */
export function createAttendance(parts: AttendanceParts, signal: AbortSignal): Attendance {
  const { bus, clock, log, feedback, presenceOf } = parts;
  const attended = new Map<string, Attended>();

  const attendance: Attendance = {
    all: () => [...attended.values()],
    byId: (readerId) => attended.get(readerId),
    attend(connection, stablePath, asked, { isCertain, wasRefused } = named) {
      const readerId = readerIdOf(connection.driver.id, stablePath);
      if (signal.aborted || attended.has(readerId)) return;
      if (attended.size >= readersMax) {
        log.warn("readers", "too many readers: this one is left alone", {
          path: connection.path,
          most: readersMax,
        });
        return;
      }
      let wanted = asked;
      let namedPath = asked === undefined ? connection.path : undefined;
      const dismissal = new AbortController();
      const supervisor = supervise(
        {
          connection,
          stablePath,
          clock,
          log,
          feedback,
          isRetry: wasRefused,
          wanted: (everOpened) => wanted?.(everOpened) ?? true,
          connected: (reader) => bus.emit("readers.added", reader),
          disconnected: (reader) => bus.emit("readers.removed", reader),
          presence: presenceOf(readerId),
        },
        AbortSignal.any([signal, dismissal.signal]),
      );
      attended.set(readerId, {
        readerId,
        connection,
        supervisor,
        namedPath: () => namedPath,
        isCertain,
        adopt(path) {
          [wanted, namedPath] = [undefined, path];
        },
        release(by) {
          [wanted, namedPath] = [by, undefined];
        },
        dismiss() {
          dismissal.abort(new Error("the reader is no longer wanted"));
          return supervisor.ended;
        },
      });
      void supervisor.ended.then(() => {
        attended.delete(readerId);
        // It was given up as a detected one in the moment in which the config named it.
        if (wanted === undefined && !dismissal.signal.aborted)
          attendance.attend(connection, stablePath, undefined);
      });
    },
  };
  return attendance;
}
