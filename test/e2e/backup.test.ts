/** A backup of one device, restored on another one, and restores that are cut off. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeBackup } from "../../src/backup/make-backup.ts";
import { type Client, connect } from "../../src/client/client.ts";
import { backupFileBytesMax } from "../../src/core/console-limits.ts";
import { historyRowsMax, openFrameBytesMax } from "../../src/core/limits.ts";
import { openStore } from "../../src/store/open.ts";
import { seededRandom } from "../emulators/emulated-line.ts";
import { type Device, startDevice } from "../helpers/device.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import {
  listenTo,
  makePlace,
  noReaders,
  type Place,
  program,
  sleeper,
  startTapdeck,
} from "../helpers/tapdeck.ts";

const networkTest = test.skipIf(!canMakeNetworks);
const uid = "04a1b2c3d4e5f6";
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-backups-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const secrets = async () => {
  const path = join(folder, "passphrase");
  await writeFile(path, "correct horse battery\n");
  return ["--passphrase-file", path];
};

async function mediaOfTap(device: Device): Promise<string> {
  using stack = new DisposableStack();
  const client = await device.connect(AbortSignal.timeout(60_000));
  stack.defer(() => client.close());
  const heard = listenTo(client);
  await client.call("tokens.scan", { uid });
  return (await heard.next("media.started")).mediaName;
}

networkTest(
  "a card plays on a second device what it played on the first one, after its backup was restored there",
  async () => {
    await using first = await startDevice(`${noReaders}[playtime]\ndaily_minutes = 90\n${sleeper(".mp3")}`);
    await first.place.file("Audio/Song.mp3");
    expect((await first.run("map", uid, "Audio/Song.mp3")).code).toBe(0);
    expect(await mediaOfTap(first)).toBe("Song");
    const anna = await first.service.client.call("clients.new", { name: "Anna" });
    const file = join(folder, "first.tapdeck");
    const made = await first.run("backup", file, ...(await secrets()));
    expect([made.code, made.out]).toEqual([0, expect.stringContaining(`wrote ${file}`)]);
    await first.stop();

    await using second = await startDevice(noReaders);
    await second.place.file("Audio/Song.mp3");
    const shown = await second.run("restore", file, "--check", "--json");
    expect(JSON.parse(shown.out)).toMatchObject({
      clients: "locked",
      counts: { mappings: 1, launchers: 1, history: 1 },
      now: { mappings: 0, launchers: 0, history: 0 },
      changes: ["playtime.daily_minutes", "launchers"],
    });
    const restored = await second.run("restore", file, ...(await secrets()));
    expect([restored.code, restored.error]).toEqual([0, ""]);
    expect(await mediaOfTap(second)).toBe("Song");
    const client = await second.connect(AbortSignal.timeout(60_000));
    expect((await client.call("clients")).clients).toMatchObject([{ id: anna.id, secret: anna.secret }]);
    expect((await client.call("playtime")).limits.dailyMinutes).toBe(90);
    expect((await client.call("tokens.history")).entries.length).toBe(2);
    client.close();

    // A neighbour may neither download nor send a backup.
    const url = second.url.replace(/^ws(.*)\/api.*/, "http$1/backup");
    for (const method of ["GET", "PUT"]) {
      const outcome = await visit(second.network.onNeighbour, {
        url,
        method,
        ...(method === "PUT" && { body: "x" }),
      });
      expect(outcome.status).toBe(403);
    }
  },
  180_000,
);

test("backup and restore work on the files of a device whose service does not start", async () => {
  await using place = await makePlace(`${noReaders}detect = "perhaps"\n`);
  await fill(place, "old");
  const file = join(folder, "offline.tapdeck");
  const run = (...words: readonly string[]) => tapdeck(place, words);
  expect(await run("backup", file)).toEqual([0, ""]);
  // The settings in the backup have a fault, so the backup could not start a device either.
  expect(await run("restore", file)).toEqual([1, expect.stringContaining("its settings have a fault")]);
  // The ports of the present settings cannot be read, so they come from the backup.
  const good = await backupOf("new", `[api]\nport = ${place.port}\ntls_port = 0\nlisten = ["127.0.0.1"]\n`);
  expect(await run("restore", good)).toEqual([0, ""]);
  await using service = await startTapdeck(place);
  expect(await stateOf(service.client)).toEqual(whole("new"));
}, 120_000);

async function tapdeck({ folder: data }: Place, words: readonly string[]) {
  const child = Bun.spawn([program, ...words, `--data=${data}`], { stdio: ["ignore", "ignore", "pipe"] });
  const stderr = await new Response(child.stderr).text();
  return [await child.exited, stderr] as const;
}

test("a backup of more than 1 MiB gets an empty 413, though 16 MiB are promised", async () => {
  const data = await mkdtemp(join(folder, "large-"));
  await writeFile(join(data, "config.toml"), noReaders);
  const store = openStore(data);
  const random = seededRandom(413);
  const word = () => Math.floor(random() * 2 ** 32).toString(36);
  for (let at = 0; at < historyRowsMax; at++) {
    const text = Array.from({ length: 40 }, word).join("");
    store.history.open({ timeMs: at, type: "", uid: "", text, data: "", readerId: "", script: "" });
  }
  store.close();
  const file = join(folder, "large.tapdeck");
  await makeBackup(file, { dataFolder: data, configPath: join(data, "config.toml") });
  expect(Bun.file(file).size).toBeGreaterThan(1.5 * openFrameBytesMax);

  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  const put = async (body: BodyInit) => {
    const answer = await fetch(`http://127.0.0.1:${place.port}/backup`, { method: "PUT", body });
    return [answer.status, await answer.text()] as const;
  };
  const [status, text] = await put(Bun.file(file));
  expect([status, text]).toEqual([200, expect.stringContaining(`"history":${historyRowsMax}`)]);
  expect(await put(new Uint8Array(backupFileBytesMax + 1))).toEqual([
    413,
    expect.stringContaining(`${backupFileBytesMax} bytes`),
  ]);
}, 120_000);

const names = ["old", "new"] as const;
type Name = (typeof names)[number];
const taps = 300;

/** Gives a data folder mappings, a mapping file and a history of this name. */
async function fill({ folder: data }: Pick<Place, "folder">, name: Name): Promise<void> {
  await mkdir(join(data, "mappings"), { recursive: true });
  const mapping = { enabled: true, label: "", type: "uid", match: "exact", override: name } as const;
  await writeFile(
    join(data, "mappings", `${name}.toml`),
    `[[mapping]]\ntype = "uid"\npattern = "${name}"\noverride = "${name}"\n`,
  );
  const store = openStore(data);
  for (let at = 0; at < 20; at++) store.mappings.add({ ...mapping, pattern: `${name}${at}` }, 1000);
  for (let at = 0; at < taps; at++)
    store.history.open({ timeMs: at, type: "", uid: "", text: name, data: "", readerId: "", script: "" });
  store.close();
}

async function backupOf(name: Name, toml = ""): Promise<string> {
  const data = await mkdtemp(join(tmpdir(), "tapdeck-backups-"));
  const configPath = join(data, "config.toml");
  await writeFile(configPath, `${toml}${noReaders}insert_mode_exit_delay = ${delayOf(name)}\n`);
  await fill({ folder: data }, name);
  const file = join(folder, `${name}.tapdeck`);
  await makeBackup(file, { dataFolder: data, configPath });
  await rm(data, { recursive: true });
  return file;
}

const delayOf = (name: Name) => names.indexOf(name) + 1;

/** The names in each part, and the number of taps. */
async function stateOf(client: Client) {
  const { mappings } = await client.call("mappings");
  const { entries } = await client.call("tokens.history", { limit: 1000 });
  return {
    mappings: [...new Set(mappings.map(({ override }) => override))],
    files: mappings.filter(({ readOnly }) => readOnly).map(({ override }) => override),
    history: [...new Set(entries.map(({ text }) => text))],
    taps: entries.length,
    exitDelay: (await client.call("settings")).insertModeExitDelay,
  };
}

const whole = (name: Name) => ({
  mappings: [name],
  files: [name],
  history: [name],
  taps,
  exitDelay: delayOf(name),
});

const kills = 50;

test(`kill -9 at ${kills} random moments of a restore: afterwards the old or the new state is there as a whole`, async () => {
  await using place = await makePlace(noReaders);
  const backups = { old: await backupOf("old"), new: await backupOf("new") };
  expect(await tapdeck(place, ["restore", backups.old])).toEqual([0, ""]);
  const random = seededRandom(20_27);
  const ends = { before: 0, after: 0 };
  // A machine may become slower or faster after the restore that was measured, so the moments follow the outcomes.
  const moment = { before: 1.2, after: 1 / 1.2 };
  let [state, restoreMs]: [Name, number] = ["old", 0];
  for (let round = 0; round <= kills; round++) {
    const service = await startTapdeck(place);
    const found = await stateOf(service.client);
    const now = names.find((name) => delayOf(name) === found.exitDelay) ?? "old";
    expect(found).toEqual(whole(now));
    if (round > 1) {
      const end = now === state ? "before" : "after";
      ends[end] += 1;
      restoreMs *= moment[end];
    }
    state = now;
    const startedMs = performance.now();
    const restoring = restore(place, service.client, backups[now === "old" ? "new" : "old"]);
    if (round === 0) {
      // The first restore is not killed, and its time limits the moments at which the
      // others are killed.
      await restoring;
      await service.client.closed;
      const back = await reachAgain(place);
      restoreMs = performance.now() - startedMs;
      back.close();
      state = "new";
    } else await Bun.sleep(random() * restoreMs);
    process.kill(service.pid, "SIGKILL");
    await restoring.catch(() => {});
    await service[Symbol.asyncDispose]();
  }
  // Some kills came before the moment at which the restore is decided, and some after it.
  expect([ends.before > 5, ends.after > 5]).toEqual([true, true]);
}, 600_000);

async function restore({ port }: Place, client: Client, file: string): Promise<void> {
  const sent = await fetch(`http://127.0.0.1:${port}/backup`, { method: "PUT", body: Bun.file(file) });
  const { sha256 } = await sent.json();
  await client.call("restore", { sha256 });
}

async function reachAgain({ port }: Place): Promise<Client> {
  for (;;) {
    // The service does not listen yet.
    const client = await connect(`ws://127.0.0.1:${port}/api/v0.1`).catch(() => undefined);
    if (client !== undefined) return client;
    await Bun.sleep(10);
  }
}
