/** Opens the service's doors: its ports, and a socket in the file system. Where a port cannot be had, a sentence says why. */
import { chmodSync, existsSync, unlinkSync } from "node:fs";
import type { Server, WebSocketHandler } from "bun";
import { exitCodes, messageOf, StartError } from "../../core/errors.ts";
import { openFrameBytesMax } from "../../core/limits.ts";

const socketPathBytesMax = 107; // unix(7): sun_path, with its end.

/** Undefined where the request became a WebSocket. */
export type MaybeResponse = Response | undefined | Promise<Response | undefined>;

export interface Handlers<Data> {
  readonly fetch: (request: Request, server: Server<Data>) => MaybeResponse;
  readonly websocket: WebSocketHandler<Data>;
}

/** Who else may listen on a port: nobody, or whoever shares it too and runs as the same user (SO_REUSEPORT, socket(7)). */
export type Sharing = "alone" | "shared";

/** `addresses` empty: all. Port 0: one of the system's choice, which all addresses share. Throws `StartError`. */
export function listen<Data>(
  port: number,
  addresses: readonly string[],
  handlers: Handlers<Data>,
  sharing: Sharing = "alone",
): readonly Server<Data>[] {
  if (addresses.length > 0) return serveAtAll(port, addresses, handlers, sharing);
  try {
    return [serveAt("::", port, handlers, sharing)];
  } catch (error) {
    if (error instanceof StartError && codeOf(error.cause) === "EADDRINUSE") throw error;
    // A kernel without IPv6.
    return [serveAt("0.0.0.0", port, handlers, sharing)];
  }
}

/** At each of them, or, where one cannot be had, at none. */
function serveAtAll<Data>(
  port: number,
  addresses: readonly string[],
  handlers: Handlers<Data>,
  sharing: Sharing,
): readonly Server<Data>[] {
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

const tls12 = 0x0303; // RFC 5246, A.1: its number on the wire, by which Bun knows it.

export interface TlsOptions {
  readonly cert: string;
  readonly key: string;
}

/** As `listen`, over TLS 1.2 or newer. */
export function listenTls<Data>(
  port: number,
  addresses: readonly string[],
  { cert, key }: TlsOptions,
  handlers: Handlers<Data>,
): readonly Server<Data>[] {
  const tls = { cert, key, minVersion: tls12 };
  return listen(port, addresses, { ...handlers, tls } as Handlers<Data>);
}

const common = {
  development: false,
  maxRequestBodySize: openFrameBytesMax,
} as const;

/** A socket in the file system that its owner alone may open. One that an earlier run left behind is replaced. */
export function listenAtPath<Data>(path: string, handlers: Handlers<Data>): Server<Data> {
  if (Buffer.byteLength(path) > socketPathBytesMax)
    throw new Error(`its name is longer than ${socketPathBytesMax} bytes`);
  if (existsSync(path)) unlinkSync(path);
  // Nobody else may come in before its mode is set.
  const before = process.umask(0o177);
  try {
    const server = Bun.serve<Data>({ unix: path, ...common, ...handlers });
    chmodSync(path, 0o600);
    return server;
  } finally {
    process.umask(before);
  }
}

function serveAt<Data>(
  hostname: string,
  port: number,
  handlers: Handlers<Data>,
  sharing: Sharing,
): Server<Data> {
  try {
    // Outside of development Bun shares a port unless it is told: two services would answer in turns.
    return Bun.serve<Data>({ hostname, port, reusePort: sharing === "shared", ...common, ...handlers });
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
