/** DNS-SD: Debian's Avahi with our service file announces the service, and a browser on another machine finds it. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { startDevice } from "../helpers/device.ts";
import { linesOf } from "../helpers/lines.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const services = join(import.meta.dir, "../../overlay/etc/avahi/services");
/** The other files of the machine stay as they are: `ip netns exec` gives a command mounts of its own. */
const responder = `
set -eu
mount -t tmpfs tmpfs /run
mount --bind "$0" /etc/avahi/services
sed 's/#enable-dbus=yes/enable-dbus=no/' /etc/avahi/avahi-daemon.conf >/run/avahi.conf
hostname tapdeck
exec /usr/sbin/avahi-daemon --file=/run/avahi.conf
`;
/** Prints a line of JSON for each type, as soon as it is found. */
const browser = `
import json, sys, threading
from zeroconf import ServiceBrowser, ServiceStateChange, Zeroconf

missing = {f"_{name}._tcp.local." for name in ("tapdeck", "zaparoo")}
done = threading.Event()

def found(zeroconf, service_type, name, state_change):
    if state_change is not ServiceStateChange.Added:
        return
    info = zeroconf.get_service_info(service_type, name, 60_000)
    texts = {key.decode(): value.decode() for key, value in info.properties.items() if key}
    addresses = sorted(info.parsed_addresses())
    print(json.dumps([name, info.server, info.port, texts, "10.77.0.1" in addresses]), flush=True)
    missing.discard(service_type)
    if not missing:
        done.set()

zeroconf = Zeroconf()
ServiceBrowser(zeroconf, sorted(missing), handlers=[found])
sys.exit(0 if done.wait(120) else 1)
`;

test.skipIf(!canMakeNetworks)(
  "a browser on another machine finds both types, and the port answers",
  async () => {
    await using device = await startDevice(noReaders);
    const avahi = ["unshare", "--uts", "sh", "-c", responder, services];
    const announcing = Bun.spawn([...device.network.onDevice(avahi)], {
      stdio: ["ignore", "inherit", "pipe"],
    });
    const log = new Response(announcing.stderr).text();
    const searching = Bun.spawn([...device.network.onNeighbour(["/usr/bin/python3", "-c", browser])], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const found = (await Array.fromAsync(linesOf(searching.stdout))).map((line) => JSON.parse(line));
      expect(found.toSorted()).toEqual([
        ["Tapdeck on tapdeck._tapdeck._tcp.local.", "tapdeck.local.", 7497, { path: "/api/v0.1" }, true],
        ["Tapdeck on tapdeck._zaparoo._tcp.local.", "tapdeck.local.", 7497, {}, true],
      ]);
      expect(await searching.exited).toBe(0);
    } finally {
      announcing.kill();
      searching.kill();
      await Promise.all([announcing.exited, searching.exited]);
    }
    // A file with a mistake is skipped with such a line.
    expect(await log).not.toMatch(/failed to load|parse error/i);
    const url = `http://${device.network.deviceAddress}:7497/ping`;
    expect((await visit(device.network.onNeighbour, { url })).body).toBe("pong");
  },
);
