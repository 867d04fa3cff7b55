/** IP addresses as bytes: which are this device's, and how far each of the others reaches. */
import { readFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { addressBytes } from "../core/ip-address.ts";

/**
 * `loopback` is this device itself, `link-local` the same cable, `private` the home network, `special` what no server has
 * (groups, documentation, reserved), and `public` the rest.
 */
export type Reach = "loopback" | "link-local" | "private" | "special" | "public";

/** How far an address reaches; IPv4 inside of IPv6 counts as what it is. What is no address is `special`. */
export function reachOf(address: string): Reach {
  const bytes = addressBytes(address);
  if (bytes === undefined) return "special";
  const inner = bytes.length === 4 ? bytes : ipv4Within(bytes);
  return reachIn(inner === undefined ? ipv6Reaches : ipv4Reaches, inner ?? bytes);
}

/** True for loopback, and for the addresses that this device has now, in any spelling. */
export function isOwnAddress(address: string): boolean {
  if (reachOf(address) === "loopback") return true;
  const key = keyOf(address);
  return key !== undefined && ownAddresses().some((own) => keyOf(own) === key);
}

let last: ReturnType<typeof networkInterfaces> = {};

/** As they are now; as they were, where a machine that is out of descriptors cannot tell: getifaddrs(3) takes a socket. */
export function interfaces(): ReturnType<typeof networkInterfaces> {
  try {
    last = networkInterfaces();
  } catch {
    // They are asked for again and again.
  }
  return last;
}

/** Every address of every interface, loopback too. */
export function ownAddresses(): readonly string[] {
  return Object.values(interfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}

/**
 * As `ownAddresses`, without those of IPv6 that the kernel lists and does not use: another host may have them (RFC 4862, 5.4).
 */
export function heldAddresses(): readonly string[] {
  const unheld = unheldAddresses();
  return ownAddresses().filter((address) => !unheld.has(keyOf(address) ?? ""));
}

const [dadFailed, tentative] = [0x08, 0x40]; // linux/if_addr.h.

/** A row of /proc/net/if_inet6: address, interface, prefix, scope, flags (hexadecimal), name. */
function unheldAddresses(): ReadonlySet<string> {
  let table = "";
  try {
    table = readFileSync("/proc/net/if_inet6", "latin1");
  } catch {
    // A kernel without IPv6 has no table of it.
  }
  const isHeld = new Map<string, boolean>();
  for (const line of table.trim().split("\n")) {
    const [address = "", , , , flags = ""] = line.trim().split(/\s+/);
    const isUsed = (Number.parseInt(flags, 16) & (dadFailed | tentative)) === 0;
    isHeld.set(address, isUsed || isHeld.get(address) === true);
  }
  return new Set([...isHeld].flatMap(([address, isUsed]) => (isUsed ? [] : [address])));
}

// Of programs on this device: their bridges and tunnels.
const inner = /^(lo|docker|br-|veth|virbr|lxc|lxd|podman|cni|tun|tap|wg|tailscale)/;

/** True for an interface that no phone in the same network is behind. */
export function isInner(name: string): boolean {
  return inner.test(name);
}

/** The IPv4 addresses of the network cards: those of IPv6 are made up anew from time to time (RFC 8981). */
export function lastingAddresses(): readonly string[] {
  return Object.entries(interfaces())
    .filter(([name]) => !isInner(name))
    .flatMap(([, list]) => (list ?? []).filter(({ family }) => family === "IPv4"))
    .map(({ address }) => address);
}

/** The names by which others on the network may know this device. */
export function ownNames(): readonly string[] {
  const name = hostname().toLowerCase();
  return [name, `${name}.local`, "localhost"];
}

type Range = readonly [prefix: string, bits: number, reach: Reach];

/** IANA's registries of special-purpose addresses; the first that fits counts. */
const ipv4Reaches = ranges([
  ["0.0.0.0", 8, "loopback"],
  ["127.0.0.0", 8, "loopback"],
  ["169.254.0.0", 16, "link-local"],
  ["10.0.0.0", 8, "private"],
  ["172.16.0.0", 12, "private"],
  ["192.168.0.0", 16, "private"],
  ["100.64.0.0", 10, "private"],
  ["192.0.0.0", 24, "special"],
  ["192.0.2.0", 24, "special"],
  ["198.18.0.0", 15, "special"],
  ["198.51.100.0", 24, "special"],
  ["203.0.113.0", 24, "special"],
  ["224.0.0.0", 3, "special"],
]);
const ipv6Reaches = ranges([
  ["::", 127, "loopback"],
  ["fe80::", 10, "link-local"],
  ["fec0::", 10, "private"],
  ["fc00::", 7, "private"],
  ["2001:db8::", 32, "special"],
  ["3fff::", 20, "special"],
  ["100::", 64, "special"],
  ["2001::", 23, "special"],
  ["2000::", 3, "public"],
  ["::", 0, "special"],
]);

/** Where IPv6 carries an IPv4 address, and at which byte: mapped, compatible, NAT64 (RFC 6052), and 6to4 (RFC 3056). */
const embedded: readonly (readonly [prefix: string, bits: number, at: number])[] = [
  ["::ffff:0:0", 96, 12],
  ["64:ff9b::", 96, 12],
  ["64:ff9b:1::", 48, 12],
  ["2002::", 16, 2],
  ["::", 96, 12],
];

function ipv4Within(bytes: Uint8Array): Uint8Array | undefined {
  // The unspecified address and loopback, ::0 and ::1, look like compatible ones.
  if (startsWith(bytes, new Uint8Array(16), 127)) return undefined;
  const found = embedded.find(([prefix, bits]) => startsWith(bytes, addressBytes(prefix) ?? bytes, bits));
  return found === undefined ? undefined : bytes.subarray(found[2], found[2] + 4);
}

interface Reaching {
  readonly prefix: Uint8Array;
  readonly bits: number;
  readonly reach: Reach;
}

function ranges(list: readonly Range[]): readonly Reaching[] {
  return list.map(([prefix, bits, reach]) => ({
    prefix: addressBytes(prefix) ?? new Uint8Array(),
    bits,
    reach,
  }));
}

function reachIn(list: readonly Reaching[], bytes: Uint8Array): Reach {
  return list.find(({ prefix, bits }) => startsWith(bytes, prefix, bits))?.reach ?? "public";
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array, bits: number): boolean {
  for (let bit = 0; bit < bits; bit++) {
    const mask = 0x80 >> (bit & 7);
    if (((bytes[bit >> 3] ?? 0) & mask) !== ((prefix[bit >> 3] ?? 0) & mask)) return false;
  }
  return true;
}

/** The same for every spelling of an address, mapped or not. */
function keyOf(address: string): string | undefined {
  const bytes = addressBytes(address);
  if (bytes === undefined) return undefined;
  return ((bytes.length === 16 && ipv4Within(bytes)) || bytes).toHex();
}
