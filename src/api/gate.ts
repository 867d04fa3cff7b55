/**
 * Shuts doors to callers from afar while connections use up the descriptors, and while saying no costs more than a tap can
 * spare. What the runtime accepts, it shows us only once it has asked for something, and until then nobody else can say
 * no; behind a shut door the kernel does. A caller on the device, by loopback or the socket's file, always has a door.
 */
import type { Clock } from "../core/clock.ts";
import type { Descriptors } from "../core/descriptors.ts";
import { messageOf } from "../core/errors.ts";
import { turnedAwayPerSecondMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";

export interface GuardedDoor {
  readonly name: string;
  /** It is shut at so many descriptors in use, and opened again at half of them. */
  readonly shutAt: number;
  /** How many were turned away there so far, because they ask too often. More of them in a time than may be shut it, too. */
  readonly turnedAway: () => number;
  readonly shut: () => void;
  /** May throw; it is tried again. */
  readonly open: () => void;
}

const lookMs = 100; // Some hundred connections, as fast as a board accepts them: well below what is kept free.
const lookWhileShutMs = 1000; // And so long it stays shut at least: a tap's way is clear for most of a flood.
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
  const shut = new Set<GuardedDoor>();
  /** As of the last look. */
  const turnedAway = new Map<GuardedDoor, number>();
  let waitedMs = lookMs;
  let warnedMs = Number.NEGATIVE_INFINITY;
  const warn = (message: string, fields: Readonly<Record<string, string | number>>) => {
    if (Math.abs(clock.now() - warnedMs) < warnAgainMs) return;
    warnedMs = clock.now();
    log.warn("api", message, fields);
  };
  const close = (door: GuardedDoor, why: string) => {
    shut.add(door);
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
    return now - before > (turnedAwayPerSecondMax * waitedMs) / 1000;
  };
  const guard = (door: GuardedDoor, used: number) => {
    const hasFlood = isFlooded(door);
    if (used >= door.shutAt) {
      close(door, Number.isFinite(used) ? "too many connections from afar" : "no descriptor was free");
      descriptors.giveReserve();
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
    // The reserve that was given back left gaps, and so does whoever goes: the lowest that is free tells nothing any more.
    const used = shut.size > 0 ? descriptors.count() : descriptors.used();
    for (const door of doors) {
      if (!shut.has(door)) guard(door, used);
      else if (used < door.shutAt / 2) open(door);
    }
    if (shut.size === 0) descriptors.keepReserve();
    waitedMs = shut.size > 0 ? lookWhileShutMs : lookMs;
    timer = clock.after(waitedMs, look);
  };
  let timer = clock.after(lookMs, look);
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
