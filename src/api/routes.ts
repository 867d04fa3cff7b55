/** Which part of the API a visitor came for, by path and verb. */
import type { Server } from "bun";
import type { Audit } from "../core/audit.ts";
import { allows } from "../core/rights.ts";
import { mayListen } from "./admission/access.ts";
import type { Allowance } from "./admission/answer-budget.ts";
import type { Crowd, Member } from "./admission/connection-pool.ts";
import type { Places } from "./admission/connection-quota.ts";
import type { Failures } from "./admission/failed-handshakes.ts";
import type { MaybeResponse } from "./admission/open-port.ts";
import type { Bodies } from "./admission/request-bodies.ts";
import type { Unsent } from "./admission/send-backlog.ts";
import type { WriteQuota } from "./admission/write-quota.ts";
import type { Dispatch } from "./dispatch.ts";
import type { EventStreams } from "./event-stream.ts";
import { hangUp, sentence, type Visit } from "./http.ts";
import { type AllowLaunch, answerLaunch, isLaunchPath } from "./launch-endpoint.ts";
import { answerPair, isPairPath, type PairByPin } from "./pin-pairing-endpoint.ts";
import { answerPost } from "./post.ts";
import type { Revocation } from "./revocation.ts";
import type { Services } from "./services.ts";
import { newPeer, type Peer } from "./sockets.ts";

export interface RouteParts {
  readonly services: Services;
  readonly dispatch: Dispatch;
  readonly streams: EventStreams;
  readonly places: Places;
  readonly bodies: Bodies;
  readonly unsent: Unsent;
  /** Callers from afar that have not shown their secret. */
  readonly unsealed: Crowd;
  /** Callers from afar that may speak and have shown no secret. */
  readonly anonymous: Crowd;
  /** Of what they are answered. */
  readonly allowance: Allowance;
  readonly failures: Failures;
  readonly revocation: Revocation;
  readonly quota: WriteQuota;
  readonly pairByPin: PairByPin;
  readonly audit: Audit;
  readonly allowLaunch: AllowLaunch;
  readonly page: PageFiles;
}

/** A file of the device's own page; undefined where there is none of this path. */
export type PageFiles = (path: string, request: Request) => Response | undefined;

const apiPaths: ReadonlySet<string> = new Set(["/api/v0.1", "/api/v0", "/api/", "/api"]);
const eventPaths: ReadonlySet<string> = new Set(
  [...apiPaths].map((path) => `${path.replace(/\/$/, "")}/events`),
);

export function createRoutes(parts: RouteParts): (visit: Visit, server: Server<Peer>) => MaybeResponse {
  const { services, allowLaunch, page, audit, quota } = parts;
  const launchFor =
    ({ access, address, client, grant }: Visit): Services["launch"] =>
    (token, from = { trusted: false }) => {
      if (access !== "device") quota.take({ address, client });
      services.launch(token, client === undefined ? from : { ...from, requester: { client, grant } });
    };
  return (visit, server) => {
    const { path, request } = visit;
    if (visit.isV1App && !apiPaths.has(path) && !isPairPath(path)) return onlyV1();
    if (apiPaths.has(path)) return answerApi(parts, visit, server);
    if (isLaunchPath(path)) return answerLaunch({ launch: launchFor(visit), allowLaunch, audit }, visit);
    if (isPairPath(path)) return answerPair(parts, visit);
    if (request.method !== "GET" && request.method !== "HEAD")
      return sentence(405, "only GET is served here", { allow: "GET, HEAD" });
    if (eventPaths.has(path)) return openEvents(parts, visit, server);
    if (path === "/ping") return new Response("pong");
    if (path === "/health") return healthResponse(services, visit);
    const file = page(path, request);
    if (file !== undefined) return file;
    return sentence(404, "there is nothing here: the API is at /api/v0.1");
  };
}

function answerApi(parts: RouteParts, visit: Visit, server: Server<Peer>): MaybeResponse {
  const { request, address, access, isPrivate, isV1App } = visit;
  if (request.method === "POST" && isV1App) return onlyV1();
  if (request.method === "POST")
    return answerPost(parts, visit, (seconds) => server.timeout(request, seconds));
  if (request.method !== "GET")
    return sentence(405, "connect with a WebSocket, or POST", { allow: "GET, POST" });
  const blockedMs = isPrivate ? 0 : parts.failures.blockedMs(address);
  if (blockedMs > 0) {
    parts.audit.refused("too-many-failures", { address });
    const seconds = String(Math.ceil(blockedMs / 1000));
    return sentence(429, "too many handshakes failed: wait", { "retry-after": seconds });
  }
  if (!parts.places.isFree(address, access)) return tooMany(parts.audit, address);
  if (!isPrivate && !parts.unsealed.hasRoom(address)) return tooMany(parts.audit, address);
  if (server.upgrade(request, { data: newPeer(visit) })) return undefined;
  return sentence(426, "connect with a WebSocket, or POST a JSON-RPC request", { upgrade: "websocket" });
}

function openEvents(
  { streams, places, audit, unsent, anonymous, allowance, revocation }: RouteParts,
  { request, address, access, isPrivate, isAdmitted, grant, client }: Visit,
  server: Server<Peer>,
): Response {
  if (!isPrivate) return sentence(403, "encryption is required for remote connections");
  if (!allows(grant(), "look")) return sentence(403, "pair this client with the device first: tapdeck pair");
  if (!mayListen(request.headers)) return sentence(403, "pages of other sites may not listen here");
  if (!places.isFree(address, access)) return tooMany(audit, address);
  const isStranger = access !== "device" && client === undefined;
  if (isStranger && allowance.isSpent()) return tooMany(audit, address);
  places.take(address);
  server.timeout(request, 0);
  let member: Member | undefined;
  let watching: Disposable | undefined;
  return streams.open(request.headers.get("last-event-id"), {
    mayHear: (right) => allows(grant(), right),
    isAdmitted,
    onSend: isStranger ? allowance.spend : () => {},
    unsent: access === "device" ? undefined : unsent,
    onOpen(drop) {
      if (client !== undefined) watching = revocation.watch(client, drop);
      if (!isStranger) return;
      member = { address, drop };
      anonymous.enter(member);
    },
    onEnd() {
      places.leave(address);
      if (member !== undefined) anonymous.leave(member);
      watching?.[Symbol.dispose]();
      // What the runtime has taken over is its own to send: to one that does not read, not for ever.
      server.timeout(request, 1);
    },
  });
}

function onlyV1(): Response {
  return sentence(403, "this app may pair by PIN and use version 1 of the secure layer, and nothing else");
}

function tooMany(audit: Audit, address: string): Response {
  audit.refused("too-many-connections", { address });
  return sentence(503, "too many connections: close some, or try again in a second", {
    "retry-after": "1",
    ...hangUp,
  });
}

/** Callers on the device read why; from afar, anyone may ask, and learns no more than that something is not well. */
function healthResponse(services: Services, { access }: Visit): Response {
  const health = services.health();
  if (health.status === "ok") return new Response("OK");
  const reasons = health.checks.flatMap(({ ok, reason }) => (ok ? [] : [reason ?? ""]));
  return sentence(503, access === "device" ? reasons.join("; ") : "degraded");
}
