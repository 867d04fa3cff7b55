/** The names and addresses by which a phone on the same network may reach this device, the best first. */
import { access, readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { interfaces, isInner, reachOf } from "./addresses.ts";

const responders = ["/run/avahi-daemon/socket", "/run/avahi-daemon/pid"];

/**
 * `listen` is the config's: where it names addresses, it is these. Else `<name>.local` where something on the device answers
 * for that name (it outlives a change of the address), and the addresses of the network cards, that of the default
 * route first. Empty where nobody but the device itself can come in.
 */
export async function reachableHosts(listen: readonly string[]): Promise<readonly string[]> {
  const isAll = listen.length === 0 || listen.some((address) => address === "::" || address === "0.0.0.0");
  if (!isAll) return listen.filter((address) => reachOf(address) !== "loopback").map(forUrl);
  const main = defaultDevice(await readFile("/proc/net/route", "utf8").catch(() => ""));
  const cards = Object.entries(interfaces())
    .filter(([name]) => !isInner(name))
    .toSorted(([a], [b]) => Number(b === main) - Number(a === main));
  const addresses = cards.flatMap(([, list]) =>
    (list ?? [])
      .filter(({ address, family }) => family === "IPv4" && isLan(address))
      .map(({ address }) => address),
  );
  if (addresses.length === 0) return [];
  const name = `${hostname().toLowerCase()}.local`;
  return (await answersForName()) ? [name, ...addresses] : [...addresses, name];
}

function isLan(address: string): boolean {
  const reach = reachOf(address);
  return reach !== "loopback" && reach !== "link-local";
}

/** An IPv6 address stands in brackets in a link. */
function forUrl(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

async function answersForName(): Promise<boolean> {
  const found = await Promise.all(
    responders.map((path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

/** The device of the route to 0.0.0.0/0 (proc(5), /proc/net/route: name, destination and gateway in hex, ...). */
function defaultDevice(table: string): string | undefined {
  const rows = table.split("\n").map((line) => line.split("\t"));
  return rows.find(
    ([, destination, , , , , , mask]) => destination === "00000000" && mask === "00000000",
  )?.[0];
}
