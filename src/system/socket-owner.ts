/** The user and the sockets of the caller of a local TCP connection, by the kernel's table (proc(5), /proc/net/tcp). */
import { readFile } from "node:fs/promises";
import { addressBytes } from "../core/ip-address.ts";

export interface TcpPeer {
  /** The caller's IP address; a mapped IPv4 address as IPv4. */
  readonly address: string;
  readonly port: number;
  /** The port on which the service listens. */
  readonly servicePort: number;
}

export interface SocketOwner {
  readonly uid: number;
  /** The caller's sockets. There is more than one if the runtime does not report which of them received the request. */
  readonly inodes: readonly string[];
}

/** The caller's user and sockets; undefined unless the caller is certainly an open socket of this device. */
export async function ownerOf(peer: TcpPeer): Promise<SocketOwner | undefined> {
  const isIpv4 = !peer.address.includes(":");
  const paths = isIpv4 ? ["/proc/net/tcp", "/proc/net/tcp6"] : ["/proc/net/tcp6"];
  // A kernel without IPv6 has no tcp6 table.
  const tables = await Promise.all(paths.map((path) => readFile(path, "latin1").catch(() => "")));
  return ownerIn(tables, peer);
}

/**
 * The caller's user and sockets in these tables. A local connection has two rows that mirror each other: the service's and the
 * caller's. A host that took an address of this device has the service's row only. Sockets may share an address and port if
 * they are connected to different addresses of the service. The runtime does not say which of them received a request.
 * Therefore each row of the service needs its mirror, and all mirrors must have one user.
 */
export function ownerIn(
  tables: readonly string[],
  { address, port, servicePort }: TcpPeer,
): SocketOwner | undefined {
  const bytes = addressBytes(address);
  if (bytes === undefined) return undefined;
  const caller = `${wordsHex(bytes)}:${portHex(port)}`;
  const servicePortEnd = `:${portHex(servicePort)}`;
  const services = new Set<string>();
  const callers = new Map<string, { readonly uid: number; readonly inode: string }>();
  for (const line of tables.flatMap((table) => linesWith(table, caller))) {
    const [, local = "", remote = "", state = "", , , , uid, , inode = "0"] = line.trim().split(/\s+/);
    const from = unmapped(local);
    const to = unmapped(remote);
    if (to === caller && from.endsWith(servicePortEnd) && !unaccepted.has(state)) services.add(from);
    // A closed socket has no owner: the kernel prints uid 0 and inode 0 for it.
    if (from === caller && state === established && inode !== "0")
      callers.set(to, { uid: Number(uid), inode });
  }
  const found = [...services].flatMap((service) => callers.get(service) ?? []);
  const [first] = found;
  const isOne = found.length === services.size && found.every(({ uid }) => uid === first?.uid);
  return first !== undefined && isOne
    ? { uid: first.uid, inodes: found.map(({ inode }) => inode) }
    : undefined;
}

// The state in the kernel's table (include/net/tcp_states.h). In an unaccepted state the service has read no request
// from the connection.
const established = "01";
const synReceived = "03";
const timeWait = "06";
const newSynReceived = "0C";
const unaccepted: ReadonlySet<string> = new Set([synReceived, timeWait, newSynReceived]);

const mappedPrefix = "0000000000000000FFFF0000"; // The prefix ::ffff:0:0/96 (RFC 4291, 2.5.5.2), as a little-endian machine prints it.

function unmapped(place: string): string {
  return place.startsWith(mappedPrefix) ? place.slice(mappedPrefix.length) : place;
}

function portHex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}

/** The bytes of an address as the kernel prints them: 32-bit words in the byte order of this machine, little-endian. */
function wordsHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).swap32().toString("hex").toUpperCase();
}

/** The lines that contain `part`. There are few of them among many thousands, and only these are split. */
function linesWith(table: string, part: string): string[] {
  const lines: string[] = [];
  for (let at = table.indexOf(part); at !== -1; ) {
    const endsAt = table.indexOf("\n", at);
    const end = endsAt === -1 ? table.length : endsAt;
    lines.push(table.slice(table.lastIndexOf("\n", at) + 1, end));
    at = table.indexOf(part, end);
  }
  return lines;
}
