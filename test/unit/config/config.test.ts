// Covers: src/config/read-config.ts.
import { expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { readConfig } from "../../../src/config/read-config.ts";
import { type Config, configOfTable } from "../../../src/config/shape.ts";
import { exitCodes, StartError } from "../../../src/core/errors.ts";
import { configBytesMax, launchersMax } from "../../../src/core/limits.ts";
import { defaultConfig } from "../../helpers/defaults.ts";

async function read(toml: string | Uint8Array): Promise<Config> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-config-"));
  try {
    const path = join(folder, "config.toml");
    await writeFile(path, toml);
    return await readConfig(path, { dataFolder: "/data", mustExist: true });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The sentence of a refusal, without the folder of the file. */
async function refusal(toml: string | Uint8Array): Promise<string> {
  try {
    await read(toml);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    expect(error.exitCode).toBe(exitCodes.config);
    return error.message.replace(/\/\S*\//, "");
  }
  throw new Error("it was accepted");
}

test("a player is given a second to end, and a RetroArch five, where its launcher says nothing of time", async () => {
  const stopOf = async (kind: string) => {
    const command = `command = ["a", "{path}"]\nstop_signal = "INT"`;
    const { launchers } = await read(`[[launchers]]\nid = "a"\nkind = "${kind}"\n${command}`);
    return launchers[0]?.stop;
  };
  expect(await stopOf("process")).toEqual({ signal: "INT", graceMs: 1000 });
  expect(await stopOf("mpv")).toEqual({ signal: "INT", graceMs: 1000 });
  expect(await stopOf("retroarch")).toEqual({ signal: "INT", graceMs: 5000 });
});

test("a file that is not there stands for the defaults, with the data folder's media", async () => {
  const config = await readConfig("/nowhere/config.toml", { dataFolder: "/data", mustExist: false });
  expect(config).toEqual({
    ...defaultConfig,
    systems: { ...defaultConfig.systems, rootFolders: ["/data/media"] },
  });
});

test("a file that was named must be there", async () => {
  const reading = readConfig("/nowhere/config.toml", { dataFolder: "/data", mustExist: true });
  await expect(reading).rejects.toThrow(
    /^cannot read the config file \/nowhere\/config\.toml: .*no such file/,
  );
});

test("a folder in the place of the file is refused", async () => {
  const reading = readConfig(tmpdir(), { dataFolder: "/data", mustExist: true });
  await expect(reading).rejects.toBeInstanceOf(StartError);
});

test("an empty file is all defaults", async () => {
  expect(await read("")).toEqual({
    ...defaultConfig,
    systems: { ...defaultConfig.systems, rootFolders: ["/data/media"] },
  });
});

test("every setting arrives", async () => {
  const config = await read(`
[api]
port = 8000
listen = ["127.0.0.1"]
tls_port = 0
allow_launch = ["SNES/.*"]
allowed_hosts = ["deck.example"]
allowed_origins = ["https://deck.example"]
allow_anonymous_local = true
anonymous = "look"
metrics = true
allow_v1_clients = true
[readers]
connect = ["simulated:"]
detect = false
insert_mode = true
insert_mode_action = "pause"
insert_mode_blocklist = ["SNES"]
insert_mode_exit_delay = 2.5
[audio]
feedback = false
volume_max = 60
volume_start = 40
place = "usb"
television_volume_max = 90
usb_volume_max = 50
jack_volume_max = 55
bluetooth_volume_max = 45
quiet_from = "20:00"
quiet_until = "07:30"
quiet_volume_max = 20
[launch]
guard = true
[playtime]
limits_enabled = false
daily_minutes = 60
session_minutes = 30
session_reset_minutes = 15
warning_minutes = [10, 2]
[log]
console = false
debug = true
[systems]
root_folders = ["/a", "/b"]
[script]
allow_execute = ["mpv .*"]
allow_http = ["http://lamp/.*"]
allow_stream = ["Radio.example.org", "*.example.com", "nas.lan:8000", "[fd00::1]:80"]
allow_input = true
[retroarch]
resume = false
[playback]
resume = "never"
[television]
language = "de"
wake = false
standby_minutes = 90
overscan = 5
rotation = 270
[light]
brightness = 30
[hooks]
on_scan = "**echo:a"
on_remove = "**echo:b"
before_start = "**echo:c"
on_start = "**echo:d"
on_stop = "**echo:e"
[mqtt]
url = "mqtts://broker.lan"
user = "deck"
password_file = "mqtt-password"
certificate = "mqtt-certificate.pem"
key = "mqtt-key.pem"
ca = "/etc/ca.pem"
base = "museum/decks"
id = "hall"
role = "member"
discovery = ""
[cards]
url = "https://cards.example/all.cards"
key = "${"5a".repeat(32)}"
ca_file = "/etc/ca.pem"
[update]
url = "https://updates.example/index.json"
[fleet]
hawkbit_url = "https://hawkbit.example/MUSEUM"
id = "hall-1"
token_file = "hawkbit-token"
certificate_file = "/etc/deck.pem"
key_file = "/etc/deck.key"
ca_file = "/etc/ca.pem"
interrupt = true
[device]
time_zone = "Europe/Berlin"
site = "hall"
[[buttons]]
device = "gpio*"
key = "key_power"
script = "**shutdown"
[[buttons]]
key = "REL_DIAL-"
script = "**volume:-5"
[[launchers]]
id = "snes"
systems = ["SNES"]
extensions = ["SFC", ".Smc"]
command = ["snes9x", "--", "{path}"]
kind = "process"
[[launchers]]
id = "any"
command = ["any", "--file={path}"]
`);
  expect(config).toEqual({
    api: {
      port: 8000,
      listen: ["127.0.0.1"],
      tlsPort: 0,
      allowLaunch: ["SNES/.*"],
      allowedHosts: ["deck.example"],
      allowedOrigins: ["https://deck.example"],
      allowAnonymousLocal: true,
      anonymous: "look",
      metrics: true,
      allowV1Clients: true,
    },
    readers: {
      connect: ["simulated:"],
      detect: false,
      insertMode: true,
      insertModeAction: "pause",
      insertModeBlocklist: ["SNES"],
      insertModeExitDelay: 2.5,
    },
    audio: {
      feedback: false,
      volumeMax: 60,
      place: "usb",
      televisionVolumeMax: 90,
      usbVolumeMax: 50,
      jackVolumeMax: 55,
      bluetoothVolumeMax: 45,
      volumeStart: 40,
      quietFrom: "20:00",
      quietUntil: "07:30",
      quietVolumeMax: 20,
    },
    launch: { guard: true },
    retroarch: { resume: false },
    playback: { resume: "never" },
    television: { language: "de", wake: false, standbyMinutes: 90, overscan: 5, rotation: 270 },
    light: { brightness: 30 },
    playtime: {
      limitsEnabled: false,
      dailyMinutes: 60,
      sessionMinutes: 30,
      sessionResetMinutes: 15,
      warningMinutes: [10, 2],
    },
    log: { console: false, debug: true },
    systems: { ...defaultConfig.systems, rootFolders: ["/a", "/b"], statedRootFolders: ["/a", "/b"] },
    script: {
      allowExecute: ["mpv .*"],
      allowHttp: ["http://lamp/.*"],
      allowStream: ["radio.example.org", "*.example.com", "nas.lan:8000", "[fd00::1]:80"],
      allowInput: true,
    },
    mqtt: {
      url: "mqtts://broker.lan",
      user: "deck",
      passwordFile: "mqtt-password",
      certificate: "mqtt-certificate.pem",
      key: "mqtt-key.pem",
      ca: "/etc/ca.pem",
      base: "museum/decks",
      id: "hall",
      role: "member",
      discovery: "",
    },
    hooks: {
      onScan: "**echo:a",
      onRemove: "**echo:b",
      beforeStart: "**echo:c",
      onStart: "**echo:d",
      onStop: "**echo:e",
    },
    cards: { url: "https://cards.example/all.cards", key: "5a".repeat(32), caFile: "/etc/ca.pem" },
    update: { url: "https://updates.example/index.json" },
    fleet: {
      hawkbitUrl: "https://hawkbit.example/MUSEUM",
      id: "hall-1",
      tokenFile: "hawkbit-token",
      certificateFile: "/etc/deck.pem",
      keyFile: "/etc/deck.key",
      caFile: "/etc/ca.pem",
      interrupt: true,
    },
    device: { site: "hall", timeZone: "Europe/Berlin" },
    buttons: [
      { device: "gpio*", code: { kind: "key", code: 116, way: 1 }, script: "**shutdown" },
      { code: { kind: "turn", code: 7, way: -1 }, script: "**volume:-5" },
    ],
    launchers: [
      { id: "snes", systems: ["SNES"], extensions: [".sfc", ".smc"], command: ["snes9x", "--", "{path}"] },
      { id: "any", systems: [], extensions: [], command: ["any", "--file={path}"] },
    ],
  });
});

test("players that are spoken with need no command, and one that starts a system needs no file", async () => {
  const { launchers } = await read(`
[[launchers]]
id = "films"
kind = "mpv"
[[launchers]]
id = "games"
systems = ["NES"]
kind = "retroarch"
core = "nestopia"
cwd = "/srv"
env = { A = "1", B = "" }
[[launchers]]
id = "menu"
systems = ["SNES"]
command = ["menu"]
`);
  expect(launchers).toMatchObject([
    { id: "films", kind: "mpv", extensions: [] },
    { id: "games", kind: "retroarch", core: "nestopia", folder: "/srv", environment: { A: "1", B: "" } },
    { id: "menu", command: ["menu"] },
  ]);
  expect(launchers[0]?.command).toContain("{path}");
  expect(launchers[1]?.command.at(-1)).toBe("{path}");
});

test("launches over GET can be opened to all, and an empty hook is none", async () => {
  const { api, hooks } = await read('[api]\nallow_launch = true\n[hooks]\non_scan = ""');
  expect(api.allowLaunch).toBe(true);
  expect(hooks).toEqual({});
});

test("a byte order mark before the first line is no fault", async () => {
  expect((await read("\ufeff[api]\nport = 8000")).api.port).toBe(8000);
});

test.each([
  ["readers.connect has more than 32 entries", `[readers]\nconnect = [${'"a:",'.repeat(33)}]`],
  [
    "readers.insert_mode_blocklist has more than 256",
    `[readers]\ninsert_mode_blocklist = [${'"a",'.repeat(257)}]`,
  ],
  ["api.listen must be at most 4096 characters long, not 4097", `[api]\nlisten = ["${"a".repeat(4097)}"]`],
  ["api.allow_launch must be at most 4096", `[api]\nallow_launch = ["${"a".repeat(4097)}"]`],
  ["hooks.on_scan must be at most 16384 bytes", `[hooks]\non_scan = "${"\u00e4".repeat(8193)}"`],
  [
    "launchers.systems has more than 1000",
    `[[launchers]]\nid = "a"\ncommand = ["a", "{path}"]\nsystems = [${'"a",'.repeat(1001)}]`,
  ],
  ["api.listen must not hold the character NUL", '[api]\nlisten = ["a\\u0000"]'],
])("beyond a limit: %s", async (sentence, toml) => {
  expect(await refusal(toml)).toContain(sentence);
});

const launcher = '[[launchers]]\nid = "a"\ncommand = ["x", "{path}"]\n';

const refusals: readonly (readonly [toml: string, sentence: string])[] = [
  // Faults of TOML itself.
  ["[api]\nport 3", 'line 2: this is not TOML: Expected "=" for key-value'],
  ["[api]\nport = 1\nport = 2", "line 3: this is not TOML: Value already defined for api.port"],
  ["[log]\n\n[log]", "line 3: this is not TOML: Table already defined: log"],
  // Wrong types and ranges.
  ['[api]\nport = "x"', 'line 2: api.port must be a whole number from 1 to 65535, not "x"'],
  ["[api]\nport = 0", "line 2: api.port must be a whole number from 1 to 65535, not 0"],
  ["[api]\nport = 70000", "line 2: api.port must be a whole number from 1 to 65535, not 70000"],
  ["[api]\nport = 1.5", "line 2: api.port must be a whole number from 1 to 65535, not 1.5"],
  [
    "[api]\nport = 9223372036854775808",
    "line 2: api.port must be a whole number from 1 to 65535, not 9223372036854775808",
  ],
  ["[api]\nport = 2000-01-01", 'line 2: api.port must be a whole number from 1 to 65535, not "2000-01-01"'],
  ["[readers]\ndetect = 1", "line 2: readers.detect must be true or false, not 1"],
  ['[readers]\nconnect = "x"', 'line 2: readers.connect must be a list in [ ], not "x"'],
  ["[readers]\nconnect = [1]", "line 2: readers.connect must be a text, not 1"],
  [
    "[readers]\ninsert_mode_exit_delay = -1",
    "line 2: readers.insert_mode_exit_delay must be a number of seconds from 0 to 86400, not -1",
  ],
  ['[audio]\nfeedback = "yes"', 'line 2: audio.feedback must be true or false, not "yes"'],
  ['[api]\nallow_launch = "x"', 'line 2: api.allow_launch must be a list in [ ], not "x"'],
  [
    '[systems]\nroot_folders = ["~/games"]',
    'line 2: systems.root_folders must be a full path that begins with /, not "~/games"',
  ],
  ["api = 1", "line 1: api must be a section, [api], not 1"],
  // The lines of faults.
  [
    "# port = 1\n[api]\n# port = 2\n\nport = 0",
    "line 5: api.port must be a whole number from 1 to 65535, not 0",
  ],
  ["[log]\ndebug = true\n[api]\nport = 0", "line 4: api.port must be a whole number from 1 to 65535, not 0"],
  ["api.listen = []\napi.port = 0", "line 2: api.port must be a whole number from 1 to 65535, not 0"],
  ["api = { port = 0 }", "line 1: api.port must be a whole number from 1 to 65535, not 0"],
  ["[api]\r\nport = 0\r\n", "line 2: api.port must be a whole number from 1 to 65535, not 0"],
  // Unknown settings.
  ["[redaers]", "line 1: there is no setting redaers; did you mean readers?"],
  ["[readers]\ndetekt = true", "line 2: there is no setting readers.detekt; did you mean detect?"],
  ["port = 1", "line 1: there is no setting port"],
  ["__proto__ = 1", "line 1: there is no setting __proto__"],
  // Faults of servers of updates.
  [
    '[update]\nurl = "http://updates.example/i.json"',
    'line 2: update.url must be an address that begins with https://, not "http://updates.example/i.json"',
  ],
  [
    '[fleet]\nhawkbit_url = "https://me:word@hawkbit.example"',
    'line 2: fleet.hawkbit_url must be an address that begins with https:// or http:// and has no account, no ? and no #, not "https://...@hawkbit.example"',
  ],
  [
    '[fleet]\nhawkbit_url = "hawkbit.example"',
    'line 2: fleet.hawkbit_url must be an address that begins with https:// or http:// and has no account, no ? and no #, not "hawkbit.example"',
  ],
  [
    '[fleet]\nhawkbit_url = "http://a:99999/"',
    'line 2: fleet.hawkbit_url must be an address that begins with https:// or http:// and has no account, no ? and no #, not "http://a:99999/"',
  ],
  ['[fleet]\nid = "hall 1"', 'line 2: fleet.id must be at most 64 letters, digits, - and _, not "hall 1"'],
  // Faults of launchers.
  ['[launchers]\nid = "a"', "line 1: a launcher begins with [[launchers]], in double brackets"],
  ['[[launchers]]\ncommand = ["x", "{path}"]', "line 1: launchers.id must be a text, not nothing"],
  [`${launcher}${launcher}`, "line 5: there are two launchers with the id a"],
  [`${launcher}[[launchers]]\nid = "b"`, "line 4: launchers.command must be a list in [ ], not nothing"],
  [
    `${launcher}[[launchers]]\nid = "b"\ncommand = ["x"]`,
    'line 6: the command of the launcher b must name the file: put "{path}" in its place, after the program',
  ],
  [
    '[[launchers]]\nid = "b"\ncommand = ["{path}"]',
    'line 3: the command of the launcher b must name the file: put "{path}" in its place, after the program',
  ],
  [
    `${launcher}kind = "magic"`,
    'line 4: launchers.kind can only be "process", "mpv" or "retroarch", not "magic"',
  ],
  [
    `${launcher}kind = "retroarc"`,
    'line 4: launchers.kind can only be "process", "mpv" or "retroarch", not "retroarc"; did you mean retroarch?',
  ],
  [
    `${launcher}stop_grace = 31`,
    "line 4: launchers.stop_grace must be a number of seconds from 0 to 30, not 31",
  ],
  [
    `${launcher}stop_grace = "long"`,
    'line 4: launchers.stop_grace must be a number of seconds from 0 to 30, not "long"',
  ],
  [
    `${launcher}stop_signal = "KILL"`,
    'line 4: launchers.stop_signal can only be "TERM", "INT", "QUIT" or "HUP", not "KILL"',
  ],
  [`${launcher}confined = "no"`, 'line 4: launchers.confined must be true or false, not "no"'],
  [
    `[[launchers]]\nid = "b"\nkind = "mpv"\nconfined = false`,
    'line 4: launchers.confined is only for kind = "process"',
  ],
  [
    '[retroarch]\nsaves = "saves"',
    'line 2: retroarch.saves must be a full path that begins with /, not "saves"',
  ],
  ["[retroarch]\nsaves = '/a\"b'", "line 2: retroarch.saves must not hold quotes or line ends"],
  [`${launcher}core = "nestopia"`, 'line 4: launchers.core is only for kind = "retroarch"'],
  [`${launcher}cwd = "games"`, 'line 4: launchers.cwd must be a full path that begins with /, not "games"'],
  [`${launcher}env = "A=1"`, 'line 4: launchers.env must be a section, [launchers.env], not "A=1"'],
  [`${launcher}env = { A = 1 }`, "line 4: launchers.env must be a text, not 1"],
  [
    `${launcher}env = { "A B" = "1" }`,
    'line 4: launchers.env must hold names such as SDL_VIDEODRIVER, not "A B"',
  ],
  [
    '[[launchers]]\nid = "b"\nkind = "mpv"\ncommand = ["mpv"]',
    'line 4: the command of the launcher b must name the file: put "{path}" in its place, after the program',
  ],
  [`${launcher}extensions = [""]`, 'line 4: launchers.extensions must be a text, not ""'],
  [
    `${launcher}extensions = ["."]`,
    'line 4: launchers.extensions must hold endings of file names such as ".sfc", not "."',
  ],
  [
    `${launcher}extension = [".a"]`,
    "line 4: there is no setting launchers.extension; did you mean extensions?",
  ],
];

test.each(refusals)("%p is refused with its line", async (toml, sentence) => {
  expect(await refusal(toml)).toBe(`config.toml, ${sentence}`);
});

test("a file beyond the limit is refused before it is all read", async () => {
  expect(await refusal(`#${" ".repeat(configBytesMax)}`)).toMatch(/larger than 1048576 bytes/);
  await expect(readConfig("/dev/zero", { dataFolder: "/data", mustExist: true })).rejects.toThrow(
    /larger than/,
  );
});

test("more launchers than the limit are refused", async () => {
  const toml = Array.from({ length: launchersMax + 1 }, (_, n) => launcher.replace('"a"', `"a${n}"`)).join(
    "",
  );
  expect(await refusal(toml)).toMatch(/launchers has more than 256 entries/);
});

test("bytes that are no UTF-8 are refused", async () => {
  expect(await refusal(new Uint8Array([0x61, 0xff]))).toMatch(/^cannot read the config file/);
});

test("no file makes the reader fail in any other way than by a refusal", async () => {
  const value = fc.oneof(
    fc.constantFrom(
      "1",
      "true",
      '"x"',
      "[]",
      "{}",
      "[1, 2]",
      "{ a = 1 }",
      "1e400",
      "nan",
      "[[",
      "1979-05-27",
      "'''x",
    ),
    fc.string(),
  );
  const line = fc.oneof(
    fc.constantFrom("[api]", "[[launchers]]", "[launchers]", "[readers]", "[[api]]", "[hooks]", "[a.b]"),
    fc
      .tuple(fc.constantFrom("port", "id", "command", "systems", "launchers", "api.port"), value)
      .map((pair) => pair.join(" = ")),
    fc.string(),
  );
  const toml = fc.array(line, { maxLength: 8 }).map((lines) => lines.join("\n"));
  await fc.assert(
    fc.asyncProperty(toml, async (text) => {
      const error = await read(text).then(
        () => undefined,
        (thrown) => thrown,
      );
      if (error !== undefined) expect(error).toBeInstanceOf(StartError);
    }),
    { seed: 4, numRuns: 400 },
  );
});

test("a host of a stream is a name, with a port or with a star before it, and no address of a page", () => {
  const read = (host: string) => configOfTable({ script: { allow_stream: [host] } }, []);
  for (const wrong of ["http://a.example", "a/b", "*", "*.a.example:80", "a.*", "a b", "user@a"])
    expect(() => read(wrong)).toThrow(
      `script.allow_stream must hold names of hosts such as "radio.example.org", "*.example.org" or "nas.lan:8000", not ${JSON.stringify(wrong)}`,
    );
});
