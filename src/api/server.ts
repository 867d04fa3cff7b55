/** The control API's door on Bun.serve: admits, limits, and hands each visitor to the part that it came for. */
import type { Server } from "bun";
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { connectionsMax, connectionsPerAddressMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { type AccessRules, admit, plainAddress } from "./access.ts";
import { createDispatch } from "./dispatch.ts";
import { createEventStreams } from "./event-stream.ts";
import { sentence, type Visit } from "./http.ts";
import { type AllowLaunch, answerLaunch, isLaunchPath } from "./launch-endpoint.ts";
import { listen } from "./listen.ts";
import { forwardEvents, type Listener } from "./notifications.ts";
import { answerPost } from "./post.ts";
import { createRateLimit } from "./rate.ts";
import type { Services } from "./services.ts";
import { createSockets, type Peer } from "./sockets.ts";

export interface ApiOptions {
  readonly services: Services;
  readonly bus: Bus;
  readonly log: Log;
  readonly clock: Clock;
  /** 0 picks a free one. */
  readonly port: number;
  /** Addresses to listen on. Empty: all. */
  readonly listen: readonly string[];
  /** Asked anew for each visit: the owner may have changed them. */
  readonly rules: () => AccessRules;
  readonly allowLaunch: AllowLaunch;
}

export interface ApiServer {
  readonly port: number;
  /** Closes every connection (1001) and stops listening. */
  close(): Promise<void>;
}

const apiPaths: ReadonlySet<string> = new Set(["/api/v0.1", "/api/v0", "/api/", "/api"]);
const eventPaths: ReadonlySet<string> = new Set(
  [...apiPaths].map((path) => `${path.replace(/\/$/, "")}/events`),
);
const farewellMs = 100;

/** Listens; throws `StartError` where it cannot. */
export async function serveApi(options: ApiOptions): Promise<ApiServer> {
  const { services, bus, log, clock, rules, allowLaunch } = options;
  const dispatch = createDispatch({ services, log });
  const streams = createEventStreams(clock);
  const listeners = new Set<Listener>([streams]);
  const rate = createRateLimit(clock);
  const places = createPlaces();
  const sockets = createSockets({
    dispatch,
    clock,
    listeners,
    onOpen: places.take,
    onClose: places.leave,
  });

  const openEvents = ({ request, address, access }: Visit, server: Server<Peer>): Response => {
    if (access !== "device") return sentence(403, "encryption is required for remote connections");
    if (!places.isFree(address, access)) return tooMany();
    places.take(address);
    server.timeout(request, 0);
    return streams.open(request.headers.get("last-event-id"), () => places.leave(address));
  };
  const openSocket = ({ request, address, access }: Visit, server: Server<Peer>): Response | undefined => {
    if (!places.isFree(address, access)) return tooMany();
    const data: Peer = { address, access, connection: undefined, lane: undefined, leaving: undefined };
    if (server.upgrade(request, { data })) return undefined;
    return sentence(426, "connect with a WebSocket, or POST a JSON-RPC request", { upgrade: "websocket" });
  };
  const answerApi = (visit: Visit, server: Server<Peer>): Response | undefined | Promise<Response> => {
    const { method } = visit.request;
    if (method === "GET") return openSocket(visit, server);
    if (method !== "POST") return sentence(405, "connect with a WebSocket, or POST", { allow: "GET, POST" });
    // `media.index` answers when it is done, however long that takes.
    server.timeout(visit.request, 0);
    return answerPost(dispatch, visit);
  };
  const answer = (visit: Visit, server: Server<Peer>): Response | undefined | Promise<Response> => {
    const { path, request } = visit;
    if (apiPaths.has(path)) return answerApi(visit, server);
    if (isLaunchPath(path)) return answerLaunch({ launch: services.launch, allowLaunch }, visit);
    if (request.method !== "GET" && request.method !== "HEAD")
      return sentence(405, "only GET is served here", { allow: "GET, HEAD" });
    if (eventPaths.has(path)) return openEvents(visit, server);
    if (path === "/ping") return new Response("pong");
    if (path === "/health") return healthResponse(services);
    return sentence(404, "there is nothing here: the API is at /api/v0.1");
  };
  const fetch = (request: Request, server: Server<Peer>): Response | undefined | Promise<Response> => {
    const address = plainAddress(server.requestIP(request)?.address ?? "");
    const { headers } = request;
    const admission = admit({ address, host: headers.get("host"), origin: headers.get("origin") }, rules());
    if (admission.kind === "refused") return sentence(403, admission.why);
    if (admission.kind === "remote" && !rate.take(address))
      return sentence(429, "too many requests: wait a minute", { "retry-after": "60" });
    return answer({ request, address, access: admission.kind, path: new URL(request.url).pathname }, server);
  };

  const servers = listen(options.port, options.listen, { fetch, websocket: sockets.handler });
  const forwarding = forwardEvents(bus, listeners);
  return {
    port: servers[0]?.port ?? 0,
    async close() {
      forwarding[Symbol.dispose]();
      streams.close();
      const stopped = servers.map((server) => server.stop());
      sockets.closeAll();
      // Peers that do not say goodbye in their turn are not waited for.
      await Promise.race([Promise.all(stopped), Bun.sleep(farewellMs)]);
      await Promise.race([Promise.all(servers.map((server) => server.stop(true))), Bun.sleep(farewellMs)]);
    },
  };
}

/** Counts the connections that stay, in all and by address. */
function createPlaces() {
  const byAddress = new Map<string, number>();
  let taken = 0;
  const count = (address: string, change: 1 | -1) => {
    taken += change;
    const left = (byAddress.get(address) ?? 0) + change;
    if (left === 0) byAddress.delete(address);
    else byAddress.set(address, left);
  };
  return {
    /** A caller on the device is counted in all only. */
    isFree: (address: string, access: Visit["access"]) =>
      taken < connectionsMax &&
      (access === "device" || (byAddress.get(address) ?? 0) < connectionsPerAddressMax),
    take: (address: string) => count(address, 1),
    leave: (address: string) => count(address, -1),
  };
}

function tooMany(): Response {
  return sentence(503, "too many connections: close some and try again");
}

function healthResponse(services: Services): Response {
  const reasons = services.health().checks.flatMap(({ ok, reason }) => (ok ? [] : [reason ?? ""]));
  return reasons.length === 0 ? new Response("OK") : sentence(503, reasons.join("; "));
}
