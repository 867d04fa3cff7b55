/**
 * Tags of audio files, read by the job of the index from real files into a real database. Covers: src/media/tags/tag-job.ts,
 * src/media/tags/audio-reader.ts, src/store/tag-file.ts
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdir, open, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { tagTriesMax } from "../../../../src/core/limits.ts";
import { holdIndex, indexPath } from "../../../../src/media/index/index-file.ts";
import { runTagJob, type TagLine } from "../../../../src/media/tags/tag-job.ts";
import { openTags, openTagWriter, tagPathOf } from "../../../../src/store/tag-file.ts";
import { flac, m4a, mp3, opus, type WrittenTags } from "../../../helpers/audio-files.ts";
import { mediaTrial, pathsOf, runHere, type Trial } from "../../../helpers/media.ts";
import { eventually } from "../../../helpers/processes.ts";
import { pngOf } from "../../../image/picture.ts";

const cover = pngOf({ width: 700, height: 600, pixels: new Uint8Array(700 * 600 * 3).fill(90) });
const bare: WrittenTags = {
  title: "Kühle Nächte",
  artist: "Die Sänger",
  album: "Größte Erfolge",
  track: 7,
  disc: 2,
};
const tags: WrittenTags = { ...bare, picture: cover };

let trial: Trial;
beforeEach(async () => {
  trial = await mediaTrial();
});
afterEach(() => trial[Symbol.asyncDispose]());

async function put(path: string, content: Uint8Array | string): Promise<string> {
  const whole = join(trial.root, path);
  await Bun.write(whole, content);
  return whole;
}

/** Indexes the names and reads the tags in this process; returns the last message. */
async function run(): Promise<TagLine | undefined> {
  await mkdir(trial.data, { recursive: true });
  runHere({ path: indexPath(trial.data), folders: { roots: [trial.root], own: [] }, systems: [] });
  return readTags();
}

async function readTags(): Promise<TagLine | undefined> {
  const lines: TagLine[] = [];
  await runTagJob(indexPath(trial.data), (line) => lines.push(line));
  return lines.at(-1);
}

function known<T>(ask: (opened: NonNullable<ReturnType<typeof openTags>>) => T): T {
  const opened = openTags(indexPath(trial.data));
  if (opened === undefined) throw new Error("there are no tags");
  try {
    return ask(opened);
  } finally {
    opened.close();
  }
}

test.each(Object.entries({ mp3, flac, m4a, opus }))(
  "the tags of a file of the form %s are read",
  async (ending, made) => {
    const file = await put(`audio/01.${ending}`, made(tags));
    expect(await run()).toEqual({ kind: "done", files: 1, changed: true, songs: 1 });
    const read = known((opened) => opened.of(file));
    expect(read).toEqual({ ...bare, durationMs: expect.any(Number) });
    expect(Math.abs((read?.durationMs ?? 0) - 1000)).toBeLessThan(60);
  },
);

test("a search finds a song by its title, its artist and its album, in a run of the service", async () => {
  await put("audio/disc/01.mp3", mp3(tags));
  await put("audio/disc/02.mp3", mp3({ ...tags, title: "Warme Tage", track: 8 }));
  await put("snes/Kuhle.sfc", "");
  await trial.media.index([]);
  await eventually(() =>
    expect(pathsOf(trial.media, "sanger grosste")).toEqual(["Audio/disc/01.mp3", "Audio/disc/02.mp3"]),
  );
  expect(pathsOf(trial.media, "kuhle")).toEqual(["SNES/Kuhle.sfc", "Audio/disc/01.mp3"]);
  const [song] = trial.media.search({ query: "warme", systems: [], maxResults: 1 }).results;
  expect(song).toMatchObject({ name: "02", audio: { title: "Warme Tage", artist: "Die Sänger", track: 8 } });
  const folder = await trial.media.folder({
    system: "Audio",
    path: "disc",
    way: 1,
    after: undefined,
    most: 9,
    keeps: undefined,
  });
  expect(folder?.files.map(({ audio }) => audio?.track)).toEqual([7, 8]);
  expect(Math.round((folder?.durationMs ?? 0) / 1000)).toBe(2);
  expect(trial.logged.join("\n")).toContain("the tags of audio files were read");
});

test("a second run reads only the files that have changed, also in their place", async () => {
  const first = await put("audio/1.mp3", mp3(tags));
  await put("audio/2.flac", flac(tags));
  expect(await run()).toMatchObject({ songs: 2, changed: true });
  expect(await run()).toMatchObject({ songs: 0, changed: false });
  await put("audio/1.mp3", mp3({ ...tags, title: "Another" }));
  await utimes(first, new Date(), new Date(Date.now() + 5000));
  expect(await run()).toMatchObject({ songs: 1, changed: true });
  expect(known((opened) => opened.of(first)?.title)).toBe("Another");
});

test("an album keeps one small picture, which is that of each of its files and of its folder", async () => {
  const files = [await put("audio/a/1.mp3", mp3(tags)), await put("audio/a/2.m4a", m4a(tags))];
  const other = await put("audio/b/1.mp3", mp3(bare));
  await run();
  const pictures = files.map((file) => known((opened) => opened.picture(file)));
  expect(await new Bun.Image(pictures[0] ?? new Uint8Array()).metadata()).toMatchObject({
    width: 512,
    height: 439,
  });
  expect(pictures[1]).toEqual(pictures[0]);
  expect(known((opened) => opened.pictureBelow(join(trial.root, "audio/a")))).toEqual(pictures[0]);
  expect(known((opened) => opened.pictureBelow(join(trial.root, "audio/b")))).toBeUndefined();
  expect(known((opened) => opened.picture(other))).toBeUndefined();
  const writer = openTagWriter(indexPath(trial.data));
  expect(writer.pictures()).toBe(1);
  writer.close();
});

test("the tags and pictures of deleted files go, and those of a folder that is away stay", async () => {
  const file = await put("audio/1.mp3", mp3(tags));
  const away = await put("audio/2.mp3", mp3(bare));
  await run();
  await rm(file);
  runHere({ path: indexPath(trial.data), folders: { roots: [trial.root], own: [] }, systems: [] });
  await rename(join(trial.root, "audio"), join(trial.root, "away"));
  await readTags();
  expect(known((opened) => [opened.of(file), opened.picture(file)])).toEqual([undefined, undefined]);
  expect(known((opened) => opened.of(away)?.title)).toBe(tags.title);
});

test("a song whose folder became a file meanwhile keeps no other song from being read", async () => {
  await put("audio/album/1.mp3", mp3(tags));
  const other = await put("audio/2.mp3", mp3(tags));
  await mkdir(trial.data, { recursive: true });
  runHere({ path: indexPath(trial.data), folders: { roots: [trial.root], own: [] }, systems: [] });
  await rm(join(trial.root, "audio/album"), { recursive: true });
  await put("audio/album", "a file now");
  expect(await readTags()).toMatchObject({ kind: "done", songs: 1 });
  expect(known((opened) => opened.of(other)?.title)).toBe(tags.title);
});

test("a file of tags whose tables are damaged hides no media, and the next run makes it again", async () => {
  const song = await put("audio/1.mp3", mp3(tags));
  await run();
  const file = await open(tagPathOf(indexPath(trial.data)), "r+");
  // The head of 100 bytes, with the version of the layout, is sound.
  await file.write(Buffer.alloc(4096 - 100, 0x7f), 0, 4096 - 100, 100);
  await file.close();
  expect(openTags(indexPath(trial.data))).toBeUndefined();
  const held = holdIndex(indexPath(trial.data), () => {});
  expect(held.current()?.count).toBe(1);
  held.close();
  await readTags();
  expect(known((opened) => opened.of(song)?.title)).toBe(tags.title);
});

test("a damaged file has no tags, and is read once", async () => {
  const file = await put("audio/1.flac", "fLaC\0\0\0\x22 and nothing of the kind");
  await put("audio/2.mp3", mp3(tags).subarray(0, 50));
  await put("audio/3.m4a", new Uint8Array(40));
  expect(await run()).toMatchObject({ songs: 3 });
  expect(known((opened) => opened.of(file))).toBeUndefined();
  expect(await run()).toEqual({ kind: "done", files: 0, changed: false, songs: 0 });
});

test("a file whose reading never ends is left out after some runs, until it changes", async () => {
  const file = await put("audio/1.mp3", mp3(tags));
  await mkdir(trial.data, { recursive: true });
  const { size, mtimeMs } = await stat(file);
  for (let round = 0; round < tagTriesMax; round++) {
    const writer = openTagWriter(indexPath(trial.data));
    writer.begin(file, { size, changedMs: Math.trunc(mtimeMs) });
    writer.close();
  }
  expect(await run()).toMatchObject({ songs: 0 });
  await utimes(file, new Date(), new Date(mtimeMs + 5000));
  expect(await run()).toMatchObject({ songs: 1, changed: true });
});

test("control characters and line feeds in a tag become spaces, and a tag of megabytes is cut", async () => {
  const file = await put("audio/1.flac", flac({ ...tags, title: "a\n\u0007b", album: "x".repeat(100_000) }));
  await run();
  expect(known((opened) => opened.of(file))).toMatchObject({ title: "a b", album: "x".repeat(512) });
});

test.each(["no database at all", ""])("damaged tags (%p) are read again", async (content) => {
  await put("audio/1.mp3", mp3(tags));
  await run();
  await Bun.write(tagPathOf(indexPath(trial.data)), content);
  expect(openTags(indexPath(trial.data))).toBeUndefined();
  expect(await run()).toMatchObject({ songs: 1, changed: true });
});

test("a run that was killed after its last file was read left a song that no search found by its tags", async () => {
  const file = await put("audio/1.mp3", mp3(tags));
  await run();
  await put("audio/1.mp3", mp3({ ...tags, title: "Another" }));
  await utimes(file, new Date(), new Date(Date.now() + 5000));
  const ending = new Error("nobody reads the output");
  const killed = runTagJob(indexPath(trial.data), () => {
    throw ending;
  });
  await expect(killed).rejects.toBe(ending);
  expect(await readTags()).toMatchObject({ songs: 0, changed: true });
  expect(await readTags()).toMatchObject({ songs: 0, changed: false });
});

test("a new file does not wait for the tags of others", async () => {
  for (let song = 0; song < 400; song++)
    await put(`audio/${song}.mp3`, mp3({ ...tags, title: `Song ${song}` }));
  await trial.media.index([]);
  await put("snes/New.sfc", "");
  await trial.media.index([]);
  expect(pathsOf(trial.media, "new")).toEqual(["SNES/New.sfc"]);
  await eventually(() => expect(pathsOf(trial.media, "song")).toHaveLength(400));
  expect(trial.logged.filter((line) => line.includes("not all tags"))).toEqual([]);
});
