/** Debian's mpv, in reality: it plays, pauses, seeks, ends, fails, crashes and is replaced. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { LauncherConfig } from "../../src/config/launcher-settings.ts";
import { proofMs } from "../../src/launch/playing.ts";
import { readPicture } from "../../src/media/pictures.ts";
import { canvasOf } from "../../src/screen/frame-buffer.ts";
import { saveScreenshot } from "../../src/screen/screenshot.ts";
import { defaultConfig } from "../helpers/defaults.ts";
import { type Deck, type DeckOptions, makeDeck } from "../helpers/launch-harness.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { eventually, liveMembers } from "../helpers/processes.ts";
import { makeSound } from "../helpers/sound-file.ts";
import { makePlace, noReaders, type Running, startTapdeck } from "../helpers/tapdeck.ts";

const mpv: LauncherConfig = {
  id: "mpv",
  systems: [],
  extensions: [],
  command: ["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null", "--", "{path}"],
  kind: "mpv",
};

async function mpvDeck(options?: DeckOptions): Promise<Deck> {
  const deck = await makeDeck({ launchers: () => [mpv], ...options });
  await deck.file("Audio/long.wav", makeSound(60));
  await deck.file("Audio/other.wav", makeSound(60));
  await deck.file("Audio/short.wav", makeSound(0.3));
  await deck.file("Audio/broken.wav", "this is no sound at all");
  return deck;
}

const sockets = () =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return /^(socket|pipe)/.test(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      // This descriptor was that of the listing itself.
      return false;
    }
  });

test("it plays, and reports its position and its length", async () => {
  await using deck = await mpvDeck();
  await deck.play("Audio/long.wav");
  expect(await deck.launchQueue.playback()).toMatchObject({ mediaName: "long", playbackState: "playing" });
  await eventually(async () =>
    expect((await deck.launchQueue.playback())?.positionMs ?? 0).toBeGreaterThan(0),
  );
  const first = await deck.launchQueue.playback();
  expect(first?.durationMs).toBe(60_000);
  await eventually(async () =>
    expect((await deck.launchQueue.playback())?.positionMs ?? 0).toBeGreaterThan(first?.positionMs ?? 0),
  );
});

test("**screenshot saves the picture in mpv's folder, and says that a sound has none", async () => {
  await using deck = await mpvDeck({
    launchers: (folder) => [
      {
        ...mpv,
        command: mpv.command.toSpliced(
          1,
          0,
          "--image-display-duration=inf",
          "--screenshot-format=png",
          `--screenshot-directory=${folder}`,
        ),
      },
    ],
  });
  await deck.play("Audio/long.wav");
  expect(await deck.run("**screenshot")).toMatch(/^mpv shows no picture that could be saved: mpv says: /);
  const device = await deck.file("fb", new Uint8Array(160 * 160 * 4).fill(99));
  const frame = { device, width: 160, height: 160, stride: 640, bitsPerPixel: 32 } as const;
  await saveScreenshot(canvasOf(frame, { rotation: 0, overscan: 0 }), join(deck.folder, "Image"), 0);
  await deck.play("Image/screen-19700101000000000.png");
  // The first frame comes a moment after the file was loaded.
  await eventually(async () => expect(await deck.run("**screenshot")).toBe(true));
  const [shot = ""] = readdirSync(deck.folder).filter((name) => name.startsWith("mpv-shot"));
  expect((await Bun.file(join(deck.folder, shot)).text()).slice(1, 4)).toBe("PNG");
  const path = await deck.launchQueue.picture();
  expect(path).toStartWith(join(deck.folder, "mpv-2"));
  expect((await readPicture(path, undefined))?.contentType).toBe("image/png");
});

test("a launch has gone well at the first position that mpv shows, without three seconds of waiting", async () => {
  // The deck's clock stands still.
  await using deck = await mpvDeck({ clock: createManualClock() });
  deck.launch("Audio/long.wav");
  await deck.next("launch.finished");
  expect(deck.ends()).toEqual([true]);
  expect(deck.store.history.page({ limit: 1 }).entries).toMatchObject([{ success: true, state: "done" }]);
  expect(await deck.launchQueue.playback()).toMatchObject({ mediaName: "long", playbackState: "playing" });
});

test("the next item of a single song was refused by words that nobody understood", async () => {
  await using deck = await mpvDeck();
  await deck.play("Audio/long.wav");
  expect(await deck.run("**control:next")).toBe("there is no next item in what plays");
  expect(await deck.run("**control:previous")).toBe("there is no previous item in what plays");
});

test("it pauses, continues, and seeks to the place that a card names", async () => {
  await using deck = await mpvDeck();
  await deck.play("Audio/long.wav");
  expect(await deck.run("**control:pause||**control:seek,30")).toBe(true);
  const at = async () => (await deck.launchQueue.playback())?.positionMs ?? 0;
  // The audio that mpv has buffered for the sound device, a part of a second, is not counted yet.
  const isAt = (ms: number) => eventually(async () => expect(Math.abs((await at()) - ms)).toBeLessThan(1000));
  await isAt(30_000);
  expect((await deck.launchQueue.playback())?.playbackState).toBe("paused");
  for (const [place, ms] of [
    ["+10", 40_000],
    ["-15s", 25_000],
    ["0:50", 50_000],
    ["25%", 15_000],
  ] as const) {
    expect(await deck.run(`**control:seek,${place}`)).toBe(true);
    await isAt(ms);
  }
  expect(await deck.run("**control:rewind||**control:toggle")).toBe(true);
  await eventually(async () => expect((await deck.launchQueue.playback())?.playbackState).toBe("playing"));
  // mpv seeks a moment after it has taken the command.
  await eventually(async () => expect(await at()).toBeLessThan(14_000));
});

const volume = async (deck: Deck) => (await deck.launchQueue.playback())?.volume;

test("its volume is its own, and never beyond the owner's ceiling", async () => {
  await using deck = await mpvDeck();
  const setCeiling = (volumeMax: number) => deck.set({ audio: { ...defaultConfig.audio, volumeMax } });
  setCeiling(100);
  await deck.play("Audio/long.wav");
  await eventually(async () => expect(await volume(deck)).toBe(100));
  expect(await deck.run("**volume:30||**volume:+5")).toBe(true);
  expect(await volume(deck)).toBe(35);
  expect(await deck.run("**control:volume,+20||**control:mute")).toBe(true);
  expect(await volume(deck)).toBe(55);
  setCeiling(40);
  await deck.launchQueue.holdVolume();
  expect(await volume(deck)).toBe(40);
  expect(await deck.run("**volume:90")).toBe(true);
  expect(await volume(deck)).toBe(40);
  await deck.play("Audio/other.wav");
  await eventually(async () => expect(await volume(deck)).toBe(40));
  setCeiling(80);
  await deck.launchQueue.control({ kind: "volume", change: { kind: "to", percent: 70 } });
  expect(await volume(deck)).toBe(70);
  // A fade of the sleep timer turns the volume down for this player only.
  await deck.launchQueue.fadeVolume(0.1);
  expect(await volume(deck)).toBe(7);
  await deck.play("Audio/long.wav");
  await eventually(async () => expect(await volume(deck)).toBe(70));
});

test("a volume that was wanted is not lost at the next item, nor at the next launch", async () => {
  await using deck = await mpvDeck();
  await deck.file("Audio/list.m3u", "long.wav\nother.wav\n");
  await deck.play("**playlist.play:Audio/list.m3u");
  expect(await deck.run("**volume:10")).toBe(true);
  await deck.play("**playlist.next");
  expect(await deck.launchQueue.playback()).toMatchObject({ mediaName: "other", volume: 10 });
  await deck.play("**volume:20||Audio/long.wav");
  expect(await deck.launchQueue.playback()).toMatchObject({ mediaName: "long", volume: 20 });
});

test("a pause and its end are reported once each, and not as it begins to play", async () => {
  await using deck = await mpvDeck();
  await deck.play("Audio/long.wav");
  expect(await deck.run("**control:pause||**control:pause")).toBe(true);
  expect(await deck.next("media.paused")).toMatchObject({ mediaName: "long" });
  expect(await deck.run("**control:seek,30||**control:resume")).toBe(true);
  await deck.next("media.resumed");
  const names = deck.heard.map(({ name }) => name).filter((name) => name.startsWith("media."));
  expect(names).toEqual(["media.started", "media.paused", "media.resumed"]);
});

test("a command that it lacks is refused with a sentence, and so is any command while nothing plays", async () => {
  await using deck = await mpvDeck();
  expect(await deck.run("**control:pause")).toBe("nothing plays");
  expect(await deck.run("**delay:media_ready")).toBe("nothing plays");
  expect(await deck.run("**control:volume,5")).toBe("nothing plays");
  expect(await deck.run("Audio/long.wav||**control:save_state")).toBe("mpv has no save state");
  expect(await deck.run("**control:stop")).toBe(true);
  expect(await deck.next("media.stopped")).toMatchObject({ reason: "stopped" });
});

test("it ends by itself, and nothing of it is left open", async () => {
  const before = sockets().length;
  await using deck = await mpvDeck();
  deck.launch("Audio/short.wav");
  expect(await deck.next("media.stopped")).toMatchObject({
    mediaName: "short",
    exitCode: 0,
    reason: "ended",
  });
  await deck.next("launch.finished");
  expect(deck.ends()).toEqual([true]);
  expect(await deck.launchQueue.playback()).toBeUndefined();
  await eventually(() => expect(sockets().length).toBeLessThanOrEqual(before));
});

test("a file that it cannot play is a failed launch that says why", async () => {
  await using deck = await mpvDeck();
  expect(await deck.run("Audio/broken.wav")).toMatch(
    /^the player mpv ended with code 2 after \d\.\d s: .*format.*$/,
  );
  expect(deck.told("media.stopped")).toMatchObject([{ exitCode: 2, reason: "failed" }]);
});

test("a crash is reported at any place of the film", async () => {
  const clock = createManualClock();
  await using deck = await mpvDeck({ clock });
  await deck.play("Audio/long.wav");
  clock.advance(proofMs);
  await deck.next("launch.finished");
  process.kill(await deck.playerOf("Audio/long.wav"), "SIGSEGV");
  expect(await deck.next("media.stopped")).toMatchObject({ exitCode: null, reason: "failed" });
  expect(deck.launchQueue.activeMedia()).toBeUndefined();
  expect(deck.ends()).toEqual([true]);
  // The log once had no word of a player that crashed after its proof.
  await eventually(() =>
    expect(deck.lines).toContainEqual(
      expect.stringMatching(/^warn {2}launch: the player mpv was ended by a signal after \d+\.\d s.*SIGSEGV/),
    ),
  );
});

test("a crash before it plays is a failed launch", async () => {
  // This player never loads its file.
  const silent = { ...mpv, command: ["/bin/sh", "-c", "while :; do sleep 1; done", "{path}"] };
  await using deck = await mpvDeck({ clock: createManualClock(), launchers: () => [silent] });
  deck.launch("Audio/long.wav");
  process.kill(await deck.playerOf("Audio/long.wav"), "SIGSEGV");
  await deck.next("launch.finished");
  expect(deck.ends()).toEqual([expect.stringMatching(/^the player mpv was ended by a signal after/)]);
  expect(await deck.next("media.stopped")).toMatchObject({ exitCode: null });
});

test("a crash soon after the first position is no failed launch, but the service forgets that media", async () => {
  const clock = createManualClock();
  await using deck = await mpvDeck({ clock });
  deck.launch("Audio/long.wav");
  await deck.next("launch.finished");
  clock.advance(proofMs - 1);
  process.kill(await deck.playerOf("Audio/long.wav"), "SIGSEGV");
  expect(await deck.next("media.stopped")).toMatchObject({ exitCode: null, reason: "failed" });
  expect([deck.ends(), deck.store.lastMedia.read()]).toEqual([[true], undefined]);
  deck.launch("Audio/long.wav");
  await deck.next("launch.finished", 2);
  clock.advance(proofMs);
  await eventually(() => expect(deck.store.lastMedia.read()?.path).toEndWith("Audio/long.wav"));
});

test("it is taken over: the old one is gone before the new one starts, and leaves nothing open", async () => {
  const before = sockets().length;
  await using deck = await mpvDeck();
  await deck.play("Audio/long.wav");
  const old = await deck.playerOf("Audio/long.wav");
  const left = deck.next("media.started", 2).then(() => liveMembers(old));
  await deck.play("Audio/other.wav");
  expect(await left).toEqual([]);
  expect(deck.heard.map(({ name }) => name).filter((name) => name.startsWith("media."))).toEqual([
    "media.started",
    "media.stopped",
    "media.started",
  ]);
  // The old player did not fail: a stop ended it.
  await deck.next("launch.finished", 2);
  expect(deck.ends()).toEqual([true, true]);
  await deck.run("**stop");
  await eventually(() => expect(sockets().length).toBeLessThanOrEqual(before));
});

test("the next item of a playlist is the next that plays, and a stop ends the playlist with it", async () => {
  await using deck = await mpvDeck();
  await deck.file("Audio/list.m3u", "long.wav\nother.wav\n");
  await deck.play("**playlist.play:Audio/list.m3u");
  await deck.play("**control:next");
  expect(deck.launchQueue.activeMedia()).toMatchObject({ mediaName: "other" });
  await deck.launchQueue.control({ kind: "previous" });
  expect(deck.launchQueue.activeMedia()).toMatchObject({ mediaName: "long" });
  await deck.launchQueue.control({ kind: "stop" });
  expect(deck.launchQueue.playlist()).toBeUndefined();
  expect(deck.launchQueue.activeMedia()).toBeUndefined();
});

const filmMs = 700_000;

/** A deck with a sound of more than ten minutes. */
async function filmDeck(options?: DeckOptions): Promise<Deck> {
  const deck = await mpvDeck(options);
  await deck.file("Audio/book.wav", makeSound(filmMs / 1000));
  return deck;
}
/**
 * Allows two seconds on either side, and also the time since `sinceMs`, because the sound plays on while the test looks. A
 * pause right after a seek leaves mpv a little before its target: the audio buffer has not been played yet.
 */
const isNear = (positionMs: number | undefined, ms: number, sinceMs: number) =>
  expect(positionMs ?? 0).toBeWithin(Math.max(1, ms - 2000), ms + 2000 + (performance.now() - sinceMs));
/** mpv has played on from this position, at which it was at the time `sinceMs`. */
const plays = (deck: Deck, ms: number, sinceMs: number) =>
  eventually(async () => isNear((await deck.launchQueue.playback())?.positionMs, ms, sinceMs));

test("a long sound goes on where a stop, another card or the same card ended it, and where it paused", async () => {
  await using deck = await filmDeck();
  await deck.play("Audio/book.wav");
  let sinceMs = performance.now();
  expect(await deck.run("**control:seek,5:00")).toBe(true);
  await plays(deck, 300_000, sinceMs);
  expect(await deck.run("**stop")).toBe(true);
  await deck.play("Audio/book.wav");
  await plays(deck, 300_000, sinceMs);
  expect(await deck.run("**control:seek,6:40||**control:pause")).toBe(true);
  await plays(deck, 400_000, performance.now());
  sinceMs = performance.now();
  await deck.play("Audio/other.wav");
  // This sound is too short to be resumed.
  await plays(deck, 0, sinceMs);
  await deck.play("Audio/book.wav");
  await plays(deck, 400_000, sinceMs);
  sinceMs = performance.now();
  expect(await deck.run("**control:seek,1:40")).toBe(true);
  await plays(deck, 100_000, sinceMs);
  await deck.play("Audio/book.wav");
  await plays(deck, 100_000, sinceMs);
  sinceMs = performance.now();
  await deck.play("Audio/book.wav?resume=no");
  await plays(deck, 0, sinceMs);
});

test("a stop right after a seek stored the position before the seek", async () => {
  await using deck = await filmDeck();
  await deck.play("Audio/book.wav");
  const sinceMs = performance.now();
  expect(await deck.run("**control:seek,5:00||**stop")).toBe(true);
  await deck.play("Audio/book.wav");
  await plays(deck, 300_000, sinceMs);
});

test("a sound that crashed goes on at its last position, and one that ended by itself at its beginning", async () => {
  await using deck = await filmDeck();
  await deck.play("Audio/book.wav");
  let sinceMs = performance.now();
  expect(await deck.run("**control:seek,5:00")).toBe(true);
  await plays(deck, 300_000, sinceMs);
  process.kill(await deck.playerOf("Audio/book.wav"), "SIGSEGV");
  await deck.next("media.stopped");
  await deck.play("Audio/book.wav");
  await plays(deck, 300_000, sinceMs);
  expect(await deck.run("**control:seek,699")).toBe(true);
  expect(await deck.next("media.stopped", 2)).toMatchObject({ reason: "ended" });
  sinceMs = performance.now();
  await deck.play("Audio/book.wav");
  await plays(deck, 0, sinceMs);
});

test("the whole service: a lower ceiling over the API turns mpv down at once, and clients hear of a pause", async () => {
  await using place = await makePlace(noReaders);
  await Bun.write(await place.file("Audio/Song.wav"), makeSound(60));
  await using service = await startTapdeck(place);
  const { client, heard } = service;
  await client.call("launch", "Audio/Song.wav");
  await heard.next("media.started");
  const loudness = async () => (await client.call("media.active"))?.volume;
  await eventually(async () => expect(await loudness()).toBe(100));
  await client.call("playtime.limits.update", { volumeMax: 40 });
  await eventually(async () => expect(await loudness()).toBe(40));
  await client.call("media.control", { action: "volume", args: [90] });
  expect(await loudness()).toBe(40);
  await client.call("media.control", { action: "pause" });
  expect(await heard.next("media.paused")).toMatchObject({ mediaName: "Song", launcherId: "mpv" });
});

test("the whole service: a sound resumes at the stored position after a stop, a KILL, and a stop of the service", async () => {
  await using place = await makePlace(noReaders);
  await Bun.write(await place.file("Audio/Book.wav"), makeSound(filmMs / 1000));
  const isAt = ({ client }: Running, ms: number, sinceMs: number) =>
    eventually(async () => void isNear((await client.call("media.active"))?.positionMs, ms, sinceMs));
  const first = await startTapdeck(place);
  using database = new Database(join(place.folder, "tapdeck.db"), { readonly: true });
  const positions = database.query<{ ms: number }, []>("SELECT position_ms AS ms FROM positions");
  const storedMs = () => positions.get()?.ms ?? 0;
  /** The first position that mpv reports is the stored one. */
  const resume = async ({ client }: Running) => {
    const expectedMs = storedMs();
    await client.call("launch", "Audio/Book.wav");
    // The sound began after the last answer without a position.
    let silentMs = performance.now();
    let positionMs: number | undefined;
    await eventually(async () => {
      const askedMs = performance.now();
      positionMs = (await client.call("media.active"))?.positionMs;
      if (positionMs === undefined) silentMs = askedMs;
      return positionMs !== undefined;
    });
    isNear(positionMs, expectedMs, silentMs);
  };
  const seek = async (running: Running, to: string, ms: number) => {
    const sinceMs = performance.now();
    await running.client.call("media.control", { action: "seek", args: [to] });
    await isAt(running, ms, sinceMs);
    return sinceMs;
  };
  await first.client.call("launch", "Audio/Book.wav");
  await first.heard.next("media.started");
  await isAt(first, 0, performance.now());
  let soughtMs = await seek(first, "2:00", 120_000);
  await first.client.call("stop");
  await eventually(() => isNear(storedMs(), 120_000, soughtMs));
  await resume(first);
  await seek(first, "5:00", 300_000);
  await eventually(() => storedMs() > 300_000);
  process.kill(first.pid, "SIGKILL");
  first.client.close();
  await first.stop();
  const second = await startTapdeck(place);
  await resume(second);
  soughtMs = await seek(second, "9:00", 540_000);
  await second[Symbol.asyncDispose]();
  isNear(storedMs(), 540_000, soughtMs);
  await using third = await startTapdeck(place);
  await resume(third);
});
