import { afterEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { configOf } from "../../../src/config/read-config.ts";
import { createSettings, type Settings, type SettingsOptions } from "../../../src/config/settings.ts";
import type { SettingsPatch } from "../../../src/config/settings-patch.ts";
import { configuredSystems } from "../../../src/config/shape.ts";
import { ServiceError, StartError } from "../../../src/core/errors.ts";
import { faultLine } from "../../../src/core/faults.ts";
import { configBytesMax, configSavedBytesMax } from "../../../src/core/limits.ts";
import { createLog, silentLog } from "../../../src/core/log.ts";
import { systemFault } from "../../../src/media/known-systems.ts";
import { defaultConfig } from "../../helpers/defaults.ts";
import { eventually } from "../../helpers/processes.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface World {
  readonly folder: string;
  readonly path: string;
  readonly settings: Settings;
  readonly lines: readonly string[];
  readonly text: () => Promise<string>;
}

/** A real folder with this config file, and its settings. */
async function open(text: string | undefined, more: Partial<SettingsOptions> = {}): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-settings-"));
  closing.push(() => rm(folder, { recursive: true }));
  const path = join(folder, "config.toml");
  if (text !== undefined) await writeFile(path, text);
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  const settings = await createSettings({ path, dataFolder: "/data", mustExist: false, log, ...more });
  closing.push(() => settings.close());
  return { folder, path, settings, lines, text: () => readFile(more.path ?? path, "utf8") };
}

async function refusalOf(updating: Promise<void>): Promise<ServiceError> {
  const error = await updating.then(
    () => undefined,
    (thrown) => thrown,
  );
  if (!(error instanceof ServiceError)) throw new Error(`no refusal: ${error}`);
  return error;
}

test("an update is in memory at once, and in the file when it resolves, with all else as it was", async () => {
  const { settings, text } = await open(
    "# mine\n[log] # lines\ndebug = false # loud\n\n[audio]\nfeedback = true\n",
  );
  const heard: boolean[] = [];
  settings.onChange((now, before) => heard.push(before.log.debug, now.log.debug));
  const updating = settings.update({ debug: true });
  expect(settings.current().log.debug).toBe(true);
  expect(heard).toEqual([false, true]);
  await updating;
  expect(await text()).toBe("# mine\n[log] # lines\ndebug = true # loud\n\n[audio]\nfeedback = true\n");
  expect(heard.length).toBe(2);
});

test("a list of systems takes those that are known, by the config as it is then", async () => {
  const { settings, text } = await open("[readers]\ninsert_mode_blocklist = ['Nothing Known']\n", {
    systemFault: (name, now) => systemFault(name, configuredSystems(now)),
  });
  expect(settings.current().readers.insertModeBlocklist).toEqual(["Nothing Known"]);
  for (const [list, why] of [
    [["$(id)"], "insertModeBlocklist: there is no system $(id)"],
    [["SNES", "; reboot"], "insertModeBlocklist: there is no system ; reboot"],
    [["SNSE"], "insertModeBlocklist: there is no system SNSE; did you mean SNES?"],
    [["Jukebox"], "insertModeBlocklist: there is no system Jukebox"],
    [["Nothing Known"], "insertModeBlocklist: there is no system Nothing Known"],
  ] as const) {
    const error = await refusalOf(settings.update({ insertModeBlocklist: list, debug: true }));
    expect([error.code, error.message]).toEqual(["invalid-params", why]);
  }
  expect(settings.current().log.debug).toBe(false);
  await settings.update({ insertModeBlocklist: ["SNES", "super nintendo", "Mega Drive"] });
  await settings.update({ insertModeBlocklist: [] });
  const more =
    "[[launchers]]\nid = 'box'\nsystems = ['Jukebox']\ncommand = ['box']\n[systems.folders]\nTapes = ['/tapes']\n";
  const { path } = await open(`${await text()}${more}`);
  const own = await createSettings({
    path,
    dataFolder: "/data",
    mustExist: true,
    log: silentLog,
    systemFault: (name, now) => systemFault(name, configuredSystems(now)),
  });
  closing.push(() => own.close());
  await own.update({ insertModeBlocklist: ["jukebox", "Tapes"] });
  expect(own.current().readers.insertModeBlocklist).toEqual(["jukebox", "Tapes"]);
});

test("a reload reads an edit at once, and rejects with the fault of the file", async () => {
  const { settings, path } = await open("[log]\ndebug = false\n");
  writeFileSync(path, "[log]\ndebug = true\n");
  await settings.reload();
  expect(settings.current().log.debug).toBe(true);
  writeFileSync(path, "[log]\ndebug = 3\n");
  const { code, message } = await refusalOf(settings.reload());
  expect([code, message]).toEqual(["failed", expect.stringContaining("log.debug must be true or false")]);
  expect(settings.current().log.debug).toBe(true);
});

test("every field changes its own key, and nothing else", async () => {
  const { settings, text } = await open(undefined);
  const before = settings.current();
  await settings.update({
    reader: ["simulated:"],
    audioFeedback: false,
    detectReaders: false,
    insertMode: true,
    insertModeAction: "pause",
    insertModeBlocklist: ["SNES"],
    insertModeExitDelay: 2.5,
    consoleLogging: false,
    debug: true,
    launchGuardEnabled: true,
    playbackResume: "always",
    soundPlace: "jack",
    televisionVolumeMax: 90,
    usbVolumeMax: 50,
    jackVolumeMax: 55,
    bluetoothVolumeMax: 45,
    volumeStart: 50,
    quietFrom: "20:00",
    quietUntil: "07:30",
    quietVolumeMax: 20,
    timeZone: "America/Los_Angeles",
    televisionLanguage: "ja",
    televisionWake: false,
    televisionStandbyMinutes: 60,
    televisionOverscan: 4,
    televisionRotation: 90,
    limitsEnabled: false,
    warningMinutes: [30, 1],
    rootFolder: ["/media"],
  });
  const after = {
    ...before,
    readers: {
      connect: ["simulated:"],
      detect: false,
      insertMode: true,
      insertModeAction: "pause" as const,
      insertModeBlocklist: ["SNES"],
      insertModeExitDelay: 2.5,
    },
    audio: {
      feedback: false,
      volumeMax: 100,
      place: "jack" as const,
      televisionVolumeMax: 90,
      usbVolumeMax: 50,
      jackVolumeMax: 55,
      bluetoothVolumeMax: 45,
      volumeStart: 50,
      quietFrom: "20:00",
      quietUntil: "07:30",
      quietVolumeMax: 20,
    },
    device: { ...before.device, timeZone: "America/Los_Angeles" },
    log: { console: false, debug: true },
    launch: { guard: true },
    playback: { resume: "always" as const },
    television: {
      language: "ja" as const,
      wake: false,
      standbyMinutes: 60,
      overscan: 4,
      rotation: 90 as const,
    },
    playtime: { ...before.playtime, limitsEnabled: false, warningMinutes: [30, 1] },
    systems: { ...defaultConfig.systems, rootFolders: ["/media"], statedRootFolders: ["/media"] },
  };
  expect(settings.current()).toEqual(after);
  expect(configOf(await text(), "x", "/data")).toEqual(after);
  await settings.update({ rootFolder: [] });
  expect(settings.current().systems).toEqual({
    ...defaultConfig.systems,
    rootFolders: ["/data/media"],
    statedRootFolders: [],
  });
});

test("a file that is not there is made with just the keys that were given", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-settings-"));
  closing.push(() => rm(folder, { recursive: true }));
  const { settings, text } = await open(undefined, { path: join(folder, "a", "b", "config.toml") });
  await settings.update({ debug: true });
  expect(await text()).toBe("[log]\ndebug = true\n");
});

test("a value that the file has already is not written again, and an empty update is none", async () => {
  const { settings, path } = await open("[log]\ndebug = true\n");
  const before = await stat(path);
  await settings.update({ debug: true });
  await settings.update({});
  await settings.update({ debug: undefined });
  expect((await stat(path)).ino).toBe(before.ino);
});

test("updates of one moment all land, and the later of two on one field stays", async () => {
  const { settings, text } = await open("# mine\n");
  const updates = Array.from({ length: 50 }, (_, nth) => settings.update({ insertModeExitDelay: nth }));
  await Promise.all([...updates, settings.update({ debug: true }), settings.update({ insertMode: true })]);
  const config = configOf(await text(), "x", "/data");
  expect(config).toEqual(settings.current());
  expect(config.log.debug).toBe(true);
  expect(config.readers).toMatchObject({ insertMode: true, insertModeExitDelay: 49 });
});

test.each<[string, SettingsPatch]>([
  ["insertModeExitDelay must be a number of seconds from 0 to 86400, not -1", { insertModeExitDelay: -1 }],
  ["insertModeExitDelay must be a number of seconds", { insertModeExitDelay: Number.NaN }],
  ['systems.rootFolder must be a full path that begins with /, not "games"', { rootFolder: ["games"] }],
  ['reader must be a text, not ""', { reader: [""] }],
  ["reader must not hold the character NUL", { reader: ["a\0"] }],
  ["reader must not hold the character NUL or half characters", { reader: ["\ud800"] }],
  ["reader has more than 32 entries", { reader: Array(33).fill("a:") }],
  ["reader: there is no driver nope", { reader: ["nope:x"] }],
  ["insertModeBlocklist must be at most 4096 characters long", { insertModeBlocklist: ["a".repeat(4097)] }],
])("refused, with nothing changed: %s", async (sentence, patch) => {
  const readerFault = (text: string) => (text.startsWith("nope") ? "there is no driver nope" : undefined);
  const { settings, text } = await open("# mine\n", { readerFault });
  const before = settings.current();
  const error = await refusalOf(settings.update({ debug: true, ...patch }));
  expect(error.code).toBe("invalid-params");
  expect(error.message).toContain(sentence);
  expect(settings.current()).toBe(before);
  expect(await text()).toBe("# mine\n");
});

test("a setting that opens the device to others cannot be changed by an update", async () => {
  const { settings, text } = await open("# mine\n");
  const before = settings.current();
  const names = [
    "allow_launch",
    "allowLaunch",
    "allowed_hosts",
    "allowedOrigins",
    "allowAnonymousLocal",
    "script",
    "hooks",
    "launch",
    "api",
    "launchers",
    "__proto__",
    "constructor",
  ];
  for (const name of names) await settings.update(JSON.parse(`{ ${JSON.stringify(name)}: true }`));
  expect(settings.current()).toBe(before);
  expect(await text()).toBe("# mine\n");
});

test("the file keeps its mode, and nothing is left beside it", async () => {
  const { settings, path, folder } = await open("# mine\n");
  await chmod(path, 0o640);
  await settings.update({ debug: true });
  expect((await stat(path)).mode & 0o777).toBe(0o640);
  expect(await readdir(folder)).toEqual(["config.toml"]);
});

test("a file that the first change makes is its owner's alone", async () => {
  const { settings, path } = await open(undefined);
  await settings.update({ debug: true });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("the leftovers of a killed process are swept away, and nothing else is", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-settings-"));
  closing.push(() => rm(folder, { recursive: true }));
  const ended = Bun.spawn(["true"]);
  await ended.exited;
  const names = [
    `.config.toml.${ended.pid}.new`,
    ".config.toml.1.new",
    ".config.toml.swp",
    ".other.toml.1.new",
  ];
  for (const name of names) await writeFile(join(folder, name), "");
  await open(undefined, { path: join(folder, "config.toml") });
  expect((await readdir(folder)).toSorted()).toEqual(names.slice(1).toSorted());
});

test("behind a link, the file that it points to is written, and its edits are noticed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-settings-"));
  closing.push(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "real"));
  const [real, path] = [join(folder, "real", "mine.toml"), join(folder, "config.toml")];
  await writeFile(real, "# mine\n");
  await symlink("real/mine.toml", path);
  const { settings } = await open(undefined, { path });
  await settings.update({ debug: true });
  expect((await lstat(path)).isSymbolicLink()).toBe(true);
  expect(await readFile(real, "utf8")).toBe("# mine\n\n[log]\ndebug = true\n");
  await writeFile(real, "[audio]\nfeedback = false\n");
  await eventually(() => expect(settings.current().audio.feedback).toBe(false));
});

test("an edit by hand that was not noticed yet is not lost to an update, and is in use with it", async () => {
  const { settings, path, text } = await open("# mine\n");
  await writeFile(path, "# edited\n[audio]\nfeedback = false\n");
  await settings.update({ debug: true });
  expect(await text()).toBe("# edited\n[audio]\nfeedback = false\n\n[log]\ndebug = true\n");
  expect(settings.current()).toMatchObject({ audio: { feedback: false }, log: { debug: true } });
});

test("edits by hand are taken over: written in place, put in its place by a rename, removed", async () => {
  const { settings, path, folder, lines } = await open("[log]\ndebug = true\n");
  const heard: string[] = [];
  settings.onChange(({ log, readers }) => heard.push(`${log.debug} ${readers.insertModeExitDelay}`));
  // The following changes are made in one turn of the event loop, so nothing runs between them.
  writeFileSync(path, "readers.insert_mode_exit_delay = 1\n");
  await eventually(() => expect(settings.current().readers.insertModeExitDelay).toBe(1));
  await writeFile(join(folder, "new"), "readers.insert_mode_exit_delay = 2\n");
  await rename(join(folder, "new"), path);
  await eventually(() => expect(settings.current().readers.insertModeExitDelay).toBe(2));
  await rm(path);
  await eventually(() => expect(settings.current().readers.insertModeExitDelay).toBe(0));
  expect(heard).toEqual(["false 1", "false 2", "false 0"]);
  expect(lines.filter((line) => line.includes("was edited")).length).toBe(3);
});

test("a file is taken over from a folder that is made later, and from one that is made again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-settings-"));
  closing.push(() => rm(folder, { recursive: true }));
  const inner = join(folder, "a", "b");
  const { settings } = await open(undefined, { path: join(inner, "config.toml") });
  for (const delay of [1, 2]) {
    await mkdir(inner, { recursive: true });
    await writeFile(join(inner, "config.toml"), `readers.insert_mode_exit_delay = ${delay}\n`);
    await eventually(() => expect(settings.current().readers.insertModeExitDelay).toBe(delay));
    await rm(join(folder, "a"), { recursive: true });
    await eventually(() => expect(settings.current().readers.insertModeExitDelay).toBe(0));
  }
});

test("a bad edit is refused with line and reason, the last good settings stay, and mending it ends the fault", async () => {
  const { settings, path, lines, text } = await open("[log]\ndebug = true\n");
  const bad = '[log]\ndebug = true\n[audio]\nfeedback = "loud"\n';
  writeFileSync(path, bad);
  await eventually(() => expect(settings.faults()).not.toEqual([]));
  const reason = 'config.toml, line 4: audio.feedback must be true or false, not "loud"';
  expect(settings.faults()).toEqual([{ code: "settings-invalid", of: "owner", why: reason }]);
  expect(lines).toEqual([`error config: ${reason}; the last good settings stay in use file=${path}`]);
  expect(settings.current().log.debug).toBe(true);

  const updating = settings.update({ insertMode: true });
  expect(settings.current().readers.insertMode).toBe(true);
  const error = await refusalOf(updating);
  expect(error.code).toBe("failed");
  expect(error.message).toBe(`nothing was saved, for the config file has a fault: ${reason}`);
  expect(settings.current().readers.insertMode).toBe(false);
  expect(await text()).toBe(bad);

  await writeFile(path, "[log]\ndebug = true\n");
  await eventually(() => expect(settings.faults()).toEqual([]));
  await settings.update({ insertMode: true });
});

test("a named file that goes away is a fault, and its settings stay until it is back", async () => {
  const { settings, path, folder } = await open(undefined).then(async (world) => {
    await writeFile(world.path, "[log]\ndebug = true\n");
    const again = await createSettings({
      path: world.path,
      dataFolder: "/data",
      mustExist: true,
      log: createLog({ debug: false, write() {} }),
    });
    closing.push(() => again.close());
    return { ...world, settings: again };
  });
  await rename(path, join(folder, "aside"));
  await eventually(() => expect(settings.faults()).not.toEqual([]));
  expect(faultLine(settings.faults())).toMatch(/^cannot read the config file config\.toml: /);
  expect(faultLine(settings.faults())).not.toContain(folder);
  expect(settings.current().log.debug).toBe(true);
  await rename(join(folder, "aside"), path);
  await eventually(() => expect(settings.faults()).toEqual([]));
});

test("a change was refused together with that of another caller, which did not fit", async () => {
  const { settings, text } = await open("[log]\ndebug = false\n");
  const folders = Array.from({ length: 17 }, (_, place) => `/${place}${"x".repeat(4000)}`);
  const before = settings.current().systems.rootFolders;
  const refused = refusalOf(settings.update({ rootFolder: folders }));
  const others = [settings.update({ debug: true }), settings.update({ audioFeedback: false })];
  const seen: boolean[] = [];
  settings.onChange((now) => seen.push(now.log.debug));
  expect((await refused).message).toContain("the config file would be larger");
  await Promise.all(others);
  expect(settings.current()).toMatchObject({
    log: { debug: true },
    audio: { feedback: false },
    systems: { rootFolders: before },
  });
  expect(await text()).toBe("[log]\ndebug = true\n\n[audio]\nfeedback = false\n");
  // A change that is kept is in use all the time.
  expect(seen).not.toContain(false);
});

test("a bad file at the start is a start error", async () => {
  await expect(open("[log]\ndebug = 1\n")).rejects.toBeInstanceOf(StartError);
});

test("an update that would make the file too large is refused, and memory goes back", async () => {
  const filling = `#${" ".repeat(configBytesMax - 10)}\n`;
  const { settings, text } = await open(filling);
  const error = await refusalOf(settings.update({ reader: ["simulated:"] }));
  expect(error.message).toBe("the config file would be larger than 1048576 bytes");
  expect(settings.current().readers.connect).toEqual([]);
  expect(await text()).toBe(filling);
});

test("a caller may not make of a short file one that takes long to read, and may change what its owner made long", async () => {
  const short = await open("[log]\ndebug = false\n");
  const folders = Array.from({ length: 17 }, (_, place) => `/${place}${"x".repeat(4000)}`);
  const error = await refusalOf(short.settings.update({ rootFolder: folders }));
  expect(error.message).toBe(`the config file would be larger than ${configSavedBytesMax} bytes`);
  expect(await short.text()).toBe("[log]\ndebug = false\n");
  const comment = `#${" ".repeat(configSavedBytesMax)}\n`;
  const long = await open(comment);
  await long.settings.update({ debug: true });
  expect(await long.text()).toBe(`${comment}\n[log]\ndebug = true\n`);
});

test("another address of the API is said to need a restart, once a change", async () => {
  const { settings, path, lines } = await open("");
  const restarts = () => lines.filter((line) => line.includes("take effect at the next start")).length;
  await writeFile(path, "api.port = 8000\n");
  await eventually(() => expect(settings.current().api.port).toBe(8000));
  await settings.update({ debug: true });
  expect(restarts()).toBe(1);
  await writeFile(path, "api.port = 7497\n");
  await eventually(() => expect(settings.current().api.port).toBe(7497));
  expect(restarts()).toBe(1);
});

test("a listener that fails hurts no other, and one that is disposed of hears nothing more", async () => {
  const { settings, lines } = await open("");
  const heard: boolean[] = [];
  const failing = settings.onChange(() => {
    throw new Error("broken");
  });
  const listening = settings.onChange(({ log }) => heard.push(log.debug));
  await settings.update({ debug: true });
  listening[Symbol.dispose]();
  failing[Symbol.dispose]();
  await settings.update({ debug: false });
  expect(heard).toEqual([true]);
  expect(lines.filter((line) => line.includes("a listener failed"))).toEqual([
    "error config: a listener failed error=broken",
  ]);
});

test("a listener may update in its turn, and all hear of the changes in their order", async () => {
  const { settings } = await open("");
  const heard: string[] = [];
  const updates: Promise<void>[] = [];
  settings.onChange(({ log, readers }) => {
    if (log.debug && !readers.insertMode) updates.push(settings.update({ insertMode: true }));
  });
  settings.onChange(({ log, readers }) => heard.push(`${log.debug} ${readers.insertMode}`));
  await settings.update({ debug: true });
  await Promise.all(updates);
  expect(heard).toEqual(["true false", "true true"]);
});

test("closing waits for the updates under way, and refuses new ones", async () => {
  const { settings, text } = await open("");
  const updating = settings.update({ debug: true });
  await settings.close();
  expect(await text()).toBe("[log]\ndebug = true\n");
  await updating;
  expect((await refusalOf(settings.update({ debug: false }))).code).toBe("busy");
});

const child = join(import.meta.dir, "../../programs/settings-child.ts");
const inSmallDisk = (folder: string, ...argv: string[]) =>
  Bun.spawnSync([
    ...["unshare", "--map-root-user", "--mount", "sh", "-c"],
    ...['mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"', folder, ...argv],
  ]);
const canMount = Bun.which("unshare") !== null && inSmallDisk("/tmp", "true").exitCode === 0;

// The test fills a small disk, which it needs the right to mount.
test.skipIf(!canMount)(
  "a full or read-only disk refuses, the file and memory stay whole, and it heals",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "tapdeck-settings-"));
    closing.push(() => rm(folder, { recursive: true }));
    const { stdout, stderr } = inSmallDisk(folder, process.execPath, child, "refused", folder);
    expect(stderr.toString()).toBe("");
    expect(JSON.parse(stdout.toString())).toEqual({
      onFull: {
        meanwhile: true,
        outcome: "the config file could not be saved: the disk is full",
        after: false,
      },
      onReadOnly: {
        meanwhile: true,
        outcome: "the config file could not be saved: the disk is read-only",
        after: false,
      },
      healed: { meanwhile: true, outcome: "saved", after: true },
      text: "# mine\n[log]\ndebug = true\n",
      files: ["config.toml"],
    });
  },
);

const kills = 50;

test(`of a process killed at ${kills} random moments, the file parses and holds every acknowledged setting`, async () => {
  const { path, text, settings } = await open(
    "# mine\r\n[readers] # these\r\nconnect = [ # one\r\n]\r\n[log]\r\n# end",
  );
  await settings.close();
  const moments = fc.sample(fc.record({ lines: fc.nat(8), spins: fc.nat(20_000) }), {
    numRuns: kills,
    seed: 5,
  });
  let acknowledged = 0;
  for (const { lines, spins } of moments) {
    const start = acknowledged + 1;
    const running = Bun.spawn([process.execPath, child, "count", path, `${start}`], { stdout: "pipe" });
    let said = "";
    for await (const bytes of running.stdout) {
      said += new TextDecoder().decode(bytes);
      if (said.split("\n").length <= lines) continue;
      // Kills the process at some moment within the next save.
      for (let spin = 0; spin < spins; spin++) Math.random();
      running.kill("SIGKILL");
    }
    await running.exited;
    acknowledged = Math.max(acknowledged, ...said.split("\n").slice(0, -1).map(Number));
    const now = await text();
    const { connect, insertModeExitDelay: number } = configOf(now, "config.toml", "/data").readers;
    // An unacknowledged change may be on the disk, but only as a whole.
    expect([acknowledged, acknowledged + 1]).toContain(number);
    expect(connect.length).toBe(number % 20);
    expect(now.replace(/"[^"]*",?\s*/g, "").replace(/\d+/g, "")).toMatch(
      /^# mine\r\n\[readers\] # these\r\nconnect = \[/,
    );
    expect(now).toContain(" # one\r\n");
    expect(now.endsWith("[log]\r\n# end")).toBe(true);
  }
  expect(acknowledged).toBeGreaterThan(kills);
});
