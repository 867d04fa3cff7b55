/**
 * Root's scripts of the Wi-Fi, without a board: in a root folder of their own, with stubs of the radio's programs. The suite on an
 * emulated board has the real ones.
 */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../tools/image/run.ts";
import { makeScriptRoot } from "./script-root.ts";

const rootTest = test.skipIf(process.getuid?.() !== 0);

const name = Buffer.from("Home").toString("hex");
const password = Buffer.from("correct horse").toString("hex");

/**
 * Stubs of the radio's programs, which know one network with one password. Programs that keep running write down whether
 * they inherited that password.
 */
const stubs: Readonly<Record<string, string>> = {
  "usr/sbin/wpa_supplicant": "true",
  "bin/wpa_cli": `case "$*" in
  *status) if grep -q 'psk="correct horse"' /run/wpa_supplicant.conf; then echo wpa_state=COMPLETED; else echo wpa_state=SCANNING; fi ;;
  *list_networks) grep -q 'psk="correct horse"' /run/wpa_supplicant.conf || echo '0 Home any [TEMP-DISABLED]' ;;
esac`,
  "bin/start-stop-daemon": 'env | grep WIFI_PASSWORD >>/run/inherited; echo "$*" >>/run/started',
  "bin/ip": 'case "$*" in *addr\\ show*) echo "2: wlan0 inet 192.168.50.20/24" ;; esac',
  "bin/chown": "true",
  "bin/logger": "true",
  "bin/sleep": "true",
  "usr/lib/tapdeck/dhcp": "env | grep WIFI_PASSWORD >>/run/inherited; true",
};

/** Root's scripts in a folder, whose `machine` reads the lines of a file instead of a pipe, so that it ends. */
async function makeMachine(folder: string): Promise<(one: string) => string> {
  const path = (one: string) => join(folder, one);
  await makeScriptRoot(folder, ["flock"], stubs);
  await mkdir(path("sys/class/net/wlan0"), { recursive: true });
  await mkdir(path("etc"));
  await writeFile(path("etc/wpa_supplicant.conf"), "");
  const machine = await readFile(path("usr/lib/tapdeck/machine"), "utf8");
  await writeFile(
    path("usr/lib/tapdeck/machine"),
    `${machine.replace('done <>"$pipe"', 'done <"/request"')}\nwait\n`,
  );
  return path;
}

const environment = { PATH: "/bin:/usr/bin:/usr/sbin" };

rootTest("on a full card a network that was joined took the known ones away", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-wifi-"));
  const state = join(folder, "data/state");
  try {
    const path = await makeMachine(folder);
    await run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", state]);
    const others = `${Buffer.from("Aunt").toString("hex")} -\n${Buffer.from("School").toString("hex")} -\n`;
    await writeFile(join(state, "wifi"), others);
    await writeFile(join(state, "fill"), Buffer.alloc(64 * 1024)).catch(() => {});
    for (const line of [
      `wifi join ${name} ${password}`,
      `wifi prefer ${Buffer.from("School").toString("hex")}`,
    ]) {
      await writeFile(path("request"), `${line}\n`);
      await run(["chroot", folder, "/usr/lib/tapdeck/machine"], { environment });
      expect(await readFile(join(state, "wifi"), "utf8")).toBe(others);
      expect((await readdir(state)).toSorted()).toEqual(["fill", "wifi"]);
    }
    // The network works until the next start of the device.
    expect(await readFile(path("run/tapdeck-machine/wifi"), "utf8")).toBe(`state=joined\nnetwork=${name}\n`);
    expect(await readFile(path("run/wpa_supplicant.conf"), "utf8")).toContain('psk="correct horse"');
    await rm(join(state, "fill"));
    await writeFile(path("request"), `wifi join ${name} ${password}\n`);
    await run(["chroot", folder, "/usr/lib/tapdeck/machine"], { environment });
    expect(await readFile(join(state, "wifi"), "utf8")).toBe(`${name} ${password}\n${others}`);
  } finally {
    await run(["umount", state]).catch(() => {}); // The test may have failed before.
    await rm(folder, { recursive: true, force: true });
  }
});

rootTest.each([
  [password, ["state=joined", `network=${name}`], `${name} ${password}\n`],
  [Buffer.from("wrong horse").toString("hex"), ["state=away", "fault=wrong-password", `network=${name}`], ""],
])(
  "a password of a network is no argument of any program, because each process can read those (%s)",
  async (word, report, stored) => {
    const folder = await mkdtemp(join(tmpdir(), "tapdeck-wifi-"));
    try {
      const path = await makeMachine(folder);
      await mkdir(path("traces"));
      await writeFile(path("request"), `wifi join ${name} ${word}\n`);
      await run(
        [
          ...["strace", "-ff", "-qq", "-s", "4096", "-v"],
          ...["-e", "trace=execve,execveat", "-o", path("traces/of")],
          ...["chroot", folder, "/usr/lib/tapdeck/machine"],
        ],
        { environment },
      );
      expect((await readFile(path("run/tapdeck-machine/wifi"), "utf8")).trim().split("\n")).toEqual(report);
      expect(await readFile(path("data/state/wifi"), "utf8").catch(() => "")).toBe(stored);
      const calls = (
        await Promise.all(
          (await readdir(path("traces"))).map((one) => readFile(path(`traces/${one}`), "utf8")),
        )
      ).join("");
      const told = [...calls.matchAll(/^execve\("([^"]*)", \[(.*?)\], \[(.*)\]/gm)];
      const withPassword = told.filter(([line]) => line.includes(word));
      // Root's scripts get the password in their environment, which only root can read.
      expect(withPassword.length).toBeGreaterThan(2);
      const asArgument = withPassword.filter(([, , words]) => words?.includes(word));
      expect(asArgument.map(([, program]) => program)).toEqual([]);
      expect(await readFile(path("run/inherited"), "utf8")).toBe("");
      expect(await readFile(path("run/started"), "utf8")).toContain("wpa_supplicant.pid");
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

rootTest("a radio that was plugged in again, or whose driver had crashed, joined no network", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-wifi-"));
  const programs = [0, 1].map(() => Bun.spawn(["sleep", "1000"]));
  try {
    const path = await makeMachine(folder);
    const event = (radio = "wlan0") =>
      run(["chroot", folder, "/usr/lib/tapdeck/network-up", radio], { environment });
    await writeFile(path("data/state/wifi"), `${name} ${password}\n`);
    await event();
    expect(await readFile(path("run/tapdeck-machine/wifi"), "utf8")).toBe("state=joined\n");
    for (const [at, one] of ["wpa_supplicant", "udhcpc.wlan0"].entries())
      await writeFile(path(`run/${one}.pid`), `${programs[at]?.pid}\n`);
    // A second radio is not used, so its end changes nothing.
    await event("wlan1");
    expect(await readFile(path("run/tapdeck-machine/wifi"), "utf8")).toBe("state=joined\n");
    await rm(path("sys/class/net/wlan0"), { recursive: true });
    await event();
    expect(await Promise.all(programs.map(({ exited }) => exited))).toEqual([143, 143]);
    expect((await readdir(path("run/tapdeck-machine"))).includes("wifi")).toBe(false);
    await rm(path("run/started"));
    await mkdir(path("sys/class/net/wlan0"));
    await event();
    expect(await readFile(path("run/tapdeck-machine/wifi"), "utf8")).toBe("state=joined\n");
    expect(await readFile(path("run/started"), "utf8")).toContain("wpa_supplicant.pid");
  } finally {
    for (const one of programs) one.kill();
    await rm(folder, { recursive: true, force: true });
  }
});
