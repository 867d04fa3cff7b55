/**
 * Words that the service's user could write into the pipe of `machine`, beside those that the service does write. Root's
 * scripts run in a root folder of their own, with stubs of the programs that need a board.
 */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWifiPassword } from "../../src/core/wifi-shapes.ts";
import { ntHashOf } from "../../src/services/share.ts";
import { stateIn } from "../../src/system/update-engine.ts";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";
import { eventually } from "../helpers/processes.ts";
import { makeScriptRoot } from "./script-root.ts";

const rootTest = test.skipIf(process.getuid?.() !== 0);

const stubs: Readonly<Record<string, string>> = {
  "usr/sbin/smbd": "true",
  "usr/sbin/wpa_supplicant": "true",
  "bin/wpa_cli": 'case "$*" in *status) echo wpa_state=COMPLETED ;; esac',
  "bin/start-stop-daemon": 'echo "$*" >>/run/started',
  "bin/ip": 'case "$*" in *addr\\ show*) echo "2: wlan0 inet 192.168.50.20/24" ;; esac',
  ...Object.fromEntries(
    ["bin/chown", "bin/logger", "bin/sleep", "bin/usleep", "bin/killall", "usr/lib/tapdeck/dhcp"].map(
      (path) => [path, "true"],
    ),
  ),
};

/** Root's scripts in a folder, whose `machine` reads the lines of a file instead of a pipe. */
async function makeMachine() {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-words-"));
  const path = (one: string) => join(folder, one);
  await makeScriptRoot(folder, ["flock"], stubs);
  for (const one of ["sys/class/net/wlan0", "etc", "run/faults"]) await mkdir(path(one), { recursive: true });
  await writeFile(path("etc/wpa_supplicant.conf"), "");
  const machine = await readFile(path("usr/lib/tapdeck/machine"), "utf8");
  await writeFile(
    path("usr/lib/tapdeck/machine"),
    `${machine.replace('done <>"$pipe"', 'done <"/request"')}\nwait\n`,
  );
  return {
    path,
    text: (one: string) => readFile(path(one), "utf8").catch(() => undefined),
    start: () =>
      Bun.spawn(["chroot", folder, "/usr/lib/tapdeck/machine"], {
        env: { PATH: "/bin:/usr/bin:/usr/sbin" },
        stdio: ["ignore", "ignore", "ignore"],
      }),
    async ask(line: string) {
      await writeFile(path("request"), `${line}\n`);
      await run(["chroot", folder, "/usr/lib/tapdeck/machine"], {
        environment: { PATH: "/bin:/usr/bin:/usr/sbin" },
      });
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

rootTest(
  "a word after `share` that is no act of it ran as a program of root, with the rest as its input",
  async () => {
    await using machine = await makeMachine();
    for (const word of ["sh", "/bin/sh", "ash", "renew", "report"])
      await machine.ask(`share ${word} echo owned >/run/owned`);
    expect(await machine.text("run/owned")).toBeUndefined();
    expect(await machine.text("run/tapdeck-machine/share")).toBeUndefined();
    // A player that can open the lock of updates could hold it.
    expect((await stat(machine.path("run/tapdeck-update.lock"))).mode & 0o777).toBe(0o600);
    await machine.ask("share set not-a-hash:0:a second field");
    expect(await machine.text("data/state/share")).toBeUndefined();
    await machine.ask("share set CFC43211BA8DC470832267827CAC1407");
    expect(await machine.text("data/state/share")).toBe("CFC43211BA8DC470832267827CAC1407\n");
    expect(await machine.text("run/started")).toContain("share-serve");
  },
);

const hex = (text: string) => Buffer.from(text).toString("hex");

rootTest.each([
  ["a password", hex("Home"), hex('12345678"\n}\npkcs11_module_path=/data/tapdeck/own.so\nnetwork={\n#')],
  ["a key", hex("Home"), hex("1\n}\npkcs11_module_path=/data/tapdeck/own.so\nnetwork={#".padEnd(64, "x"))],
  ["a name", "Home", hex("correct horse")],
])("%s of a network with the end of a line wrote settings of wpa_supplicant", async (_, name, password) => {
  await using machine = await makeMachine();
  await machine.ask(`wifi join ${name} ${password}`);
  expect((await machine.text("run/wpa_supplicant.conf")) ?? "").not.toMatch(/^pkcs11|ssid=Home/m);
  expect(await machine.text("data/state/wifi")).toBeUndefined();
  await machine.ask(`wifi join ${hex("Home")} ${hex("correct horse")}`);
  expect(await machine.text("data/state/wifi")).toBe(`${hex("Home")} ${hex("correct horse")}\n`);
});

for (const [what, end, why] of [
  ["was killed as well never ended, and no other one could begin", "kill", "it ended with the code 137"],
  ["goes on has its own end", "go on", "the card is full"],
] as const)
  rootTest(`after the script of root was killed during an update, an update that ${what}`, async () => {
    await using machine = await makeMachine();
    const state = async () => stateIn((await machine.text("run/tapdeck-machine/update")) ?? "");
    const update = `#!/bin/sh
echo $$ >/run/pid
echo '{"step":"writing","percent":10}'
read -r word </run/word
echo '{"failed":"the card is full"}'
exit 1
`;
    await writeFile(machine.path("bin/tapdeck"), update, { mode: 0o755 });
    await run(["mkfifo", machine.path("run/word")]);
    await writeFile(machine.path("request"), "update\n");
    const first = machine.start();
    await eventually(async () => expect(await state()).toEqual({ step: "writing", percent: 10 }));
    first.kill("SIGKILL");
    await first.exited;
    await writeFile(machine.path("request"), "");
    const second = machine.start();
    if (end === "kill") process.kill(Number(await machine.text("run/pid")), "SIGKILL");
    else await writeFile(machine.path("run/word"), "go on\n");
    await eventually(async () => expect(await state()).toEqual({ step: "failed", at: "writing", why }));
    expect(await second.exited).toBe(0);
    expect(await state()).toEqual({ step: "failed", at: "writing", why });
  });

const radio = "AA:BB:CC:DD:EE:0F";

test("each line that the service sends is accepted, and no longer or shorter one", async () => {
  const judge = (line: string) =>
    Bun.spawnSync(["busybox", "ash", join(root, "overlay/usr/lib/tapdeck/judge-word")], {
      stdin: Buffer.from(`${line}\n`),
    }).exitCode === 0;
  const passwords = ["12345678", "a b  c d e", '"quoted"\\', "ßäöü€🎮", "x".repeat(63), "0aF9".repeat(16)];
  expect(passwords.filter((one) => !isWifiPassword(one))).toEqual([]);
  const joins = passwords.map((one) => `wifi join ${hex("A\nb")} ${hex(one)}`);
  const sent = [
    ...[
      "restart",
      "shutdown",
      "update",
      "sound usb",
      "sound auto",
      "sound bluetooth",
      "wifi scan",
      "wifi open",
    ],
    ...[
      ...joins,
      `wifi join ${hex("x".repeat(32))} -`,
      `wifi forget ${hex("\0")}`,
      `wifi prefer ${hex("a")}`,
    ],
    ...["bluetooth search", `bluetooth pair ${radio}`, `bluetooth forget ${radio}`],
    ...[`share set ${ntHashOf("correct horse")}`, "share remove"],
  ];
  expect(sent.filter((line) => !judge(line))).toEqual([]);
  const others = [
    ...["", "reboot", "restart now", " restart", "sound", "sound $(reboot)", "wifi close", "wifi scan 1"],
    ...[`wifi join ${hex("a")}`, "wifi join abc -", "wifi forget *", `wifi join ${"61".repeat(33)} -`],
    ...[`wifi join ${hex("a")} ${hex("7 chars")}`, `wifi join ${hex("a")} ${hex("x".repeat(64))}`],
    ...[
      "bluetooth pair a",
      `bluetooth pair ${radio} ${radio}`,
      "bluetooth pair",
      "bluetooth stop",
      "sound loud",
    ],
    ...["share start", "share stop", "share set", `share set ${"A".repeat(33)}`, "share sh id"],
  ];
  expect(others.filter(judge)).toEqual([]);
});
