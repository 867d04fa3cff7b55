/** The names of this device on the network. The host name may have a domain, such as `deck.example.org`. */
import { hostname } from "node:os";

/** The host name without its domain. */
export function deviceName(): string {
  const [name = ""] = hostname().toLowerCase().split(".", 1);
  return name;
}

/** The name that mDNS answers for. Avahi takes the first label of the host name (avahi-daemon.conf(5), host-name). */
export function localName(): string {
  return `${deviceName()}.local`;
}

/** The names by which other devices reach this one, `deviceName` first. */
export function deviceNames(): readonly string[] {
  return [...new Set([deviceName(), hostname().toLowerCase(), localName()])];
}
