/** The doors by which a request comes in, and who it is then: over TCP by its address and user, or by the socket's file. */
import type { Server } from "bun";
import type { Audit } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";
import { requestsPerSecondMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import {
  type AccessRules,
  admit,
  callerOf,
  isDeviceAddress,
  type OwnAddresses,
  plainAddress,
} from "./access.ts";
import { hangUp, sentence, type Visit } from "./http.ts";
import type { MaybeResponse } from "./listen.ts";
import { createRateLimit } from "./rate.ts";

/** A TCP caller on this device. */
export interface Neighbour {
  readonly address: string;
  readonly port: number;
  readonly servicePort: number;
}

export interface DoorOptions<Data> {
  readonly clock: Clock;
  readonly log: Log;
  /** Asked anew for each visit: the owner may have changed them. */
  readonly rules: () => AccessRules;
  readonly ownAddresses: OwnAddresses;
  readonly audit: Audit;
  /** The user that the service runs as. */
  readonly uid: number;
  /** The user that a caller on the device runs as, where that decides (decisions, "Who may do what"). */
  readonly ownerOf: (peer: Neighbour) => Promise<number | undefined>;
  readonly answer: (visit: Visit, server: Server<Data>) => MaybeResponse;
}

type Door<Data> = (request: Request, server: Server<Data>) => MaybeResponse;

const rootUid = 0;
const loopback = "127.0.0.1";

export function createDoors<Data>({
  clock,
  log,
  rules,
  ownAddresses,
  audit,
  uid,
  ownerOf,
  answer,
}: DoorOptions<Data>): {
  readonly byTcp: Door<Data>;
  readonly byTls: Door<Data>;
  readonly byPath: Door<Data>;
  /** How many were turned away so far because they, or all together, ask too often. */
  readonly turnedAway: Readonly<Record<"tcp" | "tls", () => number>>;
} {
  const rate = createRateLimit(clock);
  const inAll = createRateLimit(clock, { perMinute: 60 * requestsPerSecondMax, burst: requestsPerSecondMax });
  const own = lately(ownAddresses, clock);
  const turnedAway = { tcp: 0, tls: 0 };
  let hasWarned = false;
  const warnOnce = () => {
    if (hasWarned) return;
    hasWarned = true;
    log.warn(
      "api",
      "the service runs as root, so callers of other users count as remote: run it as a user of its own, or set api.allow_anonymous_local",
    );
  };
  const byNetwork =
    (isTls: boolean): Door<Data> =>
    (request, server) => {
      const peer = server.requestIP(request);
      const address = plainAddress(peer?.address ?? "");
      const isDevice = isDeviceAddress(address, own);
      // First of all: whoever floods must cost as little as can be.
      if (!isDevice && !(rate.take(address) && inAll.take("all"))) {
        turnedAway[isTls ? "tls" : "tcp"] += 1;
        audit.refused("too-many-requests", { address });
        return sentence(429, "too many requests: wait a minute", { "retry-after": "60", ...hangUp });
      }
      const admission = admit(callerOf(request.headers), isDevice, rules());
      if (admission.kind === "refused") {
        audit.refused("host-or-origin", { address });
        return sentence(403, admission.why, isDevice ? {} : hangUp);
      }
      const visit = {
        ...visitOf(request, address, admission.kind),
        isPrivate: isTls || admission.kind === "device",
      };
      if (admission.kind === "remote" || uid !== rootUid || rules().allowAnonymousLocal)
        return answer(visit, server);
      // A service that runs as root would lend its rights to every user of the device: others count as remote.
      const neighbour = { address, port: peer?.port ?? 0, servicePort: server.port ?? 0 };
      return ownerOf(neighbour).then((owner) => {
        if (owner === rootUid) return answer(visit, server);
        warnOnce();
        return answer({ ...visit, access: "remote", isPrivate: isTls }, server);
      });
    };
  return {
    byTcp: byNetwork(false),
    byTls: byNetwork(true),
    turnedAway: { tcp: () => turnedAway.tcp, tls: () => turnedAway.tls },
    // Who may open the socket's file is on the device, and let in by its mode.
    byPath(request, server) {
      const admission = admit(callerOf(request.headers), true, rules());
      return admission.kind === "refused"
        ? sentence(403, admission.why)
        : answer(visitOf(request, loopback, "device"), server);
    },
  };
}

function visitOf(request: Request, address: string, access: Visit["access"]): Visit {
  return { request, address, access, isPrivate: true, path: new URL(request.url).pathname };
}

// A flood must not ask the kernel for its interfaces with each request: that takes a tenth of a millisecond, or ten.
const ownAddressesMs = 1000;

/** The same, as of a second ago at most. */
function lately(ownAddresses: OwnAddresses, clock: Clock): OwnAddresses {
  let known: readonly string[] = [];
  let knownMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (Math.abs(clock.now() - knownMs) >= ownAddressesMs) {
      known = ownAddresses();
      knownMs = clock.now();
    }
    return known;
  };
}
