/**
 * Opens the ports, in the clear and over TLS, and the socket in the file system. Both ports can be closed to remote callers
 * for a while. If a port cannot be opened, the error says why in a sentence.
 */
import { chmodSync, existsSync, unlinkSync } from "node:fs";
import type { Server, WebSocketHandler } from "bun";
import { backupFileBytesMax } from "../../core/console-limits.ts";
import { codeOf, exitCodes, messageOf, StartError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { isLoopback } from "./access.ts";

/** Undefined if the request has become a WebSocket. */
export type MaybeResponse = Response | undefined | Promise<Response | undefined>;

export interface Handlers<Data> {
  readonly fetch: (request: Request, server: Server<Data>) => MaybeResponse;
  readonly websocket: WebSocketHandler<Data>;
}

/** Debian resolves the device's own name to 127.0.1.1. */
const loopback: readonly string[] = ["127.0.0.1", "127.0.1.1", "::1"];

export type RemotePort<Data> = ReturnType<typeof openPlainPort<Data>>;

/**
 * Opens the port without TLS. Loopback has listeners of its own on the same port, which the kernel prefers for local
 * connections. They stay open while the port is shut, and a flood does not fill their queue. Throws `StartError` if it cannot listen.
 */
export function openPlainPort<Data>(port: number, addresses: readonly string[], handlers: Handlers<Data>) {
  // A shared port does not report who else shares it, so it is first opened unshared.
  if (port !== 0) stopAll(listen(port, addresses, handlers));
  const asked = addresses.filter(isLoopbackHost);
  const far = addresses.filter((address) => !isLoopbackHost(address));
  const listenFar = (at: number) =>
    addresses.length === 0 || far.length > 0 ? listen(at, far, handlers, "shared") : [];
  const tryListen = (at: number, address: string) => {
    try {
      return listen(at, [address], handlers, "shared");
    } catch {
      // The kernel has no IPv6. Local callers can use the socket in the file system.
      return [];
    }
  };
  let servers = listenFar(port);
  const near = asked.length > 0 ? [...listen(servers[0]?.port ?? port, asked, handlers, "shared")] : [];
  const actual = servers[0]?.port ?? near[0]?.port ?? 0;
  for (const address of loopback)
    if (!asked.includes(address) && isIncluded(address, addresses)) near.push(...tryListen(actual, address));
  return {
    port: actual,
    servers: (): readonly Server<Data>[] => [...servers, ...near],
    /** Accepts no further remote connections. Open ones stay. */
    shut() {
      stopAll(servers);
      servers = [];
    },
    /** Accepts remote connections again. Throws `StartError` if it cannot listen. */
    open() {
      servers = listenFar(actual);
    },
  };
}

/** Called before a first start makes any file. Throws `StartError` if the port is in use. */
export function checkPort({
  port,
  listen: addresses,
}: {
  readonly port: number;
  readonly listen: readonly string[];
}): void {
  const fetch = () => new Response("Tapdeck is starting: try again\n", { status: 503 });
  if (port !== 0) stopAll(listen(port, addresses, { fetch, websocket: { message() {} } }));
}

const isLoopbackHost = (address: string) => address === "localhost" || isLoopback(address);

/** Whether this loopback address is one of those that a wildcard in `addresses` includes. */
function isIncluded(address: string, addresses: readonly string[]): boolean {
  const isWide = (...all: readonly string[]) => addresses.some((one) => all.includes(one));
  return addresses.length === 0 || isWide("::", "::0") || (!address.includes(":") && isWide("0.0.0.0", "0"));
}

export interface TlsOptions {
  readonly cert: string;
  readonly key: string;
}

/** Opens the port for TLS 1.2 or newer. If the port is in use, the error is logged and the service runs without TLS. */
export function openTlsPort<Data>(
  shown: TlsOptions & { readonly port: number },
  { log, listen: addresses }: { readonly log: Log; readonly listen: readonly string[] },
  handlers: Handlers<Data>,
) {
  let { port, cert, key } = shown;
  let isShut = false;
  const listenTls = () => {
    const tls = { cert, key, minVersion: tls12 };
    return listen(port, addresses, { ...handlers, tls } as Handlers<Data>);
  };
  const tryListen = () => {
    try {
      return listenTls();
    } catch (error) {
      log.error("api", "no TLS", { error: messageOf(error) });
      return [];
    }
  };
  let servers = tryListen();
  port = servers[0]?.port ?? port;
  return {
    /** The port; 0 if it could not be opened. */
    port,
    servers: () => servers,
    shut() {
      isShut = true;
      stopAll(servers);
      servers = [];
    },
    open() {
      isShut = false;
      servers = listenTls();
    },
    /** Shows another certificate from now on; connections that are open stay. */
    showCertificate(next: TlsOptions) {
      ({ cert, key } = next);
      if (isShut) return;
      stopAll(servers);
      servers = tryListen();
    },
  };
}

const tls12 = 0x0303; // RFC 5246, A.1: the version on the wire, which Bun expects.

function stopAll<Data>(servers: readonly Server<Data>[]): void {
  for (const server of servers) void server.stop();
}

/** A port is ours alone, or shared with other sockets of the same user (SO_REUSEPORT, socket(7)). */
type Sharing = "alone" | "shared";

/**
 * Absent `addresses` means all addresses. Port 0 lets the system pick a port, the same at each address. If one address
 * fails, none stays open. Throws `StartError`.
 */
export function listen<Data>(
  port: number,
  addresses: readonly string[],
  handlers: Handlers<Data>,
  sharing: Sharing = "alone",
): readonly Server<Data>[] {
  if (addresses.length === 0) return [serveAtAny(port, handlers, sharing)];
  const servers: Server<Data>[] = [];
  try {
    for (const address of addresses)
      servers.push(serveAt(address, servers[0]?.port ?? port, handlers, sharing));
  } catch (error) {
    for (const server of servers) void server.stop(true);
    throw error;
  }
  return servers;
}

function serveAtAny<Data>(port: number, handlers: Handlers<Data>, sharing: Sharing): Server<Data> {
  try {
    return serveAt("::", port, handlers, sharing);
  } catch (error) {
    if (error instanceof StartError && codeOf(error.cause) === "EADDRINUSE") throw error;
    // The kernel has no IPv6.
    return serveAt("0.0.0.0", port, handlers, sharing);
  }
}

const common = {
  development: false,
  // Bun refuses a longer body without a message for the caller. Each endpoint has a lower limit of its own, and Bun reads no
  // more from the network than the endpoint takes.
  maxRequestBodySize: 2 * backupFileBytesMax,
} as const;

function serveAt<Data>(
  hostname: string,
  port: number,
  handlers: Handlers<Data>,
  sharing: Sharing,
): Server<Data> {
  try {
    // Outside of development mode Bun shares a port by default, and two services would answer in turns.
    return Bun.serve<Data>({ hostname, port, reusePort: sharing === "shared", ...common, ...handlers });
  } catch (error) {
    const why =
      codeOf(error) === "EADDRINUSE"
        ? `port ${port} is in use: another tapdeck may run already, else choose another one with api.port in the config file`
        : `cannot listen on ${hostname} port ${port}: ${messageOf(error)}`;
    throw new StartError(exitCodes.unavailable, why, error);
  }
}

const socketPathBytesMax = 107; // unix(7): sun_path, without its end.

/** A socket in the file system that its owner alone may open. It replaces one that an earlier run left behind. */
export function listenAtPath<Data>(path: string, handlers: Handlers<Data>): Server<Data> {
  if (Buffer.byteLength(path) > socketPathBytesMax)
    throw new Error(`its name is longer than ${socketPathBytesMax} bytes`);
  if (existsSync(path)) unlinkSync(path);
  // Nobody else may connect before its mode is set.
  const before = process.umask(0o177);
  try {
    const server = Bun.serve<Data>({ unix: path, ...common, ...handlers });
    chmodSync(path, 0o600);
    return server;
  } finally {
    process.umask(before);
  }
}
