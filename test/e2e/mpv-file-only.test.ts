/** Debian's mpv, in reality: it opens only the file of the card, whatever that file or its neighbours contain. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LauncherConfig } from "../../src/config/launcher-settings.ts";
import { type Deck, makeDeck } from "../helpers/launch-harness.ts";
import { run } from "../helpers/processes.ts";
import { makeSound } from "../helpers/sound-file.ts";

const mpv = (more: Partial<LauncherConfig> = {}): LauncherConfig => ({
  id: "mpv",
  systems: [],
  extensions: [],
  command: ["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null", "--", "{path}"],
  kind: "mpv",
  ...more,
});

/** Listens on loopback, and remembers the first line of each connection. */
function listen() {
  const heard: string[] = [];
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: () => void heard.push("a connection"),
      data(socket, bytes) {
        heard.push(bytes.toString("latin1").split("\r\n")[0] ?? "");
        socket.end("HTTP/1.0 404 Not Found\r\n\r\n");
      },
    },
  });
  return { heard, port: server.port, [Symbol.dispose]: () => server.stop(true) };
}

const segments = (url: string) =>
  `#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n${url}/part.ts\n#EXT-X-ENDLIST\n`;

/** Files that are no media, by their real kind; all have names of media. */
const disguised: Readonly<Record<string, (url: string, port: number) => string>> = {
  "m3u.mp4": (url) => `#EXTM3U\n#EXTINF:1,x\n${url}/m3u\n`,
  "m3u.mp3": (url) => `#EXTM3U\n${url}/m3u\n`,
  "m3u.jpg": (url) => `#EXTM3U\n${url}/m3u\n`,
  "hls.mp4": segments,
  "hls.m3u8": segments,
  "edl.mp4": (url) => `# mpv EDL v0\n${url}/edl,0,5\n`,
  "pls.mp4": (url) => `[playlist]\nFile1=${url}/pls\nNumberOfEntries=1\n`,
  "plain.txt": (url) => `${url}/plain\n`,
  "concat.mp4": (url) => `ffconcat version 1.0\nfile ${url}/concat\n`,
  "cue.cue": (url) => `FILE "${url}/cue" WAVE\n  TRACK 01 AUDIO\n    INDEX 01 00:00:00\n`,
  "rtsp.mp4": (_, port) => `rtsptext\nrtsp://127.0.0.1:${port}/film\n`,
  "sdp.mp4": (_, port) =>
    `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video ${port} RTP/AVP 96\na=rtpmap:96 H264/90000\n`,
  "dash.mp4": (url) =>
    `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT10S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period><AdaptationSet mimeType="video/mp4"><Representation id="1" bandwidth="1"><BaseURL>${url}/dash</BaseURL></Representation></AdaptationSet></Period></MPD>`,
};

// An mpv that waits for a stream does not end by itself.
test.each(Object.keys(disguised))("%s, which is no media file, causes no request", async (name) => {
  using listener = listen();
  await using deck = await makeDeck({ launchers: () => [mpv()] });
  const path = await deck.file(
    `Video/${name}`,
    disguised[name]?.(`http://127.0.0.1:${listener.port}`, listener.port),
  );
  deck.launch(path);
  const stopped = await deck.next("media.stopped");
  expect(listener.heard).toEqual([]);
  expect(stopped).toMatchObject({ exitCode: 2, reason: "failed" });
});

test("a list inside a list, which names files of this device, is not followed either", async () => {
  using listener = listen();
  await using deck = await makeDeck({ launchers: () => [mpv()] });
  const inner = await deck.file("Video/inner.mp4", segments(`http://127.0.0.1:${listener.port}`));
  const path = await deck.file("Video/outer.mp4", `#EXTM3U\n${inner}\nedl://${inner}\n`);
  deck.launch(path);
  const stopped = await deck.next("media.stopped");
  expect(listener.heard).toEqual([]);
  expect(stopped).toMatchObject({ exitCode: 2, reason: "failed" });
});

/** Options of an owner who wants neighbouring files to be found. */
const findingAll = [
  ...["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null"],
  ...["--sub-auto=all", "--audio-file-auto=all", "--cover-art-auto=all", "--", "{path}"],
];

test("a file beside it is no cover and no sound track of it, and a list in the place of subtitles causes no request", async () => {
  using listener = listen();
  await using deck = await makeDeck({ launchers: () => [mpv({ command: findingAll })] });
  const url = `http://127.0.0.1:${listener.port}`;
  const path = await deck.file("Audio/Song.wav", makeSound(0.2));
  for (const neighbour of ["Song.srt", "Song.jpg", "cover.jpg", "Song.mka"])
    await deck.file(`Audio/${neighbour}`, `#EXTM3U\n${url}/${neighbour}\n`);
  for (const [place, content] of Object.values(disguised).entries())
    await deck.file(`Audio/Song.l${String.fromCharCode(97 + place)}.srt`, content(url, listener.port));
  deck.launch(path);
  expect(await deck.next("media.stopped")).toMatchObject({ exitCode: 0 });
  expect(listener.heard).toEqual([]);
});

test("a film had no subtitles from the file beside it", async () => {
  await using deck = await makeDeck({
    launchers: (folder) => [
      mpv({
        command: [
          ...["mpv", "--no-terminal", "--no-config", "--vo=null", "--sub-auto=all"],
          ...[`--log-file=${join(folder, "log")}`, "--", "{path}"],
        ],
      }),
    ],
  });
  const path = await deck.file("Video/Film.mkv");
  await encode(join(deck.folder, "Video"), "Film.mkv", ["--o=Film.mkv"]);
  const line = "1\n00:00:00,000 --> 00:00:09,000\nGrüße\n";
  for (const name of ["Film.srt", "Film.de.srt", "Film 2.srt", "Other.srt"])
    await deck.file(`Video/${name}`, line);
  deck.launch(path);
  expect(await deck.next("media.stopped")).toMatchObject({ exitCode: 0, reason: "ended" });
  const log = await Bun.file(join(deck.folder, "log")).text();
  const opened = [...log.matchAll(/Opening (?:file:\/\/)?\S*\/(Film[^/\n]*\.srt|Other\.srt)/g)].map(
    ([, name]) => name,
  );
  expect([...new Set(opened)].sort()).toEqual(["Film.de.srt", "Film.srt"]);
});

/** An mpv.conf with scripts, and a launcher with a command of its own that reads them. */
async function withOwnSettings(): Promise<Deck> {
  const deck = await makeDeck({
    launchers: (folder) => [
      mpv({
        command: ["mpv", "--no-terminal", "--load-scripts=yes", "{path}"],
        environment: { HOME: join(folder, "home"), XDG_CONFIG_HOME: join(folder, "home/.config") },
      }),
    ],
  });
  const settings = join(deck.folder, "home/.config/mpv");
  const script = (name: string) => `io.open("${join(deck.folder, name)}", "w"):close()\n`;
  await mkdir(join(settings, "scripts"), { recursive: true });
  await writeFile(join(settings, "scripts/found.lua"), script("ran-found"));
  await writeFile(join(deck.folder, "named.lua"), script("ran-named"));
  await writeFile(
    join(settings, "mpv.conf"),
    [
      "vo=null",
      "ao=pcm",
      `ao-pcm-file=${join(deck.folder, "sound.wav")}`,
      `script=${join(deck.folder, "named.lua")}`,
      "use-filedir-conf=yes",
      // An automatic profile: mpv runs its condition as Lua.
      "[ran]",
      `profile-cond=io.open("${join(deck.folder, "ran-profile")}", "w")`,
      "",
    ].join("\n"),
  );
  return deck;
}

test("the owner's mpv.conf chooses sound and picture, but no script of a user runs, and no settings beside the file hold", async () => {
  await using deck = await withOwnSettings();
  const path = await deck.file("Audio/Song.wav", makeSound(0.2));
  await deck.file("Audio/mpv.conf", `ao-pcm-file=${join(deck.folder, "elsewhere.wav")}\n`);
  deck.launch(path);
  expect(await deck.next("media.stopped")).toMatchObject({ exitCode: 0 });
  const made = ["sound.wav", "elsewhere.wav", "ran-found", "ran-named", "ran-profile"].filter((name) =>
    existsSync(join(deck.folder, name)),
  );
  expect(made).toEqual(["sound.wav"]);
});

/** Made by mpv itself, of a generated tone or picture. */
const encoded = {
  "Tone.mp3": ["--o=Tone.mp3"],
  "Tone.ogg": ["--o=Tone.ogg"],
  "Tone.flac": ["--o=Tone.flac"],
  "Tone.opus": ["--o=Tone.opus"],
  "Film.mp4": ["--o=Film.mp4"],
  "Film.mkv": ["--o=Film.mkv"],
  "Film.webm": ["--o=Film.webm"],
  "Picture.png": ["--frames=1", "--vo=image", "--vo-image-format=png", "--vo-image-outdir=."],
  "Picture.jpg": ["--frames=1", "--vo=image", "--vo-image-format=jpg", "--vo-image-outdir=."],
} as const;

async function encode(folder: string, name: string, options: readonly string[]): Promise<void> {
  const source = name.startsWith("Tone") ? "sine=duration=0.5" : "testsrc=duration=0.5:size=64x64";
  const { code, error } = await run([
    "sh",
    "-c",
    'cd "$0" && exec mpv --no-config --no-terminal "$@"',
    folder,
    `av://lavfi:${source}`,
    ...options,
  ]);
  expect({ code, error }).toEqual({ code: 0, error: "" });
}

test.each(Object.entries(encoded))("%s plays", async (name, options) => {
  await using deck = await makeDeck({ launchers: () => [mpv()] });
  const path = await deck.file(`Media/${name}`);
  const folder = join(deck.folder, "Media");
  await encode(folder, name, options);
  if (name.startsWith("Picture")) await rename(join(folder, `00000001.${name.split(".")[1]}`), path);
  deck.launch(path);
  expect(await deck.next("media.stopped")).toMatchObject({ exitCode: 0, reason: "ended" });
  await deck.next("launch.finished");
  expect(deck.ends()).toEqual([true]);
});
