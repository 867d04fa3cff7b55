/**
 * Admits requests and finds the caller's identity. Over TCP this is its address and user, over TLS its bearer token. At
 * the socket in the file system, the socket's mode decides. A player of this service is no caller on the device, and has
 * at most the rights of a stranger. An identity has a grant (core/rights.ts). TLS encrypts but does not authenticate, so
 * it grants only the rights of anonymous callers.
 */
import { setImmediate } from "node:timers/promises";
import type { Server } from "bun";
import type { Audit } from "../../core/audit.ts";
import type { Clock } from "../../core/clock.ts";
import { requestBurstMax, requestsPerSecondMax } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import { type Grant, lowerGrant } from "../../core/rights.ts";
import { hangUp, sentence, tooMany, type Visit } from "../http.ts";
import {
  type AccessRules,
  isDeviceAddress,
  isLoopback,
  judgeAccess,
  type OwnAddresses,
  plainAddress,
  requestSource,
} from "./access.ts";
import type { MaybeResponse } from "./listeners.ts";
import { createRateLimit, type FailedAttempts, TokenBucket } from "./rate-limits.ts";

/** A TCP caller on this device. */
interface LocalPeer {
  readonly address: string;
  readonly port: number;
  readonly servicePort: number;
}

interface LocalCaller {
  readonly uid: number;
  readonly isPlayer: boolean;
}

export interface AdmissionOptions<Data> {
  readonly clock: Clock;
  readonly log: Log;
  /** Called for each request, because the owner may change the rules. */
  readonly rules: () => AccessRules;
  readonly ownAddresses: OwnAddresses;
  readonly audit: Audit;
  /** The user that the service runs as. */
  readonly uid: number;
  /** The user of a caller on the device, and whether it is a player of this service; undefined if its socket is not certain. */
  readonly callerAt: (peer: LocalPeer) => Promise<LocalCaller | undefined>;
  /**
   * Ends the connections of players at the socket's file. Returns undefined if there are none. Otherwise it resolves with
   * true after their requests were aborted, or with false if they were not.
   */
  readonly endPlayers: () => Promise<boolean> | undefined;
  /** The client that an `Authorization` header proves; undefined if it proves none. */
  readonly bearer: (authorization: string, address: string) => BearerClient | undefined;
  readonly failures: FailedAttempts;
  readonly answer: (visit: Visit, server: Server<Data>) => MaybeResponse;
}

/** A paired client, identified by its bearer token. */
export interface BearerClient {
  /** The only path that the token opens; all of them if absent. */
  readonly path?: string;
  readonly id: string;
  readonly grant: () => Grant;
}

type Fetch<Data> = (request: Request, server: Server<Data>) => MaybeResponse;

const rootUid = 0;
const loopback = "127.0.0.1";
// Players have limits of their own: they do not use up those of other callers at the same address, nor get that address
// refused.
const players = "players of this device";

export function createAdmission<Data>({
  clock,
  log,
  rules,
  ownAddresses,
  audit,
  uid,
  callerAt,
  endPlayers,
  bearer,
  failures,
  answer,
}: AdmissionOptions<Data>) {
  const perAddress = createRateLimit(clock);
  const perClient = createRateLimit(clock);
  const inAll = new TokenBucket(clock, { tokenMs: 1000 / requestsPerSecondMax, burst: requestsPerSecondMax });
  const own = cached(ownAddresses, clock);
  const turnedAway = { tcp: 0, tls: 0 };
  let hasWarned = false;
  const warnOnce = () => {
    if (hasWarned) return;
    hasWarned = true;
    log.warn(
      "api",
      "the service runs as root, so callers of other users are anonymous: run it as a user of its own, or set api.allow_anonymous_local",
    );
  };
  /** A caller without the device's own rights: a client with its bearer token, or an anonymous caller with at most `limit`. */
  const byBearerOrAnonymous = (visit: Visit, limit: Grant, server: Server<Data>): MaybeResponse => {
    const { request, address, isAdmitted } = visit;
    const authorization = visit.isTls ? request.headers.get("authorization") : null;
    const anonymous = () => (isAdmitted() ? lowerGrant(rules().anonymous, limit) : "none");
    if (authorization === null) return answer({ ...visit, grant: anonymous }, server);
    // A right token always passes: others may share its address, behind a proxy for instance.
    const client = bearer(authorization, address);
    const isOpen = client !== undefined && (client.path ?? visit.path) === visit.path;
    const grant = () => (isAdmitted() && isOpen ? client.grant() : "none");
    if (client !== undefined) return answer({ ...visit, client: client.id, grant }, server);
    const blockedMs = failures.blockedMs(address);
    if (blockedMs > 0) {
      audit.refused("too-many-failures", { address });
      return tooMany("too many tokens were wrong: wait", blockedMs, hangUp);
    }
    failures.note(address);
    audit.refused("wrong-token", { address });
    return sentence(401, "this token is not valid for this device: tapdeck pair --bearer makes one", {
      "www-authenticate": "Bearer",
      ...hangUp,
    });
  };
  /**
   * Whether the request has a right token and its client's own rate is not used up. Only requests over TLS have tokens.
   * Other callers that use up the rate of an address therefore do not lock out its clients.
   */
  const hasOwnRate = ({ request, address, isTls }: Arrival<Data>): boolean => {
    const authorization = isTls ? request.headers.get("authorization") : null;
    const client = authorization === null ? undefined : bearer(authorization, address);
    return client !== undefined && perClient.take(client.id);
  };
  const byNetwork =
    (isTls: boolean): Fetch<Data> =>
    (request, server) => {
      const peer = server.requestIP(request);
      const address = plainAddress(peer?.address ?? "");
      const isLocal = isLoopback(address);
      if (!isLocal && !isDeviceAddress(address, own))
        return enterAs({ request, server, address, isTls }, false, undefined);
      // An address in this device's list may already belong to another host, so the peer's socket must be one of this device.
      // A service that runs as root must not lend its rights to every user of the device, and no service may lend its
      // rights to its players.
      const local = { address, port: peer?.port ?? 0, servicePort: server.port ?? 0 };
      return callerAt(local).then(async (caller) => {
        // A caller that hung up before the kernel's table was read has no row in it, and another caller's row must not count
        // for it. Bun notices the closed connection only when it polls.
        await setImmediate();
        await setImmediate();
        // Nobody reads the answer to a caller that is gone.
        if (request.signal.aborted) return sentence(400, "the caller is gone", hangUp);
        const isKnown = caller !== undefined && !caller.isPlayer;
        // The cached list is not used here, because an address that was lost within the last second may belong to another host.
        const isDevice = isKnown && (isLocal || isDeviceAddress(address, ownAddresses));
        const from = !isDevice && (isLocal || caller?.isPlayer === true) ? players : address;
        return enterAs(
          { request, server, address: from, isTls },
          isDevice,
          isDevice ? caller.uid : undefined,
        );
      });
    };
  const enterAs = (arrival: Arrival<Data>, isDevice: boolean, owner: number | undefined): MaybeResponse => {
    const { request, server, address, isTls } = arrival;
    // This comes first, because a refusal in a flood must cost as little as possible.
    if (!isDevice && !(perAddress.take(address) && inAll.take()) && !hasOwnRate(arrival)) {
      turnedAway[isTls ? "tls" : "tcp"] += 1;
      audit.refused("too-many-requests", { address });
      return tooMany("too many requests: wait a minute", 60_000, hangUp);
    }
    const source = requestSource(request.headers);
    const verdict = judgeAccess(source, isDevice, rules(), own);
    if (verdict.kind === "refused") {
      audit.refused("host-or-origin", { address });
      return sentence(403, verdict.why, isDevice ? {} : hangUp);
    }
    const isOwners = uid !== rootUid || owner === rootUid;
    const isByLeave = verdict.kind === "device" && !isOwners && rules().allowAnonymousLocal;
    const isOwnAddress = isDevice && !isLoopback(address);
    const isAdmitted = lasting(rules, isOwnAddress ? own : nowhere, (now, addresses) => {
      if (isByLeave && !now.allowAnonymousLocal) return false;
      if (isDevice && !isDeviceAddress(address, () => addresses)) return false;
      return judgeAccess(source, isDevice, now, own).kind === verdict.kind;
    });
    const spend = (requests: number) => {
      if (!isDevice) perAddress.spend(address, requests);
    };
    const refund = () => spend(-1);
    const penalize = () => spend(requestBurstMax);
    const visit = { ...visitOf(request, address, isTls), isAdmitted, refund, penalize };
    if (verdict.kind === "v1-app") return answer({ ...visit, isV1App: true }, server);
    if (verdict.kind === "remote") return byBearerOrAnonymous(visit, isTls ? "change" : "none", server);
    if (isOwners || isByLeave) return answer({ ...visit, ...ofDevice(isAdmitted) }, server);
    warnOnce();
    // The connection stays within the device, so nothing has to be sealed.
    return byBearerOrAnonymous({ ...visit, isPrivate: true }, "look", server);
  };
  const enterByPath = (request: Request, server: Server<Data>): MaybeResponse => {
    const source = requestSource(request.headers);
    const verdict = judgeAccess(source, true, rules(), own);
    if (verdict.kind === "refused") return sentence(403, verdict.why);
    const isAdmitted = lasting(
      rules,
      nowhere,
      (now) => judgeAccess(source, true, now, own).kind === "device",
    );
    return answer({ ...visitOf(request, loopback, false), ...ofDevice(isAdmitted) }, server);
  };
  return {
    byTcp: byNetwork(false),
    byTls: byNetwork(true),
    /** The requests that the rate limits have refused so far. */
    turnedAway: { tcp: () => turnedAway.tcp, tls: () => turnedAway.tls },
    /**
     * Admits a caller at the socket in the file system. The mode of the file decides who may open it; such a caller is on the
     * device, unless it is a player.
     */
    byPath(request: Request, server: Server<Data>): MaybeResponse {
      const ending = endPlayers();
      if (ending === undefined) return enterByPath(request, server);
      return ending.then((areEnded) => {
        if (!areEnded || request.signal.aborted)
          return sentence(403, "players may not use this socket", hangUp);
        return enterByPath(request, server);
      });
    },
  };
}

const none = () => "none" as const;
// This returns the same list each time, because `lasting` compares identities.
const noAddresses: readonly string[] = [];
const nowhere = () => noAddresses;

function ofDevice(isAdmitted: () => boolean) {
  const grant = (): Grant => (isAdmitted() ? "own" : "none");
  return { access: "device", isPrivate: true, isAdmitted, grant } as const;
}

/** Judges again only if the rules or the addresses have changed. Every other call costs two comparisons. */
function lasting(
  rules: () => AccessRules,
  addresses: OwnAddresses,
  judge: (rules: AccessRules, addresses: readonly string[]) => boolean,
): () => boolean {
  let knownRules = rules();
  let knownAddresses = addresses();
  let isAdmitted = true;
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

/** A request over TCP whose caller is not yet known. */
interface Arrival<Data> {
  readonly request: Request;
  readonly server: Server<Data>;
  readonly address: string;
  readonly isTls: boolean;
}

/** The request of a remote caller, with the rights of a caller without an identity. */
function visitOf(request: Request, address: string, isTls: boolean): Omit<Visit, "isAdmitted"> {
  // A Host with an impossible port makes the URL invalid. The empty path gets the answer 404.
  const path = URL.canParse(request.url) ? new URL(request.url).pathname : "";
  return {
    request,
    address,
    path,
    access: "remote",
    isTls,
    isPrivate: isTls,
    grant: none,
    isV1App: false,
    refund() {},
    penalize() {},
  };
}

// The kernel takes 0.1 to 10 ms to list its interfaces, which is too long for each request of a flood.
const ownAddressesMs = 1000;

/** The addresses, at most a second old. */
function cached(ownAddresses: OwnAddresses, clock: Clock): OwnAddresses {
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
