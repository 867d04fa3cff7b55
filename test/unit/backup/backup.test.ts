/**
 * Backups: their content, the refusals, and that a refusal changes nothing.
 * Covers: src/backup, src/services/backup-service.ts.
 */
import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { completeRestore, decideRestore } from "../../../src/backup/apply-restore.ts";
import { backupFormat, writeBackup } from "../../../src/backup/backup-file.ts";
import { backupPaths, keepBackup, makeBackup, mappingFiles } from "../../../src/backup/make-backup.ts";
import { backupOffline, restoreOffline } from "../../../src/backup/offline.ts";
import { stageRestore } from "../../../src/backup/stage-restore.ts";
import { backupTextBytesMax } from "../../../src/core/console-limits.ts";
import { clientsMax, launchErrorCharsMax, scriptBytesMax } from "../../../src/core/limits.ts";
import { createLog, silentLog } from "../../../src/core/log.ts";
import { createBackupService } from "../../../src/services/backup-service.ts";
import { schemaVersion, schemaVersionMin } from "../../../src/store/migrations.ts";
import { openStore } from "../../../src/store/open.ts";
import { makeCertificate } from "../../../src/system/certificate.ts";
import { seededRandom } from "../../emulators/emulated-line.ts";
import { defaultConfig } from "../../helpers/defaults.ts";

const passphrase = "correct horse battery";
const made: string[] = [];
afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true });
});

interface Device {
  readonly dataFolder: string;
  readonly configPath: string;
}

/** A new device. With a `name`, it has some rows and files of every kind. */
async function device(name?: string): Promise<Device> {
  const dataFolder = await mkdtemp(join(tmpdir(), "tapdeck-backup-"));
  made.push(dataFolder);
  const configPath = join(dataFolder, "config", "config.toml");
  const store = openStore(dataFolder);
  if (name !== undefined) {
    await mkdir(join(dataFolder, "config", "mappings"), { recursive: true });
    await mkdir(join(dataFolder, "tls"));
    await writeFile(configPath, `# of ${name}\n[playtime]\ndaily_minutes = 30\n`);
    await writeFile(join(dataFolder, "config/mappings", `${name}.toml`), mappingFile(name));
    const [notBefore, notAfter] = [new Date("2020-01-01"), new Date("2040-01-01")];
    const pair = makeCertificate({ commonName: name, names: [name], addresses: [], notBefore, notAfter });
    await writeFile(join(dataFolder, "tls/device.pem"), pair.certificatePem);
    await writeFile(join(dataFolder, "tls/device-key.pem"), pair.keyPem);
    store.mappings.add(mapping(`04${name}`), 1000);
    const row = { type: "NTAG", uid: "04", text: name, data: "", readerId: "r", script: "" };
    const id = store.history.open({ ...row, timeMs: 2000 });
    store.history.finish(id, { error: "it is broken", reason: "failed" });
    store.positions.save(join(dataFolder, "media", `${name}.mp3`), {
      positionMs: 5,
      durationMs: 9,
      item: "",
    });
    store.plays.begin({ path: `/games/${name}.sfc`, systemId: "SNES", launcherId: "x", startedMs: 3000 });
    store.lastMedia.save({ path: `/games/${name}.sfc`, systemId: "SNES", launcherId: "x" });
    const client = { id: name, name, secret: "ab".repeat(32), address: "", role: "player" as const };
    store.clients.add(client, 4000);
  }
  store.close();
  return { dataFolder, configPath };
}

const mapping = (pattern: string) =>
  ({ enabled: true, label: "", type: "uid", match: "exact", pattern, override: "**stop" }) as const;
const mappingFile = (name: string) => `[[mapping]]\ntype = "uid"\npattern = "${name}"\noverride = "x"\n`;

/** The state of a device, as a backup holds it. */
async function stateOf({ dataFolder, configPath }: Device) {
  const store = openStore(dataFolder);
  const folder = join(dataFolder, "config/mappings");
  const names = await readdir(folder).catch(() => []);
  const state = {
    config: await readFile(configPath, "utf8").catch(() => ""),
    files: await Promise.all(
      names.sort().map(async (name) => [name, await readFile(join(folder, name), "utf8")]),
    ),
    mappings: store.mappings.list(),
    history: store.history.page({ limit: 100 }).entries,
    plays: store.plays.list({ limit: 100, belowId: 1000, systems: [], isDistinct: false }),
    last: store.lastMedia.read(),
    clients: store.clients.list(),
    key: await readFile(join(dataFolder, "tls/device-key.pem"), "utf8").catch(() => ""),
  };
  store.close();
  return state;
}

const fileIn = ({ dataFolder }: Device) => join(dataFolder, "backup.tapdeck");
const options = { passphrase: undefined, isTrial: false };

async function backUp(from: Device, phrase?: string): Promise<string> {
  await makeBackup(fileIn(from), from, phrase);
  return fileIn(from);
}

/** A whole backup of these lines. */
async function backupOf(place: Device, ...lines: readonly unknown[]): Promise<string> {
  async function* texts() {
    for (const line of lines) yield typeof line === "string" ? line : JSON.stringify(line);
  }
  await writeBackup(fileIn(place), texts());
  return fileIn(place);
}

async function unpacked(file: string): Promise<string> {
  const bytes = await readFile(file);
  return gunzipSync(bytes.subarray(bytes.indexOf("\n") + 1)).toString();
}

const head = {
  tapdeck: "0.1.0",
  made: "2026-11-23T00:00:00.000Z",
  schema: schemaVersion,
  media: "/data/media",
};
const refusal = (run: Promise<unknown>): Promise<string> =>
  run.then(
    () => "accepted",
    (error: Error) => error.message,
  );

test("a backup restores everything on another device, and clients and keys only with the passphrase", async () => {
  const [old, fresh] = [await device("anna"), await device("berta")];
  const [there, here] = [await stateOf(old), await stateOf(fresh)];
  const file = await backUp(old, passphrase);
  const locked = await restoreOffline(file, fresh, options);
  expect(locked).toMatchObject({
    clients: "locked",
    counts: { mappings: 1, mappingFiles: 1, history: 1, plays: 1, positions: 1, launchers: 0 },
  });
  expect(await stateOf(fresh)).toEqual({ ...there, clients: here.clients, key: here.key });
  const opened = await restoreOffline(file, fresh, { ...options, passphrase });
  expect(opened.clients).toBe(1);
  expect(await stateOf(fresh)).toEqual(there);
  const store = openStore(fresh.dataFolder);
  // Media folders of the two devices are at different places.
  expect(store.positions.get(join(fresh.dataFolder, "media/anna.mp3"))?.positionMs).toBe(5);
  expect(store.mappings.add(mapping("later"), 1)).toBeGreaterThan(1);
  store.close();
});

test("the state before a restore is a backup, which brings it back", async () => {
  const [old, fresh] = [await device("anna"), await device("berta")];
  const here = await stateOf(fresh);
  const { kept } = await restoreOffline(await backUp(old, passphrase), fresh, { ...options, passphrase });
  expect(kept).toBe("before-restore-1.tapdeck");
  const before = join(backupPaths(fresh).folder, kept ?? "");
  expect(((await stat(before)).mode & 0o777).toString(8)).toBe("600");
  await restoreOffline(before, fresh, { ...options, passphrase });
  expect(await stateOf(fresh)).toEqual(here);
});

test("a backup without a passphrase holds no secret", async () => {
  const old = await device("anna");
  const { key } = await stateOf(old);
  const content = await unpacked(await backUp(old));
  expect(content).toContain("daily_minutes");
  for (const secret of ["ab".repeat(32), key.split("\n")[1] ?? "?"]) expect(content).not.toContain(secret);
  expect(await unpacked(await backUp(old, passphrase))).not.toContain("ab".repeat(32));
});

test("a wrong passphrase, or one where there is none, changes nothing", async () => {
  const [old, fresh] = [await device("anna"), await device("berta")];
  const here = await stateOf(fresh);
  const wrong = { ...options, passphrase: "wrong horse battery" };
  expect(await refusal(restoreOffline(await backUp(old, passphrase), fresh, wrong))).toBe(
    "the passphrase is wrong, and nothing was changed",
  );
  expect(await refusal(restoreOffline(await backUp(old), fresh, wrong))).toContain("so it has no passphrase");
  expect(await refusal(backUp(old, "short"))).toBe(
    "a passphrase has 8 to 1024 characters, and this one has 5",
  );
  expect(await stateOf(fresh)).toEqual(here);
  expect(await readdir(backupPaths(fresh).folder)).toEqual([]);
});

test("a byte that has changed anywhere, and a cut at any place, is refused and changes nothing", async () => {
  const [old, fresh] = [await device("anna"), await device("berta")];
  const here = await stateOf(fresh);
  const whole = await readFile(await backUp(old, passphrase));
  const random = seededRandom(11);
  for (let round = 0; round < 200; round++) {
    const bytes = Buffer.from(whole);
    const at = round < 106 ? round : Math.floor(random() * whole.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 + Math.floor(random() * 255));
    const given = round % 5 === 4 ? whole.subarray(0, Math.floor(random() * whole.length)) : bytes;
    await writeFile(fileIn(fresh), given);
    expect(await refusal(restoreOffline(fileIn(fresh), fresh, options))).toMatch(
      /^this (backup is damaged|file is no backup|backup has the format)/,
    );
  }
  expect(await stateOf(fresh)).toEqual(here);
});

test("a backup of an unpublished build is refused and changes nothing", async () => {
  const fresh = await device("berta");
  const before = await stateOf(fresh);
  const file = await backupOf(fresh, { ...head, schema: schemaVersionMin - 1 }, { config: "" }, { lines: 2 });
  expect(await refusal(restoreOffline(file, fresh, options))).toBe(
    "this backup was made by an unpublished build of Tapdeck (9), which this version does not read",
  );
  expect(await stateOf(fresh)).toEqual(before);
});

test("a backup of a newer version's folder ended with an internal error, and kept the folder locked", async () => {
  const newer = await device("berta");
  const { database } = backupPaths(newer);
  using file = new Database(database);
  file.run(`PRAGMA user_version = ${schemaVersion + 1}`);
  for (let time = 0; time < 2; time++)
    expect(await refusal(backupOffline(newer, { before: "update" }))).toBe(
      `cannot use the database ${database}: it was made by a newer version (${schemaVersion + 1}; this one knows ${schemaVersion})`,
    );
});

test("a backup of a newer format or version says what to do", async () => {
  const fresh = await device();
  const file = await backupOf(fresh, head, { config: "" }, { lines: 2 });
  const text = (await readFile(file)).toString("latin1");
  await writeFile(file, text.replace(`backup ${backupFormat} `, `backup ${backupFormat + 1} `), "latin1");
  expect(await refusal(restoreOffline(file, fresh, options))).toBe(
    "this backup has the format 2, and this version of Tapdeck reads formats up to 1: update Tapdeck, then restore it again",
  );
  await backupOf(
    fresh,
    { ...head, tapdeck: "9.0.0", schema: schemaVersion + 1 },
    { config: "" },
    { lines: 2 },
  );
  expect(await refusal(restoreOffline(file, fresh, options))).toBe(
    "this backup was made by Tapdeck 9.0.0, which is newer than this version: update Tapdeck, then restore it again",
  );
});

const controls = ["\n", "\r", "\t", "\0", "\u001b", "\u007f", "\u0085"].map((sign) => `a${sign}.toml`);

const history = { id: 1, time_ms: 1, type: "", uid: "", text: "x", data: "", reader_id: "", script: "" };
const stored = { id: 1, added_ms: 1, ...mapping("04"), enabled: 1 };
const invalid: Readonly<Record<string, readonly unknown[]>> = {
  ...Object.fromEntries(
    controls.map((name) => [
      `${JSON.stringify(name)} is no name of a mapping file`,
      [{ config: "" }, { mappingFile: name, text: "" }],
    ]),
  ),
  "its settings have a fault": [{ config: "[readers]\ndetect = 5\n" }],
  "is no name of a mapping file": [{ config: "" }, { mappingFile: "../config.toml", text: "" }],
  "is not valid: pattern": [
    { config: "" },
    { table: "mappings", row: { ...stored, match: "regex", pattern: "(" } },
  ],
  "has the type nonsense": [{ config: "" }, { table: "mappings", row: { ...stored, type: "nonsense" } }],
  "a row of mappings is not valid": [
    { config: "" },
    { table: "mappings", row: { ...stored, override: null } },
  ],
  "the table history has no password": [
    { config: "" },
    { table: "history", row: { ...history, password: 1 } },
  ],
  "plays.played_s: 8640000000000000 cannot be true": [
    { config: "" },
    {
      table: "plays",
      row: { id: 1, path: "x", system_id: "", launcher_id: "", started_ms: 1, played_s: 8.64e15 },
    },
  ],
  "history.time_ms: -1 cannot be true": [
    { config: "" },
    { table: "history", row: { ...history, time_ms: -1 } },
  ],
  "history.text: it is too long": [
    { config: "" },
    { table: "history", row: { ...history, text: "x".repeat(40_000) } },
  ],
  "a value is a text, a number or null": [
    { config: "" },
    { table: "history", row: { ...history, text: ["x"] } },
  ],
  "no part of a backup": [{ config: "" }, { table: "clients", row: { id: "mallory" } }],
  "its end is missing": [{ table: "history", row: history }],
};

for (const [sentence, lines] of Object.entries(invalid)) {
  test(`a restore refuses what the service would refuse: ${sentence}`, async () => {
    const fresh = await device("berta");
    const here = await stateOf(fresh);
    const file = await backupOf(fresh, head, ...lines, { lines: lines.length + 1 });
    expect(await refusal(restoreOffline(file, fresh, options))).toContain(sentence);
    expect(await stateOf(fresh)).toEqual(here);
    expect(await readdir(backupPaths(fresh).folder)).toEqual([]);
  });
}

test("strangers fill the history with texts that are longer in a backup, and no backup can be made or restored", async () => {
  const full = await device("anna");
  const store = openStore(full.dataFolder);
  // In JSON a control character has six bytes. SQLite's length() ends at U+0000.
  const text = "\u0000".padEnd(scriptBytesMax, "\u0001");
  const row = { type: "", uid: "", data: "", readerId: "" };
  for (let at = 0; at < 400; at++)
    store.history.finish(store.history.open({ ...row, timeMs: at, text, script: text }), {
      error: "it is broken",
    });
  store.close();
  await backUp(full);
  const { counts } = await restoreOffline(fileIn(full), await device(), options);
  // The restored entries are the newest ones.
  expect(counts.history).toBeWithin(10, 400);
});

test("an earlier version stored a long reason of a failed launch, and no backup with it can be restored", async () => {
  const [old, fresh] = [await device("anna"), await device()];
  const store = openStore(old.dataFolder);
  const row = { type: "", uid: "", data: "", readerId: "", script: "x", text: "x" };
  store.history.finish(store.history.open({ ...row, timeMs: 1 }), { error: "y".repeat(256 * 1024) });
  store.close();
  await restoreOffline(await backUp(old), fresh, options);
  const { history } = await stateOf(fresh);
  expect(history.map(({ error }) => error?.length)).toEqual([launchErrorCharsMax, "it is broken".length]);
});

test("an earlier version stored a played time below 0, and no backup with it can be restored", async () => {
  const old = await device("anna");
  const fresh = await device();
  const store = openStore(old.dataFolder);
  store.plays.begin({ path: "/m/a", systemId: "NES", launcherId: "player", startedMs: 1 });
  store.plays.end(-3600);
  store.close();
  await restoreOffline(await backUp(old), fresh, options);
  const restored = openStore(fresh.dataFolder);
  const all = { limit: 9, belowId: Number.MAX_SAFE_INTEGER, systems: [], isDistinct: false };
  expect(restored.plays.list(all).find(({ path }) => path === "/m/a")).toMatchObject({ playedS: 0 });
  restored.close();
});

test("a mapping file whose name has a line feed is named, and left out of the backup", async () => {
  const { dataFolder } = await device("anna");
  const folder = join(dataFolder, "config/mappings");
  await writeFile(join(folder, "a\nb.toml"), mappingFile("berta"));
  const leftOut: string[] = [];
  const kept = await Array.fromAsync(mappingFiles(folder, (why) => leftOut.push(why)));
  expect(kept.map(([name]) => name)).toEqual(["anna.toml"]);
  expect(leftOut).toEqual([
    String.raw`the mapping file "a\nb.toml": its name has a control character, so rename it`,
  ]);
});

/** The backups and restores of a service that runs in the folder of `from`. */
async function serviceOf(from: Device) {
  const store = openStore(from.dataFolder);
  const settings = { current: () => defaultConfig, faults: () => [] };
  const service = createBackupService({ places: from, settings, store, log: silentLog, restart() {} });
  return { ...service, [Symbol.dispose]: () => store.close() };
}

test("a backup that could not be made was served as a file of zeros, in the place of the one before", async () => {
  const from = await device("one");
  using service = await serviceOf(from);
  await service.make(undefined, undefined);
  const mappings = join(from.dataFolder, "config/mappings");
  await rm(mappings, { recursive: true });
  await writeFile(mappings, "no folder");
  expect(await refusal(service.make(undefined, undefined))).toContain("ENOTDIR");
  expect(await refusal(service.take())).toContain("no backup is ready");
  expect(await readdir(join(from.dataFolder, "backups"))).toEqual([]);
});

test("a backup that was sent in part stayed on the card until the next start", async () => {
  const from = await device("one");
  using service = await serviceOf(from);
  const cut = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new Uint8Array(1000));
    },
    pull(controller) {
      controller.error(new Error("the connection ended"));
    },
  });
  expect(await refusal(service.give(cut, false))).toContain("the connection ended");
  expect(await readdir(join(from.dataFolder, "backups"))).toEqual([]);
});

test("a small file that unpacks to a large one is refused before it is kept", async () => {
  const fresh = await device();
  const packed = gzipSync(Buffer.alloc(backupTextBytesMax + 1, "\n"));
  const sum = createHash("sha256").update(packed).digest("hex");
  const start = `tapdeck-backup 1 sha256=${sum} bytes=${String(packed.length).padStart(10, "0")}\n`;
  await writeFile(fileIn(fresh), Buffer.concat([Buffer.from(start), packed]));
  expect(await refusal(restoreOffline(fileIn(fresh), fresh, options))).toMatch(/cannot be (read|restored)/);
  const clients = Array.from({ length: clientsMax }, () => "x".repeat(60_000));
  expect(await refusal(backupOf(fresh, ...clients, "y".repeat(backupTextBytesMax)))).toContain("too large");
});

test("equal lines give equal bytes", async () => {
  const fresh = await device();
  const lines = [head, { config: "x" }, { lines: 2 }];
  const one = await readFile(await backupOf(fresh, ...lines));
  expect(await readFile(await backupOf(fresh, ...lines))).toEqual(one);
});

test("the ports of the device stay, and what it does not have is named", async () => {
  const fresh = await device();
  await mkdir(join(fresh.dataFolder, "config"));
  await writeFile(fresh.configPath, '[api]\nport = 8000\nlisten = ["127.0.0.1"]\n');
  const config =
    '[api]\nport = 9000 # mine\nlisten = ["10.0.0.1"]\n[readers]\nconnect = ["file:/no/reader"]\n[systems]\nroot_folders = ["/no/games"]\n';
  const file = await backupOf(
    fresh,
    head,
    { config },
    { mappingFile: "bad.toml", text: "x = 1\n" },
    { lines: 3 },
  );
  const content = await restoreOffline(file, fresh, options);
  expect(content.changes).toEqual(["readers.connect", "systems.root_folders"]);
  expect(content.warnings).toEqual([
    "the mapping file bad.toml has a fault, so its mappings are not used: there is no x in a file of mappings: each begins with [[mapping]]",
    "this device has no media folder /no/games",
    "this device has no reader at /no/reader",
  ]);
  expect(await readFile(fresh.configPath, "utf8")).toBe(
    config.replace("9000", "8000").replace("10.0.0.1", "127.0.0.1"),
  );
});

test("two decks had one name at the broker after a restore", async () => {
  const fresh = await device();
  await mkdir(join(fresh.dataFolder, "config"));
  const broker = '[mqtt]\nurl = "mqtt://broker.lan"\nid = "hall-1"\n';
  for (const [present, restored] of [
    ["", broker.replace("hall-1", "")],
    ['[mqtt]\nid = "hall-2"\n', broker.replace("hall-1", "hall-2")],
  ] as const) {
    await writeFile(fresh.configPath, present);
    await restoreOffline(await backupOf(fresh, head, { config: broker }, { lines: 2 }), fresh, options);
    expect(await readFile(fresh.configPath, "utf8")).toBe(restored);
  }
});

test("a decided restore whose files cannot be replaced is completed by a later start, once", async () => {
  const [old, fresh] = [await device("anna"), await device("berta")];
  const [there, here] = [await stateOf(old), await stateOf(fresh)];
  await stageRestore(await backUp(old), fresh, { passphrase: undefined, present: undefined });
  await decideRestore(fresh);
  // A folder replaces the settings file.
  await rm(fresh.configPath);
  await mkdir(fresh.configPath);
  await completeRestore(fresh, silentLog);
  const store = openStore(fresh.dataFolder);
  store.mappings.add(mapping("after"), 1);
  store.close();
  await rm(fresh.configPath, { recursive: true });
  await completeRestore(fresh, silentLog);
  const now = await stateOf(fresh);
  expect({ ...now, mappings: [] }).toEqual({ ...there, mappings: [], clients: here.clients, key: here.key });
  expect(now.mappings.map(({ pattern }) => pattern)).toEqual(["04anna", "after"]);
  expect(await readdir(backupPaths(fresh).folder)).toEqual([]);
});

test("a second wrong restore deleted the state before the first one: the last three are kept, as before updates", async () => {
  const fresh = await device();
  for (let round = 0; round < 12; round++) await keepBackup("update", fresh);
  for (let round = 0; round < 4; round++) await keepBackup("restore", fresh);
  expect((await readdir(backupPaths(fresh).folder)).sort()).toEqual([
    "before-restore-2.tapdeck",
    "before-restore-3.tapdeck",
    "before-restore-4.tapdeck",
    "before-update-10.tapdeck",
    "before-update-11.tapdeck",
    "before-update-12.tapdeck",
  ]);
});

test("a start goes on if the folder of backups is a file, or a link to one, and the log says so", async () => {
  for (const make of [(path: string) => writeFile(path, ""), (path: string) => symlink("tapdeck.db", path)]) {
    const places = await device("here");
    await make(backupPaths(places).folder);
    const lines: string[] = [];
    await completeRestore(places, createLog({ debug: false, write: (line) => lines.push(line) }));
    expect(lines).toEqual([expect.stringContaining("backup: the folder of backups cannot be used")]);
  }
});
