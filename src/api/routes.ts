/** Answers a request by its path and verb: JSON-RPC, event streams, launch links, pairing by PIN, health, and the page. */
import type { Server } from "bun";
import type { Audit } from "../core/audit.ts";
import { ServiceError } from "../core/errors.ts";
import { messageBytesMax } from "../core/limits.ts";
import { allows } from "../core/rights.ts";
import { printable } from "../core/text.ts";
import { mayListen } from "./admission/access.ts";
import type { PoolMember, RemoteLimits } from "./admission/connection-pool.ts";
import type { MaybeResponse } from "./admission/listeners.ts";
import { answerBackup, backupPath } from "./backup-endpoint.ts";
import type { Dispatch } from "./dispatch.ts";
import { errorText } from "./envelope.ts";
import type { EventStreams } from "./event-stream.ts";
import { hangUp, isJson, json, type Revocation, sentence, type Visit } from "./http.ts";
import { type AllowLaunch, answerLaunch, isLaunchPath } from "./launch-endpoint.ts";
import { answerPair, isPairPath, type PairByPin } from "./pin-pairing-endpoint.ts";
import type { Services } from "./services.ts";
import { type SocketData, socketDataOf } from "./socket-data.ts";
import { answerUpload, isUploadPath } from "./upload-endpoint.ts";

export interface RouteParts {
  readonly services: Services;
  readonly dispatch: Dispatch;
  readonly streams: EventStreams;
  readonly limits: RemoteLimits;
  readonly revocation: Revocation;
  readonly pairByPin: PairByPin;
  readonly audit: Audit;
  readonly allowLaunch: AllowLaunch;
  /** The text for Prometheus; undefined if the settings do not allow it. */
  readonly metrics: (() => Promise<string>) | undefined;
  /** A file of the device's own page; undefined if no file has this path. */
  readonly page: (path: string, request: Request) => Response | undefined;
}

const apiPaths: ReadonlySet<string> = new Set(["/api/v0.1", "/api/v0", "/api/", "/api"]);
const eventPaths: ReadonlySet<string> = new Set(
  [...apiPaths].map((path) => `${path.replace(/\/$/, "")}/events`),
);

export function createRoutes(parts: RouteParts): (visit: Visit, server: Server<SocketData>) => MaybeResponse {
  const { services, allowLaunch, page, audit, limits } = parts;
  const launchFor =
    ({ access, address, client, grant }: Visit): Services["launch"] =>
    (token, from = { trusted: false }) => {
      if (access !== "device") limits.writes.take({ address, client });
      services.launch(token, client === undefined ? from : { ...from, requester: { client, grant } });
    };
  return (visit, server) => {
    const { path, request } = visit;
    if (visit.isV1App && !apiPaths.has(path) && !isPairPath(path)) return onlyV1();
    if (apiPaths.has(path)) return answerApi(parts, visit, server);
    if (isLaunchPath(path)) return answerLaunch({ launch: launchFor(visit), allowLaunch, audit }, visit);
    if (isPairPath(path)) return answerPair(parts, visit);
    if (isUploadPath(path)) return answerUpload(parts, visit, server);
    if (path === backupPath) {
      // A check or an upload may take longer than the time for an answer.
      server.timeout(visit.request, 0);
      return answerBackup(services, visit);
    }
    if (path.startsWith("/api/") && !eventPaths.has(path)) return nothingHere();
    if (request.method !== "GET" && request.method !== "HEAD")
      return sentence(405, "only GET is served here", { allow: "GET, HEAD" });
    if (eventPaths.has(path)) return openEvents(parts, visit, server);
    if (path === "/ping") return new Response("pong");
    if (path === "/health") return healthResponse(services, visit);
    if (path === "/metrics") return answerMetrics(parts, visit);
    const file = page(path, request);
    // The page takes one token of its visitor's rate limit, not one for each of its files.
    if (file !== undefined && path !== "/") visit.refund();
    if (file !== undefined) return file;
    return nothingHere();
  };
}

function nothingHere(): Response {
  return sentence(404, "there is nothing here: the API is at /api/v0.1");
}

function answerApi(parts: RouteParts, visit: Visit, server: Server<SocketData>): MaybeResponse {
  const { request, address, access, isPrivate, isV1App } = visit;
  const { connections, unsealed } = parts.limits;
  if (request.method === "POST" && isV1App) return onlyV1();
  if (request.method === "POST") return answerPost(parts, visit, server);
  if (request.method !== "GET")
    return sentence(405, "connect with a WebSocket, or POST", { allow: "GET, POST" });
  const isFull = !connections.isFree(address, access) || (!isPrivate && !unsealed.hasRoom(address));
  if (isFull) return noRoom(parts.audit, address);
  if (server.upgrade(request, { data: socketDataOf(visit) })) return undefined;
  return sentence(426, "connect with a WebSocket, or POST a JSON-RPC request", { upgrade: "websocket" });
}

const answerSeconds = 10; // Bun's default.

/** Answers one JSON-RPC payload in the body of a POST. Every request is a session of its own. */
async function answerPost(
  { dispatch, limits, revocation }: RouteParts,
  visit: Visit,
  server: Server<SocketData>,
): Promise<Response> {
  const { request, access, address, isPrivate, client, grant } = visit;
  if (!isPrivate) {
    const text = "encryption is required for remote connections";
    return json(403, errorText(undefined, "encryption-required", text));
  }
  if (!isJson(request))
    return sentence(415, "send JSON-RPC as application/json", { accept: "application/json" });
  const isStranger = access !== "device" && client === undefined;
  const announced = Number(request.headers.get("content-length") ?? messageBytesMax);
  const spent = isStranger ? limits.intake.spentFor(announced) : undefined;
  if (spent !== undefined) return tooMuchSent(spent);
  const body = await limits.bodies.read(visit, messageBytesMax);
  if (body.kind === "dropped") return body.answer;
  if (body.kind === "too-long") return sentence(413, `a message has at most ${messageBytesMax} bytes`);
  const limit = isStranger ? limits.intake.take(body.bytes.length) : undefined;
  if (limit !== undefined) return tooMuchSent(limit);
  const revoked = new AbortController();
  const abort = () => revoked.abort(new ServiceError("forbidden", "this client was revoked"));
  using _watching = client === undefined ? undefined : revocation.watch(client, abort);
  const gone = () => AbortSignal.any([request.signal, revoked.signal]);
  const isGone = () => request.signal.aborted;
  const session = { access, grant, from: { address, client }, inFlight: 0, gone, isGone };
  // `media.index` may take any time. Only the reading of the request and the sending of the answer have a limit.
  server.timeout(request, 0);
  const text = textOf(body.bytes);
  const answer =
    text === undefined
      ? errorText(undefined, "parse-error", "this is not UTF-8")
      : await dispatch(session, text);
  server.timeout(request, answerSeconds);
  return answer === undefined ? new Response(null, { status: 204 }) : json(200, answer);
}

/** The text of a body; undefined if it is not UTF-8, which JSON must be (RFC 8259, 8.1). */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // The bytes are not UTF-8.
    return undefined;
  }
}

function tooMuchSent(limit: string): Response {
  const text = "callers without an identity send too much: wait a second";
  return json(429, errorText(undefined, "busy", text, { limit }), { "retry-after": "1", ...hangUp });
}

function openEvents(
  { streams, audit, limits, revocation }: RouteParts,
  visit: Visit,
  server: Server<SocketData>,
): Response {
  const { request, address, access, isAdmitted, grant, client } = visit;
  const { connections, anonymous, answerBudget, backlog } = limits;
  const refusal = refusalOfLook(visit);
  if (refusal !== undefined) return refusal;
  if (!mayListen(request.headers)) return sentence(403, "pages of other sites may not listen here");
  const isStranger = access !== "device" && client === undefined;
  const isFull = !connections.isFree(address, access) || (isStranger && answerBudget.isSpent());
  if (isFull) return noRoom(audit, address);
  connections.take(address);
  server.timeout(request, 0);
  let member: PoolMember | undefined;
  let watching: Disposable | undefined;
  return streams.open(request.headers.get("last-event-id"), {
    mayHear: (right) => allows(grant(), right),
    isAdmitted,
    onSend: (bytes) => isStranger && answerBudget.spend(bytes),
    backlog: access === "device" ? undefined : backlog,
    onOpen(drop) {
      if (client !== undefined) watching = revocation.watch(client, drop);
      if (!isStranger) return;
      member = { address, drop };
      anonymous.enter(member);
    },
    onEnd() {
      connections.giveBack(address);
      if (member !== undefined) anonymous.leave(member);
      watching?.[Symbol.dispose]();
      // Bun still sends the output that it has buffered. A listener that does not read must not delay that without limit.
      server.timeout(request, 1);
    },
  });
}

/** The reason to refuse a caller that must have the right `look`; undefined if it has the right. */
function refusalOfLook({ isPrivate, grant }: Visit): Response | undefined {
  if (!isPrivate) return sentence(403, "encryption is required for remote connections");
  return allows(grant(), "look")
    ? undefined
    : sentence(403, "pair this client with the device first: tapdeck pair");
}

async function answerMetrics({ metrics }: RouteParts, visit: Visit): Promise<Response> {
  const refusal = refusalOfLook(visit);
  if (refusal !== undefined) return refusal;
  if (metrics === undefined)
    return sentence(404, "metrics are off: set metrics = true in [api] of the settings");
  return new Response(await metrics(), {
    headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" },
  });
}

function onlyV1(): Response {
  return sentence(403, "this app may pair by PIN and use version 1 of the secure layer, and nothing else");
}

function noRoom(audit: Audit, address: string): Response {
  audit.refused("too-many-connections", { address });
  return sentence(503, "too many connections: close some, or try again in a second", {
    "retry-after": "1",
    ...hangUp,
  });
}

/** Only callers on the device get the reasons, in one line, because anyone may ask. */
async function healthResponse(services: Services, { access }: Visit): Promise<Response> {
  const health = await services.health();
  if (health.status === "ok") return new Response("OK");
  const reasons = health.checks.flatMap(({ ok, reason }) => (ok ? [] : [reason ?? ""]));
  return sentence(503, access === "device" ? printable(reasons.join("; ")) : "degraded");
}
