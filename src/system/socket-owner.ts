/** Which user a TCP connection of this device belongs to: the kernel's own table knows (proc(5), /proc/net/tcp). */
import { readFile } from "node:fs/promises";
import { addressBytes } from "../core/ip-address.ts";

export interface Peer {
  /** The caller's IP address, IPv4 as such also where it came mapped into IPv6. */
  readonly address: string;
  readonly port: number;
  /** Ours, that it is connected to. */
  readonly servicePort: number;
}

/** The user id, or undefined where the caller is not certain to be an open socket of this device's network. */
export async function ownerOf(peer: Peer): Promise<number | undefined> {
  const isIpv4 = !peer.address.includes(":");
  const paths = isIpv4 ? ["/proc/net/tcp", "/proc/net/tcp6"] : ["/proc/net/tcp6"];
  // A kernel without IPv6 has no table of it.
  const tables = await Promise.all(paths.map((path) => readFile(path, "latin1").catch(() => "")));
  return ownerIn(tables, peer);
}

/**
 * The caller's user in these tables. A connection of this device with itself has two rows, which mirror each other: the
 * service's and the caller's. Another host that took an address of this device has the service's row alone. Sockets may share
 * an address and port where they are connected to different addresses of the service; the runtime does not say to which one
 * a request came. So each row of the service must have its mirror, and all of them must be one user's.
 */
export function ownerIn(tables: readonly string[], { address, port, servicePort }: Peer): number | undefined {
  const bytes = addressBytes(address);
  if (bytes === undefined) return undefined;
  const caller = `${wordsHex(bytes)}:${portHex(port)}`;
  const servicePortEnd = `:${portHex(servicePort)}`;
  const services = new Set<string>();
  const callers = new Map<string, number>();
  for (const line of tables.flatMap((table) => linesWith(table, caller))) {
    const [, local = "", remote = "", state = "", , , , uid, , inode] = line.trim().split(/\s+/);
    const [from, to] = [unmapped(local), unmapped(remote)];
    if (to === caller && from.endsWith(servicePortEnd) && !unaccepted.has(state)) services.add(from);
    // A socket that its program has closed is nobody's: the kernel prints uid 0 and inode 0 for it.
    if (from === caller && state === established && inode !== "0") callers.set(to, Number(uid));
  }
  const owners = new Set([...services].map((service) => callers.get(service)));
  return owners.size === 1 ? [...owners][0] : undefined;
}

// include/net/tcp_states.h: nothing that these brought is served, or will be.
const [established, synReceived, timeWait, newSynReceived] = ["01", "03", "06", "0C"];
const unaccepted: ReadonlySet<string> = new Set([synReceived, timeWait, newSynReceived]);

const mappedPrefix = "0000000000000000FFFF0000"; // ::ffff:0:0/96 (RFC 4291, 2.5.5.2), on a little-endian machine.

function unmapped(place: string): string {
  return place.startsWith(mappedPrefix) ? place.slice(mappedPrefix.length) : place;
}

function portHex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}

/** The bytes of an address as the kernel prints them: 32-bit words in the byte order of this machine, little-endian. */
function wordsHex(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    for (const byte of bytes.subarray(at, at + 4).toReversed()) text += byte.toString(16).padStart(2, "0");
  }
  return text.toUpperCase();
}

/** The lines that contain `part`. Few of many thousands do, and only these are worth taking apart. */
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
