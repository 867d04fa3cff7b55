/** Players of the compiled program that try to reach its secrets, and the normal work of players, which still succeeds. */
import { expect, test } from "bun:test";
import { copyFile, link, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { makeNesGame } from "../helpers/nes-games.ts";
import { eventually } from "../helpers/processes.ts";
import { makePlace, noReaders, type Place, program, type Running, startTapdeck } from "../helpers/tapdeck.ts";

/**
 * Arguments: the data folder, the media file. The file `report` beside the media file has the results, a line each; its parent
 * is the service.
 */
const thief = `
data=$1 file=$2 media=$(dirname "$2") service=$PPID
try() { what=$1; shift; if "$@" >"$media/out" 2>&1; then echo "$what: yes"; else echo "$what: no"; fi >>"$media/found"; }
for secret in $(find "$data" -path "$data/media" -prune -o -path "$data/.*" -prune -o -type f -print); do
  name=\${secret#"$data"/}
  try "read $name" cat "$secret"
  try "read $name by root" cat "/proc/self/root$secret"
  try "read $name from its folder" sh -c 'cd "$(dirname "$0")" && cat "./$(basename "$0")"' "$secret"
  ln -s "$secret" "$media/link"
  try "read $name by a link" cat "$media/link"
  rm "$media/link"
  try "link $name" ln "$secret" "$media/hard"
  try "rename $name out" mv "$secret" "$media/moved"
  try "rename $name" mv "$secret" "$secret.txt"
  try "replace $name" cp "$file" "$secret"
  try "append to $name" sh -c 'echo x >>"$0"' "$secret"
  try "truncate $name" truncate --size=0 "$secret"
  try "remove $name" rm "$secret"
done
for folder in tls mappings; do
  try "rename $folder out" mv "$data/$folder" "$media/moved"
  try "rename $folder" mv "$data/$folder" "$data/.$folder"
  try "make a file in $folder" sh -c ': >"$0/new"' "$data/$folder"
done
try "make a file beside them" sh -c ': >"$0/new"' "$data"
for part in environ mem maps; do try "read $part of the service" head -c 1 "/proc/$service/$part"; done
for part in root/ cwd/ fd/0 exe; do try "look at $part of the service" ls -L "/proc/$service/$part"; done
try "read the media" cat "$file"
try "save beside the media" sh -c 'echo 1 >"$0/save" && cat "$0/save"' "$media"
try "save in a folder of its own" sh -c 'mkdir -p "$HOME/.config/game/saves" && echo 1 >"$HOME/.config/game/saves/1" && cat "$HOME/.config/game/saves/1"'
try "save over a rename" sh -c 'echo 1 >"$0/new" && mkdir -p "$0/states" && mv "$0/new" "$0/states/1"' "$media"
try "use the temporary folder" sh -c 'set -e; made=$(mktemp -d "\${TMPDIR:-/tmp}/game-XXXXXX"); echo 1 >"$made/1"; cat "$made/1"; rm -r "$made"'
try "use devices" sh -c 'head -c 1 /dev/urandom >/dev/null'
try "be its own group" sh -c 'test "$(ps -o pgid= -p "$0" | tr -d " ")" = "$0"' "$$"
try "gain no rights" grep -q "NoNewPrivs:.*1" /proc/self/status
mv "$media/found" "$media/report"
`;

const launcher = (id: string, command: readonly string[], more = "") =>
  `\n[[launchers]]\nid = "${id}"\nextensions = [".${id}"]\ncommand = ${JSON.stringify(command)}\n${more}`;

async function makeThievesPlace(): Promise<Place> {
  const place = await makePlace(noReaders);
  const script = await place.file("thief.sh", thief);
  await place.file("Game.thief");
  await mkdir(join(place.folder, "mappings"), { recursive: true });
  await mkdir(join(place.folder, "tls"));
  for (const name of ["tls/device-key.pem", "audit.jsonl"])
    await writeFile(join(place.folder, name), "a secret");
  await writeFile(join(place.folder, "mappings/mine.toml"), "");
  await place.config(`${noReaders}${launcher("thief", ["/bin/sh", script, place.folder, "{path}"])}`);
  return place;
}

/**
 * Starts the service with the data folder as the home of the players, as systemd and the image have it. The temporary
 * folder of the player is not the one with the data folder of a test, in which nothing new can be made.
 */
const start = (place: Place, binary = program) =>
  startTapdeck(place, [
    ...["env", "-u", "XDG_CONFIG_HOME", "-u", "XDG_DATA_HOME"],
    ...[`HOME=${place.folder}`, "TMPDIR=/var/tmp", binary],
  ]);

/** Returns the report of the player that tries to reach the secrets. */
async function found(place: Place, { client, heard }: Running): Promise<Readonly<Record<string, boolean>>> {
  await client.call("clients.new", { name: "a phone" });
  await client.call("launch", "Game.thief");
  expect((await heard.next("media.stopped")).exitCode).toBe(0);
  const lines = (await readFile(join(place.folder, "media/report"), "utf8")).trim().split("\n");
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(":")), line.endsWith(": yes")]),
  );
}

const namesOf = (all: Readonly<Record<string, boolean>>, could: boolean) =>
  Object.keys(all).filter((name) => all[name] === could);

const allowed = [
  "read the media",
  "save beside the media",
  "save in a folder of its own",
  "save over a rename",
  "use the temporary folder",
  "use devices",
  "be its own group",
  "gain no rights",
];

test("a player reads and changes nothing of the service, and plays and saves as ever", async () => {
  await using place = await makeThievesPlace();
  await using service = await start(place);
  const all = await found(place, service);
  // A confined player can read the sounds, because the player of sounds is confined and reads them.
  const isSound = (name: string) => /^read tapdeck-sounds\//.test(name);
  expect(namesOf(all, true).filter((name) => !isSound(name))).toEqual(allowed);
  const refused = namesOf(all, false);
  for (const name of ["tapdeck.db", "config.toml", "tls/device-key.pem", "audit.jsonl"])
    expect(refused).toContain(`read ${name}`);
  expect(refused).toContain("read mappings/mine.toml");
  expect(refused).toContain("read environ of the service");
  expect(await service.client.call("health")).toMatchObject({ status: "ok" });
});

test("a leftover of a settings change is hidden, although its name begins with a dot", async () => {
  await using place = await makeThievesPlace();
  const script = 'cat "$0/.config.toml.7.new" >"$(dirname "$1")/left" 2>&1; exit 0';
  await place.config(`${noReaders}${launcher("thief", ["/bin/sh", "-c", script, place.folder, "{path}"])}`);
  await using service = await start(place);
  // The start has removed such a file, so it is made again here.
  await writeFile(join(place.folder, ".config.toml.7.new"), "a secret");
  await service.client.call("launch", "Game.thief");
  await service.heard.next("media.stopped");
  expect(await readFile(join(place.folder, "media/left"), "utf8")).toContain("Permission denied");
});

test("without the helper, players start all the same, and health says what to do", async () => {
  await using place = await makeThievesPlace();
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-alone-"));
  const alone = join(folder, "tapdeck");
  await link(program, alone).catch(() => copyFile(program, alone));
  try {
    await using service = await start(place, alone);
    const all = await found(place, service);
    expect(namesOf(all, true)).toContain("read tls/device-key.pem");
    const { status, checks } = await service.client.call("health");
    expect(status).toBe("degraded");
    const why = `${folder}/tapdeck-confine is missing: install it again`;
    expect(checks.find(({ name }) => name === "players")).toEqual({
      name: "players",
      ok: false,
      reason: `players are not confined and could read this service's secrets: ${why}`,
      faults: [{ code: "players-unconfined", of: "system", why }],
    });
    await eventually(() => expect(service.log()).toContain("players are not confined"));
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a helper that this kernel refuses is reported with its own words", async () => {
  await using place = await makeThievesPlace();
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-refused-"));
  const alone = join(folder, "tapdeck");
  await link(program, alone).catch(() => copyFile(program, alone));
  const refusing = '#!/bin/sh\necho "tapdeck-confine: Landlock: Operation not supported" >&2\nexit 126\n';
  await writeFile(join(folder, "tapdeck-confine"), refusing, { mode: 0o755 });
  try {
    await using service = await start(place, alone);
    const { checks } = await service.client.call("health");
    expect(checks.find(({ name }) => name === "players")?.reason).toBe(
      'players are not confined and could read this service\'s secrets: tapdeck-confine: Landlock: Operation not supported: a kernel with Landlock is needed, and "landlock" in its lsm= list',
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a settings folder of its own is hidden with all that is in it, and what stands beside it is not", async () => {
  await using place = await makeThievesPlace();
  const home = await mkdtemp(join(tmpdir(), "tapdeck-home-"));
  try {
    const [settings, game] = [join(home, "set/tapdeck"), join(home, "set/game")];
    for (const folder of [settings, game]) await mkdir(folder, { recursive: true });
    const report = join(place.folder, "media/report");
    const script = `for file in "$0/tapdeck/config.toml" "$0/tapdeck/other" "$0/game/mine"; do cat "$file" || echo none; done >"$1" 2>&1; echo 2 >"$0/game/mine"`;
    const text = await readFile(join(place.folder, "config.toml"), "utf8");
    await writeFile(
      join(settings, "config.toml"),
      text.slice(0, text.indexOf("[[")) +
        `[systems]\nroot_folders = [${JSON.stringify(join(place.folder, "media"))}]\n` +
        launcher("thief", ["/bin/sh", "-c", script, dirname(settings), report, "{path}"]),
    );
    await writeFile(join(settings, "other"), "a secret");
    await writeFile(join(game, "mine"), "1\n");
    const variables = [`XDG_CONFIG_HOME=${dirname(settings)}`, `XDG_DATA_HOME=${home}/share`, `HOME=${home}`];
    const apart = { ...place, folder: join(home, "share/tapdeck") };
    await using service = await startTapdeck(apart, [
      ...["env", ...variables, "XDG_RUNTIME_DIR="],
      ...["/bin/sh", "-c", 'exec "$0"', program],
    ]);
    await service.client.call("launch", join(place.folder, "media/Game.thief"));
    expect(await service.heard.next("media.stopped")).toMatchObject({ exitCode: 0 });
    const said = (await readFile(report, "utf8")).split("\n");
    expect(said.filter((line) => !line.includes("Permission denied"))).toEqual(["none", "none", "1", ""]);
    expect(await readFile(join(game, "mine"), "utf8")).toBe("2\n");
  } finally {
    await rm(home, { recursive: true });
  }
});

test("a player that its owner has not confined reads what the service's user may read, and no other does", async () => {
  await using place = await makePlace(noReaders);
  const secret = join(place.folder, "config.toml");
  const reads = (to: string) => ["/bin/sh", "-c", `cat "$0" >"$1/${to}" || :`, secret, "{folder}", "{path}"];
  const media = join(place.folder, "media");
  const launcherOf = (id: string, more: string) =>
    `[[launchers]]\nid = "${id}"\nextensions = [".${id}"]\ncommand = ${JSON.stringify(reads(id).map((word) => word.replace("{folder}", media)))}\n${more}`;
  await place.config(noReaders + launcherOf("free", "confined = false\n") + launcherOf("held", ""));
  await using service = await startTapdeck(place);
  for (const id of ["free", "held"]) {
    await service.client.call("launch", await place.file(`Game.${id}`));
    await service.heard.next("media.stopped");
  }
  expect(await readFile(join(media, "free"), "utf8")).toContain("confined = false");
  expect(await readFile(join(media, "held"), "utf8")).toBe("");
});

test("mpv and RetroArch have no network, and other players have", async () => {
  await using place = await makePlace(noReaders);
  using listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const script = await place.file(
    "caller.ts",
    `
const port = ${listener.port};
const could = async (act) => { try { await act(); return true; } catch { return false; } };
const tcp = await could(() => Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }));
const udp = await could(() => Bun.udpSocket({ hostname: "127.0.0.1" }));
const listen = await could(async () => Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } }));
const unix = await could(async () => Bun.listen({ unix: process.argv.at(-1) + ".socket", socket: { data() {} } }));
await Bun.write(process.argv.at(-1) + ".report", JSON.stringify({ tcp, udp, listen, unix }));
process.exit(0);
`,
  );
  const command = [process.execPath, script, "{path}"];
  const cores = 'core = "/bin/true"\n';
  await place.config(
    noReaders +
      launcher("process", command) +
      launcher("mpv", command, 'kind = "mpv"\n') +
      launcher("retroarch", command, `kind = "retroarch"\n${cores}`),
  );
  await using service = await start(place);
  const reports: Record<string, unknown> = {};
  for (const kind of ["process", "mpv", "retroarch"]) {
    const path = await place.file(`Game.${kind}`);
    await service.client.call("launch", path);
    await service.heard.next("media.stopped");
    reports[kind] = JSON.parse(await readFile(`${path}.report`, "utf8"));
  }
  const offline = { tcp: false, udp: false, listen: false, unix: true };
  expect(reports).toEqual({
    process: { tcp: true, udp: true, listen: true, unix: true },
    mpv: offline,
    retroarch: offline,
  });
});

test("a real RetroArch plays, answers and saves where it always did", async () => {
  await using place = await makePlace(noReaders);
  const drivers = ["video", "audio", "input", "joypad", "menu"].map((kind) => `${kind}_driver = "null"\n`);
  const settings = await place.file("retroarch.cfg", `${drivers.join("")}video_vsync = "false"\n`);
  await Bun.write(await place.file("NES/Game.nes"), makeNesGame());
  await place.config(
    `${noReaders}[[launchers]]\nid = "games"\nsystems = ["NES"]\nkind = "retroarch"\ncommand = ["retroarch", "--config=${settings}", "{path}"]\n`,
  );
  await using service = await start(place);
  const { client, heard } = service;
  await client.call("launch", "NES/Game.nes");
  await heard.next("media.started");
  await eventually(async () => expect((await client.call("media.active"))?.playbackState).toBe("playing"));
  await client.call("stop");
  expect(await heard.next("media.stopped")).toMatchObject({ reason: "stopped", exitCode: 0 });
  // RetroArch keeps the options of a core in a folder that it makes.
  const kept = join(place.folder, ".config/retroarch/config/Nestopia/Nestopia.opt");
  expect(await Bun.file(kept).exists()).toBe(true);
});

test("a program of **execute reads media and no secrets", async () => {
  await using place = await makeThievesPlace();
  await place.config(`${noReaders}[script]\nallow_execute = ["/bin/cat .*"]\n`);
  await using service = await start(place);
  const ran = async (path: string) => {
    await service.client.call("launch", `**execute:"/bin/cat ${path}"`);
    return service.heard.next("launch.finished");
  };
  expect(await ran(join(place.folder, "media/Game.thief"))).toMatchObject({ success: true });
  const refused = await ran(join(place.folder, "tapdeck.db"));
  expect(refused).toMatchObject({ success: false });
  expect(refused.error).toContain("Permission denied");
});

test("a program that cannot be started is reported as well as without the helper", async () => {
  await using place = await makePlace(noReaders);
  const plain = await place.file("plain", "no program");
  const foreign = await place.file("foreign", "no program");
  await Bun.spawn(["chmod", "755", foreign]).exited;
  await place.config(
    noReaders +
      launcher("missing", ["/no/such/player", "{path}"]) +
      launcher("named", ["no-such-player-here", "{path}"]) +
      launcher("closed", [plain, "{path}"]) +
      launcher("foreign", [foreign, "{path}"]),
  );
  await using service = await start(place);
  const errors: Record<string, string | undefined> = {};
  for (const id of ["missing", "named", "closed", "foreign"]) {
    await service.client.call("launch", await place.file(`Game.${id}`));
    errors[id] = (await service.heard.next("launch.finished")).error;
  }
  expect(errors.missing).toMatch(/\/no\/such\/player could not be started: there is no such program$/);
  expect(errors.named).toMatch(/no-such-player-here could not be started: there is no such program$/);
  expect(errors.closed).toMatch(/could not be started: it is not a program that this user may run$/);
  expect(errors.foreign).toMatch(/it is not a program for this machine$/);
});
