/**
 * WebSockets: heartbeats first, then one connection for each socket whose caller may send requests. A caller over TLS starts as
 * anonymous; if its first text is a hello, it does the handshake instead, and continues as that client.
 */
import type { WebSocketHandler } from "bun";
import type { Audit } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";
import { limitReached, ServiceError } from "../core/errors.ts";
import {
  messageBytesMax,
  sealedFrameCharsMax,
  shortMessageBytesMax,
  unsentBytesMax,
  unsentOnDeviceWhileAskingMax,
  unsentWhileAskingMax,
} from "../core/limits.ts";
import type { Grant } from "../core/rights.ts";
import { SecureFailure } from "../secure/failure.ts";
import type { PoolMember, RemoteLimits } from "./admission/connection-pool.ts";
import { type CallerSession, createConnection } from "./connection.ts";
import { type Dispatch, serveOn } from "./dispatch.ts";
import { errorText } from "./envelope.ts";
import { createFairScheduler } from "./fair-scheduler.ts";
import type { NotificationReceiver } from "./notifications.ts";
import {
  type AcceptHello,
  createSealedLine,
  isHello,
  type PairingDoor,
  type SealedLine,
  withPairing,
} from "./sealed-line.ts";
import type { OpenConnection, Socket, SocketData } from "./socket-data.ts";

/** Answers a hello that comes from this address. */
export type AcceptFrom = (hello: string, address: string) => ReturnType<AcceptHello>;

export interface SocketParts {
  readonly dispatch: Dispatch;
  readonly clock: Clock;
  /** Connections are added and removed. */
  readonly receivers: Set<NotificationReceiver>;
  readonly accept: AcceptFrom;
  /** Like `accept`, but only for version 1 of the API. */
  readonly acceptV1: AcceptFrom;
  readonly pairing: PairingDoor;
  /** The present right of a client; `none` for a deleted client. */
  readonly grantOf: (clientId: string) => () => Grant;
  /** Called after a remote client has proved its secret. Throws `ServiceError` if it may not continue nevertheless. */
  readonly onProved: (clientId: string, address: string) => void;
  readonly audit: Audit;
  readonly limits: RemoteLimits;
}

const unsealedMs = 10_000; // An unsealed remote connection is closed after this.
const farewellMs = 1000; // The time that a peer has for the closing handshake.
const cutOffMs = 50; // The time in which the refusal can be sent, while the peer may still send as fast as it can.
const idleSeconds = 120; // Bun sends pings before this time is over. A peer that answers none of them in this time is gone.
const normal = 1000;
const goingAway = 1001;
const policyViolation = 1008;
const tooBig = 1009;

export function createSockets(parts: SocketParts) {
  const { dispatch, clock, receivers, accept, acceptV1, pairing, grantOf, audit, onProved } = parts;
  const { connections, failures, backlog, unsealed, anonymous, answerBudget, intake } = parts.limits;
  const sockets = new Set<Socket>();
  const scheduler = createFairScheduler();

  const say = (socket: Socket, message: string | Uint8Array) => {
    socket.send(message);
    const { remote } = socket.data;
    if (remote === undefined) return;
    backlog.note(remote);
    if (anonymous.has(remote)) answerBudget.spend(message.length);
  };
  /** Opens the socket for requests; `send` takes the answers. */
  const openFor = (
    socket: Socket,
    who: Pick<CallerSession, "grant" | "from" | "resultFor">,
    send: (text: string) => void,
  ): OpenConnection => {
    const { access } = socket.data;
    const connection = createConnection({ access, ...who }, send, () => {
      const { remote } = socket.data;
      if (remote === undefined) {
        const isBehind = socket.getBufferedAmount() > unsentOnDeviceWhileAskingMax;
        return isBehind ? "unsentOnDeviceWhileAskingMax" : undefined;
      }
      const isBehind = remote.unsentBytes() > unsentWhileAskingMax;
      return isBehind || (anonymous.has(remote) && answerBudget.isSpent())
        ? "unsentWhileAskingMax"
        : undefined;
    });
    const opened = { connection, lane: { cork: (work: () => void) => corked(socket, work), waiting: [] } };
    socket.data.opened = opened;
    receivers.add(connection);
    return opened;
  };
  const serve = ({ connection, lane }: OpenConnection, payload: string) =>
    scheduler.take(lane, () => serveOn(dispatch, connection, payload), 2 * payload.length);
  const end = (socket: Socket) => {
    socket.close(policyViolation, "encryption required");
    clock.after(farewellMs, () => socket.terminate());
  };
  const seal = (socket: Socket, member: PoolMember): SealedLine => {
    const { address } = member;
    const { isV1App, isAdmitted } = socket.data;
    const sealed = createSealedLine({
      accept: (hello) => (isV1App ? acceptV1 : accept)(hello, address),
      send: (text) => say(socket, text),
      onProved(clientId, resultFor) {
        onProved(clientId, address);
        socket.data.leaving?.[Symbol.dispose]();
        unsealed.leave(member);
        unsealed.trust(address);
        const granted = grantOf(clientId);
        const grant = () => (isAdmitted() ? granted() : "none");
        openFor(socket, { grant, from: { address, client: clientId }, resultFor }, sealed.send);
      },
      onPayload(text) {
        // A client of version 1 also seals its heartbeat.
        if (isPing(text)) sealed.send("pong");
        else if (socket.data.opened !== undefined) serve(socket.data.opened, text);
      },
      refuse(error) {
        const isSealed = error instanceof SecureFailure || error.cause instanceof SecureFailure;
        if (isSealed) audit.refused("secure-failure", { address });
        else if (error.code === "encryption-required") audit.refused("encryption-required", { address });
        // A failure after the secret was proved is a fault of the transmission, not a guess.
        if (isSealed && unsealed.has(member)) failures.note(address);
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
  /** Ends the anonymous connection. The socket gets no notifications until its client has proved its secret. */
  const sealInstead = (socket: Socket, { connection }: OpenConnection, remote: PoolMember): SealedLine => {
    receivers.delete(connection);
    connection.end();
    socket.data.opened = undefined;
    anonymous.leave(remote);
    const line = seal(socket, remote);
    socket.data.line = line;
    return line;
  };
  /** Whether a caller without an identity may send this message; if not, it is refused. */
  const isTaken = (socket: Socket, message: string | Buffer): boolean => {
    const { intake: own, address, penalize, hasSpoken, line } = socket.data;
    const taken = own?.take(Buffer.byteLength(message)) ?? { kind: "taken" };
    if (taken.kind === "taken") return true;
    // A flood of other callers does not keep out a heartbeat or a hello, because the rate of hellos has limits of its
    // own.
    const isFirst = !hasSpoken || line !== undefined;
    if (taken.kind === "refused" && (isPing(message) || (isFirst && message.length <= shortMessageBytesMax)))
      return true;
    const error = limitReached(taken.limit, "callers without an identity send too much: wait a second");
    audit.refused("too-many-requests", { address });
    if (taken.kind === "refused") socket.send(errorOf(error));
    else {
      penalize();
      refuse(socket, error);
      // A peer can ignore the close and continue to send.
      clock.after(cutOffMs, () => socket.terminate());
    }
    return false;
  };

  const handler: WebSocketHandler<SocketData> = {
    maxPayloadLength: sealedFrameCharsMax,
    backpressureLimit: unsentBytesMax,
    closeOnBackpressureLimit: true,
    idleTimeout: idleSeconds,
    perMessageDeflate: false,
    open(socket) {
      sockets.add(socket);
      const { address, access, isPrivate, grant, client, isV1App } = socket.data;
      const isOpen = isPrivate && !isV1App;
      connections.take(address);
      if (isOpen) openFor(socket, { grant, from: { address, client } }, (text) => say(socket, text));
      if (access === "device") return;
      const remote = {
        address,
        unsentBytes: () => socket.getBufferedAmount(),
        // The socket is terminated, because a peer can ignore a close, and half of a long frame is kept until the peer is gone.
        drop: () => socket.terminate(),
      };
      socket.data.remote = remote;
      if (client === undefined) socket.data.intake = intake.connection();
      if (!isOpen) socket.data.line = seal(socket, remote);
      else if (client === undefined) anonymous.enter(remote);
    },
    message(socket, message) {
      const peer = socket.data;
      const { opened, line, remote } = peer;
      const isUnknown = remote !== undefined && (anonymous.has(remote) || unsealed.has(remote));
      if (isUnknown && !isTaken(socket, message)) return;
      if (isPing(message)) say(socket, typeof message === "string" ? "pong" : pongBytes);
      // Only whole messages count as activity, so a caller that keeps half of a frame here is evicted.
      if (remote !== undefined) anonymous.touch(remote);
      if (isPing(message)) return;
      const isFirst = !peer.hasSpoken;
      if (isFirst) peer.hasSpoken = true;
      // Neither JSON-RPC nor a frame of the secure layer is binary.
      if (line !== undefined) return line.take(typeof message === "string" ? message : "");
      if (opened === undefined) return;
      const isStranger = remote !== undefined && anonymous.has(remote);
      if (isFirst && isStranger && typeof message === "string" && isHello(message)) {
        if (unsealed.hasRoom(remote.address)) return sealInstead(socket, opened, remote).take(message);
        return refuse(socket, new ServiceError("busy", "too many handshakes: try again in a minute"));
      }
      if (typeof message !== "string")
        return opened.connection.answer(errorText(undefined, "parse-error", "send JSON in text frames"));
      if (isTooLong(message)) return socket.close(tooBig, `a message has at most ${messageBytesMax} bytes`);
      serve(opened, message);
    },
    close(socket) {
      if (!sockets.delete(socket)) return;
      const { address, leaving, line, opened, remote } = socket.data;
      if (remote !== undefined) for (const part of [unsealed, anonymous]) part.leave(remote);
      if (remote !== undefined) backlog.forget(remote);
      connections.giveBack(address);
      leaving?.[Symbol.dispose]();
      line?.close();
      if (opened === undefined) return;
      receivers.delete(opened.connection);
      opened.connection.end();
    },
  };
  return {
    handler,
    /** Ends the sessions of a client that was deleted. */
    cut(clientId: string) {
      for (const socket of sockets)
        if ((socket.data.line?.clientId ?? socket.data.client) === clientId)
          socket.close(policyViolation, "this client was deleted");
    },
    /** Ends the connections that are no longer admitted. */
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

/** Counts the bytes of UTF-8 only if the length alone does not decide. */
function isTooLong(message: string): boolean {
  return 3 * message.length > messageBytesMax && Buffer.byteLength(message) > messageBytesMax;
}

/** Sends the messages of `work` in one go. Bun may not run the callback of a closing socket, but `work` runs in any case. */
function corked(socket: Socket, work: () => void): void {
  let hasRun = false;
  socket.cork(() => {
    hasRun = true;
    work();
  });
  if (!hasRun) work();
}

/** Sends a protocol error, which has no id, and closes the connection. */
function refuse(socket: Socket, error: ServiceError): void {
  socket.send(errorOf(error));
  socket.close(policyViolation, error.code);
}

const errorOf = ({ code, message, data }: ServiceError) => errorText(undefined, code, message, data);
