/**
 * The WebSocket side: heartbeats first, then one connection for each socket of a caller that may speak. A caller over TLS
 * speaks as a stranger at once; where its first text is a hello, it shakes hands instead, and speaks as that client.
 */
import type { ServerWebSocket, WebSocketHandler } from "bun";
import type { Audit, From } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import {
  messageBytesMax,
  sealedFrameCharsMax,
  unsentBytesMax,
  unsentWhileAskingMax,
} from "../core/limits.ts";
import type { Grant } from "../core/rights.ts";
import type { Allowance } from "./admission/answer-budget.ts";
import type { Crowd, Member } from "./admission/connection-pool.ts";
import type { Outlet, Unsent } from "./admission/send-backlog.ts";
import { type Connection, createConnection } from "./connection.ts";
import { type Dispatch, serveOn } from "./dispatch.ts";
import { errorText } from "./envelope.ts";
import { createTurns, type Lane } from "./fair-scheduler.ts";
import type { Visit } from "./http.ts";
import type { Listener } from "./notifications.ts";
import { type PairingDoor, withPairing } from "./pairing-line.ts";
import { type AcceptHello, createSealedLine, isHello, type SealedLine } from "./sealed-line.ts";

/** What a WebSocket carries of its own. */
export interface Peer
  extends Pick<Visit, "address" | "access" | "isPrivate" | "isAdmitted" | "grant" | "client" | "isV1App"> {
  /** A text came that was no heartbeat. */
  hasSpoken: boolean;
  /** Of a caller that may speak. */
  speaking: Speaking | undefined;
  /** Of a caller that others on the way could read. */
  line: SealedLine | undefined;
  leaving: Disposable | undefined;
  /** Of a caller from afar: what others may make it give up. */
  bounds: (Member & Outlet) | undefined;
}

/** The identity of a caller that may speak. */
interface Who {
  readonly grant: () => Grant;
  readonly from: From;
}

interface Speaking {
  readonly connection: Connection;
  readonly lane: Lane;
}

type Socket = ServerWebSocket<Peer>;

export function newPeer(visit: Visit): Peer {
  const { address, access, isPrivate, isAdmitted, grant, client, isV1App } = visit;
  const later = { speaking: undefined, line: undefined, leaving: undefined, bounds: undefined };
  const known = client === undefined ? {} : { client };
  return { address, access, isPrivate, isAdmitted, grant, isV1App, ...known, hasSpoken: false, ...later };
}

export interface Sockets {
  readonly handler: WebSocketHandler<Peer>;
  /** Ends the sessions of a client that was deleted. */
  cut(clientId: string): void;
  /** Ends the connections that would not be let in any more. */
  review(): void;
  closeAll(): void;
}

export interface SocketParts {
  readonly dispatch: Dispatch;
  readonly clock: Clock;
  /** Connections join and leave. */
  readonly listeners: Set<Listener>;
  readonly accept: AcceptHello;
  /** As `accept`, of version 1 only. */
  readonly acceptV1: AcceptHello;
  readonly pairing: PairingDoor;
  /** What a client may do now; `none` for one that there is no more. */
  readonly grantOf: (clientId: string) => () => Grant;
  /** A client from afar has shown that it knows its secret. Throws `ServiceError` if it may not come in all the same. */
  readonly onProved: (clientId: string, address: string) => void;
  readonly audit: Audit;
  readonly unsent: Unsent;
  /** Those from afar that have not shown their secret: whoever knows one shows it at once. */
  readonly unsealed: Crowd;
  /** Callers from afar that may speak and have shown no secret. */
  readonly anonymous: Crowd;
  /** Of what they are answered. */
  readonly allowance: Allowance;
  /** A handshake of this address came to nothing. */
  readonly onFailure: (address: string) => void;
  /** How long this address may not shake hands again, after its failures. */
  readonly blockedMs: (address: string) => number;
  readonly onOpen: (address: string) => void;
  readonly onClose: (address: string) => void;
}

const unsealedMs = 10_000; // Decisions, "Limits": an unsealed remote connection is closed after this.
const farewellMs = 1000; // What a peer has to answer that it is being closed.
const idleSeconds = 120; // Bun pings on its own before; a peer that answers no ping in this time is gone.
const [normal, goingAway, policyViolation, tooBig] = [1000, 1001, 1008, 1009];

export function createSockets(parts: SocketParts): Sockets {
  const { dispatch, clock, listeners, accept, acceptV1, pairing, grantOf, audit } = parts;
  const { onProved, onFailure, blockedMs, onOpen, onClose, unsent, unsealed, anonymous, allowance } = parts;
  const sockets = new Set<Socket>();
  const turns = createTurns();

  const say = (socket: Socket, message: string | Uint8Array) => {
    socket.send(message);
    const { bounds } = socket.data;
    if (bounds === undefined) return;
    unsent.note(bounds);
    if (anonymous.has(bounds)) allowance.spend(message.length);
  };
  /** From here on the socket may speak; `send` takes what goes to it. */
  const admit = (socket: Socket, who: Who, send: (text: string) => void): Speaking => {
    const { access } = socket.data;
    const connection = createConnection({ access, ...who }, send, () => {
      const { bounds } = socket.data;
      if (bounds === undefined) return false;
      return bounds.unsentBytes() > unsentWhileAskingMax || (anonymous.has(bounds) && allowance.isSpent());
    });
    const speaking = { connection, lane: { cork: (work: () => void) => corked(socket, work), waiting: [] } };
    socket.data.speaking = speaking;
    listeners.add(connection);
    return speaking;
  };
  const serve = ({ connection, lane }: Speaking, payload: string) =>
    turns.take(lane, () => serveOn(dispatch, connection, payload), 2 * payload.length);
  const end = (socket: Socket) => {
    socket.close(policyViolation, "encryption required");
    clock.after(farewellMs, () => socket.terminate());
  };
  const seal = (socket: Socket, member: Member): SealedLine => {
    const { address } = member;
    const { isV1App, isAdmitted } = socket.data;
    const sealed = createSealedLine({
      accept: isV1App ? acceptV1 : accept,
      send: (text) => say(socket, text),
      onProved(clientId) {
        onProved(clientId, address);
        socket.data.leaving?.[Symbol.dispose]();
        unsealed.leave(member);
        unsealed.know(address);
        const granted = grantOf(clientId);
        const grant = () => (isAdmitted() ? granted() : "none");
        admit(socket, { grant, from: { address, client: clientId } }, sealed.send);
      },
      onPayload: (text) => socket.data.speaking !== undefined && serve(socket.data.speaking, text),
      refuse(error) {
        if (error.code === "encryption-required") audit.refused("encryption-required", { address });
        if (error.code === "secure-failure") audit.refused("secure-failure", { address });
        // What fails once the secret was shown is a fault on the way, and no guess.
        if (error.code === "secure-failure" && unsealed.has(member)) onFailure(address);
        refuse(socket, error);
      },
    });
    unsealed.enter(member);
    socket.data.leaving = clock.after(unsealedMs, () => end(socket));
    if (isV1App) return sealed;
    return withPairing(sealed, {
      door: pairing,
      address,
      send: (text) => say(socket, text),
      refuse: (error) => refuse(socket, error),
      onPaired: () => socket.close(normal, "paired"),
    });
  };
  /** From here on it is no stranger's any more, and hears nothing until its secret was shown. */
  const sealInstead = (socket: Socket, { connection }: Speaking, bounds: Member): SealedLine => {
    listeners.delete(connection);
    connection.end();
    socket.data.speaking = undefined;
    anonymous.leave(bounds);
    const line = seal(socket, bounds);
    socket.data.line = line;
    return line;
  };

  const handler: WebSocketHandler<Peer> = {
    maxPayloadLength: sealedFrameCharsMax,
    backpressureLimit: unsentBytesMax,
    closeOnBackpressureLimit: true,
    idleTimeout: idleSeconds,
    perMessageDeflate: false,
    open(socket) {
      sockets.add(socket);
      const { address, access, isPrivate, grant, client, isV1App } = socket.data;
      const isOpen = isPrivate && !isV1App;
      onOpen(address);
      if (isOpen) admit(socket, { grant, from: { address, client } }, (text) => say(socket, text));
      if (access === "device") return;
      const bounds = {
        address,
        unsentBytes: () => socket.getBufferedAmount(),
        // Not asked to go, which it need not heed: what it has sent of a long frame is kept until it is gone.
        drop: () => socket.terminate(),
      };
      socket.data.bounds = bounds;
      if (!isOpen) socket.data.line = seal(socket, bounds);
      else if (client === undefined) anonymous.enter(bounds);
    },
    message(socket, message) {
      const peer = socket.data;
      const { speaking, line, bounds } = peer;
      if (isPing(message)) say(socket, typeof message === "string" ? "pong" : pongBytes);
      // Whoever keeps half of a frame here cannot come by with a whole one.
      if (bounds !== undefined) anonymous.stir(bounds);
      if (isPing(message)) return;
      const isFirst = !peer.hasSpoken;
      if (isFirst) peer.hasSpoken = true;
      // Neither JSON-RPC nor a frame of the secure layer is binary.
      if (line !== undefined) return line.take(typeof message === "string" ? message : "");
      if (speaking === undefined) return;
      const isStranger = bounds !== undefined && anonymous.has(bounds);
      if (isFirst && isStranger && typeof message === "string" && isHello(message)) {
        if (blockedMs(bounds.address) === 0 && unsealed.hasRoom(bounds.address))
          return sealInstead(socket, speaking, bounds).take(message);
        return refuse(socket, new ServiceError("busy", "too many handshakes: try again in a minute"));
      }
      if (typeof message !== "string")
        return speaking.connection.answer(errorText(undefined, "parse-error", "send JSON in text frames"));
      if (isTooLong(message)) return socket.close(tooBig, `a message has at most ${messageBytesMax} bytes`);
      serve(speaking, message);
    },
    close(socket) {
      if (!sockets.delete(socket)) return;
      const { address, leaving, line, speaking, bounds } = socket.data;
      if (bounds !== undefined) for (const part of [unsealed, anonymous]) part.leave(bounds);
      if (bounds !== undefined) unsent.forget(bounds);
      onClose(address);
      leaving?.[Symbol.dispose]();
      line?.close();
      if (speaking === undefined) return;
      listeners.delete(speaking.connection);
      speaking.connection.end();
    },
  };
  return {
    handler,
    cut(clientId) {
      for (const socket of sockets)
        if ((socket.data.line?.clientId ?? socket.data.client) === clientId)
          socket.close(policyViolation, "this client was deleted");
    },
    review() {
      for (const socket of sockets)
        if (!socket.data.isAdmitted()) socket.close(policyViolation, "the settings have changed");
    },
    closeAll() {
      for (const socket of sockets) socket.close(goingAway, "the service is stopping");
    },
  };
}

const pongBytes = new TextEncoder().encode("pong");

function isPing(message: string | Buffer): boolean {
  return typeof message === "string"
    ? message === "ping"
    : message.length === 4 && message.toString("latin1") === "ping";
}

/** Counted in bytes of UTF-8, and only where it may be. */
function isTooLong(message: string): boolean {
  return 3 * message.length > messageBytesMax && Buffer.byteLength(message) > messageBytesMax;
}

/** Sends in one go what `work` sends. A socket that is being closed may not run what it is given: it is run all the same. */
function corked(socket: Socket, work: () => void): void {
  let hasRun = false;
  socket.cork(() => {
    hasRun = true;
    work();
  });
  if (!hasRun) work();
}

/** A protocol error, which has no id, and the end of the connection. */
function refuse(socket: Socket, { code, message, data }: ServiceError): void {
  socket.send(errorText(undefined, code, message, data));
  socket.close(policyViolation, code);
}
