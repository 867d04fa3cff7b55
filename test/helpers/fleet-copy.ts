/** Copies of the folder `fleet` with certificates of its own tools, and Debian's mosquitto with its configuration. */
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { mosquitto } from "./mosquitto.ts";
import { eventually, printed, run } from "./processes.ts";

const root = join(import.meta.dir, "../..");
const fleet = (path: string) => join(root, "fleet", path);

export async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-fleet-"));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Certificates of the folder's own tools: of the server, and of the decks hall-1 and hall-2. */
export async function certify(folder: string): Promise<void> {
  await writeFile(join(folder, "fleet.csv"), "host_name\nhall-1\nhall-2\n");
  await printed([
    process.execPath,
    join(root, "tools/provision.ts"),
    join(folder, "fleet.csv"),
    join(folder, "out"),
  ]);
  await mkdir(join(folder, "fleet"));
  for (const name of ["certify", "issue", "renew", "revoke"])
    await copyFile(fleet(name), join(folder, "fleet", name));
  await printed(inside(folder, "fleet/certify out servers.example 127.0.0.1"));
}

/** The command as docs/FLEET.md has it, with paths from that folder. */
export function inside(folder: string, command: string): readonly string[] {
  return ["sh", "-c", `cd "$1" && ${command}`, "sh", folder];
}

/** The configuration of the folder, with the ports and paths of this test, and the password of `home`. */
export async function brokerFiles(folder: string) {
  await cp(fleet("mosquitto"), join(folder, "config"), { recursive: true });
  await mkdir(join(folder, "data"));
  await printed(["mosquitto_passwd", "-b", "-c", join(folder, "config/passwords"), "home", "word"]);
  const tlsPort = freePort();
  const plainPort = freePort();
  const conf = (await readFile(fleet("mosquitto/mosquitto.conf"), "utf8"))
    .replaceAll("/mosquitto/", `${folder}/`)
    .replaceAll("/certificates/", `${folder}/fleet/certificates/`)
    .replace("listener 8883", `user root\nlistener ${tlsPort}`)
    .replace("listener 1883", `listener ${plainPort} 127.0.0.1`);
  return { conf, tlsPort, plainPort };
}

/** Debian's mosquitto with the configuration of the folder, and `hall-1` and `home` as its clients. */
export async function startBroker(folder: string) {
  await certify(folder);
  const { conf, tlsPort, plainPort } = await brokerFiles(folder);
  await writeFile(join(folder, "config/mosquitto.conf"), conf);
  const broker = await runBroker(folder, plainPort);
  const card = join(folder, "card");
  await cp(join(folder, "out/cards/hall-1"), card, { recursive: true });
  return {
    broker,
    tlsPort,
    plainPort,
    own: ["--cert", join(card, "client.pem"), "--key", join(card, "client.key")],
    home: ["-h", "127.0.0.1", "-p", `${plainPort}`, "-u", "home", "-P", "word", "-V", "5"],
    publish: (topic: string, ...tls: readonly string[]) =>
      run([
        ...["mosquitto_pub", "-h", "127.0.0.1", "-p", `${tlsPort}`, "-V", "5", "-q", "1", "-m", "x"],
        ...["--cafile", join(card, "ca.pem"), ...tls, "-t", topic],
      ]),
  };
}

/** Resolves once it listens. */
export async function runBroker(folder: string, plainPort: number) {
  const broker = Bun.spawn([mosquitto, "-c", join(folder, "config/mosquitto.conf")], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  await eventually(async () => {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port: plainPort, socket: { data() {} } });
    socket.end();
  });
  return broker;
}

/** Replaces the certificate of a server or a deck by one of that many days, signed by that authority. */
export async function shorten(
  folder: string,
  of: string,
  name: string,
  days: number,
  authority = "out/ca",
): Promise<void> {
  const extensions = name === "servers.example" ? "subjectAltName=DNS:servers.example,IP:127.0.0.1" : "";
  await writeFile(join(folder, "extensions"), `basicConstraints=critical,CA:FALSE\n${extensions}\n`);
  const request = `openssl req -new -key ${of}.key -subj /O=Tapdeck/CN=${name}`;
  const by = `-CA ${authority}.pem -CAkey ${authority}.key -CAserial serial -CAcreateserial`;
  await printed(
    inside(folder, `${request} | openssl x509 -req ${by} -days ${days} -extfile extensions -out ${of}.pem`),
  );
}
