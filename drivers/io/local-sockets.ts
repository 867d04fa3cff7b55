/** The connections of a socket in the file system, which the runtime's server does not expose, and the processes that made them. */
import { closeSync, fstatSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { release } from "node:os";
import type { AcceptedSocket, LocalSockets, SocketPeer } from "../../src/core/operating-system.ts";
import { endSocket, socketName, socketOption } from "./libc.ts";

// The options of asm-generic/socket.h and linux/socket.h.
const options = { credentials: 17, listens: 30, domain: 39, cookie: 57, process: 77 } as const;
const unixDomain = 1;
const nameOffset = 2; // The start of the path in struct sockaddr_un: the family has 2 bytes (unix(7)).

export const localSockets: LocalSockets = {
  acceptedAt(path) {
    const name = Buffer.from(path);
    return readdirSync("/proc/self/fd").flatMap((text) => acceptedAs(Number(text), name) ?? []);
  },
  lookAtPeer({ descriptor }, look) {
    // The fields of struct ucred: the ids of the process, its user and its group.
    const credentials = new Int32Array(3);
    if (!socketOption(descriptor, options.credentials, credentials)) return undefined;
    const [pid = 0, uid = -1] = credentials;
    return lookWhileAlive(descriptor, { pid, uid }, look);
  },
  end({ descriptor }, farewell) {
    try {
      writeSync(descriptor, farewell);
    } catch {
      // The socket's buffer is full, or the caller is gone. In both cases nobody reads the text.
    }
    endSocket(descriptor);
  },
};

function acceptedAs(descriptor: number, name: Uint8Array): AcceptedSocket | undefined {
  const domain = new Int32Array(1);
  if (!socketOption(descriptor, options.domain, domain) || domain[0] !== unixDomain) return undefined;
  const listens = new Int32Array(1);
  if (!socketOption(descriptor, options.listens, listens) || listens[0] !== 0) return undefined;
  const address = socketName(descriptor);
  if (address === undefined) return undefined;
  const path = address.subarray(nameOffset, nameOffset + name.length + 1);
  const isThere = path.at(-1) === 0 && Buffer.compare(path.subarray(0, -1), name) === 0;
  return isThere ? { descriptor, cookie: cookieOf(descriptor) } : undefined;
}

function cookieOf(descriptor: number): bigint {
  const cookie = new BigUint64Array(1);
  if (socketOption(descriptor, options.cookie, cookie)) return cookie[0] ?? 0n;
  // QEMU's emulation of a program lacks the option. The number of an inode may be used again after 2^32 others. A cookie
  // is never used again.
  return BigInt(fstatSync(descriptor).ino);
}

/**
 * Runs `look` for a process. The number of an ended process may be given to another one. A handle of the process
 * therefore shows after the look whether the process still lives.
 */
function lookWhileAlive<Found>(
  descriptor: number,
  peer: SocketPeer,
  look: (peer: SocketPeer) => Found,
): Found | undefined {
  if (!hasHandles) return look(peer);
  const handle = new Int32Array(1);
  if (!socketOption(descriptor, options.process, handle)) return undefined;
  const [fd = -1] = handle;
  try {
    const found = look(peer);
    return readFileSync(`/proc/self/fdinfo/${fd}`, "latin1").includes(`\nPid:\t${peer.pid}\n`)
      ? found
      : undefined;
  } finally {
    closeSync(fd);
  }
}

/** The option SO_PEERPIDFD exists since Linux 6.5. */
const hasHandles = isAtLeast(release(), 6, 5);

function isAtLeast(version: string, major: number, minor: number): boolean {
  const [first = 0, second = 0] = version.split(/\D+/).map(Number);
  return first > major || (first === major && second >= minor);
}
