/**
 * The attended readers: one supervisor each, by reader id. A configured reader is wanted as long as the config names it,
 * and a detected one as long as it is present. A reader that is wanted before and after a change of the config stays
 * open.
 */
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { readersMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { type FoundReader, findCandidate, isStillConnected, resolved } from "./detection.ts";
import { type ReaderConnection, readerIdOf } from "./driver.ts";
import type { Presence } from "./presence.ts";
import { type Supervisor, supervise } from "./supervisor.ts";

const named: FoundReader = { isCertain: false, wasRefused: false };

/** True if the reader is still wanted after it failed, for the reason `why`. `everOpened` is true if it worked before. */
export type Wanted = (everOpened: boolean, why: string) => boolean | Promise<boolean>;

export interface Attended {
  readonly readerId: string;
  readonly connection: ReaderConnection;
  readonly supervisor: Supervisor;
  /** The path in the config; undefined for a detected reader. */
  readonly namedPath: () => string | undefined;
  /** True if the driver knows the device by its USB ids. Its faults are then reported even if it is detected. */
  readonly isCertain: boolean;
  /** Makes it a configured reader with this path. The device stays open. */
  adopt(path: string): void;
  /** Makes it a detected reader. The device stays open. */
  release(wanted: Wanted): void;
  /** Ends the supervision, and resolves when the device is closed. */
  dismiss(): Promise<void>;
}

export type Attendance = ReturnType<typeof createAttendance>;

interface AttendanceParts {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly feedback?: (() => boolean) | undefined;
  readonly presenceOf: (readerId: string) => Presence;
}

/** All supervisors end when `signal` aborts. */
export function createAttendance(parts: AttendanceParts, signal: AbortSignal) {
  const { bus, clock, log, feedback, presenceOf } = parts;
  const attended = new Map<string, Attended>();
  /** The ids of readers beyond `readersMax`. Their number is limited by the ports of this machine. */
  const left = new Set<string>();

  const attend = (
    connection: ReaderConnection,
    stablePath: string,
    asked: Wanted | undefined,
    { isCertain, wasRefused } = named,
  ): void => {
    const readerId = readerIdOf(connection.driver.id, stablePath);
    if (signal.aborted || attended.has(readerId)) return;
    if (attended.size >= readersMax) {
      // Detection offers such a reader again and again, so it is logged once.
      if (!left.has(readerId))
        log.warn("readers", "too many readers: this one is left alone", {
          path: connection.path,
          most: readersMax,
        });
      left.add(readerId);
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
        wanted: (everOpened, why) => wanted?.(everOpened, why) ?? true,
        connected: (reader) => bus.emit("readers.added", reader),
        disconnected: (reader) => bus.emit("readers.removed", reader),
        presence: presenceOf(readerId),
      },
      AbortSignal.any([signal, dismissal.signal]),
    );
    left.delete(readerId);
    attended.set(readerId, {
      readerId,
      connection,
      supervisor,
      namedPath: () => namedPath,
      isCertain,
      adopt(path) {
        wanted = undefined;
        namedPath = path;
      },
      release(by) {
        wanted = by;
        namedPath = undefined;
      },
      dismiss() {
        dismissal.abort(new Error("the reader is no longer wanted"));
        return supervisor.ended;
      },
    });
    void supervisor.ended.then(() => {
      attended.delete(readerId);
      // The supervisor gave the detected reader up just before the config named it, so the reader is attended again.
      if (wanted === undefined && !dismissal.signal.aborted) attend(connection, stablePath, undefined);
    });
  };
  return {
    all: (): readonly Attended[] => [...attended.values()],
    byId: (readerId: string) => attended.get(readerId),
    /** Attends a reader unless it is attended already. `asked` is undefined for a configured reader. */
    attend,
  };
}

/**
 * Changes the attended readers to the `named` ones and, with `detect`, those that would be detected. Returns the ids of the
 * dismissed readers after their devices are closed. Opens no device after `signal` aborted.
 */
export async function changeAttended(
  attendance: Attendance,
  named: readonly ReaderConnection[],
  detect: boolean,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const fates = await fatesOf(attendance.all(), named, detect, signal);
  // A port must be free before another driver, or the same one with other options, opens it.
  await Promise.all(fates.map(settle));
  const adopted = fates.flatMap((fate) =>
    fate.kind === "named" && attendance.byId(fate.one.readerId) === fate.one ? [fate.connection] : [],
  );
  for (const connection of named)
    if (!adopted.includes(connection)) attendance.attend(connection, connection.path, undefined);
  return fates.flatMap((fate) => (fate.kind === "goes" ? [fate.one.readerId] : []));
}

/** The fate of an attended reader under a new config. */
type Fate =
  | { readonly kind: "named"; readonly one: Attended; readonly connection: ReaderConnection }
  | { readonly kind: "detected"; readonly one: Attended; readonly wanted: Wanted }
  | { readonly kind: "stays" | "goes"; readonly one: Attended };

/** Decides the fate of each reader. It opens, closes and changes nothing. */
async function fatesOf(
  attended: readonly Attended[],
  named: readonly ReaderConnection[],
  detect: boolean,
  signal: AbortSignal,
): Promise<readonly Fate[]> {
  const places = await Promise.all(named.map(({ path }) => resolved(path)));
  return Promise.all(
    attended.map(async (one): Promise<Fate> => {
      const { driver, path } = one.connection;
      const isDetected = one.namedPath() === undefined;
      const same = named.find((other) => other.driver === driver && other.path === one.namedPath());
      if (same !== undefined) return { kind: "named", one, connection: same };
      const place = await resolved(path);
      const there = path === "" ? undefined : named[places.indexOf(place)];
      // Options after the path apply only to a new opening.
      if (there?.driver === driver && isDetected && !there.path.includes("?"))
        return { kind: "named", one, connection: there };
      if (there !== undefined || !detect) return { kind: "goes", one };
      if (isDetected) return { kind: "stays", one };
      const candidate = path.includes("?") ? undefined : await findCandidate(driver, path, signal);
      if (candidate === undefined) return { kind: "goes", one };
      const wanted = async (everOpened: boolean) =>
        (everOpened || candidate.isCertain === true) && (await isStillConnected(driver, candidate, signal));
      return { kind: "detected", one, wanted };
    }),
  );
}

async function settle(fate: Fate): Promise<void> {
  switch (fate.kind) {
    case "named":
      return fate.one.adopt(fate.connection.path);
    case "detected":
      return fate.one.release(fate.wanted);
    case "goes":
      return fate.one.dismiss();
    case "stays":
      return;
  }
}
