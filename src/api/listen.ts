/** Opens the service's ports; where one cannot be had, a sentence says why. */
import type { Server, WebSocketHandler } from "bun";
import { exitCodes, messageOf, StartError } from "../core/errors.ts";
import { messageBytesMax } from "../core/limits.ts";

export interface Handlers<Data> {
  readonly fetch: (request: Request, server: Server<Data>) => Response | undefined | Promise<Response>;
  readonly websocket: WebSocketHandler<Data>;
}

/** `addresses` empty: all. Port 0: one of the system's choice, which all addresses share. Throws `StartError`. */
export function listen<Data>(
  port: number,
  addresses: readonly string[],
  handlers: Handlers<Data>,
): readonly Server<Data>[] {
  if (addresses.length > 0) {
    const servers: Server<Data>[] = [];
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

function serveAt<Data>(hostname: string, port: number, handlers: Handlers<Data>): Server<Data> {
  try {
    return Bun.serve<Data>({
      hostname,
      port,
      development: false,
      // A little above the limit, so that a body that passes it is told so by us.
      maxRequestBodySize: messageBytesMax + 4096,
      ...handlers,
    });
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
