/**
 * Shuts doors to callers from afar while connections use up the descriptors, and while saying no costs more than a tap can
 * spare. What the runtime accepts, it shows us only once it has asked for something, and until then nobody else can say
 * no; behind a shut door the kernel does. Loopback and the socket's file are no such doors.
 */
import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { Descriptors } from "../../core/operating-system.ts";

export interface GuardedDoor {
  readonly name: string;
  /** It is shut at so many descriptors in use, and opened again at half of them. */
  readonly shutAt: number;
  /** How many were turned away there so far, because they ask too often. */
  readonly turnedAway: () => number;
  /** With more of them in a second it is shut for a while. */
  readonly turnedAwayPerSecondMax: number;
  readonly shut: () => void;
  /** May throw; it is tried again. */
  readonly open: () => void;
}

const lookMs = 100; // Some hundred connections, as fast as a board accepts them: well below what is kept free.
const lookWhileFullMs = 1000; // To count descriptors takes milliseconds.
const shutMs = 1000; // At least: a tap's way is clear for most of a flood.
const warnAgainMs = 10 * 60_000;

/** Looks from now on. */
export function createGate(
  doors: readonly GuardedDoor[],
  {
    clock,
    log,
    descriptors,
  }: { readonly clock: Clock; readonly log: Log; readonly descriptors: Descriptors },
): Disposable {
  /** With the time for which they have been. */
  const shut = new Map<GuardedDoor, number>();
  /** As of the last look. */
  const turnedAway = new Map<GuardedDoor, number>();
  let isReserveGiven = false;
  let waitedMs = lookMs;
  let warnedMs = Number.NEGATIVE_INFINITY;
  const warn = (message: string, fields: Readonly<Record<string, string | number>>) => {
    if (Math.abs(clock.now() - warnedMs) < warnAgainMs) return;
    warnedMs = clock.now();
    log.warn("api", message, fields);
  };
  const close = (door: GuardedDoor, why: string) => {
    shut.set(door, 0);
    door.shut();
    warn(`${why}: nobody else comes in by this door until it is over`, {
      door: door.name,
      limit: descriptors.limit,
    });
  };
  /** True where many were turned away since the last look. */
  const isFlooded = (door: GuardedDoor) => {
    const [before = 0, now] = [turnedAway.get(door), door.turnedAway()];
    turnedAway.set(door, now);
    return now - before > (door.turnedAwayPerSecondMax * waitedMs) / 1000;
  };
  const guard = (door: GuardedDoor, used: number) => {
    const hasFlood = isFlooded(door);
    if (used >= door.shutAt) {
      close(door, Number.isFinite(used) ? "too many connections from afar" : "no descriptor was free");
      descriptors.giveReserve();
      isReserveGiven = true;
    } else if (hasFlood) close(door, "a flood of requests from afar");
  };
  const open = (door: GuardedDoor) => {
    try {
      door.open();
      shut.delete(door);
      // Of those that were inside, no more is to be expected than of others.
      turnedAway.set(door, door.turnedAway());
    } catch (error) {
      warn("a door cannot be opened again yet", { door: door.name, error: messageOf(error) });
    }
  };
  const look = () => {
    // The reserve that was given back left gaps: the lowest that is free tells nothing any more.
    const used = isReserveGiven ? descriptors.count() : descriptors.used();
    for (const door of doors) {
      const forMs = shut.get(door);
      if (forMs === undefined) guard(door, used);
      else if (forMs + waitedMs >= shutMs && used < door.shutAt / 2) open(door);
      else shut.set(door, forMs + waitedMs);
    }
    if (shut.size === 0) {
      descriptors.keepReserve();
      isReserveGiven = false;
    }
    waitedMs = isReserveGiven ? lookWhileFullMs : lookMs;
    timer = clock.after(waitedMs, look);
  };
  let timer = clock.after(lookMs, look);
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
