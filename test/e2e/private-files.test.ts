/** The files of the service are its owner's alone, whatever the umask: every file has mode 0600 and every folder 0700. */
import { expect, test } from "bun:test";
import { chmod, lstat, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, connect } from "../../src/client/client.ts";
import { freePort } from "../helpers/free-port.ts";
import { eventually, eventuallyExists } from "../helpers/processes.ts";
import { indexMedia, makePlace, noReaders, program, sleeper, startTapdeck } from "../helpers/tapdeck.ts";

const withoutUmask = ["/bin/sh", "-c", 'umask 0; exec "$@"', "sh", program];

/** Paths below the folder, and the folder itself as ".", that others may access in any way, each with its mode. */
async function openToOthers(folder: string): Promise<readonly string[]> {
  const names = [".", ...(await readdir(folder, { recursive: true }))];
  const found: string[] = [];
  for (const name of names) {
    // A temporary file may have gone meanwhile.
    const entry = await lstat(join(folder, name)).catch(() => undefined);
    if (entry === undefined) continue;
    const mode = entry.mode & 0o7777;
    if (mode !== (entry.isDirectory() ? 0o700 : 0o600)) found.push(`${name} ${mode.toString(8)}`);
  }
  return found.sort();
}

/** Makes the service write each kind of file in its data folder. */
async function exercise(client: Client, dataFolder: string): Promise<void> {
  const { id } = await client.call("clients.new", { name: "phone" });
  await client.call("clients.new", { name: "tablet" });
  await client.call("mappings.new", {
    enabled: true,
    type: "uid",
    match: "exact",
    pattern: "04a1b2c3",
    override: "SNES/Game.sfc",
  });
  await indexMedia(client);
  await client.call("tokens.scan", { text: "SNES/Game.sfc", uid: "04a1b2c3" });
  await client.call("pairing.open", { host: "192.168.1.5" });
  await client.call("pairing.cancel");
  await client.call("settings.update", { audioFeedback: false });
  await client.call("settings.update", { audioFeedback: true });
  // A deleted client is gone from the backup at once.
  await client.call("clients.delete", { id });
  await eventuallyExists(join(dataFolder, "tapdeck.db.backup"));
  await eventuallyExists(join(dataFolder, "audit.jsonl"));
}

/** A service with TLS and a player. */
async function makeRich() {
  const place = await makePlace();
  await place.file("SNES/Game.sfc");
  const config = `[api]\nport = ${place.port}\ntls_port = ${freePort()}\nlisten = ["127.0.0.1"]\n`;
  await writeFile(join(place.folder, "config.toml"), `${config}${noReaders}${sleeper()}`);
  return place;
}

test("for any umask, all that the service makes in its data folder is 0600 and 0700, and the owner's files keep their modes", async () => {
  await using place = await makeRich();
  await mkdir(join(place.folder, "mappings"));
  await writeFile(join(place.folder, "mappings/mine.toml"), "");
  const owned = {
    "config.toml": 0o640,
    mappings: 0o755,
    "mappings/mine.toml": 0o644,
    media: 0o755,
    "media/SNES": 0o755,
    "media/SNES/Game.sfc": 0o644,
  };
  for (const [name, mode] of Object.entries(owned)) await chmod(join(place.folder, name), mode);
  const kept = Object.entries(owned).map(([name, mode]) => `${name} ${mode.toString(8)}`);

  const first = await startTapdeck(place, withoutUmask);
  await exercise(first.client, place.folder);
  const atWork = await readdir(place.folder, { recursive: true });
  expect(await openToOthers(place.folder)).toEqual(kept);
  // Every kind of file was written.
  for (const name of [
    "tapdeck.db",
    "tapdeck.db-wal",
    "tapdeck.db-shm",
    "tapdeck.db.lock",
    "tapdeck.sock",
    "tls/device.pem",
    "tls/device-key.pem",
    "media.db",
  ])
    expect(atWork).toContain(name);
  await first.stop();
  expect(await openToOthers(place.folder)).toEqual(kept);

  // The second start has another umask, and a damaged database, which is set aside and restored.
  await writeFile(join(place.folder, "tapdeck.db"), "no database");
  await using second = await startTapdeck(place, withoutUmask);
  await second.client.call("version");
  const names = await readdir(place.folder);
  expect(names.filter((name) => /^tapdeck\.db\.damaged-/.test(name))).not.toEqual([]);
  expect(await openToOthers(place.folder)).toEqual(kept);
});

test("folders and files that an earlier version left open are closed at the start, and the log names them", async () => {
  await using place = await makeRich();
  const first = await startTapdeck(place);
  await exercise(first.client, place.folder);
  await first.stop();
  const opened = ["tls", "tapdeck.db", "audit.jsonl", "tls/device-key.pem", "tls/device.pem", "media.db"];
  for (const name of [".", ...opened])
    await chmod(join(place.folder, name), name.includes(".") && name !== "." ? 0o644 : 0o755);
  await using second = await startTapdeck(place);
  const left = await openToOthers(place.folder);
  expect(left.filter((line) => !/^(media |media\/|config\.toml )/.test(line))).toEqual([]);
  for (const name of [place.folder, ...opened])
    await eventually(() => expect(second.log()).toContain(`file=${name}\n`));
});

test("where XDG says, the folders of config, data and sockets are made for the owner alone", async () => {
  const home = await mkdtemp(join(tmpdir(), "tapdeck-home-"));
  await mkdir(join(home, "run"), { mode: 0o700 });
  const environment = {
    ...process.env,
    HOME: home,
    XDG_CONFIG_HOME: `${home}/config`,
    XDG_DATA_HOME: `${home}/share`,
    XDG_RUNTIME_DIR: `${home}/run`,
    RUNTIME_DIRECTORY: undefined,
  };
  const run = (...words: readonly string[]) =>
    Bun.spawn([...withoutUmask, ...words], { env: environment, stdio: ["ignore", "ignore", "ignore"] });
  try {
    expect(await run("config", "--write").exited).toBe(0);
    expect(await openToOthers(home)).toEqual([]);
    await rm(join(home, "config"), { recursive: true });
    // The settings name a port, because another service may use the default one.
    await mkdir(join(home, "config/tapdeck"), { recursive: true });
    const config = `[api]\nport = ${freePort()}\ntls_port = 0\nlisten = ["127.0.0.1"]\n${noReaders}`;
    await writeFile(join(home, "config/tapdeck/config.toml"), config);
    const service = run();
    await eventually(async () => (await connect(`ws+unix://${home}/run/tapdeck.sock:/api/v0.1`)).close());
    expect(await openToOthers(join(home, "share"))).toEqual([]);
    expect(await openToOthers(join(home, "run"))).toEqual([]);
    service.kill("SIGTERM");
    expect(await service.exited).toBe(0);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
