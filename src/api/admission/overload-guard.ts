/**
 * Shuts ports to remote callers while connections use up the descriptors, or while refusals cost more than a tap can spare.
 * Bun reports a connection only after its first request, so idle ones can be limited only by counting descriptors.
 */
import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { Descriptors } from "../../core/operating-system.ts";

export interface GuardedPort {
  readonly name: string;
  /** The port is shut at this many descriptors in use, and opened again at half of them. */
  readonly shutAt: number;
  /** The requests that the rate limits have refused at this port so far. */
  readonly turnedAway: () => number;
  /** More refusals in a second shut the port for a while. */
  readonly turnedAwayPerSecondMax: number;
  readonly shut: () => void;
  /** The function may throw. The guard then calls it again later. */
  readonly open: () => void;
}

const lookMs = 100; // A board accepts some hundred connections in this time, far fewer than the descriptors that are kept free.
const lookWhileFullMs = 1000; // Counting the descriptors takes milliseconds.
const shutMs = 1000; // A port stays shut at least this long, so the processor is free for a tap during most of a flood.
const warnAgainMs = 10 * 60_000;

interface GuardParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly descriptors: Descriptors;
}

/** Guards the ports until disposed. */
export function createOverloadGuard(
  ports: readonly GuardedPort[],
  { clock, log, descriptors }: GuardParts,
): Disposable {
  /** The shut ports, with the time in ms since they were shut. */
  const shut = new Map<GuardedPort, number>();
  /** The refusals of each port at the last look. */
  const turnedAway = new Map<GuardedPort, number>();
  let isFull = false;
  let waitedMs = lookMs;
  let warnedMs = Number.NEGATIVE_INFINITY;
  const warn = (message: string, fields: Readonly<Record<string, string | number>>) => {
    if (Math.abs(clock.now() - warnedMs) < warnAgainMs) return;
    warnedMs = clock.now();
    log.warn("api", message, fields);
  };
  const close = (port: GuardedPort, why: string) => {
    shut.set(port, 0);
    port.shut();
    warn(`${why}: the port refuses remote connections until it is over`, {
      door: port.name,
      limit: descriptors.limit,
    });
  };
  const isFlooded = (port: GuardedPort) => {
    const [before = 0, now] = [turnedAway.get(port), port.turnedAway()];
    turnedAway.set(port, now);
    return now - before > (port.turnedAwayPerSecondMax * waitedMs) / 1000;
  };
  const guard = (port: GuardedPort, used: number) => {
    const hasFlood = isFlooded(port);
    if (used >= port.shutAt) {
      close(port, Number.isFinite(used) ? "too many remote connections" : "no descriptor was free");
      isFull = true;
    } else if (hasFlood) close(port, "a flood of remote requests");
  };
  const open = (port: GuardedPort) => {
    try {
      port.open();
      shut.delete(port);
      // Refusals of the connections that stayed open do not count.
      turnedAway.set(port, port.turnedAway());
    } catch (error) {
      warn("a port cannot be opened again yet", { door: port.name, error: messageOf(error) });
    }
  };
  const look = () => {
    // While a port is shut, connections end. The lowest free descriptor shows nothing at that time, because there are
    // gaps below it.
    const used = isFull ? descriptors.count() : descriptors.used();
    for (const port of ports) {
      const forMs = shut.get(port);
      if (forMs === undefined) guard(port, used);
      else if (forMs + waitedMs >= shutMs && used < port.shutAt / 2) open(port);
      else shut.set(port, forMs + waitedMs);
    }
    if (shut.size === 0) isFull = false;
    waitedMs = isFull ? lookWhileFullMs : lookMs;
    timer = clock.after(waitedMs, look);
  };
  let timer = clock.after(lookMs, look);
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
