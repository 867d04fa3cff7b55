/** The control API on Bun.serve: joins its doors, routes, sockets and notifications. */
import { rm } from "node:fs/promises";
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import {
  anonymousMax,
  anonymousPerAddressMax,
  handshakesPerSecondMax,
  openFrameBytesMax,
} from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { createBodies } from "./bodies.ts";
import { createCrowd } from "./crowd.ts";
import { createDispatch } from "./dispatch.ts";
import { createDoors, type DoorOptions } from "./doors.ts";
import { createEventStreams } from "./event-stream.ts";
import { createFailures } from "./failures.ts";
import type { AllowLaunch } from "./launch-endpoint.ts";
import { listen, listenAtPath, listenTls, type TlsOptions } from "./listen.ts";
import { forwardEvents, type Listener } from "./notifications.ts";
import type { PairByPin } from "./pair.ts";
import type { PairingDoor } from "./pairing-line.ts";
import { createPlaces } from "./places.ts";
import { createRateLimit } from "./rate.ts";
import { createRoutes, type PageFiles } from "./routes.ts";
import type { AcceptHello } from "./sealed-line.ts";
import type { Services } from "./services.ts";
import { createSockets, type Peer } from "./sockets.ts";
import { createUnsent } from "./unsent.ts";

type OfDoors = Pick<DoorOptions<Peer>, "rules" | "uid" | "ownerOf" | "ownAddresses" | "audit">;

export interface ApiOptions extends OfDoors {
  readonly services: Services;
  readonly bus: Bus;
  readonly log: Log;
  readonly clock: Clock;
  /** 0 picks a free one. */
  readonly port: number;
  /** Addresses to listen on. Empty: all. */
  readonly listen: readonly string[];
  /** A socket in the file system, for callers on the device; undefined for none. */
  readonly socketPath: string | undefined;
  /** The port for TLS (0: of the system's choice) and what to show there; undefined for none. */
  readonly tls: (TlsOptions & { readonly port: number }) | undefined;
  readonly allowLaunch: AllowLaunch;
  readonly accept: AcceptHello;
  readonly pairing: PairingDoor;
  /** The device's own page, by path; undefined for what is none of its files. */
  readonly page: PageFiles;
  readonly pairByPin: PairByPin;
  /** A client from afar has shown that it knows its secret. */
  readonly onProved: (clientId: string, address: string) => void;
}

export interface ApiServer {
  readonly port: number;
  /** Shows another certificate from now on; connections that are open stay. */
  showCertificate(tls: TlsOptions): void;
  /** Ends the sessions of a client that was deleted. */
  cutClient(id: string): void;
  /** Closes every connection (1001) and stops listening. */
  close(): Promise<void>;
}

const farewellMs = 100;

/** Listens; throws `StartError` where it cannot. */
export async function serveApi(options: ApiOptions): Promise<ApiServer> {
  const { services, bus, log, clock, audit, socketPath, allowLaunch, pairByPin } = options;
  const dispatch = createDispatch({ services, log, audit });
  const streams = createEventStreams(clock);
  const listeners = new Set<Listener>([streams]);
  const places = createPlaces();
  const failures = createFailures(clock);
  const unsent = createUnsent();
  const anonymous = createCrowd({ max: anonymousMax, perAddressMax: anonymousPerAddressMax });
  const sockets = createSockets({
    ...options,
    accept: inTime(options.accept, clock),
    dispatch,
    listeners,
    unsent,
    anonymous,
    onFailure: failures.note,
    onOpen: places.take,
    onClose: places.leave,
  });
  const answer = createRoutes({
    services,
    dispatch,
    streams,
    places,
    bodies: createBodies(),
    unsent,
    anonymous,
    failures,
    pairByPin,
    audit,
    allowLaunch,
    page: options.page,
  });
  const doors = createDoors({ ...options, answer });

  const websocket = sockets.handler;
  // Frames of the secure layer alone are longer than what they carry, and nobody speaks it there.
  const openly = { ...websocket, maxPayloadLength: openFrameBytesMax };
  const servers = [...listen(options.port, options.listen, { fetch: doors.byTcp, websocket })];
  if (socketPath !== undefined) {
    try {
      servers.push(listenAtPath(socketPath, { fetch: doors.byPath, websocket: openly }));
    } catch (error) {
      log.warn("api", "no socket for callers on the device", { path: socketPath, error: messageOf(error) });
    }
  }
  let tlsServers = options.tls === undefined ? [] : tryTls(options.tls);
  const forwarding = forwardEvents(bus, listeners);
  return {
    port: servers[0]?.port ?? 0,
    showCertificate(tls) {
      const port = tlsServers[0]?.port ?? options.tls?.port;
      if (port === undefined) return;
      for (const server of tlsServers) void server.stop();
      tlsServers = tryTls({ ...tls, port });
    },
    cutClient: sockets.cut,
    async close() {
      forwarding[Symbol.dispose]();
      streams.close();
      const all = [...servers, ...tlsServers];
      const stopped = all.map((server) => server.stop());
      sockets.closeAll();
      // Peers that do not say goodbye in their turn are not waited for.
      await Promise.race([Promise.all(stopped), Bun.sleep(farewellMs)]);
      await Promise.race([Promise.all(all.map((server) => server.stop(true))), Bun.sleep(farewellMs)]);
      if (socketPath !== undefined) await rm(socketPath, { force: true });
    },
  };

  /** A port in use for TLS must not keep the device from playing: it is told, and the rest goes on. */
  function tryTls(tls: TlsOptions & { readonly port: number }) {
    try {
      return listenTls(tls.port, options.listen, tls, { fetch: doors.byTls, websocket: openly });
    } catch (error) {
      log.error("api", "no TLS", { error: messageOf(error) });
      return [];
    }
  }
}

/** Turns hellos away that come faster than they may, from however many addresses. */
function inTime(accept: AcceptHello, clock: Clock): AcceptHello {
  const rate = createRateLimit(clock, {
    perMinute: 60 * handshakesPerSecondMax,
    burst: handshakesPerSecondMax,
  });
  return async (hello) => {
    if (rate.take("all")) return accept(hello);
    const data = { limit: "handshakesPerSecondMax" };
    return { kind: "refused", error: new ServiceError("busy", "too many handshakes: try again", { data }) };
  };
}
