/**
 * Has the kernel drop what certain addresses send to a port on which this process listens, so that they cost neither a
 * connection nor a TLS handshake. A classic BPF program on the listening socket sees each packet that opens a connection
 * (socket(7), SO_ATTACH_FILTER; Documentation/networking/filter.rst). Connections that are open stay.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { addressBytes } from "../../src/core/ip-address.ts";
import { refusedInKernelMax } from "../../src/core/limits.ts";
import { attachFilter, detachFilter } from "./libc.ts";

/** Takes the place of what was refused at this port before; an empty list admits all. False where no socket took it. */
export function refuseAt(port: number, addresses: readonly string[]): boolean {
  const known = addresses.flatMap((address) => addressBytes(address) ?? []);
  const sockets = listenersAt(port);
  const program = programOf(known.slice(0, refusedInKernelMax));
  const taken = sockets.map((fd) => (addresses.length === 0 ? detachFilter(fd) : attachFilter(fd, program)));
  return taken.some(Boolean);
}

const listening = "0A"; // include/net/tcp_states.h.

/** The descriptors of this process that listen there: the runtime does not tell them, and the kernel does (proc(5)). */
function listenersAt(port: number): readonly number[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const sockets = new Set<string>();
  for (const path of ["/proc/self/net/tcp", "/proc/self/net/tcp6"])
    for (const line of textOf(path).split("\n")) {
      const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
      if (local.endsWith(end) && state === listening) sockets.add(`socket:[${inode}]`);
    }
  return readdirSync("/proc/self/fd").flatMap((fd) => (sockets.has(linkOf(fd)) ? [Number(fd)] : []));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // A kernel without IPv6 has no table of it.
    return "";
  }
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // It was closed meanwhile, as the one that listed them.
    return "";
  }
}

// linux/bpf_common.h, linux/filter.h: what the program loads is the packet from its network header on.
const [loadByte, loadWord, and, jumpIfEqual, give] = [0x30, 0x20, 0x54, 0x15, 0x06];
const network = 0xfff00000; // SKF_NET_OFF.
const [nothing, all] = [0, 0xffffffff];
const [source4, source6] = [12, 8]; // Of the source address in the header (RFC 791, 3.1; RFC 8200, 3).

type Step = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/**
 * One struct sock_filter of 8 bytes a step, in the byte order of this machine, little-endian.
 *
 *   code     2 bytes
 *   ifTrue   1, ifFalse 1: steps to leave out behind this one
 *   value    4
 */
function programOf(addresses: readonly Uint8Array[]): Uint8Array {
  const steps: Step[] = addresses.flatMap((bytes) => {
    const [version, source] = bytes.length === 4 ? [0x40, source4] : [0x60, source6];
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const words = Array.from({ length: bytes.length / 4 }, (_, nth) => view.getUint32(4 * nth));
    const left = (nth: number) => 2 * (words.length - nth);
    const compare = words.flatMap((word, nth): Step[] => [
      [loadWord, 0, 0, network + source + 4 * nth],
      [jumpIfEqual, 0, left(nth) - 1, word],
    ]);
    const isVersion: Step[] = [
      [loadByte, 0, 0, network],
      [and, 0, 0, 0xf0],
      [jumpIfEqual, 0, left(0) + 1, version],
    ];
    return [...isVersion, ...compare, [give, 0, 0, nothing]];
  });
  const program = new DataView(new ArrayBuffer(8 * (steps.length + 1)));
  for (const [nth, [code, ifTrue, ifFalse, value]] of [...steps, [give, 0, 0, all] as const].entries()) {
    program.setUint16(8 * nth, code, true);
    program.setUint8(8 * nth + 2, ifTrue);
    program.setUint8(8 * nth + 3, ifFalse);
    program.setUint32(8 * nth + 4, value, true);
  }
  return new Uint8Array(program.buffer);
}
