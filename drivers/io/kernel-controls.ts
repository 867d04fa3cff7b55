/**
 * Kernel calls besides device I/O: no core dumps, the mode of a virtual terminal, and a filter
 * that drops the packets of certain addresses.
 */

import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { addressBytes } from "../../src/core/ip-address.ts";
import { refusedInKernelMax } from "../../src/core/limits.ts";
import type { SetConsole } from "../../src/core/operating-system.ts";
import { attachFilter, detachFilter, ioctlValue, limitOf, requests, setLimit } from "./libc.ts";

const rlimitCore = 4; // asm-generic/resource.h.

/**
 * One byte is less than any dump, so that no file is written. It is also the only limit at which the kernel does not start
 * the program behind a pipe in core_pattern; with 0 it does (fs/coredump.c). A hard limit of 0 cannot be raised, so the
 * filter also excludes all memory from dumps.
 */
export function forbidCoreDumps(): void {
  const hard = limitOf(rlimitCore)?.[1] ?? 0n;
  const limit = hard < 1n ? hard : 1n;
  setLimit(rlimitCore, limit, limit);
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // A /proc that is read-only, or missing: the limit still applies.
  }
}

// A terminal of another session is not taken away (ioctl_tty(2), "TIOCSCTTY").
const keepOthers = 0;
const modes = { text: 0, graphics: 1 } as const;

/**
 * The kernel lets root and the session of the terminal change the mode. So a process without root's rights must lead a session
 * without a terminal, and this terminal becomes its terminal. The end of the process gives the terminal back.
 */
export const setConsole: SetConsole = (path, mode) => {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
    ioctlValue(fd, requests.tiocsctty, keepOthers);
    return ioctlValue(fd, requests.kdsetmode, modes[mode]);
  } catch {
    // No such terminal, or not for this user: its mode stays.
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
};

/** Replaces the refusals at this port; an empty list admits all. False if no socket took it. */
export function refuseAt(port: number, addresses: readonly string[]): boolean {
  const known = addresses.flatMap((address) => addressBytes(address) ?? []);
  const sockets = listenersAt(port);
  const program = programOf(known.slice(0, refusedInKernelMax));
  const taken = sockets.map((fd) => (addresses.length === 0 ? detachFilter(fd) : attachFilter(fd, program)));
  return taken.some(Boolean);
}

const listening = "0A"; // include/net/tcp_states.h.

/** The descriptors of this process that listen there, from proc(5), because the runtime does not expose them. */
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
    // It was closed meanwhile, like the descriptor of the listing itself.
    return "";
  }
}

// linux/bpf_common.h, linux/filter.h. The program's loads read the packet from its network header on.
const [loadByte, loadWord, and, jumpIfEqual, give] = [0x30, 0x20, 0x54, 0x15, 0x06];
const network = 0xfff00000; // SKF_NET_OFF.
const [nothing, all] = [0, 0xffffffff];
const [source4, source6] = [12, 8]; // Offsets of the source address in the header (RFC 791, 3.1; RFC 8200, 3).

type Step = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/**
 * One struct sock_filter of 8 bytes a step, in the byte order of this machine, little-endian.
 *
 *   code     2 bytes
 *   ifTrue   1, ifFalse 1: steps to skip after this one
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
