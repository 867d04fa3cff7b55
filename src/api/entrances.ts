/** The ports that callers from afar come in by: one in the clear, one over TLS. Either can be shut to them for a while. */
import type { Server } from "bun";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { isDeviceAddress } from "./access.ts";
import { type Handlers, listen, listenTls, type TlsOptions } from "./listen.ts";

export interface Entrance<Data> {
  /** 0 where it could not be opened. */
  readonly port: number;
  readonly servers: () => readonly Server<Data>[];
  /** From now on nobody else comes in from afar; who is in stays. */
  shut(): void;
  /** Undoes that. Throws `StartError` where somebody else has taken the port. */
  open(): void;
}

/** In the clear. While it is shut, it is open to loopback. Throws `StartError` where it cannot listen. */
export function openPlain<Data>(
  port: number,
  addresses: readonly string[],
  handlers: Handlers<Data>,
): Entrance<Data> {
  let servers = listen(port, addresses, handlers);
  const actual = servers[0]?.port ?? 0;
  const loopback =
    addresses.length === 0 ? ["127.0.0.1", "::1"] : addresses.filter((one) => isDeviceAddress(one, () => []));
  return {
    port: actual,
    servers: () => servers,
    shut() {
      stopAll(servers);
      servers = loopback.flatMap((address) => tryListen(address));
    },
    open() {
      stopAll(servers);
      servers = [];
      servers = listen(actual, addresses, handlers);
    },
  };

  function tryListen(address: string): readonly Server<Data>[] {
    try {
      return listen(actual, [address], handlers);
    } catch {
      // A kernel without IPv6; and callers on the device have the socket's file, too.
      return [];
    }
  }
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
