/** Attacks by a member's uploads, and by wrong secrets: programs as media, places of others, playlists, and lock-outs. */
import { expect } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { requestBurstMax, uploadsPerClientMax } from "../../src/core/limits.ts";
import { attackTest, type Scene, startScene, urls } from "../helpers/attack-scene.ts";
import { visit } from "../helpers/namespaces.ts";
import { type Identity, isLine, type Line, startPeer, wordOf } from "../helpers/peer.ts";
import { noReaders, sleeper } from "../helpers/tapdeck.ts";

type Caller = Pick<Line, "call">;
interface Begun {
  readonly id?: string;
  readonly refused?: string;
  readonly refusal?: string;
  readonly limit?: string;
}

async function begin(line: Caller, ...files: readonly (readonly [string, string, number])[]) {
  const wanted = files.map(([system, path, size]) => ({ system, path, size }));
  const { result } = await line.call("uploads.start", { files: wanted });
  return (result as { readonly uploads: readonly Begun[] }).uploads;
}

/** Sends bytes with the client's own bearer token. */
async function put(scene: Scene, client: Identity, id: string, text: string, offset = 0) {
  const { status = 0, body = "" } = await visit(scene.device.network.onNeighbour, {
    url: `${urls.tls.replace("/api/v0.1", "/uploads")}/${id}?offset=${offset}`,
    method: "PUT",
    anyCertificate: true,
    headers: await scene.bearer(client),
    bytes: Buffer.from(text, "latin1").toString("base64"),
  });
  return [status, body.trim()] as const;
}

const sumOf = (text: string) => createHash("sha256").update(text, "latin1").digest("hex");

/** Sends a whole file, and returns its path or the reason of the refusal. */
async function send(
  { scene, client, line }: { readonly scene: Scene; readonly client: Identity; readonly line: Caller },
  [system, path]: readonly [string, string],
  text: string,
) {
  const [begun] = await begin(line, [system, path, text.length]);
  if (begun?.id === undefined) return `start: ${begun?.refused}`;
  expect(await put(scene, client, begun.id, text)).toEqual([200, `{"offset":${text.length}}`]);
  const { result, error } = await line.call("uploads.finish", { id: begun.id, sha256: sumOf(text) });
  return error === undefined ? (result as { path: string }).path : `finish: ${error.code} ${error.message}`;
}

// Launchers as an owner might write them: one runs its file directly, one runs it through wrappers, and one only reads it.
const launchers = `
[[launchers]]
id = "shell"
systems = ["PC"]
extensions = [".sh", ".txt", ".com"]
command = ["env", "A=1", "/bin/sh", "{path}"]
[[launchers]]
id = "hidden"
systems = ["Arcade"]
command = ["nice", "-n", "5", "/bin/sh", "-c", "exec /bin/sh \\"$1\\"", "sh", "{path}"]
[[launchers]]
id = "reader"
systems = ["SNES", "DOS", "Quake"]
command = ["/bin/sh", "-c", "sleep 600", "{path}"]
`;

attackTest(
  "a member sends a program as media, under its own name or another one, and launches it",
  async () => {
    await using scene = await startScene(`${noReaders}${launchers}`);
    const { place, service } = scene.device;
    const member = await scene.client("member");
    const mark = join(place.folder, "owned");
    const script = `#!/bin/sh\ntouch ${mark}\nsleep 600\n`;
    const plain = `touch ${mark}; sleep 600\n`;
    const line = await scene.sealed(member);
    const by = { scene, client: member, line };
    const sent = (system: string, path: string, text = script) => send(by, [system, path], text);
    // Refused by their names: scripts, files that no launcher takes, and all files that a launcher would run.
    expect(await sent("PC", "e.sh")).toContain(
      "start: .sh files are programs: only a caller on the device itself",
    );
    expect(await sent("Linux", "e.desktop", "[Desktop Entry]\n")).toContain(
      "start: .desktop files are programs",
    );
    expect(await sent("Lutro", "e.lua", plain)).toContain("start: .lua files are programs");
    expect(await sent("PC", "e.txt", plain)).toContain("start: the launcher shell runs the .txt files");
    expect(await sent("SNES", "e.txt", plain)).toContain("start: the launcher shell runs the .txt files");
    expect(await sent("Arcade", "e.zip", plain)).toContain("start: the launcher hidden runs the .zip files");
    expect(await sent("Genesis", "e.quux", plain)).toContain("start: no launcher plays .quux in");
    // Refused by their content, before the file becomes visible: programs with names of media.
    for (const [path, text] of [
      ["e.sfc", script],
      ["e.smc", "\x7fELF\x02\x01\x01"],
      ["e.fig", "[Desktop Entry]\nExec=id\n"],
      ["e.exe", script],
    ] as const) {
      const system = path === "e.exe" ? "DOS" : "SNES";
      expect([path, await sent(system, path, text)]).toEqual([
        path,
        expect.stringMatching(/^finish: 2 this file is /),
      ]);
      expect(existsSync(join(place.folder, "media", system, path))).toBe(false);
    }
    // Games pass, in the systems of the table and of a launcher.
    expect(await sent("SNES", "Game.sfc", "a game")).toBe("SNES/Game.sfc");
    expect(await sent("DOS", "Game.exe", "MZ, a game")).toBe("DOS/Game.exe");
    expect(await sent("Video", "Film.srt", "1\n")).toBe("Video/Film.srt");
    // A file of the owner cannot be moved to a system whose launcher would run it.
    await place.file("DOS/setup.com", plain);
    const moved = await line.call("media.move", { path: "DOS/setup.com", system: "PC" });
    expect(moved.error).toMatchObject({
      code: 2,
      message: expect.stringContaining("the launcher shell runs"),
    });
    // The uploaded file never starts in a launcher that would run it, whatever the card names.
    for (const words of ["launcher=shell", "launcher=hidden", "system=PC", "system=Arcade&launcher=hidden"])
      expect(await scene.launchOver(line, `**launch:SNES/Game.sfc?${words}`)).toBe("failed");
    expect(existsSync(mark)).toBe(false);
    // The owner may send programs.
    const files = [{ system: "PC", path: "own.sh", size: 0 }];
    const [own = { refused: "" }] = (await service.client.call("uploads.start", { files })).uploads;
    const id = "id" in own ? own.id : own.refused;
    expect(await service.client.call("uploads.finish", { id, sha256: sumOf("") })).toEqual({
      path: "PC/own.sh",
    });
  },
);

attackTest(
  "a member cancels, takes over or finishes the upload of another one, or takes all places",
  async () => {
    await using scene = await startScene(noReaders);
    const [anna, berta] = [await scene.client("member"), await scene.client("member")];
    const [hers, others] = [await scene.sealed(anna), await scene.sealed(berta)];
    const [begun] = await begin(hers, ["SNES", "Game.sfc", 4]);
    const id = begun?.id ?? "";
    expect(await put(scene, anna, id, "ga")).toEqual([200, '{"offset":2}']);
    const refused = { code: 2, message: expect.stringContaining("another client sends this file") };
    expect((await others.call("uploads.cancel", { id })).error).toMatchObject(refused);
    expect((await others.call("uploads.finish", { id, sha256: sumOf("game") })).error).toMatchObject(refused);
    expect((await put(scene, berta, id, "XX", 2))[0]).toBe(403);
    for (const size of [4, 5])
      expect(await begin(others, ["SNES", "Game.sfc", size])).toEqual([
        { refused: expect.stringContaining("another client sends this file"), refusal: "upload-of-other" },
      ]);
    expect((await others.call("uploads")).result).toMatchObject({ uploads: [] });
    // The client takes all its places, in calls that count as one disk write each.
    const many = Array.from({ length: uploadsPerClientMax }, (_, n) => ["SNES", `${n}.sfc`, 1] as const);
    const inAll = (await begin(others, ...many)).filter((one) => one.id !== undefined);
    expect(inAll).toHaveLength(uploadsPerClientMax);
    expect(await begin(others, ["SNES", "more.sfc", 1])).toEqual([
      { refused: expect.any(String), refusal: "upload-unfinished", limit: "uploadsPerClientMax" },
    ]);
    const { freeBytes } = await scene.device.service.client.call("uploads");
    expect(await begin(hers, ["Video", "Film.mkv", freeBytes])).toEqual([
      { refused: expect.any(String), refusal: "upload-no-room", limit: "uploadRoomPerClient" },
    ]);
    // The first client's upload continues, and the owner may cancel the others.
    expect(await put(scene, anna, id, "me", 2)).toEqual([200, '{"offset":4}']);
    const done = await hers.call("uploads.finish", { id, sha256: sumOf("game") });
    expect(done.result).toEqual({ path: "SNES/Game.sfc" });
    const { client } = scene.device.service;
    const { uploads } = await client.call("uploads");
    for (const left of uploads) await client.call("uploads.cancel", { id: left.id });
    expect((await client.call("uploads")).uploads).toEqual([]);
  },
);

// A list whose second item starts only if the script may know the last card.
const spying = (start: string) =>
  `**playlist.${start}:${JSON.stringify({
    name: "Words of a card",
    items: [
      { name: "A secret", zapscript: "SNES/1.sfc" },
      { name: "Another", zapscript: '**launch:SNES/2.sfc?when=[[last_scanned.id=="04aabb"]]' },
    ],
  })}`;

attackTest(
  "a stranger learns of the last card by the items of a playlist, or reads a list on a card",
  async () => {
    await using scene = await startScene(`${noReaders}${sleeper()}`);
    const { place, service } = scene.device;
    for (const name of ["1", "2"]) await place.file(`SNES/${name}.sfc`);
    const [stranger, member] = [await scene.stranger(), await scene.sealed(await scene.client("member"))];
    // The first call proves its secret.
    await member.call("version");
    const started = () => service.heard.all.filter(({ method }) => method === "media.started").length;
    /** Lays a card with this text on the reader. */
    const tap = async (text: string, end: object = { success: true }) => {
      await service.client.call("launch", { uid: "04aabb", text });
      expect(await service.heard.next("launch.finished", (one) => one.text === text)).toMatchObject(end);
    };
    // The list is a stranger's, and a card starts the next item, which starts nothing.
    expect(await scene.launchOver(stranger, spying("load"))).toBe("done");
    await tap("**playlist.next", { success: false, reason: "playlist-over" });
    expect(started()).toBe(0);
    // The list is a card's, and a stranger starts the next item, in both ways.
    await tap(spying("play"));
    expect(started()).toBe(1);
    expect((await stranger.call("media.control", { action: "next" })).error).toBeUndefined();
    expect(await scene.launchOver(stranger, "**playlist.goto:2")).toBe("done");
    expect(started()).toBe(1);
    // The names in a list on a card are shown only to callers with the right `change`.
    await tap(spying("open"));
    const shown = async (line: Caller) => JSON.stringify((await line.call("media")).result);
    await stranger.fence();
    for (const text of [await shown(stranger), ...stranger.texts]) {
      expect(text).not.toContain("Words of a card");
      expect(text).not.toContain("A secret");
    }
    expect((await stranger.call("media")).result).toMatchObject({
      playlists: [{ path: "", name: "", count: 2 }],
    });
    expect(await shown(member)).toContain("A secret");
    await member.fence();
    expect(member.heard()).toContain("playlist.opened");
  },
);

const wrongOnes = 12; // The number is above the free failures of an address.

attackTest("wrong bearer tokens of an address lock out the right one behind the same proxy", async () => {
  await using scene = await startScene(noReaders);
  await using proxy = startPeer(scene.device.network.onNeighbour);
  const member = await scene.client("member");
  const post = async (headers: Readonly<Record<string, string>>) => {
    const [answer = {}] = await proxy.post({ url: urls.tls, headers }, [{ method: "mappings" }]);
    return answer.status ?? wordOf(answer);
  };
  const wrong = { authorization: `Bearer ${member.id}:${"0".repeat(64)}` };
  const statuses: unknown[] = [];
  for (let n = 0; n < wrongOnes; n++) statuses.push(await post(wrong));
  expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
  // More requests than the address may send at once pass, because the client has a rate of its own.
  const right = await scene.bearer(member);
  for (let n = 0; n < requestBurstMax; n++) expect([n, await post(right)]).toEqual([n, "result"]);
  expect(await post(wrong)).toBe(429);
});

attackTest(
  "wrong secrets of an address, also for the id of a client there, lock that client out",
  async () => {
    await using scene = await startScene(noReaders);
    await using proxy = startPeer(scene.device.network.onNeighbour);
    const member = await scene.client("member");
    for (let n = 0; n < wrongOnes; n++) {
      const wrong = { id: n % 2 === 0 ? member.id : "nobody", secret: "0".repeat(64) };
      const line = await proxy.open({ url: urls.ws, client: wrong });
      if (isLine(line)) expect(wordOf(await line.call("version"))).not.toBe("result");
    }
    const line = await proxy.open({ url: urls.ws, client: member });
    expect(isLine(line) && wordOf(await line.call("mappings"))).toBe("result");
  },
);
