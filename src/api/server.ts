/** The control API on Bun.serve: joins its doors, routes, sockets and notifications. */
import { rm } from "node:fs/promises";
import type { Server } from "bun";
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import {
  anonymousMax,
  anonymousPerAddressMax,
  descriptorsForTlsMax,
  descriptorsMax,
  handshakesPerSecondMax,
  openFrameBytesMax,
  provenAddressesMax,
  turnedAwayByTlsPerSecondMax,
  turnedAwayPerSecondMax,
  unsealedMax,
  unsealedPerAddressMax,
  unsealedStayMs,
} from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { Descriptors } from "../core/operating-system.ts";
import { createDoors, type DoorOptions } from "./admission/admit.ts";
import { createAllowance } from "./admission/answer-budget.ts";
import { createCrowd } from "./admission/connection-pool.ts";
import { createPlaces } from "./admission/connection-quota.ts";
import { createFailures } from "./admission/failed-handshakes.ts";
import { type Entrance, openPlain, openTls, type TlsEntrance } from "./admission/listeners.ts";
import { type Handlers, listenAtPath, type TlsOptions } from "./admission/open-port.ts";
import { createGate, type GuardedDoor } from "./admission/overload-guard.ts";
import { createRateLimit } from "./admission/rate-limit.ts";
import { createBodies } from "./admission/request-bodies.ts";
import { createUnsent } from "./admission/send-backlog.ts";
import { createFlooders, type Flooders } from "./admission/tls-floods.ts";
import { createWriteQuota } from "./admission/write-quota.ts";
import { createDispatch } from "./dispatch.ts";
import { createEventStreams } from "./event-stream.ts";
import type { AllowLaunch } from "./launch-endpoint.ts";
import { forwardEvents, type Listener } from "./notifications.ts";
import type { PairByPin } from "./pin-pairing-endpoint.ts";
import { createRevocation } from "./revocation.ts";
import { createRoutes, type PageFiles } from "./routes.ts";
import type { AcceptHello } from "./sealed-line.ts";
import type { Services } from "./services.ts";
import { createSockets, type Peer, type SocketParts } from "./sockets.ts";

type OfDoors = Pick<DoorOptions<Peer>, "rules" | "uid" | "ownerOf" | "ownAddresses" | "audit" | "bearer">;
type OfSockets = Pick<SocketParts, "accept" | "acceptV1" | "pairing" | "grantOf" | "onProved">;

export interface ApiOptions extends OfDoors, OfSockets {
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
  /** The device's own page, by path; undefined for what is none of its files. */
  readonly page: PageFiles;
  readonly pairByPin: PairByPin;
  readonly descriptors: Descriptors;
  /** Has the kernel refuse these addresses, and no others, at a port of this service; false where it cannot. */
  readonly refuseAt: (port: number, addresses: readonly string[]) => boolean;
}

export interface ApiServer {
  readonly port: number;
  /** Shows another certificate from now on; connections that are open stay. */
  showCertificate(tls: TlsOptions): void;
  /** Ends the connections that the settings, as they are now, would not let in. */
  review(): void;
  /** Ends the sessions of a client that was deleted. */
  cutClient(id: string): void;
  /** Closes every connection (1001) and stops listening. */
  close(): Promise<void>;
}

const farewellMs = 100;

/** Listens; throws `StartError` where it cannot. */
export async function serveApi(options: ApiOptions): Promise<ApiServer> {
  const { services, bus, log, clock, audit, socketPath, allowLaunch, pairByPin } = options;
  const quota = createWriteQuota(clock);
  const dispatch = createDispatch({ services, log, audit, clock, quota });
  const revocation = createRevocation();
  const streams = createEventStreams(clock);
  const listeners = new Set<Listener>([streams]);
  const places = createPlaces();
  const failures = createFailures(clock);
  const unsent = createUnsent();
  const allowance = createAllowance(clock);
  const anonymous = createCrowd({ max: anonymousMax, perAddressMax: anonymousPerAddressMax });
  const unsealed = createCrowd({
    max: unsealedMax,
    perAddressMax: unsealedPerAddressMax,
    stay: { ms: unsealedStayMs, clock, knownMax: provenAddressesMax },
  });
  const sockets = createSockets({
    ...options,
    ...inTime(options, clock),
    dispatch,
    listeners,
    unsent,
    unsealed,
    anonymous,
    allowance,
    onFailure: failures.note,
    blockedMs: failures.blockedMs,
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
    unsealed,
    anonymous,
    allowance,
    failures,
    revocation,
    quota,
    pairByPin,
    audit,
    allowLaunch,
    page: options.page,
  });
  const flooders = createFlooders(clock, (addresses) => options.refuseAt(tls?.port ?? 0, addresses));
  const doors = createDoors({ ...options, failures, onTurnedAway: flooders.note, answer });

  const websocket = sockets.handler;
  // Frames of the secure layer are longer than what they carry. Over TLS a sealed payload is shorter, so that strangers
  // there can make the device keep less.
  const openly = { ...websocket, maxPayloadLength: openFrameBytesMax };
  const plain = openPlain(options.port, options.listen, { fetch: doors.byTcp, websocket });
  const path = tryPath(socketPath, { fetch: doors.byPath, websocket: openly }, log);
  const tls = options.tls && openTls(options.tls, options, { fetch: doors.byTls, websocket: openly });
  const gate = createGate(
    guarded(plain, reopened(tls, flooders), doors.turnedAway, options.descriptors.limit),
    options,
  );
  const forwarding = forwardEvents(bus, listeners);
  return {
    port: plain.port,
    showCertificate(shown) {
      tls?.showCertificate(shown);
      flooders.apply();
    },
    review() {
      sockets.review();
      streams.review();
    },
    cutClient(id) {
      revocation.cut(id);
      sockets.cut(id);
    },
    async close() {
      gate[Symbol.dispose]();
      flooders[Symbol.dispose]();
      forwarding[Symbol.dispose]();
      streams.close();
      const all = [...plain.servers(), ...path, ...(tls?.servers() ?? [])];
      const stopped = all.map((server) => server.stop());
      sockets.closeAll();
      // Peers that do not say goodbye in their turn are not waited for.
      await Promise.race([Promise.all(stopped), Bun.sleep(farewellMs)]);
      await Promise.race([Promise.all(all.map((server) => server.stop(true))), Bun.sleep(farewellMs)]);
      if (socketPath !== undefined) await rm(socketPath, { force: true });
    },
  };
}

/** The same entrance: its new socket refuses what the last one did. */
function reopened(tls: TlsEntrance<Peer> | undefined, flooders: Flooders): Entrance<Peer> | undefined {
  if (tls === undefined) return undefined;
  const open = () => {
    tls.open();
    flooders.apply();
  };
  return { ...tls, open };
}

/** At how many descriptors in use the doors are shut: over TLS earlier, where a connection takes 6 KB instead of 300 bytes. */
function guarded(
  plain: Entrance<Peer>,
  tls: Entrance<Peer> | undefined,
  turnedAway: ReturnType<typeof createDoors>["turnedAway"],
  limit: number,
): readonly GuardedDoor[] {
  const [most, mostForTls] = [
    Math.min(descriptorsMax, Math.floor(0.75 * limit)),
    Math.min(descriptorsForTlsMax, Math.floor(0.5 * limit)),
  ];
  const plainDoor = {
    ...plain,
    name: "plain",
    shutAt: most,
    turnedAway: turnedAway.tcp,
    turnedAwayPerSecondMax,
  };
  if (tls === undefined) return [plainDoor];
  const tlsDoor = {
    ...tls,
    name: "TLS",
    shutAt: mostForTls,
    turnedAway: turnedAway.tls,
    turnedAwayPerSecondMax: turnedAwayByTlsPerSecondMax,
  };
  return [plainDoor, tlsDoor];
}

function tryPath(path: string | undefined, handlers: Handlers<Peer>, log: Log): readonly Server<Peer>[] {
  if (path === undefined) return [];
  try {
    return [listenAtPath(path, handlers)];
  } catch (error) {
    log.warn("api", "no socket for callers on the device", { path, error: messageOf(error) });
    return [];
  }
}

/** Refuses hellos that come faster than they may, from however many addresses. */
function inTime(
  { accept, acceptV1 }: Pick<OfSockets, "accept" | "acceptV1">,
  clock: Clock,
): Pick<OfSockets, "accept" | "acceptV1"> {
  const rate = createRateLimit(clock, {
    perMinute: 60 * handshakesPerSecondMax,
    burst: handshakesPerSecondMax,
  });
  const limited =
    (over: AcceptHello): AcceptHello =>
    async (hello) => {
      if (rate.take("all")) return over(hello);
      const data = { limit: "handshakesPerSecondMax" };
      return { kind: "refused", error: new ServiceError("busy", "too many handshakes: try again", { data }) };
    };
  return { accept: limited(accept), acceptV1: limited(acceptV1) };
}
