import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launchErrorCharsMax } from "../../../src/core/limits.ts";
import type { Grant } from "../../../src/core/rights.ts";
import { isFolderOrList, playlistItems } from "../../../src/launch/playlist-items.ts";
import { playlistEntries } from "../../../src/media/playlists.ts";
import { defaultConfig } from "../../helpers/defaults.ts";
import { type Deck, makeDeck } from "../../helpers/launch-harness.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";
import { mostInOneTurn } from "../../helpers/turns.ts";

// Items that end at once are started a second apart by the playlist; a faster clock makes that short.
async function makeList(...files: readonly string[]): Promise<Deck> {
  const deck = await makeDeck({ elapsedMs: () => performance.now() * 1000 });
  await deck.files(...files);
  return deck;
}

test("the items of a folder play one after another, by name, numbers as numbers, and then it ends", async () => {
  await using deck = await makeList("A/10.true", "A/9.true", "A/1.true", "A/.hidden.true", "A/list.m3u");
  expect(await deck.tapAndWait("**playlist.play:A")).toBe(true);
  await eventually(() => expect(deck.count("media.stopped")).toBe(3));
  expect(deck.started()).toEqual(["1", "9", "10"]);
  expect(deck.launchQueue.playlist()).toBeUndefined();
  expect(deck.ends()).toEqual([true]);
});

test("a folder of thousands is put in order a slice at a time, and others have their turns in between", async () => {
  await using deck = await makeList(...Array.from({ length: 3000 }, (_, song) => `A/${song}.mp3`));
  const most = await mostInOneTurn(async (count) => {
    const byNumber = (a: string, b: string) => {
      count();
      return Number.parseInt(a, 10) - Number.parseInt(b, 10);
    };
    const items = await playlistItems(join(deck.folder, "A"), byNumber);
    expect(items).toEqual(Array.from({ length: 3000 }, (_, song) => join(deck.folder, `A/${song}.mp3`)));
  });
  expect(most).toBeWithin(1, 501);
});

test("a list names its items from its own folder; what is not there is left out and logged", async () => {
  await using deck = await makeList("A/one.true", "A/sub/two.true", "B/three.true");
  const list = `\ufeff#EXTM3U\r\n#EXTINF:1,One\r\none.true\r\nmissing.true\r\nsub\\two.true\r\nhttp://example.com/x.mp3\r\n${deck.folder}/B/three.true\r\n/etc/passwd\r\n`;
  await writeFile(join(deck.folder, "A/list.m3u8"), list);
  await deck.tapAndWait("**playlist.play:A/list.m3u8");
  await eventually(() => {
    expect(deck.count("media.stopped")).toBe(3);
    expect(deck.launchQueue.playlist()).toBeUndefined();
  });
  expect(deck.started()).toEqual(["one", "two", "three"]);
  expect(deck.lines.filter((line) => line.includes("an item was left out"))).toHaveLength(2);
});

test("a line of a list is longer than any path, and its text fills the history and each notification", async () => {
  await using deck = await makeList("A/one.true");
  await writeFile(join(deck.folder, "A/list.m3u"), "x".repeat(256 * 1024));
  expect(await deck.tapAndWait("**playlist.play:A/list.m3u")).toEndWith("names nothing to play");
  await writeFile(join(deck.folder, "A/list.m3u"), `${"x".repeat(256 * 1024 - 10)}\none.true`);
  expect(await deck.tapAndWait("**playlist.play:A/list.m3u")).toBe(true);
  // The reason of another kind of failure is also shortened.
  const why = await deck.tapAndWait(`A/${"y".repeat(12_000)}.true`);
  expect([String(why).length, String(why).at(-1)]).toEqual([launchErrorCharsMax, "…"]);
  expect(deck.lines.join("").length).toBeLessThan(2 * launchErrorCharsMax);
});

test("a card with a folder or a list plays it, where no player takes it as it is; a list within a list is no way round", async () => {
  await using deck = await makeList("A/1.true", "A/2.true", "B/list.m3u8", "B/loop.pls");
  await writeFile(join(deck.folder, "B/list.m3u8"), "../A/2.true\n../A/1.true\n");
  await writeFile(join(deck.folder, "B/loop.pls"), "[playlist]\nFile1=loop.pls\nFile2=list.m3u8\n");
  expect(await deck.tapAndWait("A")).toBe(true);
  await eventually(() => {
    expect(deck.count("media.stopped")).toBe(2);
    expect(deck.launchQueue.playlist()).toBeUndefined();
  });
  expect(await deck.tapAndWait("B/list.m3u8")).toBe(true);
  await eventually(() => {
    expect(deck.count("media.stopped")).toBe(4);
    expect(deck.launchQueue.playlist()).toBeUndefined();
  });
  expect(deck.started()).toEqual(["1", "2", "2", "1"]);
  expect(await deck.tapAndWait("B/loop.pls")).toMatch(/no player is set up/);
});

test("a list from Windows named its songs with umlauts, and these were left out", async () => {
  await using deck = await makeList("A/Käse.true", "A/plain.true");
  const odd = Buffer.concat([Buffer.from(`${deck.folder}/A/`), Buffer.from("Früh.true", "latin1")]);
  await writeFile(odd, "");
  // The second name is not UTF-8 on the disk either.
  await writeFile(
    join(deck.folder, "A/list.m3u"),
    Buffer.from("#EXTM3U\r\nKäse.true\r\nFrüh.true\r\nplain.true\r\n", "latin1"),
  );
  expect(await playlistItems(join(deck.folder, "A/list.m3u"))).toEqual(
    ["Käse.true", "Fr\ufffdh.true", "plain.true"].map((name) => join(deck.folder, "A", name)),
  );
  await deck.tapAndWait("**playlist.play:A/list.m3u");
  await eventually(() => {
    expect(deck.count("media.stopped")).toBe(3);
    expect(deck.launchQueue.playlist()).toBeUndefined();
  });
  expect(deck.started()).toEqual(["Käse", "Fr\ufffdh", "plain"]);
});

test("a .pls list is in the order of its numbers", () => {
  const text = "[playlist]\nFile2 = b.mp3 \nTitle2=x\nfile10=c.mp3\nFile1=a.mp3\nNumberOfEntries=3\n";
  expect(playlistEntries(text, ".pls")).toEqual(["a.mp3", "b.mp3", "c.mp3"]);
});

test("a cover beside songs is none of the items", async () => {
  await using deck = await makeDeck({
    config: { launchers: [{ id: "any", systems: [], extensions: [], command: ["sleep", "600"] }] },
  });
  await deck.files("A/01.mp3", "A/02.mp3", "A/cover.jpg", "A/notes.txt");
  await deck.tapAndWait("**playlist.load:A");
  expect(deck.launchQueue.playlist()).toMatchObject({ count: 2, place: 1, state: "paused" });
  expect(deck.started()).toEqual([]);
});

test("a list on the card plays its scripts one after another, each as a card would, but no playlist", async () => {
  await using deck = await makeList("A/1.true", "A/2.true", "A/3.true", "B/4.true", "B/5.true");
  const items = [
    { name: "One", zapscript: "A/1.true" },
    { zapscript: "A/missing.true" },
    { name: "Two", zapscript: "**echo:two||A/2.true?when=[[platform == 'linux']]||" },
    { name: "A folder", zapscript: "B" },
    { name: "Three", zapscript: "A/3.true" },
  ];
  const card = `**playlist.load:${JSON.stringify({ id: "x", name: "Mine", items })}?repeat=off`;
  expect(await deck.tapAndWait(card)).toBe(true);
  expect(deck.launchQueue.playlist()).toEqual({
    path: "",
    name: "Mine",
    place: 1,
    count: 5,
    state: "paused",
    isShuffled: false,
    repeat: "no",
  });
  deck.tap("**playlist.play");
  await eventually(() => {
    expect(deck.count("media.stopped")).toBe(3);
    expect(deck.launchQueue.playlist()).toBeUndefined();
  });
  expect(deck.started()).toEqual(["1", "2", "3"]);
  expect(deck.lines).toContain("info  script: two");
  expect(deck.lines.filter((line) => line.includes("an item was left out"))).toHaveLength(2);
});

test.each([
  ['{"items":[]}', /^a playlist in JSON is/],
  ['{"name":1,"items":[{"zapscript":"a"}]}', /^a playlist in JSON is/],
  ['{"items":[{"name":"a"}]}', /^a playlist in JSON is/],
  ['{"items":[{"zapscript":"a"},{"zapscript":"**stop"}]}', /^item 2: it starts no media$/],
  ['{"items":[{"zapscript":"**playlist.play:a"}]}', /^item 1: a playlist cannot be an item$/],
  ['{"items":[{"zapscript":"**stopp"}]}', /^item 1: this version knows no command \*\*stopp/],
])("a list %s is refused, and the loaded one stays", async (json, sentence) => {
  await using deck = await makeList("A/1.true");
  await deck.tapAndWait("**playlist.load:A");
  expect(await deck.tapAndWait(`**playlist.play:${json}`)).toMatch(sentence);
  expect(deck.launchQueue.playlist()).toMatchObject({ name: "A", state: "paused" });
  expect(deck.started()).toEqual([]);
});

test("an item whose script starts nothing is left out, and a list of such items ends", async () => {
  await using deck = await makeList("A/1.true", "A/2.true");
  const never = { zapscript: "A/1.true?when=[[media_playing]]" };
  const cardOf = (...items: readonly unknown[]) => `**playlist.play:${JSON.stringify({ items })}`;
  expect(await deck.tapAndWait(cardOf(never, { zapscript: "A/2.true" }, never))).toBe(true);
  await eventually(() => expect(deck.launchQueue.playlist()).toBeUndefined());
  expect(deck.started()).toEqual(["2"]);
  expect(await deck.tapAndWait(cardOf(never))).toBe(
    "nothing more of the playlist can be played: its script started nothing",
  );
  expect(deck.launchQueue.playlist()).toBeUndefined();
});

test("an item whose script starts nothing lets the media before it play on, and the list goes on at their end", async () => {
  await using deck = await makeDeck({
    launchers: () => [{ id: "tail", systems: [], extensions: [".tail"], command: ["tail", "-f", "{path}"] }],
    elapsedMs: hoursApart(),
  });
  await deck.files("A/1.tail", "A/2.tail", "A/3.tail");
  const items = [
    { zapscript: "A/1.tail" },
    { zapscript: "A/2.tail?when=[[!media_playing]]" },
    { zapscript: "A/3.tail" },
  ];
  deck.tap(`**playlist.play:${JSON.stringify({ items })}`);
  await eventually(() => expect(deck.started()).toEqual(["1"]));
  deck.tap("**playlist.next");
  await eventually(() => expect(deck.launchQueue.playlist()).toMatchObject({ place: 2, state: "playing" }));
  process.kill(await deck.playerOf("A/1.tail"));
  await eventually(() => expect(deck.started()).toEqual(["1", "3"]));
});

test("a list that is gone when it is read fails with a sentence, and its file is then no list", async () => {
  await using deck = await makeList("A/1.true");
  const gone = join(deck.folder, "A/list.m3u");
  expect(await playlistItems(gone).catch((error) => [error.reason, error.message])).toEqual([
    "playlist-invalid",
    `the playlist ${gone} cannot be read: there is no such file or folder`,
  ]);
  expect(await isFolderOrList(join(deck.folder, "gone"))).toBe(false);
});

test("a list of an untrusted caller has no commands that reach outside", async () => {
  await using deck = await makeList("A/1.true");
  const items = [{ zapscript: "A/1.true||**execute:ls" }];
  deck.launchQueue.launch(deck.token(`**playlist.play:${JSON.stringify({ items })}`), { trusted: false });
  expect((await deck.next("launch.finished")).error).toMatch(/^item 1: \*\*execute reaches outside/);
  expect(deck.started()).toEqual([]);
});

test("a playlist that is opened shows its items until one starts, and starts none itself", async () => {
  const files = Array.from({ length: 120 }, (_, at) => `A/${at + 1}.sleep`);
  await using deck = await makeList(...files);
  expect(await deck.tapAndWait("**playlist.open")).toMatch(/^no playlist is loaded/);
  expect(await deck.tapAndWait("**playlist.open:A")).toBe(true);
  const opened = await deck.next("playlist.opened");
  expect(opened).toMatchObject({ name: "A", place: 1, count: 120, state: "paused" });
  expect(opened.items).toHaveLength(100);
  expect(opened.items?.[1]).toEqual({ place: 2, name: "2" });
  expect(deck.launchQueue.playlist()).toEqual(opened);
  expect(deck.started()).toEqual([]);
  await deck.tapAndWait("**playlist.goto:115");
  expect(deck.started()).toEqual(["115"]);
  expect(deck.launchQueue.playlist()).not.toHaveProperty("items");
  // A list that is opened while an item plays shows the last items, and the item continues to play.
  await deck.tapAndWait("**playlist.open");
  const again = await deck.next("playlist.opened", 2);
  expect(again).toMatchObject({ place: 115, state: "playing" });
  expect(again.items?.map(({ place }) => place)).toEqual(Array.from({ length: 100 }, (_, at) => at + 21));
  expect(deck.count("media.stopped")).toBe(0);
});

test("next, previous and goto move about; at the ends they say so, or go round with repeat=all", async () => {
  await using deck = await makeList("A/1.sleep", "A/2.sleep", "A/3.sleep");
  expect(await deck.tapAndWait("**playlist.next")).toMatch(/^no playlist is loaded/);
  await deck.tapAndWait("**playlist.play:A");
  await deck.tapAndWait("**playlist.next");
  await deck.tapAndWait("**playlist.goto:3");
  expect(await deck.tapAndWait("**playlist.next")).toBe("this is the last item of the playlist");
  await deck.tapAndWait("**playlist.previous");
  expect(await deck.tapAndWait("**playlist.goto:4")).toBe("the playlist has 3 items, and no number 4");
  expect(deck.launchQueue.playlist()).toMatchObject({ place: 2, count: 3, state: "playing" });
  await deck.tapAndWait("**playlist.play:A?repeat=all&resume=no");
  await deck.tapAndWait("**playlist.previous");
  await deck.tapAndWait("**playlist.next");
  expect(deck.started()).toEqual(["1", "2", "3", "2", "1", "3", "1"]);
});

test("a pause keeps the place, play goes on there, and stop ends it all", async () => {
  await using deck = await makeList("A/1.sleep", "A/2.sleep");
  await deck.tapAndWait("**playlist.play:A");
  await deck.tapAndWait("**playlist.next");
  expect(await deck.tapAndWait("**playlist.pause")).toBe(true);
  expect(deck.launchQueue.activeMedia()).toBeUndefined();
  expect(deck.launchQueue.playlist()).toMatchObject({ place: 2, state: "paused" });
  expect(await deck.tapAndWait("**playlist.pause")).toBe("the playlist does not play");
  await deck.tapAndWait("**playlist.play");
  expect(deck.launchQueue.activeMedia()?.mediaName).toBe("2");
  expect(await deck.tapAndWait("**playlist.stop")).toBe(true);
  expect(deck.launchQueue.activeMedia()).toBeUndefined();
  expect(await deck.tapAndWait("**playlist.play")).toMatch(/^no playlist is loaded/);
});

test.each(["**stop", "SNES/other.sleep"])("%s ends the playlist", async (script) => {
  await using deck = await makeList("A/1.sleep", "A/2.sleep", "SNES/other.sleep");
  await deck.tapAndWait("**playlist.play:A");
  expect(await deck.tapAndWait(script)).toBe(true);
  expect(deck.launchQueue.playlist()).toBeUndefined();
});

test("a paused playlist outlives what is played meanwhile, and goes on where it was", async () => {
  await using deck = await makeList("A/1.sleep", "A/2.sleep", "SNES/other.sleep");
  await deck.tapAndWait("**playlist.play:A");
  await deck.tapAndWait("**playlist.next");
  await deck.tapAndWait("**playlist.pause");
  await deck.tapAndWait("SNES/other.sleep");
  deck.launchQueue.stopMedia("its card was taken off");
  await eventually(() => expect(deck.launchQueue.activeMedia()).toBeUndefined());
  await deck.tapAndWait("**playlist.play");
  expect(deck.started()).toEqual(["1", "2", "other", "2"]);
});

test("a playlist belongs to the card that started it, and ends with what plays of it", async () => {
  await using deck = await makeList("A/1.sleep", "A/2.sleep");
  await deck.tapAndWait("**playlist.play:A");
  const card = deck.launchQueue.cardOfMedia() ?? "";
  expect(deck.launchQueue.isLaunching(card)).toBe(true);
  deck.launchQueue.stopMedia("its card was taken off", card);
  await eventually(() => expect(deck.launchQueue.activeMedia()).toBeUndefined());
  expect(deck.launchQueue.playlist()).toBeUndefined();
  expect(deck.launchQueue.isLaunching(card)).toBe(false);
});

test("a stop over the API ends the playlist, and nothing more of it starts", async () => {
  const clock = createManualClock();
  // No time passes between two starts, so a further item would wait for the clock.
  await using deck = await makeDeck({ clock, elapsedMs: () => 0 });
  await deck.files("A/1.sleep", "A/2.sleep");
  await deck.tapAndWait("**playlist.play:A");
  deck.launchQueue.stop();
  await eventually(() => expect(deck.count("media.stopped")).toBe(1));
  await eventually(() => expect(clock.waiting()).toBe(0));
  expect(deck.started()).toEqual(["1"]);
  expect(deck.launchQueue.playlist()).toBeUndefined();
});

test("a further item waits for the clock, so that items that end at once do not start one after another", async () => {
  const clock = createManualClock();
  await using deck = await makeDeck({ clock, elapsedMs: () => 0 });
  await deck.files("A/1.true", "A/2.sleep");
  await deck.tapAndWait("**playlist.play:A");
  await eventually(() => expect(deck.count("media.stopped")).toBe(1));
  await eventually(() => expect(clock.waiting()).toBe(1));
  expect(deck.started()).toEqual(["1"]);
  clock.advance(1000);
  await eventually(() => expect(deck.started()).toEqual(["1", "2"]));
});

test("two players that crash in a row end it; one alone does not", async () => {
  await using deck = await makeDeck();
  await deck.files("A/1.false", "A/2.true", "A/3.false", "A/4.false", "A/5.sleep");
  await deck.tapAndWait("**playlist.play:A");
  await eventually(() => expect(deck.lines).toContainEqual(expect.stringContaining("two players in a row")));
  expect(deck.started()).toEqual(["1", "2", "3", "4"]);
  expect(deck.launchQueue.playlist()).toBeUndefined();
});

test("a playlist of which nothing plays fails its launch", async () => {
  await using deck = await makeList("A/a.odd", "A/b.odd");
  expect(await deck.tapAndWait("**playlist.play:A?repeat=all&resume=no")).toMatch(
    /^nothing more of the playlist can be played: no player is set up for \.odd/,
  );
  expect(deck.launchQueue.playlist()).toBeUndefined();
  expect(await deck.tapAndWait("**playlist.play:A/a.odd")).toMatch(/is no playlist: it takes a folder/);
  expect(await deck.tapAndWait("**playlist.play:../..")).toMatch(
    /is not below a media folder|there is no file/,
  );
});

test("repeat=one stays with one item, repeat=all begins again", async () => {
  await using deck = await makeList("A/1.true", "A/2.true");
  await deck.tapAndWait("**playlist.play:A?repeat=all&resume=no");
  await eventually(() => expect(deck.count("media.stopped")).toBeGreaterThanOrEqual(5));
  expect(deck.started().slice(0, 5)).toEqual(["1", "2", "1", "2", "1"]);
  const before = deck.started().length;
  await deck.tapAndWait("**playlist.play:A?repeat=one&resume=no");
  await eventually(() => expect(deck.started().length).toBeGreaterThan(before + 3));
  expect(new Set(deck.started().slice(before + 1))).toEqual(new Set(["1"]));
});

test("a shuffled list plays each item once", async () => {
  const names = Array.from({ length: 12 }, (_, index) => `${index}`.padStart(2, "0"));
  await using deck = await makeList(...names.map((name) => `A/${name}.true`));
  await deck.tapAndWait("**playlist.play:A?mode=shuffle");
  await eventually(() => expect(deck.count("media.stopped")).toBe(12));
  expect(deck.started().toSorted()).toEqual(names);
});

test("if play time is over, the playlist ends and says so, rather than trying each item", async () => {
  let why: string | undefined;
  await using deck = await makeDeck({ refusal: () => why, elapsedMs: () => performance.now() * 1000 });
  await deck.files("A/1.sleep", "A/2.sleep");
  await deck.tapAndWait("**playlist.play:A");
  why = "the time is up";
  expect(await deck.tapAndWait("**playlist.next")).toBe("the time is up");
  expect(deck.lines).toEqual([]);
});

const list = "**playlist.play:A";
const songs = ["A/1.sleep", "A/2.sleep", "A/3.true"] as const;

test("a playlist goes on at its item after a stop and a restart, and at its first one after its end", async () => {
  const data = await mkdtemp(join(tmpdir(), "tapdeck-list-"));
  const parts = { data, elapsedMs: () => performance.now() * 1000 };
  {
    await using deck = await makeDeck(parts);
    await deck.files(...songs);
    await deck.tapAndWait(list);
    await deck.tapAndWait("**playlist.next");
    await deck.tapAndWait("**stop");
    expect(deck.started()).toEqual(["1", "2"]);
  }
  {
    await using deck = await makeDeck(parts);
    // A new file that sorts before the playing item moves that item by one place.
    await deck.files("A/0.sleep");
    await deck.tapAndWait("A");
    expect(deck.launchQueue.playlist()).toMatchObject({ place: 3, count: 4 });
    deck.tap("**playlist.next");
    await eventually(() => expect(deck.launchQueue.playlist()).toBeUndefined());
    await deck.tapAndWait(list);
    expect(deck.started()).toEqual(["2", "3", "0"]);
  }
  await rm(data, { recursive: true });
});

test("the card and the setting decide whether a playlist goes on; a random order and a lost item do not", async () => {
  await using deck = await makeList(...songs);
  const next = async (card: string) => {
    await deck.tapAndWait(card);
    return deck.launchQueue.playlist()?.place;
  };
  const never = { playback: { resume: "never" } } as const;
  await deck.tapAndWait(list);
  await deck.tapAndWait("**playlist.goto:2");
  expect(await next(list)).toBe(2);
  expect(await next(`${list}?mode=shuffle`)).toBe(1);
  expect(await next(list)).toBe(2);
  deck.set(never);
  expect(await next(list)).toBe(1);
  await deck.tapAndWait("**playlist.goto:2");
  expect(await next(list)).toBe(1);
  expect(await next(`${list}?resume=yes`)).toBe(2);
  deck.set({ playback: { resume: "long" } });
  await rm(join(deck.folder, "A/2.sleep"));
  expect(await next(list)).toBe(1);
  // The list continues later with the first item that plays.
  expect(await next(`${list}?resume=no`)).toBe(1);
});

/** A list whose second item starts only if the script may know the last card. */
const spying = JSON.stringify({
  items: [
    { name: "first", zapscript: "A/1.true" },
    { name: "second", zapscript: '**launch:A/2.true?when=[[last_scanned.id=="04aabb"]]' },
  ],
});

for (const [maker, later] of [
  [false, true],
  [true, false],
  [true, true],
] as const)
  test(`an item runs with the lower of both origins: maker trusted=${maker}, later caller trusted=${later}`, async () => {
    await using deck = await makeList("A/1.true", "A/2.true");
    const launch = async (text: string, trusted: boolean) => {
      const ended = deck.count("launch.finished");
      deck.launchQueue.launch({ ...deck.token(text), uid: "04aabb" }, { trusted });
      await eventually(() => expect(deck.count("launch.finished")).toBe(ended + 1));
    };
    await launch("**echo:a card", true);
    await launch(`**playlist.load:${spying}`, maker);
    await launch("**playlist.next", later);
    expect(deck.started()).toEqual(maker && later ? ["2"] : []);
  });

test("media.control of a caller that may only play runs the next item as that caller", async () => {
  await using deck = await makeDeck({
    config: { launchers: [{ id: "any", systems: [], extensions: [], command: ["tail", "-f", "{path}"] }] },
  });
  await deck.files("A/1.true", "A/2.true");
  deck.launchQueue.launch(
    { ...deck.token(`**playlist.play:${spying}`), uid: "04aabb" },
    { isFromReader: true },
  );
  await eventually(() => expect(deck.started()).toEqual(["1"]));
  await deck.launchQueue.control({ kind: "next" }, { grant: () => "play" });
  expect(deck.started()).toEqual(["1"]);
  await deck.launchQueue.control({ kind: "previous" }, { grant: () => "change" });
  await deck.launchQueue.control({ kind: "next" }, { grant: () => "change" });
  await eventually(() => expect(deck.started()).toEqual(["1", "1", "2"]));
});

/** An hour passes between two looks, so no end of a player counts as a crash, however soon it comes. */
function hoursApart(): () => number {
  let hours = 0;
  return () => ++hours * 3_600_000;
}

/** A deck with a list on a card: each item but the first makes the file `mark`. Its players run until `end`. */
async function makeMarkingDeck(before = "") {
  const deck = await makeDeck({
    config: { script: { ...defaultConfig.script, allowExecute: ["touch .*"] } },
    launchers: () => [{ id: "tail", systems: [], extensions: [".tail"], command: ["tail", "-f", "{path}"] }],
    elapsedMs: hoursApart(),
  });
  await deck.files("A/1.tail", "A/2.tail", "A/3.tail");
  const mark = join(deck.folder, "mark");
  const marking = (song: string) => ({ zapscript: `${before}**execute:touch ${mark}||A/${song}.tail` });
  const items = [{ zapscript: "A/1.tail" }, marking("2"), marking("3")];
  return Object.assign(deck, {
    marked: () => existsSync(mark),
    marking: JSON.stringify({ items }),
    /** Ends the player of this item, and resolves when the list has continued or paused. */
    async end(song: string) {
      const begun = deck.started().length;
      process.kill(await deck.playerOf(`A/${song}.tail`));
      await eventually(() => {
        const { state, place } = deck.launchQueue.playlist() ?? {};
        const hasGoneOn = state === "paused" || deck.started().length > begun;
        const seen = { state, place, names: deck.names(), lines: deck.lines };
        expect({ hasGoneOn, ...seen }).toEqual({ hasGoneOn: true, ...seen });
      });
    },
  });
}

function phone(first: Grant = "change") {
  let now = first;
  return {
    requester: { client: "phone", grant: () => now },
    lower(grant: Grant) {
      now = grant;
    },
  };
}

test.each(["none", "play"] as const)(
  "the list of a client whose right has fallen to %s runs no commands any more",
  async (grant) => {
    await using deck = await makeMarkingDeck();
    const { requester, lower } = phone();
    deck.launchQueue.launch(deck.token(`**playlist.play:${deck.marking}`), { requester });
    await eventually(() => expect(deck.started()).toEqual(["1"]));
    lower(grant);
    deck.launchQueue.revoke("phone");
    await deck.end("1");
    expect([deck.marked(), deck.started()]).toEqual([false, ["1"]]);
    expect(deck.lines).toContainEqual(expect.stringContaining("**execute reaches outside"));
  },
);

test("the media of a revoked client's list play on, one after another", async () => {
  await using deck = await makeMarkingDeck();
  const { requester, lower } = phone();
  deck.launchQueue.launch(deck.token("**playlist.play:A"), { requester });
  await eventually(() => expect(deck.started()).toEqual(["1"]));
  lower("none");
  deck.launchQueue.revoke("phone");
  await deck.end("1");
  expect(deck.started()).toEqual(["1", "2"]);
});

test("a list that a client has moved runs no commands after its right fell", async () => {
  await using deck = await makeMarkingDeck();
  const { requester, lower } = phone();
  await deck.tapAndWait(`**playlist.load:${deck.marking}`);
  await deck.tapAndWait("**playlist.goto:3");
  await rm(join(deck.folder, "mark"));
  await deck.launchQueue.control({ kind: "previous" }, requester);
  await eventually(() => expect([deck.marked(), deck.started()]).toEqual([true, ["3", "2"]]));
  await rm(join(deck.folder, "mark"));
  lower("play");
  await deck.end("2");
  expect([deck.marked(), deck.started()]).toEqual([false, ["3", "2"]]);
});

test.each([
  ["revocation", "none", "change"],
  ["change of the settings", "play", "change"],
  ["revocation of a player", "none", "play"],
] as const)(
  "a %s ends the commands of an item that the list itself has started",
  async (by, grant, first) => {
    await using deck = await makeMarkingDeck("**delay:600000||");
    const { requester, lower } = phone(first);
    const items = [{ zapscript: "A/1.tail" }, { zapscript: "**delay:9000||A/2.tail" }];
    const list = first === "play" ? JSON.stringify({ items }) : deck.marking;
    deck.launchQueue.launch(deck.token(`**playlist.play:${list}`), { requester });
    await eventually(() => expect(deck.started()).toEqual(["1"]));
    process.kill(await deck.playerOf("A/1.tail"));
    await eventually(() => expect(deck.launchQueue.playlist()).toMatchObject({ place: 2, state: "playing" }));
    deck.launchQueue.review();
    await Bun.sleep(0);
    expect(deck.launchQueue.playlist()).toMatchObject({ place: 2, state: "playing" });
    lower(grant);
    if (by === "change of the settings") deck.launchQueue.review();
    else deck.launchQueue.revoke("phone");
    await eventually(() => expect(deck.launchQueue.playlist()).toMatchObject({ place: 2, state: "paused" }));
    expect([deck.marked(), deck.started()]).toEqual([false, ["1"]]);
  },
);

test("a list runs no commands after a caller that may only play moved it, until a trusted caller does", async () => {
  await using deck = await makeMarkingDeck();
  await deck.tapAndWait(`**playlist.load:${deck.marking}`);
  deck.launchQueue.launch(deck.token("**playlist.goto:1"), { trusted: false });
  await eventually(() => expect(deck.started()).toEqual(["1"]));
  await deck.end("1");
  expect([deck.marked(), deck.started()]).toEqual([false, ["1"]]);
  await deck.tapAndWait("**playlist.play");
  expect([deck.marked(), deck.started()]).toEqual([true, ["1", "2"]]);
  await rm(join(deck.folder, "mark"));
  await deck.end("2");
  expect([deck.marked(), deck.started()]).toEqual([true, ["1", "2", "3"]]);
});
