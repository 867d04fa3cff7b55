/**
 * A player that looks for the service's secrets where settings and variables name them: with the environment of the image, and on a
 * computer whose settings name files by full paths.
 */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { eventually } from "../helpers/processes.ts";
import { makeServedPlace, reported, shellLauncher } from "../helpers/served-place.ts";
import { makePlace, noReaders, program, readerConfig, startTapdeck } from "../helpers/tapdeck.ts";

/** Arguments: places, then the media file. Reports each success. Its destructive acts come last. */
const thief = `
for file; do :; done
exec 2>/dev/null
try() { what=$1; shift; if "$@" >/dev/null; then echo "$what"; fi; }
for place; do
  [ "$place" = "$file" ] && break
  try "read $place" cat "$place"
  try "list $place" ls "$place"/.
  try "write $place" sh -c ': >>"$0"' "$place"
  try "write into $place" sh -c ': >"$0/new"' "$place"
  try "replace $place" ln -sfT "$file" "$place"
  try "remove $place" rm -r "$place"
done >"$(dirname "$file")/found"
mv "$(dirname "$file")/found" "$(dirname "$file")/report"
`;

const words = ["staff_key", "metrics_key", "ca_file", "certificate_file", "key_file", "token_file"] as const;

/**
 * The report without the places that a player has listed. The names in a hidden folder are no secret, and Landlock does
 * not refuse a list of them.
 */
const beyondNames = (found: readonly string[]) => found.filter((line) => !line.startsWith("list "));

test("with the environment of the image a player reaches no secret of the fleet, no state of the service and no pipe", async () => {
  await using served = await makeServedPlace();
  const secrets = await Promise.all(
    words.map((word) => served.put(`run/tapdeck/${word}`, `${"5a".repeat(32)}\n`)),
  );
  const variables = words.map((word, at) => {
    const name = word.replace(/_key$/, "_key_file").toUpperCase();
    return [`TAPDECK_${name}`, secrets[at] ?? ""] as const;
  });
  const places = [
    ...secrets,
    ...["run/tapdeck", "run/tapdeck/tmp", "run/tapdeck/tmp/addon.node", "run/tapdeck/tapdeck.sock"].map(
      served.at,
    ),
    ...["run/faults", "data/state/watchdog", "run/tapdeck-machine", "run/tapdeck-machine/requests"].map(
      served.at,
    ),
    ...["data/tapdeck/update.bundle", "data/tapdeck/tapdeck.db", "data/config/tapdeck"].map(served.at),
  ];
  await served.put("run/tapdeck/tmp/addon.node", "a program that the service loads");
  await served.config(shellLauncher("thief", thief, ...places));
  const file = await served.place.file("thief/Game.thief");
  await using service = await served.start(Object.fromEntries(variables));
  expect(beyondNames(await reported(service, file))).toEqual([]);
  for (const path of secrets) expect(await readFile(path, "utf8")).toStartWith("5a5a");
  expect(await service.client.call("health")).toMatchObject({ status: "ok" });
});

test("the root script hears the service, and no player of it, also after the service began again for a restore", async () => {
  await using served = await makeServedPlace();
  const pipe = served.at("run/tapdeck-machine/requests");
  const ways = `for file; do :; done; exec 2>/dev/null; cd "$(dirname "$file")"
for way in "$1" /proc/$PPID/fd/0 /proc/self/fd/3 /proc/self/fd/4; do ( echo shutdown >"$way" ) && echo "$way"; done >found
ls -l /proc/self/fd | grep -o "/.*requests" >>found; mv found report`;
  await served.config(shellLauncher("asks", ways, pipe));
  const file = await served.place.file("asks/Game.asks");
  await using service = await served.start();
  expect(await reported(service, file)).toEqual([]);
  await service.client.call("device.restart");
  // If the player had written a word into the pipe, it would be the first one.
  expect(await served.word()).toBe("restart");
  const backup = served.at("backup.tapdeck");
  expect(await served.tapdeck("backup", backup)).toMatchObject({ error: "", code: 0 });
  expect(await served.tapdeck("restore", backup)).toMatchObject({ error: "", code: 0 });
  const begun = () => service.log().split("service: listening").length - 1;
  await eventually(() => expect(begun()).toBe(2));
  expect(await served.tapdeck("call", "device.shutdown")).toMatchObject({ error: "", code: 0 });
  expect(await served.word()).toBe("shutdown");
});

test("files that settings of a computer name are hidden with the links that lead to them, and stay what they are", async () => {
  await using place = await makePlace();
  const beside = `${place.folder}-keys`;
  const at = (name: string) => join(beside, name);
  await mkdir(join(beside, "real/deep"), { recursive: true });
  const names = ["password", "certificate.pem", "real/deep/key.pem", "ca.pem", "token"];
  for (const name of names) await writeFile(at(name), "a secret\n");
  await symlink(at("real"), at("current"));
  await symlink("current/deep/key.pem", at("key.pem"));
  const places = [...names, "key.pem", "current", "current/deep/key.pem", "absent.pem"].map(at);
  const settings = `[mqtt]
password_file = ${JSON.stringify(at("password"))}
certificate = ${JSON.stringify(at("certificate.pem"))}
key = ${JSON.stringify(at("key.pem"))}
ca = ${JSON.stringify(at("ca.pem"))}
[cards]
ca_file = ${JSON.stringify(at("absent.pem"))}
[fleet]
token_file = ${JSON.stringify(at("token"))}
`;
  await place.config(noReaders + settings + shellLauncher("thief", thief, ...places));
  const file = await place.file("thief/Game.thief");
  await using made = new AsyncDisposableStack();
  made.defer(async () => void (await Bun.$`rm -r ${beside}`));
  await using service = await startTapdeck(place);
  expect(beyondNames(await reported(service, file))).toEqual([]);
  for (const name of names) expect(await readFile(at(name), "utf8")).toBe("a secret\n");
});

test("a variable of the service that no list names hides its place, and a card that is a file is not written", async () => {
  await using place = await makePlace();
  const beside = `${place.folder}-beside`;
  const [later, card] = [join(beside, "later"), join(beside, "card")];
  await mkdir(beside);
  for (const path of [later, card]) await writeFile(path, "x\n");
  await using made = new AsyncDisposableStack();
  made.defer(async () => void (await Bun.$`rm -r ${beside}`));
  await place.config(
    `${noReaders}connect = ["file:${card}?"]\n${shellLauncher("thief", thief, later, card)}`,
  );
  const file = await place.file("thief/Game.thief");
  await using service = await startTapdeck(place, ["env", `TAPDECK_OF_A_LATER_VERSION=${later}`, program]);
  expect(beyondNames(await reported(service, file))).toEqual([`read ${card}`]);
});

test("a place that the settings name while the next player waits already is hidden from it", async () => {
  await using place = await makePlace();
  const beside = `${place.folder}-beside`;
  const [before, token] = [join(beside, "before"), join(beside, "token")];
  await mkdir(beside);
  for (const path of [before, token]) await writeFile(path, "a secret\n");
  await using made = new AsyncDisposableStack();
  made.defer(async () => void (await Bun.$`rm -r ${beside}`));
  const config = (feedback: boolean, path: string) =>
    place.config(
      `${noReaders}[audio]\nfeedback = ${feedback}\n[fleet]\ntoken_file = ${JSON.stringify(path)}\n${shellLauncher("thief", thief, token)}`,
    );
  await config(true, before);
  const file = await place.file("thief/Game.thief");
  await using service = await startTapdeck(place);
  const { client } = service;
  // The spare process for this player was made before the places changed.
  expect(await reported(service, file)).toContain(`read ${token}`);
  await writeFile(token, "a secret\n");
  await config(false, token);
  await eventually(async () => expect((await client.call("settings")).audioFeedback).toBe(false));
  expect(beyondNames(await reported(service, file))).toEqual([]);
});

test("the player of sounds, which loads the user's settings, reaches no secret, and plays", async () => {
  await using place = await makePlace(noReaders);
  const bin = join(place.folder, ".bin");
  await mkdir(bin);
  const secret = join(place.folder, "tapdeck.db");
  const script = `#!/bin/sh\n[ "$1" = --quiet ] && { /bin/cat "$2" "${secret}" 2>/dev/null | /usr/bin/head -c 4; /bin/cat "${secret}" 2>/dev/null | /usr/bin/head -c 6; true >>"$2" && echo written; } >>"${bin}/said" 2>/dev/null\nexit 0\n`;
  await writeFile(join(bin, "aplay"), script, { mode: 0o755 });
  await using service = await startTapdeck(place, ["/usr/bin/env", `PATH=${bin}`, program]);
  // The player of sounds reports the first bytes of its sound file and of the database, if it can read them.
  await eventually(async () =>
    expect(await readFile(join(bin, "said"), "utf8").catch(() => "")).toStartWith("RIFF"),
  );
  await service.client.call("tokens.scan", { text: "**echo:hello" });
  await eventually(async () => expect(await readFile(join(bin, "said"), "utf8")).toMatch(/RIFF.*RIFF/s));
  expect(await readFile(join(bin, "said"), "utf8")).toBe("RIFFRIFF");
});

test("players of a run folder that is the service's alone get one in it for their temporary files", async () => {
  await using served = await makeServedPlace();
  const script =
    'for file; do :; done; made=$(mktemp) && echo x >"$made" && echo "$TMPDIR $XDG_RUNTIME_DIR $(dirname "$made")" >"$(dirname "$file")/report"';
  await served.config(shellLauncher("temporary", script));
  const file = await served.place.file("temporary/Game.temporary");
  await using service = await served.start();
  const folder = served.at("run/tapdeck/players");
  expect(await reported(service, file)).toEqual([`${folder} ${folder} ${folder}`]);
});

/** Arguments: the service's folder for addons, then the media file. Reports each addon that can be read or changed. */
const patcher = `
for file; do :; done
for addon in "\${TMPDIR:-/tmp}"/.bun-* "$1"/*.node; do
  [ -e "$addon" ] || continue
  for way in "<" ">>"; do ( eval ": $way\\"\\$addon\\"" ) 2>/dev/null && echo "$way $addon"; done
done >"$(dirname "$file")/found"
mv "$(dirname "$file")/found" "$(dirname "$file")/report"
`;

test("a player changes no native addon that the service has mapped, and none of an earlier start is left", async () => {
  await using place = await makePlace();
  const folder = await realpath(await mkdtemp("/var/tmp/tapdeck-temporary-"));
  await using made = new AsyncDisposableStack();
  made.defer(() => rm(folder, { recursive: true, force: true }));
  const own = join(place.folder, "addons");
  await mkdir(own);
  await writeFile(join(own, "node-napi-v4-1.node"), "of an earlier start");
  await place.config(readerConfig("toypad:/dev/null") + shellLauncher("patch", patcher, own));
  const file = await place.file("patch/Game.patch");
  await using service = await startTapdeck(place, ["env", `TMPDIR=${folder}`, program]);
  await eventually(async () =>
    expect(JSON.stringify(await service.client.call("health"))).toContain("it is no HID device"),
  );
  expect(await reported(service, file)).toEqual([]);
  const mapped = (await readFile(`/proc/${service.pid}/maps`, "utf8")).match(/\S*\.node/)?.[0] ?? "";
  expect(dirname(mapped)).toBe(await realpath(own));
  expect(await readdir(own)).toEqual([basename(mapped)]);
});

test("a player gets no address of the session bus, which starts programs without confinement", async () => {
  await using place = await makePlace();
  const script = 'for file; do :; done; env | grep ^DBUS_ >"$(dirname "$file")/report"; exit 0';
  await place.config(noReaders + shellLauncher("bus", script));
  const file = await place.file("bus/Game.bus");
  const address = "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus";
  await using service = await startTapdeck(place, ["env", address, program]);
  expect(await reported(service, file)).toEqual([]);
});
