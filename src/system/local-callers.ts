/**
 * Distinguishes the players of the service from other callers on the device, by their mark in the kernel
 * (player-mark.ts). A player may connect, and then pass its socket to another process, or end. Therefore, at the socket
 * in the file system, the process that connected decides. Over TCP, all holders of the caller's socket decide.
 */
import { setImmediate } from "node:timers/promises";
import { provedCallersMax, provedCallersMsMax } from "../core/limits.ts";
import type { AcceptedSocket, LocalSockets, SocketPeer } from "../core/operating-system.ts";
import { type Holders, holdersOf, markOf } from "./player-mark.ts";
import { ownerOf, type TcpPeer } from "./socket-owner.ts";

export interface LocalCaller {
  readonly uid: number;
  /** True if the caller is a player, or may be one. */
  readonly isPlayer: boolean;
}

interface LocalCallersOptions {
  readonly localSockets: LocalSockets;
  /** The path of the socket in the file system. */
  readonly socketPath: string;
}

const rootUid = 0;

export function createLocalCallers({ localSockets: sockets, socketPath: path }: LocalCallersOptions) {
  const uid = process.getuid?.() ?? -1;
  // A player cannot change its user, unless the service is root.
  const mayBePlayer = (caller: number) => uid === rootUid || caller === uid;
  const look = batched((inodes) => holdersOf(inodes, uid));
  const proved = createProved();
  const isPlayer = (peer: SocketPeer) => mayBePlayer(peer.uid) && markOf(peer.pid) !== "other";
  /** The cookies of connections that no player has made. */
  let admitted = new Set<bigint>();
  /** Resolves with true after the runtime has closed all of these connections. Bun notices an end after it has polled. */
  const areClosed = async (ended: readonly AcceptedSocket[]) => {
    const cookies = new Set(ended.map(({ cookie }) => cookie));
    const endMs = performance.now() + closeMsMax;
    while (sockets.acceptedAt(path).some(({ cookie }) => cookies.has(cookie))) {
      if (performance.now() > endMs) return false;
      await setImmediate();
    }
    return true;
  };
  return {
    /** The user of the service. */
    uid,
    /** The caller; undefined unless the kernel shows for certain that it is an open socket of this device. */
    async callerAt(peer: TcpPeer): Promise<LocalCaller | undefined> {
      const owner = await ownerOf(peer);
      if (owner === undefined) return undefined;
      const { uid: caller, inodes } = owner;
      if (!mayBePlayer(caller)) return { uid: caller, isPlayer: false };
      const connection = [peer.address, peer.port, peer.servicePort, ...inodes].join(" ");
      if (proved.has(connection)) return { uid: caller, isPlayer: false };
      const { byPlayers, byOthers, isComplete } = await look(inodes);
      const isOthers = isComplete && inodes.every((one) => byOthers.has(one) && !byPlayers.has(one));
      if (isOthers) proved.add(connection);
      return { uid: caller, isPlayer: !isOthers };
    },
    /**
     * Ends the connections of players at the socket in the file system. The result is undefined if there are none.
     * Otherwise it resolves with true after the runtime has closed them and their requests are aborted. It resolves
     * with false if they are not closed, or if the connection of the request is not found.
     */
    endPlayers(): Promise<boolean> | undefined {
      const all = sockets.acceptedAt(path);
      if (all.length === 0) return Promise.resolve(false);
      // The runtime does not report the connection of a request, so all new connections are checked.
      const ended = all.filter(
        (socket) => !admitted.has(socket.cookie) && (sockets.lookAtPeer(socket, isPlayer) ?? true),
      );
      for (const socket of ended) sockets.end(socket, farewell);
      const left = all.filter((socket) => !ended.includes(socket));
      admitted = new Set(left.map(({ cookie }) => cookie));
      return ended.length === 0 ? undefined : areClosed(ended);
    },
  };
}

const closeMsMax = 1000;
const reason = "players and their scripts may not use this socket\n";
const farewell = `HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${reason.length}\r\n\r\n${reason}`;

/** Callers that ask during a look share the next one, so a flood causes one look at a time. */
function batched(look: (inodes: ReadonlySet<string>) => Promise<Holders>) {
  let next: { readonly inodes: Set<string>; readonly found: Promise<Holders> } | undefined;
  let last: Promise<unknown> = Promise.resolve();
  return (inodes: readonly string[]): Promise<Holders> => {
    if (next === undefined) {
      const asked = new Set<string>();
      const begin = () => {
        next = undefined;
        return look(asked);
      };
      const found = last.then(begin, begin);
      next = { inodes: asked, found };
      last = found;
    }
    for (const inode of inodes) next.inodes.add(inode);
    return next.found;
  };
}

/**
 * The connections that were checked a moment ago. The kernel uses the number of a socket again only after 2^32 others,
 * and by then this list has forgotten it.
 */
function createProved() {
  const untilMs = new Map<string, number>();
  return {
    has: (connection: string) => (untilMs.get(connection) ?? 0) > performance.now(),
    add(connection: string) {
      untilMs.delete(connection);
      untilMs.set(connection, performance.now() + provedCallersMsMax);
      const [oldest = ""] = untilMs.keys();
      if (untilMs.size > provedCallersMax) untilMs.delete(oldest);
    },
  };
}
