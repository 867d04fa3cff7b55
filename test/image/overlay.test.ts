/**
 * The image's own files, tested without a board: scripts, numbers that occur in several places, and readers of tapdeck.conf.
 */
import { expect, test } from "bun:test";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { knownReaderIds } from "../../drivers/ccid/detect.ts";
import { drivers } from "../../drivers/index.ts";
import { version } from "../../package.json";
import { parseConnection } from "../../src/readers/driver.ts";
import { readMeta, root } from "../../tools/image/meta.ts";
import { neededBy } from "../../tools/image/programs.ts";
import { run } from "../../tools/image/run.ts";
import { makeScriptRoot } from "./script-root.ts";

const overlay = join(root, "overlay");
const at = (path: string) => join(root, path);
const text = (path: string) => readFile(at(path), "utf8");

/** All scripts of the image, by path in the tree. */
async function scripts(): Promise<readonly string[]> {
  const folders = [
    ...["overlay/etc/init.d", "overlay/usr/lib/tapdeck", "overlay/usr/lib/tapdeck/players"],
    ...["buildroot/board/common", "tools/image"],
  ];
  const names = await Promise.all(
    folders.map(async (folder) => (await readdir(at(folder))).map((name) => `${folder}/${name}`)),
  );
  const found: string[] = [];
  for (const path of names.flat()) {
    if (!(await stat(at(path))).isFile()) continue;
    if ((await text(path)).startsWith("#!/bin/sh")) found.push(path);
  }
  return found;
}

async function inFolder<Value>(work: (folder: string) => Promise<Value>): Promise<Value> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-overlay-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test("every script of the image is clean to shellcheck and to the shell that runs it, short, and stops at a fault", async () => {
  const all = await scripts();
  expect(all.length).toBeGreaterThan(20);
  await run(["shellcheck", "--external-sources", "--source-path=SCRIPTDIR", ...all.map(at)]);
  for (const path of all) {
    await run(["busybox", "ash", "-n", at(path)]);
    const lines = (await text(path)).split("\n");
    expect([path, lines.length < 62]).toEqual([path, true]);
    expect([path, lines.includes("set -eu")]).toEqual([path, true]);
    expect([path, lines[1]?.startsWith("# ")]).toEqual([path, true]);
    expect([path, ((await stat(at(path))).mode & 0o111) !== 0]).toEqual([path, true]);
  }
});

test.skipIf(process.getuid?.() !== 0)("a mount that fails does not end the start of the machine", () =>
  inFolder(async (folder) => {
    await makeScriptRoot(folder, [], {
      "etc/init.d/rcS": await text("overlay/etc/init.d/rcS"),
      "bin/mount": "exit 32",
      "bin/hostname": "exit 1",
      "etc/init.d/S10fails": "exit 1",
      "etc/init.d/S90service": 'echo "$1" >/run/service',
    });
    // Without its mount, the folder below which sticks are mounted cannot be made.
    await writeFile(join(folder, "media"), "");
    await run(["chroot", folder, "/etc/init.d/rcS"]);
    expect(await readFile(join(folder, "run/service"), "utf8")).toBe("start\n");
  }),
);

test("a script that init starts and stops has the canonical form, and explains itself to a caller that uses it otherwise", async () => {
  for (const name of (await readdir(join(overlay, "etc/init.d"))).filter((one) => one.startsWith("S"))) {
    expect(name).toMatch(/^S\d\d[a-z]+(-daemon)?$/);
    const script = await text(`overlay/etc/init.d/${name}`);
    if (script.includes("start-stop-daemon")) expect(script).toMatch(/^PIDFILE="\/var\/run\//m);
    const child = Bun.spawnSync(["busybox", "ash", join(overlay, "etc/init.d", name), "dance"]);
    expect([name, child.exitCode]).toEqual([name, 1]);
    expect(child.stderr.toString()).toContain("Usage: ");
  }
});

test("version, id and sizes stand in one file, and agree with the package and the partition table", async () => {
  const meta = readMeta();
  expect(meta.version).toBe(version);
  expect(meta.diskId).toMatch(/^[0-9a-f]{8}$/);
  const config = await text("buildroot/board/common/genimage.cfg");
  const elsewhere = ["TAPDECK_VERSION", "TAPDECK_BUILDROOT"];
  for (const name of Object.keys(meta.environment).filter((one) => !elsewhere.includes(one)))
    expect(config).toContain(`\${${name}}`);
  // The name is in the documents for users.
  expect(meta.environment.TAPDECK_BOOT_LABEL).toMatch(/^[A-Z]{1,11}$/);
});

test("a meta file that is not NAME=value, or lacks a value, is refused with its line", () =>
  inFolder(async (folder) => {
    const path = join(folder, "meta");
    await writeFile(path, 'TAPDECK_VERSION="$(reboot)"\n');
    expect(() => readMeta(path)).toThrow("is not NAME=value");
    await writeFile(path, "TAPDECK_VERSION=1.0.0\n");
    expect(() => readMeta(path)).toThrow("has no TAPDECK_DISK_ID");
    await writeFile(
      path,
      (await readFile(at("buildroot/board/common/meta"), "utf8")).replace(/(SLOT_MIB=)\d+/, "$10"),
    );
    expect(() => readMeta(path)).toThrow("TAPDECK_SLOT_MIB is no number");
  }));

test("the light blinks during a start and an end, and is dark once the plug may be pulled, on a board that has one", () =>
  inFolder(async (folder) => {
    const led = join(folder, "sys/class/leds/ACT");
    const light = (word: string) =>
      run(["busybox", "ash", at("overlay/usr/lib/tapdeck/light"), word, folder]);
    const shown = async () =>
      Promise.all(
        ["trigger", "brightness"].map(async (name) => (await readFile(join(led, name), "utf8")).trim()),
      );
    await light("timer");
    await mkdir(led, { recursive: true });
    await writeFile(join(led, "trigger"), "mmc0");
    await writeFile(join(led, "brightness"), "1");
    await light("timer");
    expect(await shown()).toEqual(["timer", "1"]);
    await light("none");
    expect(await shown()).toEqual(["none", "0"]);
    // At the end of the machine, the light goes off after the file systems are read-only.
    const end = await text("overlay/etc/init.d/rcK");
    expect(end.indexOf("light none")).toBeGreaterThan(end.indexOf("umount -a -r"));
  }));

test.skipIf(process.getuid?.() !== 0)(
  "the lights of the case are the service's from its start on, and dark once the plug may be pulled",
  () =>
    inRoot(async (folder) => {
      await copyFile(at("overlay/usr/lib/tapdeck/light"), join(folder, "usr/lib/tapdeck/light"));
      const lamp = "sys/class/leds/tapdeck:rgb:status";
      await mkdir(join(folder, lamp), { recursive: true });
      for (const name of ["trigger", "brightness", "multi_intensity"]) {
        await writeFile(join(folder, lamp, name), "9");
        await chmod(join(folder, lamp, name), 0o644);
      }
      const after = (word: string) =>
        run([
          "chroot",
          folder,
          "sh",
          "-c",
          `/usr/lib/tapdeck/light ${word}; cd ${lamp}; stat -c '%a %G %n' *; cat *`,
        ]);
      const closed = "644 root brightness\n644 root multi_intensity\n644 root trigger\n";
      const open = "664 tapdeck brightness\n664 tapdeck multi_intensity\n644 root trigger\n";
      expect(await after("timer")).toBe(`${closed}999`);
      expect(await after("default-on")).toBe(`${closed}999`);
      expect(await after("allow")).toBe(`${open}99none\n`);
      expect(await after("none")).toBe(`${open}0\n9none\n`);
      await run(["chroot", folder, "rm", "-r", "/sys/class"]);
      await run(["chroot", folder, "/usr/lib/tapdeck/light", "allow"]);
    }),
);

test("the image keeps away the modules that the Debian package keeps away", async () => {
  expect(await text("overlay/etc/modprobe.d/tapdeck.conf")).toBe(
    await text("packaging/modprobe/tapdeck.conf"),
  );
});

test("the service's groups exist, and nobody has a password", async () => {
  const groups = await text("overlay/etc/group");
  const [, list = ""] =
    /^for name in (.*); do groups=/m.exec(await text("overlay/usr/lib/tapdeck/serve")) ?? [];
  expect(list.split(" ")).toEqual(["dialout", "input", "audio", "video", "plugdev", "media"]);
  for (const name of ["tapdeck", ...list.split(" ")])
    expect(groups).toMatch(new RegExp(`^${name}:x:\\d+:$`, "m"));
  const users = (await text("overlay/etc/passwd")).trim().split("\n");
  const shadow = (await text("overlay/etc/shadow")).trim().split("\n");
  expect(shadow).toEqual(users.map((line) => `${line.split(":")[0]}:*:::::::`));
});

test("mdev's groups are groups of the image", async () => {
  const groups = new Set((await text("overlay/etc/group")).split("\n").map((line) => line.split(":")[0]));
  const rules = (await text("overlay/etc/mdev.conf"))
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const named = rules.map((line) => / root:(\w+) /.exec(line)?.[1] ?? `none in: ${line}`);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !groups.has(name))).toEqual([]);
});

test("mdev keeps the door of the board's firmware, which runs code with access to all memory, for root", async () => {
  expect(await text("overlay/etc/mdev.conf")).toMatch(/^vcio +root:root +600$/m);
});

test("mdev gives every USB reader that we know to those who may speak to it", async () => {
  const rules = [...(await text("overlay/etc/mdev.conf")).matchAll(/^\$PRODUCT=(\S+) +root:plugdev +660$/gm)];
  const patterns = rules.map(([, pattern = ""]) => new RegExp(`^${pattern}$`));
  const plain = (id: string) => id.replace(/^0+|(?<=:)0+/g, "").replace(":", "/");
  // The ids are in the kernel's form of a device: vendor/product/version, without leading zeros.
  const missing = knownReaderIds.filter((id) => !patterns.some((one) => one.test(`${plain(id)}/100`)));
  expect(knownReaderIds.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
  expect(patterns.some((one) => one.test("1d6b/2/606"))).toBe(false);
});

test("post-build makes the folders that fstab and the scripts mount on, and a file of the version", () =>
  inFolder(async (folder) => {
    await mkdir(join(folder, "etc/rauc"), { recursive: true });
    await writeFile(join(folder, "etc/shadow"), "");
    await copyFile(join(overlay, "etc/rauc/system.conf"), join(folder, "etc/rauc/system.conf"));
    const environment = { SOURCE_DATE_EPOCH: "1700000000" };
    for (let time = 0; time < 2; time++)
      await run([at("buildroot/board/common/post-build.sh"), folder, "pi4"], { environment });
    expect(await readFile(join(folder, "etc/tapdeck/board"), "utf8")).toBe("pi4\n");
    expect(await readFile(join(folder, "etc/rauc/system.conf"), "utf8")).toContain(
      "\ncompatible=tapdeck-pi4\n",
    );
    const mounts = (await text("overlay/etc/fstab")).matchAll(/^\w+ +(\/[a-z]+) /gm);
    const folders = ["/data", "/boot", "/root", ...[...mounts].map((match) => match[1] ?? "")];
    for (const name of folders) expect((await stat(join(folder, name))).isDirectory()).toBe(true);
    expect(await readFile(join(folder, "etc/tapdeck-release"), "utf8")).toBe(`Tapdeck ${version}\n`);
    expect((await stat(join(folder, "etc/tapdeck-release"))).mtimeMs).toBe(1_700_000_000_000);
    expect((await stat(join(folder, "etc/shadow"))).mode & 0o777).toBe(0o600);
  }));

/** The output of read-conf for a text, and the values that it stored. */
const readConf = (conf: string | Uint8Array) =>
  inFolder(async (folder) => {
    const child = Bun.spawnSync(["busybox", "ash", join(overlay, "usr/lib/tapdeck/read-conf"), folder], {
      stdin: typeof conf === "string" ? new TextEncoder().encode(conf) : conf,
    });
    const values: Record<string, string> = {};
    for (const name of await readdir(folder))
      values[name] = (await readFile(join(folder, name), "utf8")).slice(0, -1);
    expect([child.exitCode, child.stderr.toString()]).toEqual([0, ""]);
    return { said: child.stdout.toString().trim(), values };
  });

test("the tapdeck.conf of the image sets nothing, and each line of it is good once its # is gone", async () => {
  const conf = await text("buildroot/board/common/boot/tapdeck.conf");
  expect(await readConf(conf)).toEqual({ said: "", values: {} });
  const { said, values } = await readConf(conf.replace(/^#(?=[a-z_]+=)/gm, ""));
  expect(said).toBe("");
  expect(Object.keys(values).sort()).toEqual([
    "anonymous",
    "ca_file",
    "cards_key",
    "cards_url",
    "certificate_file",
    "first_owner",
    "hat",
    "hawkbit_url",
    "host_name",
    "key_file",
    "log_host",
    "metrics",
    "metrics_key",
    "mqtt_discovery",
    "mqtt_password",
    "mqtt_role",
    "mqtt_url",
    "mqtt_user",
    "ntp",
    "overscan",
    "reader",
    "rotation",
    "site",
    "ssh_key",
    "staff_key",
    "time_zone",
    "token_file",
    "update_url",
    "wifi_country",
    "wifi_name",
    "wifi_password",
  ]);
});

test("the marks that editors of PCs leave do not count", async () => {
  expect(
    await readConf("\ufeffhost_name=deck\r\n\r\n  wifi_name = My net \t\r\n# x\r\nreader=file:/a=b"),
  ).toEqual({
    said: "",
    values: { host_name: "deck", wifi_name: "My net", reader: "file:/a=b" },
  });
});

test("the first line of a file that PowerShell wrote in UTF-16 was lost, so a closed device was open", async () => {
  const bytes = Buffer.from("\ufeffanonymous=none\r\nhost_name=deck\r\n", "utf16le");
  expect(await readConf(bytes)).toEqual({
    said: "line 1: the file is in UTF-16, in which some letters are lost: save it as UTF-8",
    values: { anonymous: "none", host_name: "deck" },
  });
});

test("the word of a hat names its reader, which is a driver that there is, and a line reader= overrides it", async () => {
  const words = (await run([join(overlay, "usr/lib/tapdeck/hat")])).trim().split(", ");
  expect(words.length).toBeGreaterThan(5);
  for (const word of words) {
    const { said, values } = await readConf(`hat=${word}\r\n`);
    expect(said).toBe("");
    expect(parseConnection(values.reader ?? "", drivers).kind).toBe("connection");
    const own = { said: "", values: { hat: word, reader: "file:/a" } };
    expect(await readConf(`reader=file:/a\nhat=${word}\n`)).toEqual(own);
    expect(await readConf(`hat=${word}\nreader=file:/a\n`)).toEqual(own);
  }
  expect((await readConf("hat=rc522")).values.reader).toBe("mfrc522-spi:/dev/spidev0.0");
});

test("the documents have each word of a hat, and no other", async () => {
  const words = (await run([join(overlay, "usr/lib/tapdeck/hat")])).trim().split(", ");
  const rows = [...(await text("docs/IMAGE.md")).matchAll(/^\| `hat=([a-z0-9-]+)` \|/gm)];
  expect(rows.map(([, word]) => word ?? "").sort()).toEqual(words.toSorted());
});

test("a name or password of any characters is kept as it is, and never run", async () => {
  const [name, password] = ["$(reboot) `x` \"q\" 'p' \\n", "pass;word && *|%s \\ \"' $HOME"];
  expect(await readConf(`wifi_name=${name}\nwifi_password=${password}\n`)).toEqual({
    said: "",
    values: { wifi_name: name, wifi_password: password },
  });
});

test("values that echo would take for its options, or for escapes, come out to the byte", async () => {
  const key = String.raw`ssh-ed25519 AAAAC3Nza\n\x41\0101 -n\c`;
  for (const value of [
    "-n",
    "-e",
    "-E",
    "-nE",
    String.raw`\c`,
    String.raw`a\\nb\tc\0`,
    "%s%n",
    "--",
    "-n -e",
  ]) {
    const password = `-e ${value} \\a\\nb`;
    expect(await readConf(`wifi_name=${value}\nwifi_password=${password}\nssh_key=${key}\n`)).toEqual({
      said: "",
      values: { wifi_name: value, wifi_password: password, ssh_key: key },
    });
  }
});

test("a mistake in the rights of strangers counts as none, and is reported", async () => {
  const said = "line 2: anonymous takes none, look, play or change; it is none now";
  for (const value of ["no", "None", "own", "", "look play", "*", "-n"])
    expect(await readConf(`wifi_country=DE\nanonymous=${value}\nhost_name=deck\n`)).toEqual({
      said,
      values: { wifi_country: "DE", anonymous: "none", host_name: "deck" },
    });
  expect((await readConf("anonymous\n")).values).toEqual({ anonymous: "none" });
  for (const value of ["none", "look", "play", "change"])
    expect(await readConf(`anonymous = ${value} \r\n`)).toEqual({ said: "", values: { anonymous: value } });
});

test("a mistake in the line of the first owner counts as no, and is reported", async () => {
  for (const value of ["maybe", "No", ""])
    expect(await readConf(`first_owner=${value}\n`)).toEqual({
      said: "line 1: first_owner takes yes or no; it is no now",
      values: { first_owner: "no" },
    });
  expect((await readConf("first_owner\n")).values).toEqual({ first_owner: "no" });
  expect(await readConf("first_owner = yes\n")).toEqual({ said: "", values: { first_owner: "yes" } });
});

/** Runs `work` over a root folder of the image's users, its scripts, and BusyBox. */
async function inRoot<Value>(work: (folder: string) => Promise<Value>): Promise<Value> {
  return inFolder(async (folder) => {
    const busybox = Bun.which("busybox") ?? "";
    const libraries = (await run(["ldd", busybox]).catch(() => "")).match(/\/\S+(?= \()/g) ?? [];
    for (const path of [busybox, ...libraries]) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await copyFile(path, join(folder, path));
    }
    for (const name of ["bin", "usr/bin", "usr/lib/tapdeck", "run/conf", "dev"])
      await mkdir(join(folder, name), { recursive: true });
    await run(["chroot", folder, busybox, "--install", "-s", "/bin"]);
    await mkdir(join(folder, "etc"));
    const names = ["serve", "own-folder", "read-conf", "judge-conf", "fault"].map(
      (name) => `usr/lib/tapdeck/${name}`,
    );
    for (const name of ["etc/passwd", "etc/group", ...names])
      await copyFile(join(overlay, name), join(folder, name));
    return work(folder);
  });
}

/** The environment of the service for a tapdeck.conf with this text, and files beside it. */
async function startedWith(conf: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  return inRoot(async (folder) => {
    // A test may lack the right to raise its limits, so the line is left out.
    const serve = (await text("overlay/usr/lib/tapdeck/serve")).replace(/^ulimit .*$/m, "");
    await writeFile(join(folder, "usr/lib/tapdeck/serve"), serve);
    // This script replaces the watchdog.
    const notes =
      "#!/bin/sh\n{ env; echo umask=$(umask); stat -c '%a %U:%G %n' /run/tapdeck /run/tapdeck/* /run/tapdeck-fleet/* /run/tapdeck-machine/*; echo asked >&0; read -r word; echo \"pipe=$word\"; cat /run/faults/* || :; } >/run/notes 2>&1\n";
    await writeFile(join(folder, "usr/bin/tapdeck-watchdog"), notes, { mode: 0o755 });
    await mkdir(join(folder, "boot"));
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, "boot", name), content);
    const reads = ["chroot", folder, "/usr/lib/tapdeck/read-conf", "/run/conf"];
    expect(Bun.spawnSync(reads, { stdin: new TextEncoder().encode(conf) }).exitCode).toBe(0);
    await run(["chroot", folder, "/usr/lib/tapdeck/serve"]);
    return readFile(join(folder, "run/notes"), "utf8");
  });
}

test.skipIf(process.getuid?.() !== 0)(
  "the rights of strangers in tapdeck.conf reach the service, no line leaves them to the settings, and its files and the pipe of the root script are closed to others",
  async () => {
    const closed = await startedWith("anonymous=none\n");
    expect(closed).toMatch(/^TAPDECK_ANONYMOUS=none$/m);
    expect(closed).toContain(
      "umask=0077\n700 tapdeck:tapdeck /run/tapdeck\n700 tapdeck:tapdeck /run/tapdeck/tmp\n",
    );
    // The service inherits the pipe of the root script, and its user may not open the pipe.
    expect(closed).toContain("600 root:root /run/tapdeck-machine/requests\npipe=asked\n");
    expect(await startedWith("#anonymous=none\nhost_name=deck\n")).not.toContain("TAPDECK_ANONYMOUS");
    expect(await startedWith("anonymous=noone\n")).toMatch(/^TAPDECK_ANONYMOUS=none$/m);
    expect(await startedWith("host_name=deck\n")).toMatch(/^TAPDECK_FIRST_OWNER=yes$/m);
    for (const line of ["first_owner=no\n", "first_owner=maybe\n"])
      expect(await startedWith(line)).toMatch(/^TAPDECK_FIRST_OWNER=no$/m);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  "a boot partition that cannot be read opened a device that its tapdeck.conf closes",
  async () =>
    inRoot(async (folder) => {
      const script = "etc/init.d/S13conf";
      await mkdir(join(folder, dirname(script)));
      await copyFile(join(overlay, script), join(folder, script));
      // The device that it names does not exist.
      const partition = join(folder, "usr/lib/tapdeck/partition");
      await writeFile(partition, "#!/bin/sh\necho /dev/none\n", { mode: 0o755 });
      await rm(join(folder, "run/conf"), { recursive: true });
      await run(["chroot", folder, `/${script}`, "start"]);
      const conf = (name: string) => readFile(join(folder, "run/conf", name), "utf8").catch(() => "");
      expect([await conf("anonymous"), await conf("first_owner")]).toEqual(["none\n", "no\n"]);
      expect(await readdir(join(folder, "run/faults"))).toEqual(["boot-unreadable"]);
    }),
);

test.skipIf(process.getuid?.() !== 0)(
  "the words of a fleet reach the service, with copies of their files, and a missing file affects its own line",
  async () => {
    const conf = [
      "time_zone=Etc/GMT+5\nrotation=90\noverscan=5\nsite=hall\nmqtt_url=mqtts://broker.example:8883\ncards_url=https://c.example/a?b=c&d",
      "ca_file=ca.pem\nkey_file=client.key\ncertificate_file=away.pem\nupdate_url=x\n",
      `staff_key=${"5a".repeat(32)}\nmetrics_key=${"5a".repeat(32)}`,
      "mqtt_user=deck\nmqtt_password= pass;word && $HOME \nmqtt_role=member\nmqtt_discovery=ha",
    ].join("\n");
    const notes = await startedWith(conf, { "ca.pem": "CA", "client.key": "KEY" });
    const words = notes
      .split("\n")
      .filter((line) =>
        /^TAPDECK_(SITE|TIME_ZONE|ROTATION|OVERSCAN|.*_URL|.*_FILE|CARDS_KEY|MQTT_.*)=/.test(line),
      );
    expect(words.toSorted()).toEqual([
      "TAPDECK_CARDS_URL=https://c.example/a?b=c&d",
      "TAPDECK_CA_FILE=/run/tapdeck-fleet/ca_file",
      "TAPDECK_KEY_FILE=/run/tapdeck-fleet/key_file",
      "TAPDECK_METRICS_KEY_FILE=/run/tapdeck-fleet/metrics_key",
      "TAPDECK_MQTT_DISCOVERY=ha",
      "TAPDECK_MQTT_PASSWORD_FILE=/run/tapdeck-fleet/mqtt_password",
      "TAPDECK_MQTT_ROLE=member",
      "TAPDECK_MQTT_URL=mqtts://broker.example:8883",
      "TAPDECK_MQTT_USER=deck",
      "TAPDECK_OVERSCAN=5",
      "TAPDECK_ROTATION=90",
      "TAPDECK_SITE=hall",
      "TAPDECK_STAFF_KEY_FILE=/run/tapdeck-fleet/staff_key",
      "TAPDECK_TIME_ZONE=Etc/GMT+5",
    ]);
    expect(notes).not.toContain("5a5a");
    expect(notes).not.toContain("pass;word");
    expect(notes).toMatch(/^640 root:tapdeck \/run\/tapdeck-fleet\/mqtt_password$/m);
    for (const name of ["staff_key", "metrics_key"])
      expect(notes).toMatch(new RegExp(`^640 root:tapdeck /run/tapdeck-fleet/${name}$`, "m"));
    expect(notes).toMatch(/^640 root:tapdeck \/run\/tapdeck-fleet\/key_file$/m);
    expect(notes).toContain("conf-file-missing\nsubject=away.pem\nkey=certificate_file\n");
  },
);

test.skipIf(process.getuid?.() !== 0)(
  "the service can read the note of the last update, with its time, after each start and each trial",
  () =>
    inRoot(async (folder) => {
      const at = (name: string) => join(folder, name);
      for (const name of ["proc", "boot", "data/state", "etc/init.d"])
        await mkdir(at(name), { recursive: true });
      await copyFile(join(overlay, "etc/init.d/S92update"), at("etc/init.d/S92update"));
      // The real script asks the kernel for the disk of the root file system.
      await writeFile(at("usr/lib/tapdeck/partition"), "#!/bin/sh\necho /dev/mmcblk0p$1\n", { mode: 0o755 });
      await writeFile(at("proc/cmdline"), "quiet tapdeck.slot=a\n");
      await writeFile(at("boot/config.txt"), "os_prefix=slot-a/\n");
      const shown = async (word: "start" | "publish") => {
        const look =
          "cd /run/tapdeck-machine && stat -c '%a %Y' . last-update | cut -d' ' -f1,2 && cat last-update";
        const said = await run([
          ...["chroot", folder, "sh", "-c", `umask 077; sh /etc/init.d/S92update ${word}; ${look}`],
        ]);
        const [folderFacts = "", fileFacts = "", ...text] = said.split("\n");
        return { folder: folderFacts.split(" ")[0], file: fileFacts, text: text.join("\n") };
      };
      expect(await shown("start")).toMatchObject({ folder: "755", text: "" });
      const note = at("data/state/update");
      await writeFile(note, "event=kept slot=a version=0.2.0 faults=[]\n", { mode: 0o600 });
      await utimes(note, 1_700_000_000, 1_700_000_000);
      expect(await shown("publish")).toEqual({
        folder: "755",
        file: "644 1700000000",
        text: "event=kept slot=a version=0.2.0 faults=[]\n",
      });
      // The machine restarts into the old slot.
      await rm(at("run/tapdeck-machine"), { recursive: true });
      await writeFile(note, "event=trying slot=b version=0.3.0 faults=[]\n");
      const after = await shown("start");
      expect(after).toMatchObject({ folder: "755", text: "event=back slot=b version=0.3.0 faults=[]\n" });
      expect(after.file).toStartWith("644 ");
    }),
);

test.skipIf(process.getuid?.() !== 0)(
  "on a full card the note of a failed trial was lost, and its server installed the update again",
  () =>
    inRoot(async (folder) => {
      const at = (name: string) => join(folder, name);
      for (const name of ["proc", "boot", "data/state", "etc/init.d"])
        await mkdir(at(name), { recursive: true });
      await copyFile(join(overlay, "etc/init.d/S92update"), at("etc/init.d/S92update"));
      await writeFile(at("usr/lib/tapdeck/partition"), "#!/bin/sh\necho /dev/mmcblk0p$1\n", { mode: 0o755 });
      await writeFile(at("proc/cmdline"), "quiet tapdeck.slot=a\n");
      await writeFile(at("boot/config.txt"), "os_prefix=slot-a/\n");
      // The card has two blocks: one for the note, and one for another file.
      const script = [
        "mount -t tmpfs -o size=8k card data/state",
        "echo 'event=trying slot=b version=0.3.0 faults=[]' >data/state/update",
        "touch -d @1700000000 data/state/update",
        "head -c 4096 /dev/zero >data/state/full",
        "start() { chroot . sh /etc/init.d/S92update start; cat run/tapdeck-machine/last-update; }",
        "start; stat -c %Y run/tapdeck-machine/last-update; cat data/state/update; ls data/state",
        "rm data/state/full; start; cat data/state/update",
      ];
      const said = await run([
        "unshare",
        "--mount",
        "sh",
        "-e",
        "-c",
        `cd '${folder}'\n${script.join("\n")}`,
      ]);
      const line = (event: string) => `event=${event} slot=b version=0.3.0 faults=[]`;
      expect(said.trim().split("\n")).toEqual([
        ...[line("back"), "1700000000", line("trying"), "full", "update"],
        ...[line("back"), line("back")],
      ]);
    }),
);

test.skipIf(process.getuid?.() !== 0)(
  "a fault that is noted under any umask can be read by the service",
  () =>
    inRoot(async (folder) => {
      const notes =
        "umask 077; /usr/lib/tapdeck/fault conf-invalid 'why=-n \\\\n %s'; cd /run/faults && stat -c %a . * && cat *";
      expect(await run(["chroot", folder, "sh", "-c", notes])).toEndWith(
        "755\n644\nconf-invalid\nwhy=-n \\\\n %s\n",
      );
    }),
);

test.skipIf(process.getuid?.() !== 0)(
  "with log_host= each line of the log also goes to that address, and the lines from before stay",
  () =>
    inRoot(async (folder) => {
      const came: string[] = [];
      const all = Promise.withResolvers<void>();
      const listener = await Bun.udpSocket({
        hostname: "127.0.0.1",
        socket: {
          data(_socket, bytes) {
            came.push(bytes.toString().trimEnd());
            if (came.at(-1)?.includes("third")) all.resolve();
          },
        },
      });
      try {
        for (const name of ["etc/init.d", "sbin", "var/run", "tmp"])
          await mkdir(join(folder, name), { recursive: true });
        await copyFile(join(overlay, "etc/init.d/S01syslogd"), join(folder, "etc/init.d/S01syslogd"));
        await symlink("/bin/syslogd", join(folder, "sbin/syslogd"));
        await writeFile(join(folder, "conf"), `log_host=127.0.0.1:${listener.port}\n`);
        // Runs the log as S01syslogd does with the values of S13conf. The ring is shared memory of the whole machine, so it
        // has a namespace of its own here.
        const script = [
          "log=/etc/init.d/S01syslogd; $log start; until [ -S /dev/log ]; do usleep 20000; done",
          "logger -t test first; until logread | grep -q first; do usleep 20000; done",
          "/usr/lib/tapdeck/read-conf /run/conf </conf; $log restart",
          "logger -t test second; logger -t test third",
          "until logread | grep -q third; do usleep 20000; done; logread; $log stop",
        ];
        const command = [
          ...["unshare", "--ipc", "--pid", "--fork", "--kill-child", "chroot", folder],
          ...["sh", "-e", "-c", script.join("\n")],
        ];
        const ring = (await run(command)).split("\n");
        await all.promise;
        for (const word of ["earlier: .*first", "test: second", "test: third"])
          expect(ring.filter((line) => new RegExp(`${word}$`).test(line))).toHaveLength(1);
        // The line has the form of RFC 3164 without the name of the host, which the receiver knows by its address.
        expect(came.at(-1)).toMatch(/^<13>\w{3} [ \d]\d \d\d:\d\d:\d\d test: third$/);
        expect(came.filter((line) => line.includes("second"))).toHaveLength(1);
      } finally {
        listener.close();
      }
    }),
);

test.skipIf(process.getuid?.() !== 0)(
  "the time comes from ntp= alone; without it from the servers that the network names, and a public one",
  () =>
    inRoot(async (folder) => {
      for (const name of ["etc/init.d", "usr/sbin", "var/run"])
        await mkdir(join(folder, name), { recursive: true });
      for (const name of ["etc/init.d/S49ntpd", "usr/lib/tapdeck/address"])
        await copyFile(join(overlay, name), join(folder, name));
      const stub = '#!/bin/sh\necho "$*" >/run/asked.new\nmv /run/asked.new /run/asked\nexec sleep 1000\n';
      await writeFile(join(folder, "usr/sbin/ntpd"), stub, { mode: 0o755 });
      const script = [
        "asked() { until [ -e /run/asked ]; do usleep 20000; done; cat /run/asked; rm /run/asked; }",
        "export PATH=/bin:/usr/sbin interface=lo ip=10.9.9.9",
        "/etc/init.d/S49ntpd start; asked",
        // The same servers again cause no change.
        "export ntpsrv='10.9.9.1 10.9.9.2'",
        "/usr/lib/tapdeck/address bound; asked; /usr/lib/tapdeck/address renew; [ ! -e /run/asked ]",
        "export ntpsrv=; /usr/lib/tapdeck/address renew; asked",
        "echo time.lan >/run/conf/ntp; /etc/init.d/S49ntpd restart; asked; /etc/init.d/S49ntpd stop",
      ];
      const command = [
        ...["unshare", "--net", "--pid", "--fork", "--kill-child", "chroot", folder],
        ...["sh", "-e", "-c", script.join("\n")],
      ];
      const options = "-n -S /usr/lib/tapdeck/clock-set";
      expect((await run(command)).trim().split("\n")).toEqual([
        `${options} -p pool.ntp.org`,
        `${options} -p 10.9.9.1 -p 10.9.9.2 -p pool.ntp.org`,
        `${options} -p pool.ntp.org`,
        `${options} -p time.lan`,
      ]);
    }),
);

/**
 * The lines that a script prints in a network of its own. Its function `address EVENT INTERFACE [NAME=VALUE...]` calls the
 * image's script of DHCP, which finds BusyBox's `ip`, as on the image.
 */
const inNetwork = (script: readonly string[]): Promise<readonly string[]> =>
  inRoot(async (folder) => {
    await copyFile(join(overlay, "usr/lib/tapdeck/address"), join(folder, "usr/lib/tapdeck/address"));
    const lines = [
      "mount -t sysfs sysfs /sys", // It shows the interfaces of this network.
      `cd '${folder}'`,
      'address() { event=$1 name=$2; shift 2; env "interface=$name" "$@" chroot . /usr/lib/tapdeck/address "$event"; }',
      ...script,
    ];
    const said = await run(["unshare", "--net", "--mount", "sh", "-e", "-c", lines.join("\n")]);
    return said.split("\n").slice(0, -1);
  });

test.skipIf(process.getuid?.() !== 0)(
  "a cable that was pulled out took the way of the Wi-Fi to other networks with it",
  async () => {
    const lines = (await text("overlay/etc/sysctl.d/50-tapdeck.conf")).split("\n");
    const ofRoutes = lines.filter((line) => line.includes("ignore_routes_with_linkdown"));
    const ways = await inNetwork([
      "ip link set lo up",
      // The other ends of the cables are the routers.
      "for one in wlan0 eth0; do ip link add $one type veth peer name router-$one; ip link set router-$one up; done",
      ...ofRoutes.map((line) => `sysctl -q -w '${line.replaceAll(" ", "")}'`),
      "way() { ip route get 192.0.2.1 2>&1 | sed -n 's/.* via \\([0-9.]*\\) dev \\([a-z0-9]*\\).*/\\1 \\2/p'; }",
      "lease() { address $1 $2 ip=$3.5 mask=24 router=$3.1; }",
      "lease deconfig wlan0 10.1.0; lease bound wlan0 10.1.0; way",
      "lease deconfig eth0 10.2.0; lease bound eth0 10.2.0; way",
      "lease renew wlan0 10.1.0; way",
      "ip link set router-eth0 down",
      'until [ "$(cat /sys/class/net/eth0/carrier)" = 0 ]; do sleep 0.1; done; way',
      "ip link set router-eth0 up",
      'until [ "$(cat /sys/class/net/eth0/carrier)" = 1 ]; do sleep 0.1; done; way',
      "lease deconfig eth0 10.2.0; way",
    ]);
    const wifi = "10.1.0.1 wlan0";
    const cable = "10.2.0.1 eth0";
    expect(ways).toEqual([wifi, cable, cable, wifi, cable, wifi]);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  "a network that names no name server took those of the other network away",
  async () => {
    const said = await inNetwork([
      "ip link add wlan0 type veth peer name eth0",
      "shown() { tr '\\n' ' ' <run/resolv.conf; echo; }",
      "address bound wlan0 ip=10.1.0.5 dns='10.1.0.1 10.1.0.2'; shown",
      "address bound eth0 ip=10.2.0.5; shown",
      "address renew eth0 ip=10.2.0.5 dns=10.2.0.1; shown",
      "address renew wlan0 ip=10.1.0.5 dns=10.1.0.1; shown",
      "address deconfig eth0; shown",
    ]);
    const servers = (...all: readonly string[]) => all.map((one) => `nameserver ${one} `).join("");
    expect(said).toEqual([
      servers("10.1.0.1", "10.1.0.2"),
      servers("10.1.0.1", "10.1.0.2"),
      servers("10.2.0.1", "10.1.0.1", "10.1.0.2"),
      servers("10.2.0.1", "10.1.0.1"),
      servers("10.1.0.1"),
    ]);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  "a lease that began, was renewed or ended took the addresses of IPv6 with it",
  async () => {
    const said = await inNetwork([
      "ip link add wlan0 type veth peer name eth0",
      "ip link set wlan0 up; ip addr add fd00::5/64 dev wlan0",
      "shown() { ip -o addr show dev wlan0 | sed -n 's/.* inet6* \\([0-9a-f.:]*\\).* global .*/\\1/p' | sort | tr '\\n' ' '; echo; }",
      "address deconfig wlan0; shown",
      "address bound wlan0 ip=10.1.0.5; shown",
      "address renew wlan0 ip=10.1.0.6; shown",
      "address deconfig wlan0; shown",
    ]);
    expect(said).toEqual(["fd00::5 ", "10.1.0.5 fd00::5 ", "10.1.0.6 fd00::5 ", "fd00::5 "]);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  "a renewed lease of the same address took the address away for a moment, with the routes through it",
  async () => {
    const said = await inNetwork([
      "ip link add eth0 type veth peer name router-eth0; ip link set router-eth0 up",
      "lease() { address $1 eth0 ip=10.1.0.$2 mask=24 router=$3; }",
      "shown() { ip route show dev eth0 | sed -n 's/.*via \\([0-9.]*\\).*/\\1/p' | tr '\\n' ' '; echo; }",
      "address deconfig eth0; lease bound 5 10.1.0.1; ip route add 203.0.113.0/24 via 10.1.0.9; shown",
      "lease renew 5 10.1.0.1; shown",
      "lease renew 5 10.1.0.2; shown",
      "lease renew 5 ''; shown",
      "lease renew 50 10.1.0.1; shown; ip -4 -o addr show dev eth0 | wc -l",
    ]);
    const both = "10.1.0.1 10.1.0.9 ";
    const extra = "10.1.0.9 ";
    expect(said).toEqual([both, both, "10.1.0.2 10.1.0.9 ", extra, "10.1.0.1 ", "1"]);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  "a network whose router is outside of its range got neither a route nor name servers",
  async () => {
    const said = await inNetwork([
      "ip link add eth0 type veth peer name router-eth0; ip link set router-eth0 up",
      "address deconfig eth0; address bound eth0 ip=10.1.0.5 mask=32 router=10.9.0.1 dns=10.9.0.1",
      "ip route get 192.0.2.1 | grep -o 'via [0-9.]*'; cat run/resolv.conf",
    ]);
    expect(said).toEqual(["via 10.9.0.1", "nameserver 10.9.0.1"]);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  "each renewal in a network that names no time server removed the time servers of the other network",
  async () => {
    const said = await inNetwork([
      "mkdir -p etc/init.d; printf '#!/bin/sh\\necho asked >>/run/restarts\\n' >etc/init.d/S49ntpd; chmod 755 etc/init.d/S49ntpd",
      "ip link add wlan0 type veth peer name eth0",
      "shown() { echo $(cat run/ntp-servers) after $(wc -l <run/restarts); }",
      "address bound wlan0 ip=10.1.0.5 ntpsrv='10.1.0.1 10.1.0.2'; shown",
      "address bound eth0 ip=10.2.0.5; address renew wlan0 ip=10.1.0.5 ntpsrv='10.1.0.1 10.1.0.2'; shown",
      "address renew eth0 ip=10.2.0.5 ntpsrv=10.2.0.1; shown",
      "address deconfig wlan0; shown",
    ]);
    expect(said).toEqual([
      "10.1.0.1 10.1.0.2 after 1",
      "10.1.0.1 10.1.0.2 after 1",
      "10.2.0.1 10.1.0.1 10.1.0.2 after 2",
      "10.2.0.1 after 3",
    ]);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  "the second of two cables took the way of the first with it when its lease ended",
  async () => {
    const ways = await inNetwork([
      "for one in eth0 usb0; do ip link add $one type veth peer name router-$one; ip link set router-$one up; done",
      "way() { ip route get 192.0.2.1 2>&1 | sed -n 's/.* via \\([0-9.]*\\) dev \\([a-z0-9]*\\).*/\\1 \\2/p'; }",
      "lease() { address $1 $2 ip=$3.5 mask=24 router=$3.1; }",
      "lease deconfig eth0 10.1.0; lease bound eth0 10.1.0; way",
      "lease deconfig usb0 10.2.0; lease bound usb0 10.2.0; way",
      "lease deconfig usb0 10.2.0; way",
    ]);
    expect(ways).toEqual(["10.1.0.1 eth0", "10.1.0.1 eth0", "10.1.0.1 eth0"]);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  "with a cable and the Wi-Fi in one network, a phone did not reach one of the two addresses",
  async () => {
    const lines = (await text("overlay/etc/sysctl.d/50-tapdeck.conf")).split("\n");
    const script = [
      "ip link set lo up",
      // The other end of both interfaces is the phone, in a network namespace of its own.
      "unshare --net sleep 1000 & phone=$!",
      "trap 'kill $phone' EXIT",
      'until [ "$(readlink /proc/$phone/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.05; done',
      'phone() { nsenter --target $phone --net "$@"; }',
      ...lines
        .filter((line) => line.startsWith("net.ipv4.conf.all."))
        .map((line) => `sysctl -q -w '${line.replaceAll(" ", "")}'`),
      "phone ip link set lo up; phone ip addr add 10.1.0.9/32 dev lo",
      "connect() {",
      "  ip link add $1 type veth peer name to-$1; ip link set to-$1 netns $phone",
      "  ip link set $1 up; ip addr add $2/24 dev $1",
      "  phone ip link set to-$1 up; phone ip route add $2 dev to-$1 src 10.1.0.9",
      "}",
      "connect wlan0 10.1.0.5; connect eth0 10.1.0.6",
      "for one in 10.1.0.5 10.1.0.6; do phone busybox ping -c 1 -W 5 $one >/dev/null && echo $one; done",
    ];
    const said = await run(["unshare", "--net", "sh", "-e", "-c", script.join("\n")]);
    expect(said.trim().split("\n")).toEqual(["10.1.0.5", "10.1.0.6"]);
  },
);

test("the kernel's switches against links, pipes and files of others in shared folders are on", async () => {
  const lines = (await text("overlay/etc/sysctl.d/50-tapdeck.conf")).split("\n");
  const switches = Object.fromEntries(
    lines.filter((line) => line.startsWith("fs.")).map((line) => line.split(" = ")),
  );
  expect(switches).toEqual({
    "fs.protected_symlinks": "1",
    "fs.protected_hardlinks": "1",
    "fs.protected_fifos": "2",
    "fs.protected_regular": "2",
  });
  // This kernel has each of these names, so none is misspelt.
  for (const name of Object.keys(switches)) await stat(`/proc/sys/${name.replaceAll(".", "/")}`);
});

const noBroker = "line 2: mqtt_url begins with mqtt:// or mqtts://, such as mqtts://broker.example:8883";
const urlCharacters = "has letters, digits and . : / _ ~ % ? = & @ + - only, at most 1024";
const noHat =
  "line 2: hat takes one of rc522, rc522-ce1, pn532-i2c, pn532-spi, pn532-uart, waveshare-pn532-i2c, waveshare-pn532-uart";
const noLogHost =
  "line 2: log_host takes an IPv4 address and, after a colon, a port, such as 192.168.1.5:514";

for (const [line, said] of [
  ["wifi", "line 2: it is not key=value"],
  ["../x=1", "line 2: there is no such key"],
  [
    "wifi_password=short",
    "line 2: a Wi-Fi password has 8 to 63 characters, or it is a key of 64 digits (0 to 9, a to f)",
  ],
  [`wifi_name=${"x".repeat(33)}`, "line 2: a network's name has 1 to 32 characters"],
  // wpa_supplicant would refuse the settings of all networks.
  ["wifi_name=", "line 2: a network's name has 1 to 32 characters"],
  ["wifi_country=de", "line 2: a country has two capital letters, such as DE"],
  ["host_name=My Deck", "line 2: a host name has small letters, digits and - only, at most 63"],
  ["host_name=-x", "line 2: a host name has small letters, digits and - only, at most 63"],
  ["host_name=", "line 2: a host name has small letters, digits and - only, at most 63"],
  [
    "ssh_key=AAAA",
    "line 2: an SSH key begins with ssh-ed25519 AAAA, ssh-rsa AAAA or ecdsa-sha2-nistp256 AAAA",
  ],
  ["site=North hall", "line 2: a site has letters, digits and . _ - only, at most 63"],
  ["rotation=45", "line 2: rotation takes 0, 90, 180 or 270"],
  ["rotation=", "line 2: rotation takes 0, 90, 180 or 270"],
  ["overscan=11", "line 2: overscan takes a whole number from 0 to 10"],
  ["overscan=5%", "line 2: overscan takes a whole number from 0 to 10"],
  ["time_zone=Berlin, Germany", "line 2: a time zone is a name such as Europe/Berlin"],
  ["metrics=on", "line 2: metrics takes yes or no; it is no now"],
  ["mqtt_url=broker.example", noBroker],
  ["mqtt_url=mqtts://", noBroker],
  ["mqtt_url=mqtt://a b", `line 2: mqtt_url ${urlCharacters}`],
  ["mqtt_user=", "line 2: mqtt_user has 1 to 255 characters"],
  [`mqtt_password=${"x".repeat(256)}`, "line 2: mqtt_password has 1 to 255 characters"],
  ["mqtt_discovery=a b", "line 2: mqtt_discovery is a topic, such as homeassistant"],
  ["mqtt_role=king", "line 2: mqtt_role takes player, member or owner; it is player now"],
  ["hawkbit_url=ftp://x", "line 2: hawkbit_url begins with https:// or http://"],
  ["update_url=http://updates.example/i.json", "line 2: update_url begins with https://"],
  ["cards_url=http://cards.example/all", "line 2: cards_url begins with https://"],
  ["cards_url=https://cards.example/all cards", `line 2: cards_url ${urlCharacters}`],
  [`update_url=https://${"x".repeat(1024)}`, `line 2: update_url ${urlCharacters}`],
  ["cards_key=00", "line 2: cards_key has the 64 digits that tapdeck cards key prints"],
  ["staff_key=0A", "line 2: staff_key has 64 digits, as tools/provision.ts makes them"],
  ["metrics_key=0A", "line 2: metrics_key has 64 digits, as tools/provision.ts makes them"],
  ["ca_file=../etc/shadow", "line 2: ca_file is the name of a file beside tapdeck.conf"],
  ["certificate_file=.x", "line 2: certificate_file is the name of a file beside tapdeck.conf"],
  ["key_file=", "line 2: key_file is the name of a file beside tapdeck.conf"],
  ["log_host=logs.example", noLogHost],
  ["log_host=192.168.1.256", noLogHost],
  ["log_host=192.168.1.5:0", noLogHost],
  ["log_host=192.168.1.5:65536", noLogHost],
  ["log_host=192.168.1.5 -O /boot/x", noLogHost],
  ["ntp=-p", "line 2: ntp is the name or address of a time server"],
  ["ntp=a b", "line 2: ntp is the name or address of a time server"],
  ["hat=rc523", noHat],
  ["hat=", noHat],
  ["hat=.*", noHat],
  ["reader=/dev/ttyAMA0", "line 2: a reader is driver:path, such as pn532-uart:/dev/ttyAMA0"],
] as const) {
  test(`"${line.slice(0, 30)}" is told with its line, and the good lines around it count`, async () => {
    expect(await readConf(`wifi_country=DE\n${line}\nhost_name=deck\n`)).toEqual({
      said,
      values: { wifi_country: "DE", host_name: "deck" },
    });
  });
}

test("the libraries that a program names are found, and a static one names none", () =>
  inFolder(async (folder) => {
    await writeFile(
      join(folder, "x.c"),
      "#include <math.h>\nint main(int n, char **v) { (void)v; return (int)cos(n); }\n",
    );
    await run([
      "gcc",
      "-fno-builtin",
      join(folder, "x.c"),
      "-o",
      join(folder, "x"),
      "-Wl,--no-as-needed",
      "-lm",
    ]);
    expect(neededBy(await readFile(join(folder, "x")))).toEqual(["libm.so.6", "libc.so.6"]);
    await run(["gcc", "-static", join(folder, "x.c"), "-o", join(folder, "y"), "-lm"]);
    expect(neededBy(await readFile(join(folder, "y")))).toEqual([]);
  }));
