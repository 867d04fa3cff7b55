/** Web radio and podcasts, with a real mpv: it gets the bytes of listed hosts from the service, and opens no connection. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepPlays } from "../../src/services/library.ts";
import { attackTest, startScene } from "../helpers/attack-scene.ts";
import { startChromium } from "../helpers/chromium.ts";
import { defaultConfig } from "../helpers/defaults.ts";
import { type DeckOptions, makeDeck } from "../helpers/launch-harness.ts";
import { look, openPage, region } from "../helpers/page-visit.ts";
import { eventually, run } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const players = () => [
  {
    id: "mpv",
    systems: [],
    extensions: [],
    kind: "mpv" as const,
    command: ["mpv", "--no-terminal", "--ao=null", "--vo=null", "--", "{path}"],
  },
];

let sound: Buffer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-streams-"));
  const path = join(folder, "tone.mp3");
  const { code } = await run([
    "mpv",
    "--no-config",
    "--no-terminal",
    "av://lavfi:sine=duration=5",
    `--o=${path}`,
  ]);
  expect(code).toBe(0);
  sound = await readFile(path);
});
afterAll(() => rm(folder, { recursive: true }));

const interval = 4000;
const station = `ICY 200 OK\r\nicy-name: Radio Éins\r\ncontent-type: audio/mpeg\r\nicy-metaint: ${interval}\r\n\r\n`;
const podcast = "HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n";

function metadata(title: string): Buffer {
  const said = Buffer.from(`StreamTitle='${title}';StreamUrl='';`);
  const blocks = Math.ceil(said.length / 16);
  return Buffer.concat([Buffer.of(blocks), said, Buffer.alloc(blocks * 16 - said.length)]);
}

/** Plays until the listener goes. */
function playForever(socket: Socket): void {
  const title = metadata("It's Ünder - A Song");
  let at = 0;
  const send = () => {
    while (!socket.destroyed) {
      const piece = Buffer.concat([sound, sound]).subarray(at, at + interval);
      at = (at + interval) % sound.length;
      if (!socket.write(Buffer.concat([piece, title]))) return;
    }
  };
  socket.on("drain", send);
  send();
}

/** A server on loopback, with the first line of each request. */
async function serve() {
  const asked: string[] = [];
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => open.delete(socket));
    socket.once("data", (bytes) => {
      const text = bytes.toString();
      const [, path = ""] = text.split(" ");
      asked.push(text.includes("Icy-MetaData: 1") ? path : `${path} without titles`);
      if (path === "/radio") {
        socket.write(Buffer.from(station, "utf8"));
        return playForever(socket);
      }
      if (path.startsWith("/to/"))
        return void socket.end(
          `HTTP/1.1 302 Found\r\nLocation: ${decodeURIComponent(path.slice(4))}\r\n\r\n`,
        );
      if (path === "/list.mp3")
        return void socket.end(`${podcast}#EXTM3U\n#EXTINF:1,x\nhttp://127.0.0.1:${port}/inside\n`);
      if (path === "/Episode%201.mp3") return void socket.end(Buffer.concat([Buffer.from(podcast), sound]));
      socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    asked,
    open,
    port,
    url: `http://127.0.0.1:${port}`,
    [Symbol.dispose]() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

const deckFor = (allowStream: readonly string[], more: DeckOptions = {}) =>
  makeDeck({
    launchers: players,
    ...more,
    config: { script: { ...defaultConfig.script, allowStream } },
  });

test("a web radio that was started last is started again, also after a restart", async () => {
  using server = await serve();
  const data = await mkdtemp(join(folder, "deck-"));
  const hosts = [`127.0.0.1:${server.port}`];
  const playedBy = async (script: string) => {
    await using deck = await deckFor(hosts, { data });
    using _plays = keepPlays(deck.bus, deck.store.plays);
    await deck.file("Audio/tone.mp3", sound);
    const end = await deck.run(script);
    return end === true ? deck.launchQueue.activeMedia()?.mediaPath : end;
  };
  await playedBy(`Audio/tone.mp3||**stop||${server.url}/radio`);
  expect(await playedBy("**launch.last")).toBe(`${server.url}/radio`);
  expect(await playedBy("**launch.last:2")).toBe(join(data, "media/Audio/tone.mp3"));
  expect(await playedBy("**launch.last:2")).toBe(`${server.url}/radio`);
  hosts[0] = "other.example.com";
  expect(await playedBy("**launch.last")).toContain("script.allow_stream");
});

test("a web radio plays, with the names of station and song, until it is stopped", async () => {
  using server = await serve();
  await using deck = await deckFor([`127.0.0.1:${server.port}`]);
  await deck.play(`${server.url}/radio`);
  expect(deck.launchQueue.activeMedia()).toMatchObject({
    mediaName: "Radio Éins",
    mediaPath: `${server.url}/radio`,
    systemId: "Audio",
    launcherId: "mpv",
  });
  await eventually(async () =>
    expect(await deck.launchQueue.playback()).toMatchObject({
      playbackState: "playing",
      streamTitle: "It's Ünder - A Song",
    }),
  );
  await eventually(async () =>
    expect((await deck.launchQueue.playback())?.positionMs ?? 0).toBeGreaterThan(0),
  );
  expect(server.asked).toEqual(["/radio"]);
  // A station that sends faster than mpv plays waits, because nothing but mpv's own cache takes more bytes.
  const [station] = server.open;
  await eventually(async () =>
    expect((await deck.launchQueue.playback())?.positionMs ?? 0).toBeGreaterThan(1500),
  );
  expect(station?.bytesWritten).toBeLessThan(32 * 1024 * 1024);
  deck.launchQueue.stop();
  await deck.next("media.stopped");
  await eventually(() => expect(server.open.size).toBe(0));
});

test("an episode of a podcast plays to its end, also by a caller without trust", async () => {
  using server = await serve();
  await using deck = await deckFor(["127.0.0.1"]);
  const token = deck.token(`${server.url}/Episode%201.mp3`);
  deck.launchQueue.launch(token, { trusted: false });
  expect(await deck.next("media.stopped")).toMatchObject({ mediaName: "Episode 1", exitCode: 0 });
});

test("only listed hosts are called, also by a redirect, and a list in a stream leads nowhere", async () => {
  using server = await serve();
  using other = await serve();
  await using deck = await deckFor([`127.0.0.1:${server.port}`, "*.0.0.1"]);
  expect(await deck.run(`${other.url}/radio`)).toContain("leads to this device itself");
  expect(await deck.run("http://elsewhere.example/radio")).toContain("add its host to script.allow_stream");
  const elsewhere = encodeURIComponent(`${other.url}/radio`);
  expect(await deck.run(`${server.url}/to/${elsewhere}`)).toContain("leads to this device itself");
  const toFile = encodeURIComponent("file:///etc/passwd");
  expect(await deck.run(`${server.url}/to/${toFile}`)).toContain("is no address");
  expect(await deck.run(`${server.url}/missing`)).toContain("answered with the code 404");
  expect(deck.count("media.started")).toBe(0);
  expect(await deck.run(`${server.url}/list.mp3`)).toContain("the player mpv ended with code 2");
  expect(server.asked).not.toContain("/inside");
  expect(other.asked).toEqual([]);
});

test("without a list no address is opened", async () => {
  using server = await serve();
  await using deck = await deckFor([]);
  expect(await deck.run(`${server.url}/radio`)).toContain("is an address and no file");
  expect(server.asked).toEqual([]);
});

const icecastPort = 8123;
const icecastConfig = (logs: string) => `<icecast>
  <limits><sources>2</sources><clients>10</clients></limits>
  <authentication><source-password>secret</source-password><admin-password>secret</admin-password></authentication>
  <hostname>localhost</hostname>
  <listen-socket><port>${icecastPort}</port><bind-address>127.0.0.1</bind-address></listen-socket>
  <paths><basedir>/usr/share/icecast2</basedir><logdir>${logs}</logdir><webroot>/usr/share/icecast2/web</webroot><adminroot>/usr/share/icecast2/admin</adminroot></paths>
  <security><chroot>0</chroot><changeowner><user>nobody</user><group>nogroup</group></changeowner></security>
</icecast>
`;

const listening = `${noReaders}
[script]
allow_stream = ["127.0.0.1:${icecastPort}"]

[[launchers]]
id = "mpv"
kind = "mpv"
command = ["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null", "--", "{path}"]
`;

attackTest(
  "a stranger plays a stream of a host that is not listed, and not only the Icecast that is",
  async () => {
    await using scene = await startScene(listening);
    const { network, service } = scene.device;
    // Icecast refuses to run as root, so another user must be able to write in this folder.
    await using logFolder = new AsyncDisposableStack();
    const logs = await mkdtemp("/tmp/tapdeck-icecast-");
    logFolder.defer(() => rm(logs, { recursive: true }));
    await chmod(logs, 0o777);
    const config = join(folder, "icecast.xml");
    await writeFile(config, icecastConfig(logs));
    const start = (command: readonly string[]) =>
      Bun.spawn([...network.onDevice(command)], { stdio: ["ignore", "pipe", "ignore"] });
    const icecast = start(["icecast2", "-c", config]);
    try {
      const tone = join(folder, "tone.mp3");
      const program = join(import.meta.dir, "../programs/icecast-source.ts");
      const port = String(icecastPort);
      await eventually(async () =>
        expect(await readFile(`${logs}/error.log`, "utf8")).toContain("server started"),
      );
      const source = start([process.execPath, program, port, "secret", tone]);
      try {
        const said = source.stdout.getReader();
        expect(new TextDecoder().decode((await said.read()).value)).toBe("plays\n");
        const stranger = await scene.stranger();
        const url = `http://127.0.0.1:${port}/radio`;
        await stranger.call("launch", { text: "http://127.0.0.1:7497/radio" });
        expect(await service.heard.next("launch.finished")).toMatchObject({ success: false });
        await stranger.call("launch", { text: url });
        expect(await service.heard.next("media.started")).toMatchObject({
          mediaName: "Radio Deck",
          mediaPath: url,
        });
        expect(await service.heard.next("launch.finished")).toMatchObject({ success: true });
        await eventually(async () =>
          expect(await service.client.call("media.active")).toMatchObject({
            playbackState: "playing",
            streamTitle: "The Taps - First Song",
          }),
        );
        await using phone = await startChromium({}, network.onNeighbour);
        await using visit = await openPage(scene.device, phone, "Listener");
        const now = region(visit.page, "Now playing");
        await now.getByText("Radio Deck", { exact: true }).waitFor();
        await now.getByText("The Taps - First Song", { exact: true }).waitFor();
        await look(visit.page, "stream");
        await service.client.call("stop");
        await service.heard.next("media.stopped");
      } finally {
        source.kill();
        await source.exited;
      }
    } finally {
      icecast.kill();
      await icecast.exited;
    }
  },
);
