/** The control API's door: HTTP and WebSocket on Bun.serve. Admits, limits, and hands payloads to dispatch. */
import type { Server, ServerWebSocket, WebSocketHandler } from "bun";
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { exitCodes, messageOf, StartError } from "../core/errors.ts";
import { connectionsMax, connectionsPerAddressMax, messageBytesMax, unsentBytesMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { type AccessRules, admit, plainAddress } from "./access.ts";
import { type Connection, createConnection } from "./connection.ts";
import { createDispatch } from "./dispatch.ts";
import { errorText } from "./envelope.ts";
import { forwardEvents } from "./notifications.ts";
import type { Services } from "./services.ts";

export interface ApiOptions {
  readonly services: Services;
  readonly bus: Bus;
  readonly log: Log;
  readonly clock: Clock;
  readonly config: AccessRules & {
    /** 0 picks a free one. */
    readonly port: number;
    /** Empty: all addresses. */
    readonly listen: readonly string[];
  };
}

export interface ApiServer {
  readonly port: number;
  /** Closes every connection (1001) and stops listening. */
  close(): Promise<void>;
}

/** What a WebSocket carries of its own. */
interface Peer {
  readonly address: string;
  readonly isDevice: boolean;
  connection: Connection | undefined;
  leaving: Disposable | undefined;
}

type Socket = ServerWebSocket<Peer>;

const apiPaths: ReadonlySet<string> = new Set(["/api/v0.1", "/api/v0", "/api/", "/api"]);
const unsealedMs = 10_000; // Decisions, "Limits": an unsealed remote connection is closed after this.
const idleSeconds = 120; // Bun pings on its own before; a peer that answers no ping in this time is gone.
const [goingAway, policyViolation] = [1001, 1008];
const farewellMs = 100;

/** Listens; throws `StartError` where it cannot. */
export async function serveApi({ services, bus, log, clock, config }: ApiOptions): Promise<ApiServer> {
  const dispatch = createDispatch({ services, log });
  const sockets = new Set<Socket>();
  const listeners = new Set<Connection>();

  const upgrade = (request: Request, server: Server<Peer>): Response | undefined => {
    const address = plainAddress(server.requestIP(request)?.address ?? "");
    const caller = { address, host: request.headers.get("host"), origin: request.headers.get("origin") };
    const admission = admit(caller, config);
    if (admission.kind === "refused") return sentence(403, admission.why);
    const fromThere = [...sockets].filter((socket) => socket.data.address === address).length;
    const isDevice = admission.kind === "device";
    if (sockets.size >= connectionsMax || (!isDevice && fromThere >= connectionsPerAddressMax)) {
      return sentence(503, "too many connections: close some and try again");
    }
    const data: Peer = { address, isDevice, connection: undefined, leaving: undefined };
    if (server.upgrade(request, { data })) return undefined;
    return sentence(426, "this is a WebSocket: connect to it with ws://");
  };
  const fetch = (request: Request, server: Server<Peer>): Response | undefined => {
    const { pathname } = new URL(request.url);
    if (apiPaths.has(pathname)) {
      return request.method === "GET" ? upgrade(request, server) : sentence(405, "connect with a WebSocket");
    }
    if (request.method !== "GET" && request.method !== "HEAD")
      return sentence(405, "only GET is served here");
    if (pathname === "/ping") return new Response("pong");
    if (pathname === "/health") return healthResponse(services);
    return sentence(404, "there is nothing here: the API is at /api/v0.1");
  };
  const websocket: WebSocketHandler<Peer> = {
    maxPayloadLength: messageBytesMax,
    backpressureLimit: unsentBytesMax,
    closeOnBackpressureLimit: true,
    idleTimeout: idleSeconds,
    perMessageDeflate: false,
    open(socket) {
      sockets.add(socket);
      if (!socket.data.isDevice) {
        socket.data.leaving = clock.after(unsealedMs, () =>
          socket.close(policyViolation, "encryption required"),
        );
        return;
      }
      const connection = createConnection((text) => void socket.send(text));
      socket.data.connection = connection;
      listeners.add(connection);
    },
    message(socket, message) {
      if (isPing(message)) return void socket.send(typeof message === "string" ? "pong" : pongBytes);
      const { connection } = socket.data;
      if (connection === undefined) return refuseCleartext(socket);
      if (typeof message === "string") dispatch(connection, message);
      else connection.answer(errorText(undefined, "parse-error", "send JSON in text frames"));
    },
    close(socket) {
      sockets.delete(socket);
      socket.data.leaving?.[Symbol.dispose]();
      if (socket.data.connection !== undefined) listeners.delete(socket.data.connection);
    },
  };

  const servers = listen(config, { fetch, websocket });
  const forwarding = forwardEvents(bus, listeners);
  return {
    port: servers[0]?.port ?? 0,
    async close() {
      forwarding[Symbol.dispose]();
      const stopped = servers.map((server) => server.stop());
      for (const socket of sockets) socket.close(goingAway, "the service is stopping");
      // Peers that do not say goodbye in their turn are not waited for.
      await Promise.race([Promise.all(stopped), Bun.sleep(farewellMs)]);
      await Promise.race([Promise.all(servers.map((server) => server.stop(true))), Bun.sleep(farewellMs)]);
    },
  };
}

const pongBytes = new TextEncoder().encode("pong");

function isPing(message: string | Buffer): boolean {
  return typeof message === "string"
    ? message === "ping"
    : message.length === 4 && message.toString("latin1") === "ping";
}

function refuseCleartext(socket: Socket): void {
  socket.send(errorText(undefined, "encryption-required", "encryption is required for remote connections"));
  socket.close(policyViolation, "encryption required");
}

interface Handlers {
  readonly fetch: (request: Request, server: Server<Peer>) => Response | undefined;
  readonly websocket: WebSocketHandler<Peer>;
}

function listen({ port, listen: addresses }: ApiOptions["config"], handlers: Handlers): Server<Peer>[] {
  if (addresses.length > 0) {
    const servers: Server<Peer>[] = [];
    // With a port of the system's choice, all addresses share the first one's.
    for (const address of addresses) servers.push(serveAt(address, servers[0]?.port ?? port, handlers));
    return servers;
  }
  try {
    return [serveAt("::", port, handlers)];
  } catch (error) {
    if (error instanceof StartError && codeOf(error.cause) === "EADDRINUSE") throw error;
    // A kernel without IPv6.
    return [serveAt("0.0.0.0", port, handlers)];
  }
}

function serveAt(hostname: string, port: number, handlers: Handlers): Server<Peer> {
  try {
    return Bun.serve<Peer>({ hostname, port, development: false, ...handlers });
  } catch (error) {
    const why =
      codeOf(error) === "EADDRINUSE"
        ? `port ${port} is in use: another tapdeck may run already, else choose another one with api.port in the config file`
        : `cannot listen on ${hostname} port ${port}: ${messageOf(error)}`;
    throw new StartError(exitCodes.unavailable, why, error);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function healthResponse(services: Services): Response {
  const reasons = services.health().checks.flatMap(({ ok, reason }) => (ok ? [] : [reason ?? ""]));
  return reasons.length === 0 ? new Response("OK") : sentence(503, reasons.join("; "));
}

function sentence(status: number, text: string): Response {
  return new Response(`${text}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8" } });
}
