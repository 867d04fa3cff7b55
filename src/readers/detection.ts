/**
 * Detection of readers that nobody configured. Drivers look without touching; a path that turned out to be something
 * else is tried again when it was re-plugged, and now and then (`refusals.ts`).
 */
import { type FSWatcher, readdirSync, watch } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Candidate, Connection, Driver } from "./driver.ts";

const deviceFolder = "/dev";
/** A folder for each bus, with a node for each device: readers that no driver of the kernel makes a node for. */
const usbFolder = "/dev/bus/usb";
// Device nodes appear one by one, with their links a moment later.
const settleMs = 150;
// The kernel's word on new nodes is enough; this is for kernels and containers that give none.
const sweepMs = 10_000;

const leftAlone =
  "no reader answers there: it is left alone until it is plugged in anew, or named in the config";

export interface DetectionOptions {
  readonly drivers: readonly Driver[];
  readonly clock: Clock;
  readonly log: Log;
  /** Paths that are attended already. */
  readonly taken: () => readonly string[];
  readonly attend: (
    connection: Connection,
    stablePath: string,
    wanted: (everOpened: boolean) => Promise<boolean>,
    found: Found,
  ) => void;
}

/** What is known of a detected reader before it is opened. */
export interface Found {
  /** It is a reader for sure. */
  readonly isCertain: boolean;
  /** It was tried before, in vain: that it is no reader is no news. */
  readonly wasRefused: boolean;
}

export interface Detection extends Disposable {
  /** Looks again soon: something was let go of. */
  lookAgain(): void;
}

/** Looks at once, whenever a device node comes or goes, and now and then; until disposed. */
export function createDetection(options: DetectionOptions): Detection {
  const { drivers, clock, log } = options;
  const ending = new AbortController();
  /** By driver and path. */
  const refusals = createRefusals(clock);
  let timer: Disposable | undefined;
  let looking = false;
  /** Counts the times at which what is taken changed: a look of an earlier round knows it no longer. */
  let round = 0;

  const lookAt = async (driver: Driver, candidate: Candidate, taken: Set<string>, begun: number) => {
    const key = `${driver.id}:${candidate.path}`;
    const plain = await resolved(candidate.path);
    if (!refusals.mayTry(key, candidate) || taken.has(plain)) return;
    if (ending.signal.aborted || begun !== round) return;
    // Two drivers may know the same converter: one at a time, and the next when this one has let go.
    taken.add(plain);
    const isCertain = candidate.isCertain ?? false;
    const wanted = async (everOpened: boolean) => {
      const isReader = everOpened || isCertain;
      if (isReader) refusals.forget(key);
      else if (!refusals.add(key, candidate)) log.info("readers", leftAlone, { path: candidate.path });
      const stays = isReader && (await isStillThere(driver, candidate, ending.signal));
      if (!stays) lookSoon(settleMs);
      return stays;
    };
    const found = { isCertain, wasRefused: refusals.knows(key, candidate) };
    options.attend({ driver, path: candidate.path }, candidate.stablePath, wanted, found);
  };
  const look = async () => {
    const begun = round;
    const taken = new Set(await Promise.all(options.taken().map(resolved)));
    for (const driver of drivers) {
      for (const candidate of await candidatesOf(driver)) await lookAt(driver, candidate, taken, begun);
    }
  };
  // A look that fails finds nothing, and keeps no other driver from looking; the next one comes by itself.
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
      // What changed during a look may have been passed by: it asks for one more.
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
    lookAgain() {
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

/** The candidate of `driver` behind this path, by looking only; undefined where it would not be detected. */
export async function findCandidate(
  driver: Driver,
  path: string,
  signal: AbortSignal,
): Promise<Candidate | undefined> {
  // Where looking fails, nothing is detected.
  const candidates = (await driver.detect?.(signal).catch(() => undefined)) ?? [];
  const place = await resolved(path);
  for (const candidate of candidates) if ((await resolved(candidate.path)) === place) return candidate;
  return undefined;
}

/** Whether the candidate is there as it was found, not re-plugged since. */
export async function isStillThere(
  driver: Driver,
  candidate: Candidate,
  signal: AbortSignal,
): Promise<boolean> {
  // Where looking fails, the reader is let go of, and the next look finds it again.
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
    // Without the kernel's word there is still the sweep.
    log.warn("readers", "new devices are noticed every ten seconds only", { error: messageOf(error) });
  }
  return {
    [Symbol.dispose]: () => {
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** None on machines without USB. */
function usbBuses(): readonly string[] {
  try {
    return readdirSync(usbFolder);
  } catch {
    // The folder is made with the first bus; such machines have their buses from the start.
    return [];
  }
}

/** The path behind links, or the path itself where it cannot be resolved; options after `?` are not part of it. */
export async function resolved(path: string): Promise<string> {
  const [plain = path] = path.split("?");
  return realpath(plain).catch(() => plain);
}

/** Milliseconds from each refusal to the next try; the last one goes on. The first is for what was slow to wake. */
const waitsMs: readonly number[] = [1000, 10_000, 20_000, 40_000, 60_000];
/** The same of a shared port; after the last there is no try. */
const sharedWaitsMs: readonly number[] = [1000, 60_000, 600_000];

type Port = Pick<Candidate, "stamp" | "isShared">;

export interface Refusals {
  /** Whether the port may be opened now. */
  mayTry(key: string, port: Port): boolean;
  /** Whether it was refused before, and has not been plugged in anew since. */
  knows(key: string, port: Port): boolean;
  /** It was opened in vain. False where it is not tried again. */
  add(key: string, port: Port): boolean;
  /** It is a reader. */
  forget(key: string): void;
  /** Milliseconds until the next port may be tried; Infinity where there is none to come. */
  waitMs(): number;
}

interface Refusal {
  readonly stamp: string;
  readonly times: number;
  readonly atMs: number;
  /** Infinity for never. */
  readonly forMs: number;
}

/** By the keys of those who ask. Bounded by the ports that this machine has ever shown. */
export function createRefusals(clock: Pick<Clock, "now">): Refusals {
  const refusals = new Map<string, Refusal>();
  const leftMs = ({ atMs, forMs }: Refusal) => {
    const passedMs = clock.now() - atMs;
    // A clock that was set back would have it wait for hours.
    return passedMs < 0 && forMs !== Number.POSITIVE_INFINITY ? 0 : forMs - passedMs;
  };
  const known = (key: string, { stamp }: Port) => {
    const refusal = refusals.get(key);
    return refusal?.stamp === stamp ? refusal : undefined;
  };
  return {
    mayTry(key, port) {
      const refusal = known(key, port);
      return refusal === undefined || leftMs(refusal) <= 0;
    },
    knows: (key, port) => known(key, port) !== undefined,
    add(key, port) {
      const times = known(key, port)?.times ?? 0;
      const forMs = port.isShared
        ? (sharedWaitsMs[times] ?? Number.POSITIVE_INFINITY)
        : (waitsMs[Math.min(times, waitsMs.length - 1)] ?? 0);
      refusals.set(key, { stamp: port.stamp, times: times + 1, atMs: clock.now(), forMs });
      return forMs !== Number.POSITIVE_INFINITY;
    },
    forget: (key) => void refusals.delete(key),
    waitMs() {
      const waits = [...refusals.values()].map(leftMs).filter((ms) => ms > 0);
      return Math.min(...waits, Number.POSITIVE_INFINITY);
    },
  };
}
