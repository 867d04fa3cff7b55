/** Which callers on the device are players: real sockets and processes over TCP, and a socket in the file system. */
import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localSockets } from "../../../drivers/io/local-sockets.ts";
import type { AcceptedSocket, LocalSockets, SocketPeer } from "../../../src/core/operating-system.ts";
import { createLocalCallers } from "../../../src/system/local-callers.ts";
import { linesOf } from "../../helpers/lines.ts";
import { eventually } from "../../helpers/processes.ts";

const uid = process.getuid?.() ?? -1;
const noSockets: LocalSockets = { acceptedAt: () => [], lookAtPeer: () => undefined, end() {} };

/** A program that connects to a port, or to a socket in the file system, prints its own port, and waits. */
const connecting = `
const socket = Bun.argv[1] === "unix" ? { unix: Bun.argv[2] } : { hostname: "127.0.0.1", port: Number(Bun.argv[2]) };
const made = await Bun.connect({ ...socket, socket: { data() {}, close: () => process.exit() } });
console.log(made.localPort ?? 0);
`;

/** Starts that program, as a player if \`isPlayer\`. */
async function connectFrom(isPlayer: boolean, kind: "tcp" | "unix", at: string | number) {
  const marked = isPlayer ? ["prlimit", "--locks=0:0", "--"] : [];
  const child = Bun.spawn([...marked, process.execPath, "-e", connecting, kind, String(at)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { value = "" } = await linesOf(child.stdout).next();
  return {
    port: Number(value),
    child,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

test("over TCP a marked process is a player, and any other one is not", async () => {
  using server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { callerAt } = createLocalCallers({ localSockets: noSockets, socketPath: "" });
  await using player = await connectFrom(true, "tcp", server.port);
  await using other = await connectFrom(false, "tcp", server.port);
  const peer = { address: "127.0.0.1", servicePort: server.port };
  const [ofPlayer, ofOther] = await Promise.all([
    callerAt({ ...peer, port: player.port }),
    callerAt({ ...peer, port: other.port }),
  ]);
  expect([ofPlayer, ofOther]).toEqual([
    { uid, isPlayer: true },
    { uid, isPlayer: false },
  ]);
  // The same callers are asked for once more, because a checked connection is remembered, and a player's is not.
  expect(await callerAt({ ...peer, port: player.port })).toEqual({ uid, isPlayer: true });
  expect(await callerAt({ ...peer, port: other.port })).toEqual({ uid, isPlayer: false });
  expect(await callerAt({ ...peer, port: 1 })).toBeUndefined();
});

test("the connections at a socket's file are known by the process that made them, and a player's is ended with a sentence", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-callers-"));
  const path = join(folder, "t.sock");
  const open = new Set<unknown>();
  using _server = Bun.listen({
    unix: path,
    socket: {
      open: (socket) => void open.add(socket),
      data() {},
      close: (socket) => void open.delete(socket),
    },
  });
  try {
    const { endPlayers } = createLocalCallers({ localSockets, socketPath: path });
    await using _other = await connectFrom(false, "unix", path);
    await eventually(() => open.size === 1);
    expect(endPlayers()).toBeUndefined();
    await using player = await connectFrom(true, "unix", path);
    await eventually(() => open.size === 2);
    expect(await endPlayers()).toBe(true);
    expect([open.size, localSockets.acceptedAt(path).length]).toEqual([1, 1]);
    expect(await player.child.exited).toBe(0);
    expect(endPlayers()).toBeUndefined();
    // Another path is another socket, even if it begins with the same letters.
    expect(localSockets.acceptedAt(path.slice(0, -1))).toEqual([]);
    expect(localSockets.acceptedAt(`${path}s`)).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a caller at the socket's file that has ended, or that the kernel does not name, is not admitted", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-callers-"));
  const path = join(folder, "t.sock");
  const accepted = Promise.withResolvers<void>();
  using _server = Bun.listen({
    unix: path,
    allowHalfOpen: true,
    socket: { open: () => accepted.resolve(), data() {}, end() {} },
  });
  try {
    const caller = await connectFrom(false, "unix", path);
    await accepted.promise;
    const [socket] = localSockets.acceptedAt(path);
    if (socket === undefined) throw new Error("the connection is not found");
    expect(localSockets.lookAtPeer(socket, ({ pid }) => pid)).toBe(caller.child.pid);
    const look = async () => {
      caller.child.kill("SIGKILL");
      await caller.child.exited;
      return localSockets.lookAtPeer(socket, () => "found");
    };
    expect(await look()).toBeUndefined();
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** Sockets of which each has a peer; \`end\` removes one if the runtime \`closes\` it. */
function fakeSockets(peers: Map<AcceptedSocket, SocketPeer | undefined>, closes = true) {
  const looks: bigint[] = [];
  const sockets: LocalSockets = {
    acceptedAt: () => [...peers.keys()],
    lookAtPeer(socket, look) {
      looks.push(socket.cookie);
      const peer = peers.get(socket);
      return peer === undefined ? undefined : look(peer);
    },
    end: (socket) => void (closes && peers.delete(socket)),
  };
  return { looks, ...createLocalCallers({ localSockets: sockets, socketPath: "/t.sock" }) };
}

const socketOf = (cookie: bigint): AcceptedSocket => ({ descriptor: 9, cookie });
const self = { pid: process.pid, uid };
// The number 0 belongs to no process, as with a caller that has ended.
const ended = { pid: 0, uid };

test("a request whose connection is not found is not let in", async () => {
  expect(await fakeSockets(new Map()).endPlayers()).toBe(false);
});

test("an admitted connection is not looked at again, and a new one with its descriptor is", () => {
  const peers = new Map<AcceptedSocket, SocketPeer | undefined>([[socketOf(1n), self]]);
  const { endPlayers, looks } = fakeSockets(peers);
  for (let nth = 0; nth < 3; nth++) expect(endPlayers()).toBeUndefined();
  peers.clear();
  peers.set(socketOf(2n), self);
  expect(endPlayers()).toBeUndefined();
  expect(looks).toEqual([1n, 2n]);
});

test("a connection without a living process is ended, and the others stay", async () => {
  for (const peer of [ended, undefined]) {
    const kept = socketOf(1n);
    const peers = new Map<AcceptedSocket, SocketPeer | undefined>([
      [kept, self],
      [socketOf(2n), peer],
    ]);
    expect(await fakeSockets(peers).endPlayers()).toBe(true);
    expect([...peers.keys()]).toEqual([kept]);
  }
});

test("a connection that the runtime does not close lets no request in", async () => {
  const peers = new Map<AcceptedSocket, SocketPeer | undefined>([[socketOf(1n), ended]]);
  const { endPlayers } = fakeSockets(peers, false);
  expect(await endPlayers()).toBe(false);
  // The service tries again to close the connection, because it was not admitted.
  expect(await endPlayers()).toBe(false);
});
