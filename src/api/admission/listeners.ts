/** The ports that callers from afar come in by: one in the clear, one over TLS. Either can be shut to them for a while. */
import type { Server } from "bun";
import { messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { isDeviceAddress } from "./access.ts";
import { type Handlers, listen, listenTls, type TlsOptions } from "./open-port.ts";

export interface Entrance<Data> {
  /** 0 where it could not be opened. */
  readonly port: number;
  readonly servers: () => readonly Server<Data>[];
  /** From now on nobody else comes in from afar; who is in stays. */
  shut(): void;
  /** Undoes that. Throws `StartError` where it cannot listen any more. */
  open(): void;
}

/** Debian gives its own name the second one. */
const loopback: readonly string[] = ["127.0.0.1", "127.0.1.1", "::1"];

/**
 * In the clear. Loopback has listeners of its own on the same port, which the kernel prefers for what comes that way: they
 * stay open while it is shut, and a flood does not stand in their queue. Throws `StartError` where it cannot listen.
 */
export function openPlain<Data>(
  port: number,
  addresses: readonly string[],
  handlers: Handlers<Data>,
): Entrance<Data> {
  // Who shares a port is not told of others who do: so it is taken once for nobody else.
  if (port !== 0) stopAll(listen(port, addresses, handlers));
  const asked = addresses.filter(isLoopback);
  const far = addresses.filter((address) => !isLoopback(address));
  const listenFar = (at: number) =>
    addresses.length === 0 || far.length > 0 ? listen(at, far, handlers, "shared") : [];
  const tryListen = (at: number, address: string) => {
    try {
      return listen(at, [address], handlers, "shared");
    } catch {
      // A kernel without IPv6; and callers on the device have the socket's file, too.
      return [];
    }
  };
  let servers = listenFar(port);
  const near = asked.length > 0 ? [...listen(servers[0]?.port ?? port, asked, handlers, "shared")] : [];
  const actual = servers[0]?.port ?? near[0]?.port ?? 0;
  for (const address of loopback)
    if (!asked.includes(address) && isMeantToo(address, addresses)) near.push(...tryListen(actual, address));
  return {
    port: actual,
    servers: () => [...servers, ...near],
    shut() {
      stopAll(servers);
      servers = [];
    },
    open() {
      servers = listenFar(actual);
    },
  };
}

const isLoopback = (address: string) => address === "localhost" || isDeviceAddress(address, () => []);

/** Whether this loopback address is among all those that are listened on. */
function isMeantToo(address: string, addresses: readonly string[]): boolean {
  const isWide = (...all: readonly string[]) => addresses.some((one) => all.includes(one));
  return addresses.length === 0 || isWide("::", "::0") || (!address.includes(":") && isWide("0.0.0.0", "0"));
}

export interface TlsEntrance<Data> extends Entrance<Data> {
  /** Shows another certificate from now on; connections that are open stay. */
  showCertificate(tls: TlsOptions): void;
}

/** Over TLS. A port in use must not keep the device from playing: it is told, and the rest goes on. */
export function openTls<Data>(
  shown: TlsOptions & { readonly port: number },
  { log, listen: addresses }: { readonly log: Log; readonly listen: readonly string[] },
  handlers: Handlers<Data>,
): TlsEntrance<Data> {
  let { port, ...tls } = shown;
  let isShut = false;
  const tryListen = () => {
    try {
      return listenTls(port, addresses, tls, handlers);
    } catch (error) {
      log.error("api", "no TLS", { error: messageOf(error) });
      return [];
    }
  };
  let servers = tryListen();
  port = servers[0]?.port ?? port;
  return {
    port,
    servers: () => servers,
    shut() {
      isShut = true;
      stopAll(servers);
      servers = [];
    },
    open() {
      isShut = false;
      servers = listenTls(port, addresses, tls, handlers);
    },
    showCertificate({ cert, key }) {
      tls = { cert, key };
      if (isShut) return;
      stopAll(servers);
      servers = tryListen();
    },
  };
}

function stopAll<Data>(servers: readonly Server<Data>[]): void {
  for (const server of servers) void server.stop();
}
