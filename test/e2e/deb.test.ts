/**
 * The Debian package as a stranger gets it: its description, its files, its scripts and its unit. If this machine allows
 * it, also a real installation below a systemd of its own.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { knownReaderIds } from "../../drivers/ccid/detect.ts";
import { version } from "../../package.json";
import { program } from "../helpers/tapdeck.ts";

const root = join(import.meta.dir, "../..");
const native = process.arch === "arm64" ? "arm64" : "amd64";
const hasCrossCompiler = native === "arm64" || Bun.which("aarch64-linux-gnu-gcc") !== null;
const skipUnless = (condition: boolean, reason: string) => {
  if (!condition)
    process.stdout.write(`skipped: ${reason}
`);
  return test.concurrent.skipIf(!condition);
};

let place = "";
const deb = (architecture: string) => join(place, `tapdeck_${version}_${architecture}.deb`);
const unpacked = () => join(place, "unpacked");

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "tapdeck-deb-test-"));
  await run(process.execPath, "tools/deb.ts", "--uncompressed", `--out=${place}`);
  await run("dpkg-deb", "--extract", deb(native), unpacked());
});

afterAll(() => rm(place, { recursive: true, force: true }));

test("the package says what it is and what it needs", async () => {
  const fields = await run("dpkg-deb", "--field", deb(native));
  expect(fields).toContain(`Package: tapdeck\nVersion: ${version}\nArchitecture: ${native}\n`);
  expect(fields).toMatch(/^Depends: libc6 \(>= 2\.17\), systemd$/m);
  const installedKb = Number(/^Installed-Size: (\d+)$/m.exec(fields)?.[1]);
  expect(installedKb).toBeGreaterThan(Bun.file(program).size / 1024);
});

test("it holds these files, all of them root's, and none that others may write", async () => {
  const listed = (await run("dpkg-deb", "--contents", deb(native))).trim().split("\n");
  const files = listed.filter((line) => !line.startsWith("d"));
  expect(files.map((line) => `${line.split(" ")[0]} ${line.split(" ").at(-1)}`)).toEqual([
    "-rw-r--r-- ./etc/avahi/services/tapdeck.service",
    "-rw-r--r-- ./etc/default/tapdeck",
    "-rwxr-xr-x ./usr/bin/tapdeck",
    "-rwxr-xr-x ./usr/bin/tapdeck-confine",
    "-rwxr-xr-x ./usr/bin/tapdeck-watchdog",
    "-rw-r--r-- ./usr/lib/modprobe.d/tapdeck.conf",
    "-rw-r--r-- ./usr/lib/systemd/system/tapdeck.service",
    "-rw-r--r-- ./usr/lib/sysusers.d/tapdeck.conf",
    "-rw-r--r-- ./usr/lib/tmpfiles.d/tapdeck.conf",
    "-rw-r--r-- ./usr/lib/udev/rules.d/70-tapdeck.rules",
    "-rw-r--r-- ./usr/share/bash-completion/completions/tapdeck",
    "-rw-r--r-- ./usr/share/doc/tapdeck/README.md",
    "-rw-r--r-- ./usr/share/doc/tapdeck/changelog.gz",
    "-rw-r--r-- ./usr/share/doc/tapdeck/copyright",
    "-rw-r--r-- ./usr/share/fish/vendor_completions.d/tapdeck.fish",
    "-rw-r--r-- ./usr/share/lintian/overrides/tapdeck",
    "-rw-r--r-- ./usr/share/man/man1/tapdeck.1.gz",
    "-rw-r--r-- ./usr/share/zsh/vendor-completions/_tapdeck",
  ]);
  expect(await run("dpkg-deb", "--info", deb(native), "conffiles")).toBe(
    "/etc/avahi/services/tapdeck.service\n/etc/default/tapdeck\n",
  );
  expect(listed.filter((line) => !line.includes(" root/root "))).toEqual([]);
  expect(listed.filter((line) => /^.{5}w|^.{8}w/.test(line))).toEqual([]);
});

test("the binary in it is the one that was built, to the byte, and answers --version", async () => {
  expect(await sha256(join(unpacked(), "usr/bin/tapdeck"))).toBe(await sha256(program));
  expect(await run(join(unpacked(), "usr/bin/tapdeck"), "--version")).toBe(`tapdeck ${version}\n`);
  expect(await run(join(unpacked(), "usr/bin/tapdeck-watchdog"), "--help")).toStartWith(
    "tapdeck-watchdog [options]",
  );
});

test("the copyright file names every package that the binary holds, with its licence", async () => {
  const text = await readFile(join(unpacked(), "usr/share/doc/tapdeck/copyright"), "utf8");
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
  for (const name of Object.keys(lock.packages[""].dependencies))
    expect(text).toContain(`Copyright: the authors of ${name}\n`);
  expect(text).toContain("the authors of libsodium\n"); // Libsodium comes through another package.
  expect(text).toContain("JavaScriptCore");
  expect(text).toContain("Fonts are (c) Bitstream");
  // The library's package has no text of its licence. That licence (MPL-2.0) requires the place of its source.
  expect(text).toMatch(/^ MPL-2\.0 licence\. Source: .*resvg-js/m);
});

skipUnless(hasCrossCompiler, "aarch64-linux-gnu-gcc is not installed")(
  "the other processor's package holds programs for it",
  async () => {
    const other = native === "amd64" ? "arm64" : "amd64";
    const folder = join(place, "other");
    await run("dpkg-deb", "--extract", deb(other), folder);
    expect(await run("dpkg-deb", "--field", deb(other), "Architecture")).toBe(`${other}\n`);
    for (const name of ["tapdeck", "tapdeck-confine", "tapdeck-watchdog"]) {
      const head = await readFile(join(folder, "usr/bin", name));
      // e_machine (System V ABI): 183 AArch64, 62 x86-64.
      expect(head.readUInt16LE(18)).toBe(other === "arm64" ? 183 : 62);
    }
  },
);

test("the same commit gives the same package, to the byte", async () => {
  const again = join(place, "again");
  await run(process.execPath, "tools/deb.ts", native, "--uncompressed", `--out=${again}`);
  expect(await sha256(join(again, `tapdeck_${version}_${native}.deb`))).toBe(await sha256(deb(native)));
});

test("an unknown architecture is refused with a sentence", async () => {
  const child = Bun.spawn([process.execPath, "tools/deb.ts", "armhf"], { cwd: root, stderr: "pipe" });
  expect(await new Response(child.stderr).text()).toBe(
    'deb: no architecture "armhf": there are amd64 and arm64\n',
  );
  expect(await child.exited).toBe(1);
});

test("the udev rules name the converters that the PN532 driver looks for", async () => {
  const rules = await readFile(join(root, "packaging/udev/70-tapdeck.rules"), "utf8");
  const named = [...rules.matchAll(/ID_VENDOR_ID\}=="(\w+)", ENV\{ID_MODEL_ID\}=="([\w|]+)"/g)].flatMap(
    ([, vendor = "", products = ""]) => products.split("|").map((product) => `${vendor}:${product}`),
  );
  const driver = await readFile(join(root, "drivers/pn532-uart.ts"), "utf8");
  const known = [...driver.matchAll(/id: "([0-9a-f]{4}:[0-9a-f]{4})"/g)].map(([, id]) => id ?? "");
  expect(named.sort()).toEqual(known.sort());
  expect(known.length).toBeGreaterThan(0);
});

test("the udev rules name the USB readers that we know", async () => {
  const rules = await readFile(join(root, "packaging/udev/70-tapdeck.rules"), "utf8");
  const line = /idVendor\}=="(\w+)", ATTR\{idProduct\}=="([\w|]+)", GOTO="tapdeck_usb"/g;
  const named = [...rules.matchAll(line)].flatMap(([, vendor = "", products = ""]) =>
    products.split("|").map((product) => `${vendor}:${product}`),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.sort()).toEqual(knownReaderIds.toSorted());
});

skipUnless(Bun.which("shellcheck") !== null, "shellcheck is not installed")(
  "shellcheck finds nothing in the maintainer scripts",
  async () => {
    const scripts = ["postinst", "prerm", "postrm"].map((name) => join(root, "packaging/debian", name));
    expect(await run("shellcheck", ...scripts)).toBe("");
  },
);

skipUnless(Bun.which("lintian") !== null, "lintian is not installed")("lintian finds no error", async () => {
  // A small program replaces the large one, whose compression takes most of the time.
  const small = join(place, "small");
  await run("dpkg-deb", "--raw-extract", deb(native), small);
  await cp(join(small, "usr/bin/tapdeck-watchdog"), join(small, "usr/bin/tapdeck"));
  await run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", small, join(place, "small.deb"));
  const allowRoot = process.getuid?.() === 0 ? ["--allow-root"] : [];
  const child = Bun.spawn(["lintian", ...allowRoot, "--fail-on=error", join(place, "small.deb")]);
  const said = await new Response(child.stdout).text();
  // Errors about usr/bin/tapdeck do not count: here it is a copy of the watchdog, which is static.
  const errors = said
    .split("\n")
    .filter((line) => line.startsWith("E:") && !line.includes("[usr/bin/tapdeck]"));
  expect(errors.filter((line) => !line.includes("md5sum"))).toEqual([]);
});

skipUnless(Bun.which("systemd-analyze") !== null, "systemd-analyze is not installed")(
  "systemd takes the unit, and calls its exposure low",
  async () => {
    const unit = join(place, "tapdeck.service");
    const text = await readFile(join(unpacked(), "usr/lib/systemd/system/tapdeck.service"), "utf8");
    await writeFile(unit, text.replaceAll(/(=| )\/usr\/bin\//g, `$1${unpacked()}/usr/bin/`));
    const said = Bun.spawnSync(["systemd-analyze", "verify", "--man=no", unit]);
    expect(`${said.stdout}${said.stderr}`.split("\n").filter((line) => line.includes("tapdeck"))).toEqual([]);
    // The threshold is in tenths of the exposure level: 2.5 is "OK", and a service without any restriction has 9.6.
    const rated = await run("systemd-analyze", "security", "--offline=true", "--threshold=30", unit);
    process.stdout.write(`unit: ${/exposure level.*: ([\d.]+)/.exec(rated)?.[1]} of 10 exposed\n`);
  },
);

skipUnless(canBoot(), "no systemd, or this machine gives us no name spaces and overlays")(
  "installed for real, the unit starts as its own user, its main process alone speaks for it, and a hung service is started again",
  async () => {
    const room = join(place, "room");
    await run("mkdir", room);
    await cp(deb(native), join(room, "tapdeck.deb"));
    const texts = {
      "boot.sh": bootScript,
      "probe.sh": probeScript,
      "test.target": targetUnit,
      "probe.service": probeUnit,
    };
    for (const [name, text] of Object.entries(texts)) await writeFile(join(room, name), text);
    const spaces = ["--kill-child", "--pid", "--mount", "--cgroup", "--ipc", "--uts", "--net", "--fork"];
    const child = Bun.spawn(
      ["timeout", "--signal=KILL", "150", "unshare", ...spaces, "sh", join(room, "boot.sh"), room],
      {
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
    await child.exited;
    const told = await readFile(join(room, "told"), "utf8").catch(() => said);
    const value = (name: string) => new RegExp(`^${name} (.*)$`, "m").exec(told)?.[1] ?? told;
    expect(value("first")).toBe("active pong restarts=0");
    expect(value("enabled")).toBe("enabled");
    // The unit's list of system calls lets players be confined.
    expect(value("players")).toBe('"name":"players","ok":true');
    expect(value("user")).toMatch(/^tapdeck audio dialout i2c input plugdev render spi tapdeck video$/);
    expect(value("hardened")).toBe("CapEff=0000000000000000 NoNewPrivs=1");
    // A process with the user and the control group of the service, as a player has them, cannot speak to systemd.
    expect(value("player-says")).toBe("nothing");
    expect(value("hung")).toBe("active pong restarts=1");
    expect(value("player-saved")).toBe("yes and what waits to be carried is kept");
    process.stdout.write(`unit: hung, until it answers: ${value("hung-seconds")} s (WatchdogSec=2s)\n`);
    expect(value("killed")).toBe("active pong restarts=2");
    expect(value("watchdog-hung")).toBe("active pong restarts=3");
    expect(value("open-to-others")).toBe("/var/lib/tapdeck 710 /var/lib/tapdeck/media 2770");
    expect(value("stopped")).toBe("inactive 0");
    process.stdout.write(`unit: stopped after ${value("stopped-ms")} ms\n`);
    expect(value("misconfigured")).toBe("failed 78 restarts=0");
    expect(value("left")).toBe("data"); // Files of the owner stay.
  },
);

/** True if this machine allows name spaces and overlays. */
function canBoot(): boolean {
  if (Bun.which("unshare") === null || !Bun.file("/usr/lib/systemd/systemd").size || native !== "amd64")
    return false;
  const command =
    "mount -t tmpfs tmpfs /mnt && mkdir /mnt/u /mnt/w && mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/u,workdir=/mnt/w /etc && mount -t cgroup2 cgroup2 /sys/fs/cgroup";
  const spaces = ["--pid", "--mount", "--cgroup", "--ipc", "--uts", "--net", "--fork"];
  return Bun.spawnSync(["unshare", ...spaces, "sh", "-c", command]).exitCode === 0;
}

/** Installs into overlays of this machine's folders, which are gone afterwards, and becomes systemd. */
const bootScript = `
set -eu
mount --make-rprivate /
ip link set lo up 2>/dev/null || true
mount --bind "$1" /mnt
mkdir /mnt/over
mount -t tmpfs tmpfs /mnt/over
for folder in usr etc var; do
  mkdir /mnt/over/$folder /mnt/over/$folder.work
  mount -t overlay overlay -o lowerdir=/$folder,upperdir=/mnt/over/$folder,workdir=/mnt/over/$folder.work /$folder
done
mount -t proc proc /proc
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mkdir /run/lock
mount -t cgroup2 cgroup2 /sys/fs/cgroup
dpkg --install --force-depends /mnt/tapdeck.deb
printf '[api]\\nlisten = ["127.0.0.1"]\\n' > /var/lib/tapdeck/config.toml
chown tapdeck: /var/lib/tapdeck/config.toml
cp /mnt/test.target /mnt/probe.service /etc/systemd/system/
mkdir -p /run/systemd/system/tapdeck.service.d
printf '[Service]\\nWatchdogSec=2s\\nRestartSec=100ms\\n' > /run/systemd/system/tapdeck.service.d/test.conf
export container=lxc
exec /usr/lib/systemd/systemd --system --unit=test.target --log-target=console --log-level=warning --show-status=no
`;

const targetUnit = `[Unit]
DefaultDependencies=no
Wants=probe.service
`;

const probeUnit = `[Unit]
DefaultDependencies=no
[Service]
ExecStart=/bin/sh /mnt/probe.sh
StandardOutput=file:/mnt/told
StandardError=inherit
`;

const probeScript = `
show() { systemctl show --property="$1" --value tapdeck.service; }
answers() { echo "$1 $(show ActiveState) $(tapdeck ping) restarts=$(show NRestarts)"; }
systemctl start --job-mode=ignore-dependencies tapdeck.service
answers first
echo "enabled $(systemctl is-enabled tapdeck.service)"
echo "players $(tapdeck call health | tr -d ' \\n' | grep -o '"name":"players","ok":[a-z]*')"
service() { echo $(cat /proc/$(show MainPID)/task/$(show MainPID)/children); }
pid=$(service)
groups=$(for id in $(sed -n 's/^Groups:\\|^Gid:\\t[0-9]*\\t[0-9]*\\t[0-9]*//p' /proc/$pid/status); do getent group $id | cut -d: -f1; done | sort -u)
echo user $(getent passwd $(sed -n 's/^Uid:\\t\\([0-9]*\\).*/\\1/p' /proc/$pid/status) | cut -d: -f1) $groups
echo hardened $(sed -n 's/^\\(NoNewPrivs\\|CapEff\\):\\t/\\1=/p' /proc/$pid/status)
sh -c 'echo $$ > /sys/fs/cgroup/$0/cgroup.procs && NOTIFY_SOCKET=/run/systemd/notify exec setpriv --reuid=tapdeck --regid=tapdeck --clear-groups systemd-notify STATUS=all-is-well' "$(show ControlGroup)"
said=$(show StatusText)
echo "player-says \${said:-nothing}"
again() {
  for _ in $(seq 400); do
    [ "$(show NRestarts)" = "$1" ] && [ "$(show ActiveState)" = active ] && break
    sleep 0.1
  done
}
echo kept > /run/tapdeck/kept
sh -c 'echo $$ > /sys/fs/cgroup/$0/cgroup.procs; trap "sleep 1; echo yes > /mnt/saved; exit" TERM; : > /mnt/plays; while :; do sleep 0.1; done' "$(show ControlGroup)" &
for _ in $(seq 400); do [ -e /mnt/plays ] && break; sleep 0.1; done
from=$(date +%s)
kill -STOP $(service)
again 1
answers hung
echo "player-saved $(cat /mnt/saved) and what waits to be carried is $(cat /run/tapdeck/kept)"
echo hung-seconds $(( $(date +%s) - from ))
kill -KILL $(service)
again 2
answers killed
kill -STOP $(show MainPID)
again 3
answers watchdog-hung
echo open-to-others $(find /var/lib/tapdeck -perm /077 ! -name config.toml -printf '%p %m ')
from=$(date +%s%3N)
systemctl stop tapdeck.service
echo "stopped $(show ActiveState) $(show ExecMainStatus)"
echo "stopped-ms $(( $(date +%s%3N) - from ))"
systemctl reset-failed tapdeck.service
echo no toml > /var/lib/tapdeck/config.toml
systemctl start --job-mode=ignore-dependencies tapdeck.service
for _ in $(seq 400); do [ "$(show ActiveState)" = failed ] && break; sleep 0.1; done
echo "misconfigured $(show ActiveState) $(show ExecMainStatus) restarts=$(show NRestarts)"
dpkg --purge tapdeck >/dev/null 2>&1
[ ! -e /usr/lib/systemd/system/tapdeck.service ] && [ -d /var/lib/tapdeck/media ] && echo left data
systemctl --force --force poweroff
`;

async function sha256(path: string): Promise<string> {
  return new Bun.CryptoHasher("sha256").update(await Bun.file(path).bytes()).digest("hex");
}

/** Returns the output of a command. Fails with the whole output if the exit code is not 0. */
async function run(...argv: readonly string[]): Promise<string> {
  const child = Bun.spawn([...argv], { cwd: root, stdout: "pipe", stderr: "pipe" });
  const [said, complained] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${argv.join(" ")}\n${said}${complained}`);
  return said;
}
