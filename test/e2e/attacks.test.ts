/**
 * Attacks on files, commands and devices of the machine: by settings, by launched paths, and by another user of the
 * machine. Each attack continues until the service stops it. Then the test looks for its effect.
 */
import { expect } from "bun:test";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { asOtherUser, attackTest, type Scene, startScene, urls } from "../helpers/attack-scene.ts";
import { port, tlsPort } from "../helpers/device.ts";
import { isLine, type Line, startPeer, wordOf } from "../helpers/peer.ts";
import { eventually } from "../helpers/processes.ts";
import { noReaders, sleeper } from "../helpers/tapdeck.ts";

const forbidden = expect.stringMatching(/^error 2\b/);
const environmentSecret = "a-secret-of-the-environment";
const withSecret = ["env", `OWNER_SECRET=${environmentSecret}`];

/** A launcher that runs its argument as a shell script. */
const shell = `
[[launchers]]
id = "sh"
extensions = [".sh"]
command = ["/bin/sh", "{path}"]
`;

const configOf = ({ device }: Scene) => readFile(join(device.place.folder, "config.toml"), "utf8");

/** The files that an attacker wants, and a part of each that proves a read. */
async function wantedFiles({ device }: Scene) {
  const { folder } = device.place;
  const deviceKey = join(folder, "tls/device-key.pem");
  const sshKey = join(folder, "id_ed25519");
  const sshText = "c3NoLWtleS1vZi10aGUtb3duZXI=";
  await writeFile(
    sshKey,
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${sshText}\n-----END OPENSSH PRIVATE KEY-----\n`,
  );
  const keyText = (await readFile(deviceKey, "utf8")).split("\n")[1] ?? "no key";
  return {
    [deviceKey]: keyText,
    "/proc/self/environ": environmentSecret,
    [sshKey]: sshText,
  };
}

/** Opens a reader on the file over this connection, and reads the card there. */
async function readAsCard(line: Pick<Line, "call">, path: string): Promise<string> {
  const word = wordOf(await line.call("settings.update", { readers: [`file:${path}`] }));
  if (word !== "result") return word;
  await eventually(async () => expect(JSON.stringify(await line.call("tokens"))).toMatch(/"last":\{/));
  return word;
}

for (const [who, comesIn] of [
  ["a stranger over wss", (scene: Scene) => scene.stranger()],
  ["a stranger by POST", async (scene: Scene) => scene.posting()],
  ["a paired member", async (scene: Scene) => scene.sealed(await scene.client("member"))],
  ["a paired member by POST", async (scene: Scene) => scene.posting(await scene.client("member"))],
] as const) {
  attackTest(`${who} reads private files by naming them as readers`, async () => {
    await using scene = await startScene(noReaders, withSecret);
    const files = await wantedFiles(scene);
    const before = await configOf(scene);
    const line = await comesIn(scene);
    const words: string[] = [];
    for (const path of Object.keys(files)) words.push(await readAsCard(line, path));
    const tokens = wordOf(await line.call("tokens"));
    await line.fence();
    const heard = line.texts.join("\n");
    expect({
      told: Object.entries(files).flatMap(([path, secret]) => (heard.includes(secret) ? [path] : [])),
      words,
      tokens,
      configIsSame: (await configOf(scene)) === before,
    }).toEqual({
      told: [],
      words: [forbidden, forbidden, forbidden],
      tokens: who.startsWith("a stranger") ? forbidden : "result",
      configIsSame: true,
    });
  });
}

attackTest("a member's bearer token writes settings that are for the device itself", async () => {
  await using scene = await startScene(noReaders);
  const before = await configOf(scene);
  const member = await scene.client("member");
  const settings = [
    { readers: ["file:/etc/shadow"] },
    { reader: ["file:/etc/shadow"] },
    { systems: { rootFolder: ["/"] } },
    { systems: { rootFolders: ["/"] } },
    { consoleLogging: false },
    { debug: true },
    // One such setting is enough for a refusal, whatever else the request changes.
    { audioFeedback: false, debug: true },
  ];
  const calls = settings.map((params) => ({ method: "settings.update", params }));
  const words = (await scene.postAs(member, calls)).map(wordOf);
  expect(words).toEqual(settings.map(() => forbidden));
  expect(await configOf(scene)).toBe(before);
  // A member may change all settings except those of the device itself, and may read all.
  const more = [{ method: "settings.update", params: { audioFeedback: false } }, { method: "settings" }];
  expect((await scene.postAs(member, more)).map(wordOf)).toEqual(["result", "result"]);
  expect((await scene.device.service.client.call("settings")).audioFeedback).toBe(false);
});

for (const [who, comesIn, blocklistWord] of [
  ["a stranger", (scene: Scene) => scene.stranger(), forbidden],
  ["a paired member", async (scene: Scene) => scene.sealed(await scene.client("member")), "error -32602"],
] as const) {
  attackTest(`${who} runs commands that settings.update has written into the config file`, async () => {
    await using scene = await startScene(`${noReaders}${shell}`);
    const { folder } = scene.device.place;
    const marker = join(folder, "ran");
    const line = await comesIn(scene);
    const roots = wordOf(await line.call("settings.update", { systems: { rootFolder: ["/"] } }));
    const change = { insertModeBlocklist: [`$(touch ${marker})`] };
    const blocklist = wordOf(await line.call("settings.update", change));
    const launches: string[] = [];
    for (const text of [`${folder}/config.toml?launcher=sh`, `**launch:${folder}/config.toml?launcher=sh`])
      launches.push(await scene.launchOver(line, text));
    expect({ ran: await Bun.file(marker).exists(), roots, blocklist, launches }).toEqual({
      ran: false,
      roots: forbidden,
      blocklist: blocklistWord,
      launches: ["failed", "failed"],
    });
  });
}

/** The ways to spell a file's path. Each makes the files that it needs below the media folder. */
const spellings: Readonly<Record<string, (folder: string, file: string) => Promise<string> | string>> = {
  "its own name": (folder, file) => `${folder}/${file}`,
  "dots behind a media folder": (folder, file) => `${folder}/media/SNES/../../${file}`,
  "dots behind a system": (_, file) => `SNES/../../${file}`,
  "doubled slashes": (folder, file) => `/${folder}//${file}`,
  "the root of a process": (folder, file) => `/proc/self/root${folder}/${file}`,
  "the root of the first process": (folder, file) => `/proc/1/root${folder}/${file}`,
  "a link to the file": async (folder, file) => {
    await symlink(`${folder}/${file}`, `${folder}/media/SNES/link-to-${file}.sh`);
    return `SNES/link-to-${file}.sh`;
  },
  "a link to the folder": async (folder, file) => {
    await symlink(folder, `${folder}/media/SNES/folder-of-${file}`);
    return `SNES/folder-of-${file}/${file}`;
  },
  "an item of a playlist": async (folder, file) => {
    await writeFile(`${folder}/media/SNES/list-${file}.m3u`, `${folder}/${file}\n`);
    return `SNES/list-${file}.m3u`;
  },
  "an item of a playlist, by dots": async (folder, file) => {
    await writeFile(`${folder}/media/SNES/dots-${file}.m3u`, `../../${file}\n`);
    return `SNES/dots-${file}.m3u`;
  },
};

attackTest(
  "a card on the device starts a file of the data folder, by one of its many spellings",
  async () => {
    await using scene = await startScene("");
    const { device } = scene;
    const { folder } = device.place;
    await device.place.file("SNES/Game.sfc");
    const toml = (marker: string) =>
      `${noReaders}[systems]\nroot_folders = ["${folder}/media", "/"]\n${shell}${sleeper(".sfc")}
[[launchers]]
id = "never"
extensions = [".never"]
command = ["$(touch ${marker})", "{path}"]
`;
    await device.stop();
    await device.config(toml(join(folder, "ran-config.toml")));
    await writeFile(join(folder, "planted.sh"), `touch ${folder}/ran-planted.sh\n`);
    await device.start();
    const started: string[] = [];
    for (const [spelling, make] of Object.entries(spellings))
      for (const file of ["config.toml", "planted.sh"]) {
        const path = await make(folder, file);
        const marker = Bun.file(join(folder, `ran-${file}`));
        for (const text of [`${path}?launcher=sh`, `**playlist.play:${path}?launcher=sh`]) {
          await scene.launch(text);
          if (await marker.exists()) started.push(`${spelling}, ${file}: ${text.slice(0, 10)}`);
          await marker.delete().catch(() => "it is not there");
        }
      }
    // The items of a playlist are over before the last check.
    await device.service.client.call("stop");
    await eventually(async () => expect(await device.service.client.call("media.active")).toBeNull());
    for (const file of ["config.toml", "planted.sh"])
      if (await Bun.file(join(folder, `ran-${file}`)).exists()) started.push(`one of them, later: ${file}`);
    expect(started).toEqual([]);
    // The media folder is in the data folder, and files in it are started.
    await device.place.file("SNES/own.sh", "sleep 600");
    await device.service.client.call("launch", "SNES/own.sh");
    await device.service.heard.next("media.started", ({ mediaName }) => mediaName === "own");
  },
);

attackTest(
  "another user of the device reads /etc/shadow through a service that runs as root, and launches",
  async () => {
    await using scene = await startScene(`${noReaders}${sleeper(".sfc")}`);
    const { device } = scene;
    await device.place.file("SNES/Game.sfc");
    const before = await configOf(scene);
    await using user = startPeer((command) => device.network.onDevice(asOtherUser(command)));
    const doors = [
      `ws://127.0.0.1:${port}/api`,
      `ws://[::1]:${port}/api`,
      `wss://127.0.0.1:${tlsPort}/api`,
      urls.ws,
      urls.wss,
    ];
    const shadow = (await readFile("/etc/shadow", "utf8")).split("\n")[0] ?? "no user";
    const words: Record<string, readonly string[]> = {};
    for (const url of doors) {
      const line = await user.open({ url });
      if (!isLine(line)) {
        words[url] = [wordOf(line)];
        continue;
      }
      const read = await readAsCard(line, "/etc/shadow");
      const others = await line.callAll([
        { method: "tokens" },
        { method: "launch", params: "SNES/Game.sfc" },
        { method: "stop" },
        { method: "clients" },
        { method: "version" },
        { method: "media.search", params: { query: "Game" } },
      ]);
      await line.fence();
      const told = line.texts.join("\n").includes(shadow) ? "told" : "not told";
      words[url] = [told, read, ...others.map(wordOf)];
      line.close();
    }
    const expected = ["not told", forbidden, forbidden, forbidden, forbidden, forbidden, "result", "result"];
    expect(words).toEqual(Object.fromEntries(doors.map((url) => [url, expected])));
    expect(await configOf(scene)).toBe(before);

    // The owner may allow it.
    await device.stop();
    await device.config(`[api]\nallow_anonymous_local = true\n${noReaders}${sleeper(".sfc")}`);
    await device.start();
    for (const url of doors) {
      const line = await user.open({ url });
      if (!isLine(line)) throw new Error(`${url}: ${wordOf(line)}`);
      const all = await line.callAll([
        { method: "settings.update", params: { debug: false } },
        { method: "clients" },
      ]);
      expect([url, ...all.map(wordOf)]).toEqual([url, "result", "result"]);
      line.close();
    }
  },
);

attackTest("a launcher is made to open a file that it does not take, by ?launcher=", async () => {
  await using scene = await startScene(`${noReaders}${shell}${sleeper(".sfc")}`);
  const { place } = scene.device;
  const marker = join(place.folder, "ran");
  await place.file("SNES/Game.sfc", `touch ${marker}\n`);
  const text = "**launch:SNES/Game.sfc?launcher=sh";
  // Another launcher that takes the file may start it.
  await scene.launchOver(await scene.stranger(), text);
  await scene.launchOver(await scene.sealed(await scene.client("member")), text);
  await scene.launch(text);
  expect(await Bun.file(marker).exists()).toBe(false);
});

attackTest("the owner's keyboard is grabbed from afar by naming it as a reader", async () => {
  await using scene = await startScene(noReaders);
  const before = await configOf(scene);
  const member = await scene.client("member");
  const grab = { readers: ["hid-keyboard:/dev/input/event0"] };
  const words: string[] = [];
  for (const line of [await scene.stranger(), await scene.sealed(member)])
    words.push(wordOf(await line.call("settings.update", grab)));
  const [posted = {}] = await scene.postAs(member, [{ method: "settings.update", params: grab }]);
  words.push(wordOf(posted));
  const { readers } = await scene.device.service.client.call("readers");
  expect({ words, readers, configIsSame: (await configOf(scene)) === before }).toEqual({
    words: [forbidden, forbidden, forbidden],
    readers: [],
    configIsSame: true,
  });
});
