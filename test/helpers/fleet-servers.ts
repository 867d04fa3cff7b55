/**
 * The servers of `fleet/compose.yaml`, from Debian's packages instead of their images. They run with the folders that the
 * file mounts, at the same places and read-only where the file says so, as the same users and groups, and know each other
 * by name. An overlay keeps this machine as it is.
 */
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRecord } from "../../src/core/text.ts";
import { gather } from "./lines.ts";

/** What the images have and the file does not say: the user, and the command. */
const images = {
  mosquitto: {
    user: "1883:1883",
    command: ["/usr/sbin/mosquitto", "-c", "/mosquitto/config/mosquitto.conf"],
  },
  prometheus: {
    user: "65534:65534",
    command: [
      "prometheus",
      "--config.file=/etc/prometheus/prometheus.yml",
      "--storage.tsdb.path=/prometheus",
    ],
  },
  alertmanager: {
    user: "65534:65534",
    command: [
      "prometheus-alertmanager",
      "--config.file=/etc/alertmanager/alertmanager.yml",
      "--storage.path=/alertmanager",
      "--cluster.listen-address=",
    ],
  },
} as const;
type Server = keyof typeof images;

export const canRunServers =
  process.getuid?.() === 0 &&
  Bun.which("unshare") !== null &&
  Object.values(images).every(({ command: [program] }) => Bun.which(program) !== null);

/** A script that makes `$root`, a copy of this machine's file system whose changes stay in the new folder `$1`, and runs `then`. */
function overlay(then: string): string {
  return `set -e
mkdir "$1"
mount -t tmpfs none "$1"
root=$1/merged
mkdir "$1/upper" "$1/work" "$root"
mount -t overlay none -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$root"
for at in /dev /proc; do mount --rbind "$at" "$root$at"; done
${then}`;
}

/** `folder` has a copy of the folder `fleet`, and `fleet/.env`. `inside` runs a command among the servers. */
export async function startServers(
  folder: string,
  inside: (command: readonly string[]) => readonly string[],
) {
  await using made = new AsyncDisposableStack();
  const data = await mkdtemp(join(tmpdir(), "tapdeck-servers-"));
  made.defer(() => rm(data, { recursive: true }));
  await chmod(data, 0o755);
  const compose: unknown = Bun.YAML.parse(await readFile(join(folder, "fleet/compose.yaml"), "utf8"));
  const services = isRecord(compose) && isRecord(compose.services) ? compose.services : {};
  const env = await readFile(join(folder, "fleet/.env"), "utf8");
  const expanded = (text: string) =>
    text.replace(/\$\{(\w+)[^}]*\}/g, (_, name) => new RegExp(`^${name}=(.*)$`, "m").exec(env)?.[1] ?? "");
  await writeFile(join(data, "hosts"), `127.0.0.1 localhost ${Object.keys(services).join(" ")}\n`);
  const start = async (name: Server) => {
    const service = services[name];
    if (!isRecord(service) || !Array.isArray(service.volumes)) throw new Error(`there is no ${name}`);
    const { user, command } = images[name];
    const [uid = "", gid = ""] = (typeof service.user === "string" ? service.user : user).split(":");
    const groups = Array.isArray(service.group_add)
      ? service.group_add.map((one) => expanded(String(one)))
      : [];
    const mounts = [`mount --bind '${data}/hosts' "$root/etc/hosts"`];
    for (const volume of service.volumes) {
      const [source = "", place = "", mode = ""] = String(volume).split(":");
      const from = source.startsWith(".") ? join(folder, "fleet", source) : join(data, source);
      if (!source.startsWith(".")) {
        await mkdir(from, { recursive: true });
        await chown(from, Number(uid), Number(gid));
      }
      mounts.push(
        `mkdir -p "$root${place}"`,
        `mount --bind '${from}' "$root${place}"`,
        ...(mode === "ro" ? [`mount -o remount,bind,ro "$root${place}"`] : []),
      );
    }
    const id = [
      "setpriv",
      `--reuid=${uid}`,
      `--regid=${gid}`,
      ...(groups.length === 0 ? ["--clear-groups"] : [`--groups=${groups.join()}`]),
    ];
    const words = [...id, ...command].map((word) => `'${word}'`).join(" ");
    const script = overlay(`${mounts.join("\n")}\nexec chroot "$root" ${words}`);
    const child = Bun.spawn(
      [...inside(["unshare", "--mount", "sh", "-c", script, "sh", join(data, `root-${name}`)])],
      {
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    made.defer(async () => {
      child.kill();
      await child.exited;
    });
    const logs = [gather(child.stdout), gather(child.stderr)];
    return { child, log: () => logs.map(({ text }) => text()).join("") };
  };
  const servers = {
    mosquitto: await start("mosquitto"),
    prometheus: await start("prometheus"),
    alertmanager: await start("alertmanager"),
  };
  const whole = made.move();
  return { servers, [Symbol.asyncDispose]: () => whole.disposeAsync() };
}
