/**
 * Root's scripts of the network, called by BusyBox's mdev for the events of this kernel. A network of its own has the
 * adapters, whose other ends are routers. The scripts run on BusyBox in a root folder of their own.
 */
import { expect, test } from "bun:test";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";
import { makeScriptRoot } from "./script-root.ts";

const rootTest = test.skipIf(process.getuid?.() !== 0);

/** The lines that a script prints beside mdev. A wait that does not end is ended after two minutes. */
async function besideMdev(
  script: readonly string[],
  stubs: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-network-"));
  try {
    await makeScriptRoot(folder, ["flock"], { "bin/logger": "true", ...stubs });
    for (const name of ["etc", "proc", "sys"]) await mkdir(join(folder, name), { recursive: true });
    for (const name of ["passwd", "group"])
      await copyFile(join(root, "overlay/etc", name), join(folder, "etc", name));
    const rules = await readFile(join(root, "overlay/etc/mdev.conf"), "utf8");
    await writeFile(join(folder, "etc/mdev.conf"), `${/^-SUBSYSTEM=net;.*$/m.exec(rules)?.[0] ?? ""}\n`);
    const lines = [
      `cd '${folder}'`,
      "mount -t sysfs sysfs sys; mount -t proc proc proc",
      "plug() { ip link add $1 type veth peer name router-$1; ip link set router-$1 up; }",
      "export PATH=/bin:/usr/bin:/usr/sbin:/sbin",
      // The daemon first makes nodes of all devices, and hears each event that comes meanwhile.
      "chroot . mdev -d -f &",
      "until [ -e dev/zero ]; do sleep 0.1; done",
      ...script,
    ];
    const said = await run([
      ...["timeout", "120", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"],
      ...["sh", "-e", "-c", lines.join("\n")],
    ]);
    return said.split("\n").slice(0, -1);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

rootTest("an adapter that waited for its address held back the events of all other devices", async () => {
  const script = [
    "mkfifo run/never; plug eth0; plug eth1",
    'until [ "$(sort -u run/asked 2>/dev/null | wc -l)" = 2 ]; do sleep 0.1; done',
    "sort run/asked",
  ];
  const dhcp = 'echo "$1" >>/run/asked; read -r word </run/never';
  expect(await besideMdev(script, { "usr/lib/tapdeck/dhcp": dhcp })).toEqual(["eth0", "eth1"]);
});

/** The server on the other end of eth0 gives an address for a day. It names another address as the router: its own one is also of this kernel. */
const server = `interface router-eth0
start 10.1.0.20
end 10.1.0.30
lease_file /run/leases
pidfile /run/udhcpd.pid
option subnet 255.255.255.0
option router 10.1.0.2
option dns 10.1.0.1
option lease 86400
`;

rootTest(
  "an adapter that was plugged in again had no address until half of its lease was over, and its name server stayed",
  async () => {
    const said = await besideMdev([
      `printf '%s' '${server}' >etc/udhcpd.conf`,
      "plugIn() { plug eth0; ip addr add 10.1.0.1/24 dev router-eth0; : >run/leases; chroot . udhcpd -f /etc/udhcpd.conf >run/log 2>&1 & }",
      "bound() { until ip route | grep -q '^default .* dev eth0'; do sleep 0.1; done; until grep -q 10.1.0.1 run/resolv.conf; do sleep 0.1; done; }",
      "plugIn; bound; echo bound",
      'ip link del eth0; kill "$!"',
      'until [ -z "$(cat run/resolv.conf)" ]; do sleep 0.1; done; echo gone',
      "plugIn; bound; echo bound again",
      // An event that comes late, or twice, changes nothing.
      // The script holds its lock until the client has stored its number.
      "first=$(flock run/udhcpc.eth0.lock cat run/udhcpc.eth0.pid)",
      "ACTION=add chroot . /usr/lib/tapdeck/network-up eth0; ACTION=remove chroot . /usr/lib/tapdeck/network-up eth0",
      '[ "$(cat run/udhcpc.eth0.pid)" = "$first" ] && kill -0 "$first" && echo bound still',
      // A player that can open the lock could hold it, and root ends the process whose number it finds.
      "stat -c %a run/udhcpc.eth0.lock run/udhcpc.eth0.pid run/udhcpc.eth0.index",
    ]);
    expect(said).toEqual(["bound", "gone", "bound again", "bound still", "600", "644", "644"]);
  },
);
