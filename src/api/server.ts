/** The control API on Bun.serve: joins admission, routes, sockets and notifications. */
import { rm } from "node:fs/promises";
import type { Server } from "bun";
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import {
  descriptorsForTlsMax,
  descriptorsMax,
  openFrameBytesMax,
  turnedAwayByTlsPerSecondMax,
  turnedAwayPerSecondMax,
} from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { Descriptors } from "../core/operating-system.ts";
import { type AdmissionOptions, createAdmission } from "./admission/admission.ts";
import { createRemoteLimits } from "./admission/connection-pool.ts";
import {
  type Handlers,
  listenAtPath,
  openPlainPort,
  openTlsPort,
  type RemotePort,
  type TlsOptions,
} from "./admission/listeners.ts";
import { createOverloadGuard, type GuardedPort } from "./admission/overload-guard.ts";
import { createHandshakeRate } from "./admission/rate-limits.ts";
import { createDispatch } from "./dispatch.ts";
import { createEventStreams } from "./event-stream.ts";
import { createRevocation } from "./http.ts";
import { forwardEvents, type NotificationReceiver } from "./notifications.ts";
import { createRoutes, type RouteParts } from "./routes.ts";
import type { SocketData } from "./socket-data.ts";
import { type AcceptFrom, createSockets, type SocketParts } from "./sockets.ts";

type OfAdmission = Pick<
  AdmissionOptions<SocketData>,
  "rules" | "uid" | "callerAt" | "endPlayers" | "ownAddresses" | "audit" | "bearer"
>;
type OfSockets = Pick<SocketParts, "accept" | "acceptV1" | "pairing" | "grantOf" | "onProved">;
type OfRoutes = Pick<RouteParts, "services" | "allowLaunch" | "metrics" | "page" | "pairByPin">;

export interface ApiOptions extends OfAdmission, OfSockets, OfRoutes {
  readonly bus: Bus;
  readonly log: Log;
  readonly clock: Clock;
  /** With 0 the kernel chooses a free port. */
  readonly port: number;
  /** Addresses to listen on. An empty list means all. */
  readonly listen: readonly string[];
  /** A socket in the file system, for callers on the device; undefined for none. */
  readonly socketPath: string | undefined;
  /** The port for TLS (0: the system picks one) and its certificate; undefined for no TLS. */
  readonly tls: (TlsOptions & { readonly port: number }) | undefined;
  readonly descriptors: Descriptors;
}

const farewellMs = 100;

export type ApiServer = Awaited<ReturnType<typeof serveApi>>;

/** Listens; throws `StartError` if it cannot. */
export async function serveApi(options: ApiOptions) {
  const { bus, log, clock, socketPath } = options;
  const limits = createRemoteLimits(clock);
  const dispatch = createDispatch({ ...options, quota: limits.writes });
  const revocation = createRevocation();
  const streams = createEventStreams(clock);
  const receivers = new Set<NotificationReceiver>([streams]);
  const handshakes = limitedHandshakes(options, createHandshakeRate(clock, limits.failures));
  const sockets = createSockets({ ...options, ...handshakes, dispatch, receivers, limits });
  const answer = createRoutes({ ...options, dispatch, streams, limits, revocation });
  const admission = createAdmission({ ...options, failures: limits.failures, answer });

  const websocket = sockets.handler;
  // Sealed frames are longer than their payloads. Frames over TLS are not sealed, so anonymous callers there get a lower limit.
  const openly = { ...websocket, maxPayloadLength: openFrameBytesMax };
  const plain = openPlainPort(options.port, options.listen, { fetch: admission.byTcp, websocket });
  const path = tryPath(socketPath, { fetch: admission.byPath, websocket: openly }, log);
  const tls = options.tls && openTlsPort(options.tls, options, { fetch: admission.byTls, websocket: openly });
  const ports = guardedPorts(plain, tls, admission.turnedAway, options.descriptors.limit);
  const guard = createOverloadGuard(ports, options);
  const forwarding = forwardEvents(bus, receivers);
  return {
    port: plain.port,
    /** Dispatches requests of callers that do not come through a port. Their session decides on their rights. */
    dispatch,
    /** Shows another certificate from now on; connections that are open stay. */
    showCertificate(shown: TlsOptions) {
      tls?.showCertificate(shown);
    },
    /** Ends the connections that the settings, as they are now, do not admit. */
    review() {
      sockets.review();
      streams.review();
    },
    /** Ends the sessions of a client that was deleted. */
    cutClient(id: string) {
      revocation.cut(id);
      sockets.cut(id);
    },
    /** Closes every connection (1001) and stops listening. */
    async close() {
      for (const part of [guard, forwarding]) part[Symbol.dispose]();
      streams.close();
      const all = [...plain.servers(), ...path, ...(tls?.servers() ?? [])];
      const stopped = all.map((server) => server.stop());
      sockets.closeAll();
      // A peer that does not answer the closing handshake delays the stop by at most this time.
      await Promise.race([Promise.all(stopped), Bun.sleep(farewellMs)]);
      await Promise.race([Promise.all(all.map((server) => server.stop(true))), Bun.sleep(farewellMs)]);
      if (socketPath !== undefined) await rm(socketPath, { force: true });
    },
  };
}

/** The TLS port is shut at fewer descriptors, because a TLS connection takes 6 KB instead of 300 bytes. */
function guardedPorts(
  plain: RemotePort<SocketData>,
  tls: RemotePort<SocketData> | undefined,
  turnedAway: ReturnType<typeof createAdmission>["turnedAway"],
  limit: number,
): readonly GuardedPort[] {
  const guardedPlain = {
    ...plain,
    name: "plain",
    shutAt: Math.min(descriptorsMax, Math.floor(0.75 * limit)),
    turnedAway: turnedAway.tcp,
    turnedAwayPerSecondMax,
  };
  if (tls === undefined) return [guardedPlain];
  const guardedTls = {
    ...tls,
    name: "TLS",
    shutAt: Math.min(descriptorsForTlsMax, Math.floor(0.5 * limit)),
    turnedAway: turnedAway.tls,
    turnedAwayPerSecondMax: turnedAwayByTlsPerSecondMax,
  };
  return [guardedPlain, guardedTls];
}

function tryPath(
  path: string | undefined,
  handlers: Handlers<SocketData>,
  log: Log,
): readonly Server<SocketData>[] {
  if (path === undefined) return [];
  try {
    return [listenAtPath(path, handlers)];
  } catch (error) {
    log.warn("api", "no socket for callers on the device", { path, error: messageOf(error) });
    return [];
  }
}

/** Refuses hellos above the rates of `createHandshakeRate`. */
function limitedHandshakes(
  { accept, acceptV1 }: Pick<OfSockets, "accept" | "acceptV1">,
  refusalOf: ReturnType<typeof createHandshakeRate>,
): Pick<OfSockets, "accept" | "acceptV1"> {
  const limited =
    (over: AcceptFrom): AcceptFrom =>
    async (hello, address) => {
      const error = refusalOf(address);
      return error === undefined ? over(hello, address) : { kind: "refused", error };
    };
  return { accept: limited(accept), acceptV1: limited(acceptV1) };
}
