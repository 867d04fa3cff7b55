/** The WebSocket side: heartbeats first, then one connection for each socket of a caller that may speak. */
import type { ServerWebSocket, WebSocketHandler } from "bun";
import type { Clock } from "../core/clock.ts";
import { messageBytesMax, unsentBytesMax } from "../core/limits.ts";
import type { Access } from "./access.ts";
import { type Connection, createConnection } from "./connection.ts";
import { type Dispatch, serveOn } from "./dispatch.ts";
import { errorText } from "./envelope.ts";
import type { Listener } from "./notifications.ts";
import { createTurns, type Lane } from "./turns.ts";

/** What a WebSocket carries of its own. */
export interface Peer {
  readonly address: string;
  readonly access: Access;
  connection: Connection | undefined;
  lane: Lane | undefined;
  leaving: Disposable | undefined;
}

type Socket = ServerWebSocket<Peer>;

export function newPeer(address: string, access: Access): Peer {
  return { address, access, connection: undefined, lane: undefined, leaving: undefined };
}

export interface Sockets {
  readonly handler: WebSocketHandler<Peer>;
  closeAll(): void;
}

export interface SocketParts {
  readonly dispatch: Dispatch;
  readonly clock: Clock;
  /** Connections join and leave. */
  readonly listeners: Set<Listener>;
  readonly onOpen: (address: string) => void;
  readonly onClose: (address: string) => void;
}

const unsealedMs = 10_000; // Decisions, "Limits": an unsealed remote connection is closed after this.
const idleSeconds = 120; // Bun pings on its own before; a peer that answers no ping in this time is gone.
const [goingAway, policyViolation] = [1001, 1008];

export function createSockets({ dispatch, clock, listeners, onOpen, onClose }: SocketParts): Sockets {
  const sockets = new Set<Socket>();
  const turns = createTurns();
  const handler: WebSocketHandler<Peer> = {
    maxPayloadLength: messageBytesMax,
    backpressureLimit: unsentBytesMax,
    closeOnBackpressureLimit: true,
    idleTimeout: idleSeconds,
    perMessageDeflate: false,
    open(socket) {
      const { address, access } = socket.data;
      sockets.add(socket);
      onOpen(address);
      if (access === "remote") {
        socket.data.leaving = clock.after(unsealedMs, () =>
          socket.close(policyViolation, "encryption required"),
        );
        return;
      }
      const connection = createConnection(access, (text) => void socket.send(text));
      socket.data.connection = connection;
      socket.data.lane = { cork: (work) => corked(socket, work), waiting: [] };
      listeners.add(connection);
    },
    message(socket, message) {
      if (isPing(message)) return void socket.send(typeof message === "string" ? "pong" : pongBytes);
      const { connection, lane } = socket.data;
      if (connection === undefined || lane === undefined) return refuseCleartext(socket);
      if (typeof message === "string")
        turns.take(lane, () => serveOn(dispatch, connection, message), 2 * message.length);
      else connection.answer(errorText(undefined, "parse-error", "send JSON in text frames"));
    },
    close(socket) {
      if (!sockets.delete(socket)) return;
      onClose(socket.data.address);
      socket.data.leaving?.[Symbol.dispose]();
      if (socket.data.connection !== undefined) listeners.delete(socket.data.connection);
    },
  };
  return {
    handler,
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

/** Sends in one go what `work` sends. A socket that is being closed may not run what it is given: it is run all the same. */
function corked(socket: Socket, work: () => void): void {
  let hasRun = false;
  socket.cork(() => {
    hasRun = true;
    work();
  });
  if (!hasRun) work();
}

function refuseCleartext(socket: Socket): void {
  socket.send(errorText(undefined, "encryption-required", "encryption is required for remote connections"));
  socket.close(policyViolation, "encryption required");
}
