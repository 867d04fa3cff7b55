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

/** The user id, or undefined where no open socket of this device's network is that caller. */
export async function ownerOf({ address, port, servicePort }: Peer): Promise<number | undefined> {
  const bytes = addressBytes(address);
  if (bytes === undefined) return undefined;
  const words = wordsHex(bytes);
  const forms: readonly (readonly [table: string, local: string])[] =
    bytes.length === 4
      ? [
          ["/proc/net/tcp", words],
          ["/proc/net/tcp6", `0000000000000000FFFF0000${words}`],
        ]
      : [["/proc/net/tcp6", words]];
  for (const [table, local] of forms) {
    const owner = ownerIn(await readTable(table), `${local}:${portHex(port)}`, `:${portHex(servicePort)}`);
    if (owner !== undefined) return owner;
  }
  return undefined;
}

async function readTable(path: string): Promise<string> {
  // A kernel without IPv6 has no table of it.
  return readFile(path, "latin1").catch(() => "");
}

/**
 * A row: number, local address, remote address, state, queues, timer, retransmits, uid, timeout, inode, ... A socket that its
 * program has closed is nobody's: the kernel prints uid 0 and inode 0 for it, also while it is in TIME_WAIT.
 */
function ownerIn(table: string, local: string, remoteEnd: string): number | undefined {
  for (const line of table.split("\n")) {
    const [, from, to, state, , , , uid, , inode] = line.trim().split(/\s+/);
    if (from !== local || to?.endsWith(remoteEnd) !== true) continue;
    return state === established && inode !== "0" ? Number(uid) : undefined;
  }
  return undefined;
}

const established = "01"; // include/net/tcp_states.h.

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
