/** IP addresses as bytes: the addresses of this device, the reach of any address, and how a phone reaches this device. */
import { readFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { deviceNames, localName } from "../core/host-names.ts";
import { addressBytes } from "../core/ip-address.ts";

/**
 * `loopback` is this device, `link-local` the same cable, `private` the home network. `special` is an address that no
 * server has (multicast, documentation, reserved), and `public` the rest.
 */
export type Reach = "loopback" | "link-local" | "private" | "special" | "public";

/** The reach of an address. IPv4 inside of IPv6 counts as IPv4, and a text that is no address is `special`. */
export function reachOf(address: string): Reach {
  const bytes = addressBytes(address);
  if (bytes === undefined) return "special";
  const inner = bytes.length === 4 ? bytes : ipv4Within(bytes);
  const list = inner === undefined ? ipv6Reaches : ipv4Reaches;
  return list.find(({ prefix, bits }) => startsWith(inner ?? bytes, prefix, bits))?.reach ?? "public";
}

/** True for loopback and for the present addresses of this device, in any spelling. */
export function isOwnAddress(address: string): boolean {
  if (reachOf(address) === "loopback") return true;
  const key = keyOf(address);
  return key !== undefined && ownAddresses().some((own) => keyOf(own) === key);
}

let last: ReturnType<typeof networkInterfaces> = {};

/**
 * The present interfaces. If the process has no free descriptor, the result is the last known list, because getifaddrs(3)
 * needs a socket.
 */
export function interfaces(): ReturnType<typeof networkInterfaces> {
  try {
    last = networkInterfaces();
  } catch {
    // The next call tries again.
  }
  return last;
}

/** Every address of every interface, with loopback. */
export function ownAddresses(): readonly string[] {
  return Object.values(interfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}

/** `ownAddresses` without the IPv6 addresses that the kernel does not use: another host may have them (RFC 4862, 5.4). */
export function heldAddresses(): readonly string[] {
  const unheld = unheldAddresses();
  return ownAddresses().filter((address) => !unheld.has(keyOf(address) ?? ""));
}

// A flag of linux/if_addr.h.
const dadFailed = 0x08;
const tentative = 0x40;

/** A row of /proc/net/if_inet6: address, interface, prefix, scope, flags (hexadecimal), name. */
function unheldAddresses(): ReadonlySet<string> {
  let table = "";
  try {
    table = readFileSync("/proc/net/if_inet6", "latin1");
  } catch {
    // A kernel without IPv6 has no such table.
  }
  const isHeld = new Map<string, boolean>();
  for (const line of table.trim().split("\n")) {
    const [address = "", , , , flags = ""] = line.trim().split(/\s+/);
    const isUsed = (Number.parseInt(flags, 16) & (dadFailed | tentative)) === 0;
    isHeld.set(address, isUsed || isHeld.get(address) === true);
  }
  return new Set([...isHeld].flatMap(([address, isUsed]) => (isUsed ? [] : [address])));
}

// Interfaces of bridges and tunnels of programs on this device.
const inner = /^(lo|docker|br-|veth|virbr|lxc|lxd|podman|cni|tun|tap|wg|tailscale)/;

export function isInnerInterface(name: string): boolean {
  return inner.test(name);
}

/** The IPv4 addresses of the network cards. Addresses of IPv6 change from time to time (RFC 8981). */
export function lastingAddresses(): readonly string[] {
  return cards().flatMap(({ addresses }) => addresses);
}

/** The interfaces that lead to the home network, each with its IPv4 addresses. */
function cards() {
  return Object.entries(interfaces())
    .filter(([name]) => !inner.test(name))
    .map(([name, list = []]) => ({
      name,
      addresses: list.filter(({ family }) => family === "IPv4").map(({ address }) => address),
    }));
}

/** The names of this device on the network. */
export function ownNames(): readonly string[] {
  return [...deviceNames(), "localhost"];
}

type Range = readonly [prefix: string, bits: number, reach: Reach];

/** The entries of IANA's registries of special-purpose addresses. The first match counts. */
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

/** The IPv6 prefixes that carry an IPv4 address from byte `at` on: mapped, NAT64 (RFC 6052), 6to4 (RFC 3056), compatible. */
const embedded: readonly (readonly [prefix: string, bits: number, at: number])[] = [
  ["::ffff:0:0", 96, 12],
  ["64:ff9b::", 96, 12],
  ["64:ff9b:1::", 48, 12],
  ["2002::", 16, 2],
  ["::", 96, 12],
];

function ipv4Within(bytes: Uint8Array): Uint8Array | undefined {
  // The addresses ::0 and ::1 look like compatible ones.
  if (startsWith(bytes, new Uint8Array(16), 127)) return undefined;
  const found = embedded.find(([prefix, bits]) => startsWith(bytes, addressBytes(prefix) ?? bytes, bits));
  return found === undefined ? undefined : bytes.subarray(found[2], found[2] + 4);
}

function ranges(list: readonly Range[]) {
  return list.map(([prefix, bits, reach]) => ({
    prefix: addressBytes(prefix) ?? new Uint8Array(),
    bits,
    reach,
  }));
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array, bits: number): boolean {
  for (let bit = 0; bit < bits; bit++) {
    const mask = 0x80 >> (bit & 7);
    if (((bytes[bit >> 3] ?? 0) & mask) !== ((prefix[bit >> 3] ?? 0) & mask)) return false;
  }
  return true;
}

/** A text that is the same for every spelling of an address, mapped or not. */
function keyOf(address: string): string | undefined {
  const bytes = addressBytes(address);
  if (bytes === undefined) return undefined;
  return ((bytes.length === 16 && ipv4Within(bytes)) || bytes).toHex();
}

const responders = ["/run/avahi-daemon/socket", "/run/avahi-daemon/pid"];

/**
 * The hosts by which a phone on the same network reaches this device, the best first. They are the addresses of the
 * config's `listen`, if there are any. Otherwise they are `<name>.local`, if a program on the device answers for that
 * name, and the addresses of the network cards. The card of the default route comes first. The list is empty if only
 * the device itself can connect.
 */
export async function reachableHosts(listen: readonly string[]): Promise<readonly string[]> {
  const isAll = listen.length === 0 || listen.some((address) => address === "::" || address === "0.0.0.0");
  if (!isAll) return listen.filter((address) => reachOf(address) !== "loopback").map(forUrl);
  const main = defaultDevice(await readFile("/proc/net/route", "utf8").catch(() => ""));
  const sorted = cards().toSorted((a, b) => Number(b.name === main) - Number(a.name === main));
  const addresses = sorted.flatMap((card) => card.addresses.filter(isLan));
  if (addresses.length === 0) return [];
  const name = localName();
  return (await answersForName()) ? [name, ...addresses] : [...addresses, name];
}

function isLan(address: string): boolean {
  const reach = reachOf(address);
  return reach !== "loopback" && reach !== "link-local";
}

/** The address in the form of a URL, with IPv6 in brackets. */
function forUrl(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

async function answersForName(): Promise<boolean> {
  const found = await Promise.all(responders.map((path) => stat(path).catch(() => undefined)));
  return found.some((one) => one !== undefined);
}

/** The device of the default route, 0.0.0.0/0 (proc(5), /proc/net/route: name, destination and gateway in hex, ...). */
function defaultDevice(table: string): string | undefined {
  const rows = table.split("\n").map((line) => line.split("\t"));
  return rows.find(
    ([, destination, , , , , , mask]) => destination === "00000000" && mask === "00000000",
  )?.[0];
}
