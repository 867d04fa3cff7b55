/**
 * Shuts doors to callers from afar while connections use up the descriptors: what the runtime accepts, it shows us only
 * once it has asked for something, and until then nobody else can say no. Those that say nothing end after its idle
 * time; then the doors open again. A caller on the device, by loopback or the socket's file, always has a door.
 */
import type { Clock } from "../core/clock.ts";
import type { Descriptors } from "../core/descriptors.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

export interface GuardedDoor {
  readonly name: string;
  /** It is shut at so many descriptors in use, and opened again at half of them. */
  readonly shutAt: number;
  readonly shut: () => void;
  /** May throw; it is tried again. */
  readonly open: () => void;
}

const lookMs = 100; // Some hundred connections, as fast as a board accepts them: well below what is kept free.
const lookWhileShutMs = 1000;
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
  let warnedMs = Number.NEGATIVE_INFINITY;
  const warn = (message: string, fields: Readonly<Record<string, string | number>>) => {
    if (Math.abs(clock.now() - warnedMs) < warnAgainMs) return;
    warnedMs = clock.now();
    log.warn("api", message, fields);
  };
  const close = (door: GuardedDoor, used: number) => {
    shut.add(door);
    door.shut();
    descriptors.giveReserve();
    const fields = { door: door.name, limit: descriptors.limit };
    warn(
      Number.isFinite(used)
        ? "too many connections from afar: nobody else comes in by this door until some have ended"
        : "no descriptor was free: nobody comes in by this door until some connections have ended",
      fields,
    );
  };
  const open = (door: GuardedDoor) => {
    try {
      door.open();
      shut.delete(door);
    } catch (error) {
      warn("a door cannot be opened again yet", { door: door.name, error: messageOf(error) });
    }
  };
  const look = () => {
    // The reserve that was given back left gaps, and so does whoever goes: the lowest that is free tells nothing any more.
    const used = shut.size > 0 ? descriptors.count() : descriptors.used();
    for (const door of doors) {
      if (!shut.has(door) && used >= door.shutAt) close(door, used);
      else if (shut.has(door) && used < door.shutAt / 2) open(door);
    }
    if (shut.size === 0) descriptors.keepReserve();
    timer = clock.after(shut.size > 0 ? lookWhileShutMs : lookMs, look);
  };
  let timer = clock.after(lookMs, look);
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
