/** The throughput of uploads beside `sftp` to the same disk: as a caller on the device, and sealed as a page without TLS. */
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, connect } from "../../src/client/client.ts";
import { uploadFile } from "../../src/client/upload.ts";
import { uploadChunkBytesMax } from "../../src/core/limits.ts";
import { freePort } from "../helpers/free-port.ts";
import { eventually } from "../helpers/processes.ts";
import { makePlace, noReaders, type Place, startTapdeck } from "../helpers/tapdeck.ts";
import { cpuSeconds, judgedLine, line, quantile, title } from "./figures.ts";

const megabytes = 256;
const turns = 3;

export async function measureUploads(): Promise<void> {
  title(`Uploads: ${megabytes} MiB over loopback, synced at the end, by turns with sftp (put -f)`);
  if (Bun.which("sftp") === null || !(await Bun.file("/usr/sbin/sshd").exists()))
    return line("sftp", "is not installed: apt-get install openssh-server openssh-client");
  // Root's service asks the kernel for the user of each local caller: 10 ms with the tables of a large machine. The
  // service of a package has a user of its own, and does not ask.
  await using place = await makePlace(`allow_anonymous_local = true\n${noReaders}`);
  await using service = await startTapdeck(place);
  await using sftp = await startSftp(place.folder);
  const path = join(place.folder, "film");
  const part = crypto.getRandomValues(new Uint8Array(65_536));
  await Bun.write(path, new Blob(Array.from({ length: megabytes * 16 }, () => part)));
  const file = Bun.file(path);
  const client = await connect(`ws://127.0.0.1:${place.port}/api/v0.1`);
  const ways: readonly (readonly [string, (name: string) => Promise<unknown>])[] = [
    ["sftp", (name) => sftp.put(path, join(place.folder, "media", name))],
    ["PUT", (name) => putPlain(place, client, name, file)],
    [
      "sealed PUT",
      (name) =>
        uploadFile(
          client,
          { system: "Video", path: name, file },
          { origin: `http://127.0.0.1:${place.port}` },
        ),
    ],
  ];
  const cpu = new Map<string, number>(ways.map(([way]) => [way, 0]));
  const rates = new Map<string, number[]>(ways.map(([way]) => [way, []]));
  for (let turn = 0; turn < turns; turn++)
    for (const [way, send] of ways) {
      const name = `${turn}${way.length}.mkv`;
      const [before, cpuBefore] = [performance.now(), await cpuSeconds(service.pid)];
      await send(name);
      rates.get(way)?.push((megabytes * 1.048_576) / ((performance.now() - before) / 1000));
      cpu.set(way, (cpu.get(way) ?? 0) + (await cpuSeconds(service.pid)) - cpuBefore);
      for (const folder of ["media", "media/Video"])
        await rm(join(place.folder, folder, name), { force: true });
    }
  client.close();
  const median = (way: string) => quantile(rates.get(way) ?? [], 0.5);
  for (const [way] of ways) {
    const ratio = median(way) / median("sftp");
    const figure = `${median(way).toFixed(0)} MB/s; ratio ${ratio.toFixed(2)}`;
    const aim = { figure: 0.7, unit: "of sftp", isLeast: true, bound: "the disk and the processor" };
    judgedLine(way, figure, ratio, way === "PUT" ? aim : undefined);
  }
  const perGigabyte = (way: string) =>
    (((cpu.get(way) ?? 0) * 1000) / (turns * megabytes * 1.048_576)).toFixed(1);
  for (const [way] of ways.slice(1))
    line(`processor of the service, ${way}`, `${perGigabyte(way)} s for 1 GB`);
}

async function putPlain(place: Place, client: Client, path: string, file: Blob): Promise<void> {
  const { uploads } = await client.call("uploads.start", {
    files: [{ system: "Video", path, size: file.size }],
  });
  const [upload] = uploads;
  if (upload === undefined || !("id" in upload)) throw new Error(upload?.refused);
  const hash = new Bun.CryptoHasher("sha256");
  for (let at = 0; at < file.size; at += uploadChunkBytesMax) {
    const body = new Uint8Array(await file.slice(at, at + uploadChunkBytesMax).arrayBuffer());
    const sent = fetch(`http://127.0.0.1:${place.port}/uploads/${upload.id}?offset=${at}`, {
      method: "PUT",
      body,
    });
    hash.update(body);
    const answer = await sent;
    if (!answer.ok) throw new Error(await answer.text());
    await answer.arrayBuffer();
  }
  await client.call("uploads.finish", { id: upload.id, sha256: hash.digest("hex") });
}

/** OpenSSH's server with a key of its own. */
async function startSftp(folder: string) {
  const at = (name: string) => join(folder, name);
  const port = freePort();
  await mkdir("/run/sshd", { recursive: true });
  for (const key of ["host", "user"]) {
    const made = Bun.spawnSync(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at(key)]);
    if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  }
  await writeFile(at("authorized"), await Bun.file(at("user.pub")).text());
  await chmod(at("authorized"), 0o600);
  const options = {
    Port: port,
    ListenAddress: "127.0.0.1",
    HostKey: at("host"),
    AuthorizedKeysFile: at("authorized"),
    PidFile: "none",
    StrictModes: "no",
    PermitRootLogin: "yes",
    UsePAM: "no",
    Subsystem: "sftp internal-sftp",
  };
  await writeFile(
    at("sshd"),
    Object.entries(options)
      .map((pair) => `${pair.join(" ")}\n`)
      .join(""),
  );
  const server = Bun.spawn(["/usr/sbin/sshd", "-D", "-e", "-f", at("sshd")], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  const batch = async (commands: string) => {
    const known = [
      "-o",
      "StrictHostKeyChecking=no",
      "-o",
      "UserKnownHostsFile=/dev/null",
      "-o",
      "LogLevel=ERROR",
    ];
    const run = Bun.spawn(
      ["sftp", "-q", "-b", "-", "-i", at("user"), "-P", String(port), ...known, "127.0.0.1"],
      {
        stdin: new Blob([commands]),
        stdout: "ignore",
        stderr: "pipe",
      },
    );
    const error = await new Response(run.stderr).text();
    if ((await run.exited) !== 0) throw new Error(error);
  };
  await eventually(async () => {
    await batch("pwd\n");
    return true;
  });
  return {
    put: (from: string, to: string) => batch(`put -f ${from} ${to}\n`),
    async [Symbol.asyncDispose]() {
      server.kill();
      await server.exited;
    },
  };
}
