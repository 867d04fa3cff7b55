/**
 * The doors by which a request comes in, and the caller's identity: over TCP its address and user, over TLS its bearer token,
 * or the socket's file. An identity has a grant (core/rights.ts); encryption alone has that of a stranger.
 */
import { setImmediate } from "node:timers/promises";
import type { Server } from "bun";
import type { Audit } from "../../core/audit.ts";
import type { Clock } from "../../core/clock.ts";
import { requestsPerSecondMax } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import { type Grant, lowerGrant } from "../../core/rights.ts";
import { hangUp, sentence, type Visit } from "../http.ts";
import {
  type AccessRules,
  admit,
  callerOf,
  isDeviceAddress,
  type OwnAddresses,
  plainAddress,
} from "./access.ts";
import type { Failures } from "./failed-handshakes.ts";
import type { MaybeResponse } from "./open-port.ts";
import { createRateLimit } from "./rate-limit.ts";

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
  /** The user that a caller on the device runs as; asked where the service runs as root. */
  readonly ownerOf: (peer: Neighbour) => Promise<number | undefined>;
  /** The client that an `Authorization` header proves; undefined where it proves none. */
  readonly bearer: (authorization: string, address: string) => Bearer | undefined;
  readonly failures: Failures;
  /** Notes that an address was turned away over TLS; true where it need not be counted. */
  readonly onTurnedAway: (address: string) => boolean;
  readonly answer: (visit: Visit, server: Server<Data>) => MaybeResponse;
}

/** A paired client, shown by its bearer token. */
export interface Bearer {
  readonly id: string;
  readonly grant: () => Grant;
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
  bearer,
  failures,
  onTurnedAway,
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
      "the service runs as root, so callers of other users count as strangers: run it as a user of its own, or set api.allow_anonymous_local",
    );
  };
  /** A caller without the device's own rights: a client by its bearer token, else a stranger with at most `limit`. */
  const asStranger = (visit: Visit, limit: Grant, server: Server<Data>): MaybeResponse => {
    const { request, address, isAdmitted } = visit;
    const authorization = visit.isTls ? request.headers.get("authorization") : null;
    const anonymous = () => (isAdmitted() ? lowerGrant(rules().anonymous, limit) : "none");
    if (authorization === null) return answer({ ...visit, grant: anonymous }, server);
    const blockedMs = failures.blockedMs(address);
    if (blockedMs > 0) {
      audit.refused("too-many-failures", { address });
      const seconds = String(Math.ceil(blockedMs / 1000));
      return sentence(429, "too many tokens were wrong: wait", { "retry-after": seconds, ...hangUp });
    }
    const client = bearer(authorization, address);
    const grant = () => (isAdmitted() ? (client?.grant() ?? "none") : "none");
    if (client !== undefined) return answer({ ...visit, client: client.id, grant }, server);
    failures.note(address);
    audit.refused("wrong-token", { address });
    return sentence(401, "this token is not valid for this device: tapdeck pair --bearer makes one", {
      "www-authenticate": "Bearer",
      ...hangUp,
    });
  };
  const byNetwork =
    (isTls: boolean): Door<Data> =>
    (request, server) => {
      const peer = server.requestIP(request);
      const address = plainAddress(peer?.address ?? "");
      const isLoopback = isDeviceAddress(address, () => []);
      const isOwn = !isLoopback && isDeviceAddress(address, own);
      const enter = (isDevice: boolean, owner: number | undefined) =>
        enterAs({ request, server, address, isTls }, isDevice, owner);
      if (!isOwn && (!isLoopback || uid !== rootUid || rules().allowAnonymousLocal))
        return enter(isLoopback, undefined);
      // An address that this device lists may be another host's by now: its socket must be one of this device. And a service
      // that runs as root would lend its rights to every user of the device.
      const neighbour = { address, port: peer?.port ?? 0, servicePort: server.port ?? 0 };
      return ownerOf(neighbour).then(async (owner) => {
        // A caller that hung up before the table was read had no row in it: another's row must not speak for it. The runtime
        // has seen the end of its connection once it has polled.
        await setImmediate();
        await setImmediate();
        if (request.signal.aborted) return goneAway();
        // As they are now: an address that was lost within the last second may be another host's.
        const isDevice = isLoopback || (owner !== undefined && isDeviceAddress(address, ownAddresses));
        return enter(isDevice, isDevice ? owner : undefined);
      });
    };
  const enterAs = (
    { request, server, address, isTls }: Arrival<Data>,
    isDevice: boolean,
    owner: number | undefined,
  ): MaybeResponse => {
    // First of all: a refusal in a flood must cost as little as possible.
    if (!isDevice && !(rate.take(address) && inAll.take("all"))) {
      if (!isTls) turnedAway.tcp += 1;
      else if (!onTurnedAway(address)) turnedAway.tls += 1;
      audit.refused("too-many-requests", { address });
      return sentence(429, "too many requests: wait a minute", { "retry-after": "60", ...hangUp });
    }
    const caller = callerOf(request.headers);
    const admission = admit(caller, isDevice, rules(), own);
    if (admission.kind === "refused") {
      audit.refused("host-or-origin", { address });
      return sentence(403, admission.why, isDevice ? {} : hangUp);
    }
    const isOwners = uid !== rootUid || owner === rootUid;
    const isByLeave = admission.kind === "device" && !isOwners && rules().allowAnonymousLocal;
    const isLoopback = isDeviceAddress(address, () => []);
    const isAdmitted = lasting(rules, isDevice && !isLoopback ? own : nowhere, (now, addresses) => {
      if (isByLeave && !now.allowAnonymousLocal) return false;
      if (isDevice && !isDeviceAddress(address, () => addresses)) return false;
      return admit(caller, isDevice, now, own).kind === admission.kind;
    });
    const visit = { ...visitOf(request, address, isTls), isAdmitted };
    if (admission.kind === "v1-app") return answer({ ...visit, isV1App: true }, server);
    if (admission.kind === "remote") return asStranger(visit, isTls ? "change" : "none", server);
    if (isOwners || isByLeave) return answer({ ...visit, ...ofDevice(isAdmitted) }, server);
    warnOnce();
    // Nothing leaves the device on the way, so that nothing has to be sealed.
    return asStranger({ ...visit, isPrivate: true }, "look", server);
  };
  return {
    byTcp: byNetwork(false),
    byTls: byNetwork(true),
    turnedAway: { tcp: () => turnedAway.tcp, tls: () => turnedAway.tls },
    // A caller that may open the socket's file is on the device; the mode of the file decides.
    byPath(request, server) {
      const caller = callerOf(request.headers);
      const admission = admit(caller, true, rules(), own);
      if (admission.kind === "refused") return sentence(403, admission.why);
      const isAdmitted = lasting(rules, nowhere, (now) => admit(caller, true, now, own).kind === "device");
      return answer({ ...visitOf(request, loopback, false), ...ofDevice(isAdmitted) }, server);
    },
  };
}

const none = () => "none" as const;
// The same list each time: `lasting` compares it.
const noAddresses: readonly string[] = [];
const nowhere = () => noAddresses;

function ofDevice(isAdmitted: () => boolean) {
  const grant = (): Grant => (isAdmitted() ? "own" : "none");
  return { access: "device", isPrivate: true, isAdmitted, grant } as const;
}

/** Judges again where the rules or the addresses are others than they were: a call costs two comparisons otherwise. */
function lasting(
  rules: () => AccessRules,
  addresses: OwnAddresses,
  judge: (rules: AccessRules, addresses: readonly string[]) => boolean,
): () => boolean {
  let [knownRules, knownAddresses, isAdmitted] = [rules(), addresses(), true];
  return () => {
    const rulesNow = rules();
    const addressesNow = addresses();
    if (rulesNow === knownRules && addressesNow === knownAddresses) return isAdmitted;
    knownRules = rulesNow;
    knownAddresses = addressesNow;
    isAdmitted = judge(rulesNow, addressesNow);
    return isAdmitted;
  };
}

/** Nobody reads it. */
function goneAway(): Response {
  return sentence(400, "the caller is gone", hangUp);
}

/** A request of a TCP connection, before anything is known of its caller. */
interface Arrival<Data> {
  readonly request: Request;
  readonly server: Server<Data>;
  readonly address: string;
  readonly isTls: boolean;
}

/** Of a remote caller without an identity. */
function visitOf(request: Request, address: string, isTls: boolean): Omit<Visit, "isAdmitted"> {
  // A Host with an impossible port makes no URL; a path that nothing has is answered with 404.
  const path = URL.canParse(request.url) ? new URL(request.url).pathname : "";
  return { request, address, path, access: "remote", isTls, isPrivate: isTls, grant: none, isV1App: false };
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
