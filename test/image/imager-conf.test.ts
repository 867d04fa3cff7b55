/**
 * The settings that Raspberry Pi Imager writes to the boot partition for `"init_format": "systemd"`. They are the lines
 * of its firstrun.sh that hold settings, as version 1.7.3 and all later ones write them. A board reads them beside
 * tapdeck.conf.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";

const overlay = join(root, "overlay");
/** Imager derives this key from the password of a network, and does not write the password. */
const key = "ffd65ad7df2bf13873972ec16f17bbf97b40ddcf6a4a1aeb045b75b4a459c295";
const sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIexample anna@pc";
const custom = "/usr/lib/raspberrypi-sys-mods/imager_custom";

/** A command as Imager writes it, with the commands for a system without imager_custom. */
const step = (words: string, otherwise: string) =>
  `if [ -f ${custom} ]; then\n   ${custom} ${words}\nelse\n${otherwise}\nfi\n`;
const firstRun = (...steps: readonly string[]) =>
  `#!/bin/sh\n\nset +e\n\n${steps.join("")}rm -f /boot/firstrun.sh\nexit 0\n`;
const hostName = (name: string) => step(`set_hostname ${name}`, `   echo ${name} >/etc/hostname`);
const wifi = (words: string) =>
  step(`set_wlan ${words}`, "cat >/etc/wpa_supplicant.conf <<'WPAEOF'\nnetwork={\n}\nWPAEOF");
const ssh = (words: string) => step(`enable_ssh${words}`, "   systemctl enable ssh");
const user =
  "if [ -f /usr/lib/userconf-pi/userconf ]; then\n   /usr/lib/userconf-pi/userconf 'anna' '$5$x'\nfi\n";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-imager-"));
  await mkdir(join(folder, "bin"));
  await run(["busybox", "--install", "-s", join(folder, "bin")]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/**
 * The output of imager-conf for a firstrun.sh, and the values beside those of a tapdeck.conf, by the shell and awk of
 * the image.
 */
async function read(script: string, conf: Readonly<Record<string, string>> = {}) {
  const values = join(folder, "values");
  await rm(values, { recursive: true, force: true });
  await mkdir(values);
  for (const [name, value] of Object.entries(conf)) await writeFile(join(values, name), `${value}\n`);
  const child = Bun.spawnSync(
    [join(folder, "bin/ash"), join(overlay, "usr/lib/tapdeck/imager-conf"), values],
    { stdin: new TextEncoder().encode(script), env: { PATH: join(folder, "bin") } },
  );
  expect([child.exitCode, child.stderr.toString()]).toEqual([0, ""]);
  const found: Record<string, string> = {};
  for (const name of await readdir(values))
    found[name] = (await readFile(join(values, name), "utf8")).slice(0, -1);
  return { said: child.stdout.toString().trim(), values: found };
}

test("the host name, SSH key, Wi-Fi and time zone that Imager's user chose count, and its user and password do not", async () => {
  const words = firstRun(
    hostName("Living-Room"),
    ssh(` -k '${sshKey}' 'ssh-rsa AAAAB3 second'`),
    user,
    wifi(`'Café 東京' '${key}' 'DE'`),
    step(`set_keymap 'de'\n   ${custom} set_timezone 'Europe/Berlin'`, "   true"),
  );
  const zone = { time_zone: "Europe/Berlin" };
  const values = { host_name: "living-room", ssh_key: sshKey, wifi_name: "Café 東京", ...zone };
  expect(await read(words)).toEqual({
    said: "",
    values: { ...values, wifi_password: key, wifi_country: "DE" },
  });
});

test("a name with quotes and commands of a shell is kept as it is, and never run", async () => {
  const name = "Anna's \"net\" $(reboot) 'x' \\n";
  const quoted = `'${name.replaceAll("'", `'"'"'`)}'`;
  const { values } = await read(firstRun(wifi(` -h ${quoted} '${key}' 'GB'`)));
  expect(values).toEqual({ wifi_name: name, wifi_password: key, wifi_country: "GB" });
});

test("an open network has neither a password nor a country that nobody chose", async () => {
  expect(await read(firstRun(wifi("'cafe' '' ''")))).toEqual({ said: "", values: { wifi_name: "cafe" } });
});

test("a firstrun.sh without settings, and one of another origin, changes nothing", async () => {
  for (const script of [firstRun(), "", "#!/bin/sh\necho imager_custom set_hostname x\nreboot\n"])
    expect(await read(script, { host_name: "deck" })).toEqual({ said: "", values: { host_name: "deck" } });
});

test("tapdeck.conf counts before Imager, and a network keeps its own password", async () => {
  const words = firstRun(hostName("imager"), wifi(`'home' '${key}' 'DE'`));
  expect((await read(words, { host_name: "deck" })).values).toEqual({
    host_name: "deck",
    wifi_name: "home",
    wifi_password: key,
    wifi_country: "DE",
  });
  expect((await read(words, { wifi_name: "open" })).values).toEqual({
    host_name: "imager",
    wifi_name: "open",
    wifi_country: "DE",
  });
});

test("settings that the image cannot use are reported without numbers of lines, and all others count", async () => {
  const words = firstRun(hostName("deck"), ssh(""), wifi("'home' 'short' 'DE'"));
  expect(await read(words)).toEqual({
    said: [
      "an SSH key begins with ssh-ed25519 AAAA, ssh-rsa AAAA or ecdsa-sha2-nistp256 AAAA",
      "a Wi-Fi password has 8 to 63 characters, or it is a key of 64 digits (0 to 9, a to f)",
    ].join("; "),
    values: { host_name: "deck", wifi_name: "home", wifi_country: "DE" },
  });
});

test("the key that Imager derives from a password is a key to wpa_supplicant, and a password stays one", async () => {
  const written = async (password: string) => {
    const { values } = await read(firstRun(wifi(`'home' '${password}' 'DE'`)));
    for (const [name, value] of Object.entries(values)) await writeFile(join(folder, name), `${value}\n`);
    // The scripts get the paths of this test.
    for (const name of ["wifi-conf", "wifi-common"]) {
      const script = await readFile(join(overlay, "usr/lib/tapdeck", name), "utf8");
      const here = script.replaceAll("/run/conf/", `${folder}/`).replaceAll("/etc/wpa", `${overlay}/etc/wpa`);
      await writeFile(join(folder, name), here.replace("/data/state/wifi", `${folder}/none`));
    }
    const text = await run(["busybox", "ash", join(folder, "wifi-conf")]);
    return text.match(/^ {2}(?:psk|key_mgmt)=.*$/gm);
  };
  expect(await written(key)).toEqual(["  key_mgmt=WPA-PSK", `  psk=${key}`]);
  expect(await written("a password")).toEqual(["  key_mgmt=WPA-PSK SAE", '  psk="a password"']);
});
