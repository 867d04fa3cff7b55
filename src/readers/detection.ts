/**
 * Detection of readers that are not in the config. Drivers look without opening. A port without a reader is a refusal.
 *
 * A module may get its power or its wires after its port was found, without an event. A refused port is therefore tried again
 * after growing waits, and at once after it was re-plugged.
 *
 * A shared port is a converter that other devices also have. An opening may restart a board there (an Arduino, on DTR) or stop
 * a machine at work. It is tried four times, for a slow module, and then left alone until it is plugged in again. A person can
 * name such a reader in the config, and named readers are tried without end.
 */
import { type FSWatcher, readdirSync, watch } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Candidate, Driver, ReaderConnection } from "./driver.ts";

const deviceFolder = "/dev";
/** The folder with a folder for each bus of USB, and a node for each device in it, for readers without a kernel driver. */
const usbFolder = "/dev/bus/usb";
// Device nodes appear one by one, and their links appear a moment later.
const settleMs = 150;
// The interval between looks without an event, for kernels and containers that report no new nodes.
const sweepMs = 10_000;

const leftAlone =
  "no reader answers there: it is left alone until it is plugged in again, or named in the config";

const ruledOut = "this one is left alone, unless the config names it";

export interface DetectionOptions {
  readonly drivers: readonly Driver[];
  readonly clock: Clock;
  readonly log: Log;
  /** The paths of attended readers. */
  readonly taken: () => readonly string[];
  readonly attend: (
    connection: ReaderConnection,
    stablePath: string,
    wanted: (everOpened: boolean, why: string) => Promise<boolean>,
    found: FoundReader,
  ) => void;
}

/** The facts about a detected reader before it is opened. */
export interface FoundReader {
  /** True if the driver knows the device by its USB ids. */
  readonly isCertain: boolean;
  /** True if an earlier try failed. The next failure is then logged as `debug` only. */
  readonly wasRefused: boolean;
}

/** A port on which a reader may be, and which did not open as one. */
export interface RefusedPort {
  readonly driver: string;
  readonly path: string;
  /** A sentence for people. */
  readonly why: string;
  readonly isOnBoard: boolean;
}

export type Detection = ReturnType<typeof createDetection>;

/** Looks at once, after each change of a device node, and every ten seconds, until it is disposed. */
export function createDetection(options: DetectionOptions) {
  const { drivers, clock, log } = options;
  const ending = new AbortController();
  const refusals = createRefusals(clock);
  /** The ports that were tried and refused at the last look. The map has the same keys as `refusals`. */
  const refused = new Map<string, RefusedPort>();
  /** The reasons in the log. Their number has the same limit as `refusals`. */
  const logged = new Map<string, string>();
  let timer: Disposable | undefined;
  let looking = false;
  /**
   * Counts the changes of the taken paths. A look that began in an earlier round has outdated paths, and opens no more
   * readers.
   */
  let round = 0;

  const lookAt = async (driver: Driver, candidate: Candidate, taken: Set<string>, begun: number) => {
    const key = `${driver.id}:${candidate.path}`;
    const { path, ruledOut: why } = candidate;
    if (why !== undefined) {
      if (logged.get(key) !== why) log.info("readers", ruledOut, { driver: driver.id, path, why });
      logged.set(key, why);
      return;
    }
    const plain = await resolved(candidate.path);
    if (!refusals.mayTry(key, candidate) || taken.has(plain)) return;
    if (ending.signal.aborted || begun !== round) return;
    // Two drivers may know the same converter. The second one tries to open it after the first has released it.
    taken.add(plain);
    const isCertain = candidate.isCertain ?? false;
    const wanted = async (everOpened: boolean, fault: string) => {
      const isReader = everOpened || isCertain;
      const isOnBoard = candidate.isOnBoard ?? false;
      if (isReader) refused.delete(key);
      else refused.set(key, { driver: driver.id, path, why: fault, isOnBoard });
      if (isReader) refusals.forget(key);
      else if (!refusals.add(key, candidate)) log.info("readers", leftAlone, { path: candidate.path });
      const stays = isReader && (await isStillConnected(driver, candidate, ending.signal));
      if (!stays) lookSoon(settleMs);
      return stays;
    };
    const found = { isCertain, wasRefused: refusals.knows(key, candidate) };
    options.attend({ driver, path: candidate.path }, candidate.stablePath, wanted, found);
  };
  const look = async () => {
    const begun = round;
    const taken = new Set(await Promise.all(options.taken().map(resolved)));
    const present = new Map<string, Candidate>();
    for (const driver of drivers) {
      for (const candidate of await candidatesOf(driver)) {
        present.set(`${driver.id}:${candidate.path}`, candidate);
        await lookAt(driver, candidate, taken, begun);
      }
    }
    // A port that was unplugged, or plugged in again, no longer counts as refused.
    const isRefused = (key: string) => {
      const candidate = present.get(key);
      return candidate !== undefined && refusals.knows(key, candidate);
    };
    for (const key of refused.keys()) if (!isRefused(key)) refused.delete(key);
  };
  // A failed look finds nothing, and does not stop the other drivers.
  const candidatesOf = async (driver: Driver): Promise<readonly Candidate[]> => {
    try {
      return (await driver.detect?.(ending.signal)) ?? [];
    } catch (error) {
      log.warn("readers", "detection failed", { driver: driver.id, error: messageOf(error) });
      return [];
    }
  };
  const lookSoon = (ms: number) => {
    timer?.[Symbol.dispose]();
    if (ending.signal.aborted) return;
    timer = clock.after(ms, async () => {
      // A change during a look needs one more look.
      lookSoon(looking ? settleMs : Math.min(sweepMs, refusals.waitMs()));
      if (looking) return;
      looking = true;
      await look();
      looking = false;
    });
  };

  const watcher = watchDevices(() => lookSoon(settleMs), log);
  lookSoon(0);
  return {
    /** Present ports that did not open as a reader at the last try. */
    refused: (): readonly RefusedPort[] => [...refused.values()],
    /** Looks again at once, after a reader was released. */
    lookAgain(): void {
      round++;
      lookSoon(0);
    },
    [Symbol.dispose]: () => {
      ending.abort(new Error("detection has ended"));
      timer?.[Symbol.dispose]();
      watcher[Symbol.dispose]();
    },
  };
}

/** The candidate of `driver` at this path, without opening it; undefined if it would not be detected. */
export async function findCandidate(
  driver: Driver,
  path: string,
  signal: AbortSignal,
): Promise<Candidate | undefined> {
  // A failed look detects nothing.
  const candidates = (await driver.detect?.(signal).catch(() => undefined)) ?? [];
  const place = await resolved(path);
  for (const candidate of candidates.filter((one) => one.ruledOut === undefined))
    if ((await resolved(candidate.path)) === place) return candidate;
  return undefined;
}

/** True if the candidate is still present, and was not plugged in again. */
export async function isStillConnected(
  driver: Driver,
  candidate: Candidate,
  signal: AbortSignal,
): Promise<boolean> {
  // After a failed look the reader is released, and the next look finds it again.
  const now = (await driver.detect?.(signal).catch(() => undefined)) ?? [];
  return now.some(({ path, stamp }) => path === candidate.path && stamp === candidate.stamp);
}

function watchDevices(changed: () => void, log: Log): Disposable {
  const watchers: FSWatcher[] = [];
  try {
    watchers.push(
      watch(deviceFolder, (_event, name) => {
        if (name?.startsWith("tty") || name?.startsWith("hidraw")) changed();
      }),
    );
    for (const bus of usbBuses()) watchers.push(watch(join(usbFolder, bus), () => changed()));
  } catch (error) {
    // Without events, the look every ten seconds still finds devices.
    log.warn("readers", "new devices are noticed every ten seconds only", { error: messageOf(error) });
  }
  return {
    [Symbol.dispose]: () => {
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** The folders of the buses of USB; none on machines without USB. */
function usbBuses(): readonly string[] {
  try {
    return readdirSync(usbFolder);
  } catch {
    // The folder appears with the first bus, before the service starts.
    return [];
  }
}

/** The real path, without the options after `?`; the path itself if it cannot be resolved. */
export async function resolved(path: string): Promise<string> {
  const [plain = path] = path.split("?");
  return realpath(plain).catch(() => plain);
}

/** The milliseconds from each refusal to the next try. The last wait repeats. The first is for modules that start slowly. */
const waitsMs: readonly number[] = [1000, 10_000, 20_000, 40_000, 60_000];
/** The waits for a shared port, without a try after the last one. */
const sharedWaitsMs: readonly number[] = [1000, 60_000, 600_000];

type Port = Pick<Candidate, "stamp" | "isShared">;

interface Refusal {
  readonly stamp: string;
  readonly times: number;
  readonly atMs: number;
  /** The wait until the next try; infinity for no further try. */
  readonly forMs: number;
}

/** The refused ports, by driver and path. Their number is limited by the ports that this machine has ever had. */
export function createRefusals(clock: Pick<Clock, "now">) {
  const refusals = new Map<string, Refusal>();
  const leftMs = ({ atMs, forMs }: Refusal) => {
    const passedMs = clock.now() - atMs;
    // A clock that was set back must not add hours to the wait.
    return passedMs < 0 && forMs !== Number.POSITIVE_INFINITY ? 0 : forMs - passedMs;
  };
  const known = (key: string, { stamp }: Port) => {
    const refusal = refusals.get(key);
    return refusal?.stamp === stamp ? refusal : undefined;
  };
  return {
    /** True if the port may be opened now. */
    mayTry(key: string, port: Port): boolean {
      const refusal = known(key, port);
      return refusal === undefined || leftMs(refusal) <= 0;
    },
    /** True if the port was refused, and was not plugged in again after that. */
    knows: (key: string, port: Port): boolean => known(key, port) !== undefined,
    /** Notes a failed try. Returns false if no further try follows. */
    add(key: string, port: Port): boolean {
      const times = known(key, port)?.times ?? 0;
      const forMs = port.isShared
        ? (sharedWaitsMs[times] ?? Number.POSITIVE_INFINITY)
        : (waitsMs[Math.min(times, waitsMs.length - 1)] ?? 0);
      refusals.set(key, { stamp: port.stamp, times: times + 1, atMs: clock.now(), forMs });
      return forMs !== Number.POSITIVE_INFINITY;
    },
    forget: (key: string): void => void refusals.delete(key),
    /** Milliseconds until the next port may be tried; Infinity without one. */
    waitMs(): number {
      const waits = [...refusals.values()].map(leftMs).filter((ms) => ms > 0);
      return Math.min(...waits, Number.POSITIVE_INFINITY);
    },
  };
}
