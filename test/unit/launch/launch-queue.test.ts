import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../../src/core/clock.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import { launchQueueMax } from "../../../src/core/limits.ts";
import { proofMs } from "../../../src/launch/playing.ts";
import { keepPlays } from "../../../src/services/library.ts";
import { type Deck, type DeckOptions, makeDeck } from "../../helpers/launch-harness.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually, liveMembers } from "../../helpers/processes.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A deck with players that a file's extension chooses; the command line of a player states its effect on {path}. */
async function launchDeck(options: Pick<DeckOptions, "clock" | "map"> = {}) {
  const sh = (id: string, script: string) => ({
    id,
    systems: [],
    extensions: [`.${id}`],
    command: ["/bin/sh", "-c", script, "{path}"],
  });
  const ready = 'echo $$ >"$0.pid"';
  const waiting = "while :; do sleep 0.05; done";
  const deck = await makeDeck({
    ...options,
    launchers: (folder) => [
      sh("sleep", `${ready}; exec sleep 600`),
      sh("true", "exit 0"),
      sh("false", "exit 9"),
      sh("loud", "echo no screen >&2; echo no sound >&2; exit 3"),
      sh("stubborn", `trap "" TERM; ${ready}; while :; do sleep 1; done`),
      sh(
        "family",
        `(trap "" TERM; ${ready}; while :; do sleep 1; done) & until [ -s "$0.pid" ]; do sleep 0.01; done; exit 1`,
      ),
      {
        ...sh("saver", `trap 'sleep 1.5; echo INT >"$0.saved"; exit 0' INT; ${ready}; ${waiting}`),
        stop: { signal: "INT", graceMs: 30_000 },
      },
      {
        ...sh("endless", `trap 'echo asked >"$0.asked"' TERM; ${ready}; ${waiting}`),
        stop: { signal: "TERM", graceMs: 100_000 },
      },
      { ...sh("none", ""), command: [join(folder, "no-such-player"), "{path}"] },
    ],
  });
  closing.push(() => deck[Symbol.asyncDispose]());
  const names = ["a.sleep", "b.sleep", "a.true", "a.false", "a.loud", "a.stubborn", "a.family", "a.none"];
  for (const name of [...names, "a.odd", "a.saver", "a.endless"]) await deck.file(`SNES/${name}`);
  return {
    ...deck,
    launch: (text: string) => deck.launchQueue.launch({ type: "NTAG", uid: "04aa", text, data: "" }),
    /** The process of the player of a file, once its script has finished its preparations. */
    async playerOf(file: string): Promise<number> {
      const path = join(deck.folder, "SNES", `${file}.pid`);
      await eventually(async () => expect(await text(path)).toMatch(/^\d+\n$/));
      return Number(await text(path));
    },
  };
}

const text = (path: string) =>
  Bun.file(path)
    .text()
    .catch(() => "");

test("a tap is reported in order: running, media.started, launch.finished", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.sleep");
  expect(deck.names()).toEqual(["running"]);
  await eventually(() => expect(deck.count("launch.finished")).toBe(1));
  expect(deck.names()).toEqual(["running", "media.started", "launch.finished"]);
  const [running, started, finished] = deck.heard.map(({ payload }) => payload);
  expect(running).toMatchObject({ type: "NTAG", uid: "04aa", text: "SNES/a.sleep", script: "SNES/a.sleep" });
  expect(started).toMatchObject({
    systemId: "SNES",
    mediaName: "a",
    launcherId: "sleep",
    mediaPath: join(deck.folder, "SNES/a.sleep"),
  });
  expect(finished).toMatchObject({ uid: "04aa", text: "SNES/a.sleep", success: true });
  expect(finished).toMatchObject({ time: running !== undefined && "time" in running ? running.time : "" });
  expect(deck.launchQueue.activeMedia()).toMatchObject({ mediaName: "a" });
});

test("a button's script runs as a card's would, and has no row in the history", async () => {
  const deck = await launchDeck();
  deck.launchQueue.launch(
    { type: "Button", uid: "", text: "**echo:pressed", data: "" },
    { isFromReader: true, isUnlisted: true },
  );
  await eventually(() => expect(deck.count("launch.finished")).toBe(1));
  expect(deck.heard.at(-1)?.payload).toMatchObject({ text: "**echo:pressed", success: true });
  expect(deck.store.history.page({ limit: 5 }).entries).toEqual([]);
});

test("a launch from a reader is in the history with that reader, its script and its end", async () => {
  const deck = await launchDeck({ map: ({ uid }) => (uid === "04bb" ? "SNES/a.true" : undefined) });
  deck.launchQueue.launch({ type: "NTAG", uid: "04bb", text: "card", data: "" }, { readerId: "reader" });
  await eventually(() => expect(deck.ends()).toHaveLength(1));
  expect(deck.store.history.page({ limit: 5 }).entries).toMatchObject([
    { uid: "04bb", text: "card", script: "SNES/a.true", readerId: "reader", success: true },
  ]);
  expect(deck.heard[0]?.payload).toMatchObject({ text: "card", script: "SNES/a.true" });
});

test("media that ends by itself is reported with its exit code, and plays no more", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.false");
  await eventually(() => expect(deck.count("media.stopped")).toBe(1));
  expect(deck.heard.find(({ name }) => name === "media.stopped")?.payload).toMatchObject({
    mediaName: "a",
    exitCode: 9,
    elapsed: expect.any(Number),
  });
  expect(deck.launchQueue.activeMedia()).toBeUndefined();
});

test.each([-3600_000, 20 * 365 * 24 * 3600_000])(
  "a clock that is set by %p ms while media play changes no play time",
  async (byMs) => {
    let setMs = 0;
    const deck = await launchDeck({ clock: { ...systemClock, now: () => systemClock.now() + setMs } });
    const following = keepPlays(deck.bus, deck.store.plays);
    deck.launch("SNES/a.sleep");
    await deck.playerOf("a.sleep");
    setMs = byMs;
    await deck.launchQueue.stopAll();
    const { elapsed } = await deck.next("media.stopped");
    expect(elapsed).toBeGreaterThanOrEqual(0);
    expect(elapsed).toBeLessThan(600);
    const all = { limit: 5, belowId: Number.MAX_SAFE_INTEGER, systems: [], isDistinct: false };
    expect(deck.store.plays.list(all)).toMatchObject([{ playedS: elapsed }]);
    following[Symbol.dispose]();
  },
);

test("a player that crashes is reported without an exit code", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.sleep");
  process.kill(await deck.playerOf("a.sleep"), "SIGKILL");
  await eventually(() => expect(deck.count("media.stopped")).toBe(1));
  expect(deck.heard.find(({ name }) => name === "media.stopped")?.payload).toMatchObject({
    mediaName: "a",
    exitCode: null,
    reason: "failed",
  });
});

test("a player that fails at once is a launch that failed, with its last words, in the history too", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.loud||**echo:goes on");
  await eventually(() => expect(deck.ends()).toHaveLength(1));
  expect(deck.ends()[0]).toMatch(/^the player loud ended with code 3 after \d+\.\d s: no screen; no sound$/);
  expect(deck.store.history.page({ limit: 5 }).entries).toMatchObject([
    { success: false, error: deck.ends()[0] },
  ]);
  expect(deck.lines).toEqual(["info  script: goes on"]);
});

test("a player that does not report its state has proved itself after a while, and nobody waits for that", async () => {
  const clock = createManualClock();
  const deck = await launchDeck({ clock });
  deck.launch("SNES/a.sleep");
  deck.launch("**echo:the next one");
  await deck.playerOf("a.sleep");
  await eventually(() => expect(deck.ends()).toHaveLength(1));
  expect(deck.lines).toEqual(["info  script: the next one"]);
  clock.advance(proofMs - 1);
  await Bun.sleep(0);
  expect(deck.ends()).toEqual([true]);
  clock.advance(1);
  await eventually(() => expect(deck.ends()).toHaveLength(2));
  expect(deck.ends()).toEqual([true, true]);
  expect(deck.launchQueue.activeMedia()).toMatchObject({ mediaName: "a" });
});

test("a player that is taken over before it has proved itself did not fail", async () => {
  const deck = await launchDeck({ clock: createManualClock() });
  deck.launch("SNES/a.sleep");
  await deck.playerOf("a.sleep");
  deck.launch("SNES/b.sleep");
  await deck.playerOf("b.sleep");
  expect(deck.ends()).toEqual([true]);
  expect(
    deck.heard.filter(({ name }) => name.startsWith("media.")).map(({ payload }) => payload),
  ).toMatchObject([{ mediaName: "a" }, { mediaName: "a", reason: "stopped" }, { mediaName: "b" }]);
});

test("a script that waits until media is ready waits for the proof, or fails when there is none", async () => {
  const clock = createManualClock();
  const deck = await launchDeck({ clock });
  deck.launch("SNES/a.sleep||**delay:media_ready||**echo:ready");
  await deck.playerOf("a.sleep");
  expect(deck.lines).toEqual([]);
  clock.advance(proofMs);
  await eventually(() => expect(deck.lines).toHaveLength(1));
  deck.launch("SNES/a.loud||**delay:media_ready||**echo:never");
  await eventually(() => expect(deck.ends()).toHaveLength(2));
  expect(deck.ends()[1]).toMatch(/^the player loud ended with code 3/);
  deck.launch("SNES/b.sleep||**delay:media_ready");
  process.kill(await deck.playerOf("b.sleep"), "SIGTERM");
  await eventually(() => expect(deck.ends()).toHaveLength(3));
  expect(deck.ends()[2]).toMatch(/^the player sleep was ended by a signal/);
});

test("an action that a plain player lacks is refused, with what to do, and stop works", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.sleep||**control:pause");
  await eventually(() => expect(deck.ends()).toHaveLength(1));
  expect(deck.ends()).toEqual([
    'the player sleep can only be started and stopped: pause needs kind = "mpv" or "retroarch" in its [[launchers]]',
  ]);
  expect(await deck.launchQueue.playback()).toEqual(deck.launchQueue.activeMedia());
  await deck.launchQueue.control({ kind: "stop" });
  expect(deck.launchQueue.activeMedia()).toBeUndefined();
  expect(deck.launchQueue.control({ kind: "stop" })).rejects.toThrow("nothing plays");
});

test("a player that saves for longer than a second when it is asked to end is given its grace, and its own signal", async () => {
  const deck = await launchDeck();
  const saved = join(deck.folder, "SNES", "a.saver.saved");
  deck.launch("SNES/a.saver");
  await deck.playerOf("a.saver");
  deck.launch("SNES/b.sleep");
  await deck.playerOf("b.sleep");
  expect(await text(saved)).toBe("INT\n");
});

test("the end of the service shortens a grace that runs already", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.endless");
  const player = await deck.playerOf("a.endless");
  deck.launch("**stop");
  await eventually(async () => expect(await text(join(deck.folder, "SNES", "a.endless.asked"))).not.toBe(""));
  // The player's own grace time would be longer than this test may take.
  await deck.launchQueue.close();
  expect(await liveMembers(player)).toEqual([]);
});

test("new media takes over: the old player is gone before the new one starts", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.stubborn");
  const old = await deck.playerOf("a.stubborn");
  let left: Promise<readonly number[]> | undefined;
  deck.bus.on("media.started", () => {
    left = liveMembers(old);
  });
  deck.launch("SNES/b.sleep");
  await eventually(() => expect(deck.ends()).toHaveLength(2));
  expect(await left).toEqual([]);
  expect(deck.names().filter((name) => name.startsWith("media."))).toEqual([
    "media.started",
    "media.stopped",
    "media.started",
  ]);
  expect(deck.launchQueue.activeMedia()).toMatchObject({ mediaName: "b" });
});

test("new media does not start beside what a player left behind", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.family");
  const player = await deck.playerOf("a.family");
  await eventually(() => expect(deck.count("media.stopped")).toBe(1));
  expect(await liveMembers(player)).not.toEqual([]);
  let left: Promise<readonly number[]> | undefined;
  deck.bus.on("media.started", () => {
    left = liveMembers(player);
  });
  deck.launch("SNES/b.sleep");
  await eventually(() => expect(deck.ends()).toHaveLength(2));
  expect(await left).toEqual([]);
});

test("a card that cannot be played leaves what plays alone", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.sleep||SNES/missing.sfc");
  deck.launch("SNES/a.odd");
  await eventually(() => expect(deck.ends()).toHaveLength(2));
  expect(deck.ends()).toEqual([
    "there is no file SNES/missing.sfc below the media folders",
    "no player is set up for .odd in SNES: add one to the config file under [[launchers]]",
  ]);
  expect(deck.launchQueue.activeMedia()).toMatchObject({ mediaName: "a" });
});

test.each([
  ["", /^there is no text on this token, and no mapping for it$/],
  [" \u00a0\t", /^there is no text on this token, and no mapping for it$/],
  ["**stopp", /^this version knows no command \*\*stopp; did you mean stop\?$/],
  ["SNES/a.none", /no-such-player could not be started: there is no such program$/],
])("the script %p fails with a sentence, in the event and in the history", async (script, sentence) => {
  const deck = await launchDeck();
  deck.launch(script);
  await eventually(() => expect(deck.ends()).toHaveLength(1));
  expect(deck.names()).toEqual(["running", "launch.finished"]);
  expect(deck.ends()[0]).toMatch(sentence);
  expect(deck.store.history.page({ limit: 5 }).entries).toMatchObject([
    { success: false, error: deck.ends()[0] },
  ]);
});

test("a card with the link of a deck was an address; for others the link is the text that api.allow_launch judged", async () => {
  const deck = await launchDeck();
  const text = "http://tapdeck.local:7497/l/**echo:from%20a%20link";
  deck.launchQueue.launch({ type: "NTAG", uid: "04aa", text, data: "" }, { isTap: true, isFromReader: true });
  await eventually(() => expect(deck.ends()).toHaveLength(1));
  expect(deck.lines.filter((line) => line.startsWith("info  script: "))).toEqual([
    "info  script: from a link",
  ]);
  deck.launch(text);
  await eventually(() => expect(deck.ends()).toHaveLength(2));
  expect(deck.ends()[1]).toContain("is an address and no file");
});

test("scripts run one after another, in the order in which they came", async () => {
  const clock = createManualClock();
  const deck = await launchDeck({ clock });
  deck.launch("**echo:1||**delay:1000||**echo:2");
  deck.launch("**echo:3");
  await Bun.sleep(0);
  expect(deck.lines).toEqual(["info  script: 1"]);
  clock.advance(1000);
  await eventually(() => expect(deck.ends()).toHaveLength(2));
  expect(deck.lines).toEqual(["info  script: 1", "info  script: 2", "info  script: 3"]);
});

test("stop ends what plays, what runs and what waits, and each launch once", async () => {
  const clock = createManualClock();
  const deck = await launchDeck({ clock });
  deck.launch("SNES/a.sleep||**delay:60000||**echo:never");
  deck.launch("SNES/b.sleep");
  deck.launch("**echo:never");
  await deck.playerOf("a.sleep");
  deck.launchQueue.stop();
  await eventually(() => {
    expect(deck.ends()).toHaveLength(3);
    expect(deck.count("media.stopped")).toBe(1);
  });
  expect(deck.ends()).toEqual(["it was stopped", "it was stopped", "it was stopped"]);
  expect(deck.count("media.started")).toBe(1);
  expect(deck.lines).toEqual([]);
  expect(deck.launchQueue.activeMedia()).toBeUndefined();
  expect(deck.store.history.page({ limit: 5 }).entries.map(({ error }) => error)).toEqual(
    deck.ends().map(String),
  );

  deck.launch("**echo:again");
  await eventually(() => expect(deck.ends()).toHaveLength(4));
  expect(deck.ends()[3]).toBe(true);
});

test("a stop between the tap and its player lets no player start", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.sleep");
  deck.launchQueue.stop();
  await eventually(() => expect(deck.ends()).toHaveLength(1));
  expect(deck.ends()).toEqual(["it was stopped"]);
  expect(deck.count("media.started")).toBe(0);
});

test("the command stop ends what plays, and its script goes on", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.sleep");
  deck.launch("**stop||**echo:after");
  await eventually(() => expect(deck.ends()).toHaveLength(2));
  expect(deck.ends()).toEqual([true, true]);
  expect(deck.names().at(-2)).toBe("media.stopped");
  expect(deck.lines).toEqual(["info  script: after"]);
});

describe("a card that waits", () => {
  const tap = (deck: Deck, text: string) =>
    deck.launchQueue.launch({ type: "NTAG", uid: `04${text.length}`, text, data: "" }, { isTap: true });
  const echoes = (deck: Deck) => deck.lines.flatMap((line) => /script: (.*)/.exec(line)?.[1] ?? []);

  test("does not keep a stop card waiting, and is over with it", async () => {
    const deck = await launchDeck();
    tap(deck, "SNES/a.sleep||**delay:10m||**echo:never");
    await eventually(() => expect(deck.launchQueue.activeMedia()).toBeDefined());
    tap(deck, "**stop");
    await eventually(() => expect(deck.count("launch.finished")).toBe(2));
    expect(deck.launchQueue.activeMedia()).toBeUndefined();
    expect(deck.ends().toSorted()).toEqual(["another card took over", true]);
    expect(echoes(deck)).toEqual([]);
  });

  test("is over when another card starts something", async () => {
    const deck = await launchDeck();
    tap(deck, "SNES/a.sleep||**delay:10m||**stop");
    await eventually(() => expect(deck.launchQueue.activeMedia()).toBeDefined());
    tap(deck, "SNES/b.sleep");
    await eventually(() => expect(deck.launchQueue.activeMedia()?.mediaName).toBe("b"));
    await eventually(() => expect(deck.ends()).toContain("another card took over"));
  });

  test("goes on where the other card leaves alone what plays, which has its turn meanwhile", async () => {
    const clock = createManualClock();
    const deck = await launchDeck({ clock });
    tap(deck, "**echo:one||**delay:10m||**echo:three");
    await eventually(() => expect(echoes(deck)).toHaveLength(1));
    tap(deck, "**echo:two");
    await eventually(() => expect(deck.ends()).toHaveLength(1));
    clock.advance(10 * 60_000);
    await eventually(() => expect(deck.ends()).toHaveLength(2));
    expect(echoes(deck)).toEqual(["one", "two", "three"]);
    expect(deck.ends()).toEqual([true, true]);
  });

  test("is not cut short by what was not put on the reader: launches wait in the order in which they came", async () => {
    const clock = createManualClock();
    const deck = await launchDeck({ clock });
    deck.launch("**echo:one||**delay:10m||**echo:two");
    deck.launch("**echo:three");
    tap(deck, "**echo:cut in");
    await eventually(() => expect(deck.ends()).toHaveLength(1));
    clock.advance(10 * 60_000);
    await eventually(() => expect(deck.ends()).toHaveLength(3));
    expect(echoes(deck)).toEqual(["one", "cut in", "two", "three"]);
  });

  test("never has its turn while another command runs", async () => {
    const clock = createManualClock();
    const deck = await launchDeck({ clock });
    tap(deck, "**delay:1||**echo:mine");
    await Promise.resolve();
    // The old player ends slowly, and nothing else runs meanwhile.
    tap(deck, "SNES/a.stubborn");
    await deck.playerOf("a.stubborn");
    tap(deck, "**delay:1||**echo:before");
    tap(deck, "SNES/b.sleep||**echo:after");
    clock.advance(1);
    await eventually(() => {
      clock.advance(100);
      expect(deck.ends()).toHaveLength(4);
    });
    expect(deck.launchQueue.activeMedia()?.mediaName).toBe("b");
    expect(echoes(deck)).toEqual(["after"]);
    expect(deck.ends().filter((end) => end === "another card took over")).toHaveLength(2);
  });
});

test("a full queue refuses, and what it refuses leaves no trace", async () => {
  const deck = await launchDeck({ clock: createManualClock() });
  deck.launch("**delay:1000");
  await Bun.sleep(0); // The first script runs now, so it no longer waits in the queue.
  for (let index = 0; index < launchQueueMax; index++) deck.launch("**delay:1000");
  let refused: unknown;
  try {
    deck.launch("**echo:one too many");
  } catch (error) {
    refused = error;
  }
  expect(refused).toBeInstanceOf(ServiceError);
  expect(refused).toMatchObject({ code: "busy", data: { limit: "launchQueueMax" } });
  expect(deck.count("running")).toBe(launchQueueMax + 1);
  deck.launchQueue.stop();
  await eventually(() => expect(deck.ends()).toHaveLength(launchQueueMax + 1));
  expect(deck.store.history.page({ limit: 1000 }).entries).toHaveLength(launchQueueMax + 1);
});

test("a token that says nothing is refused", async () => {
  const { launchQueue, names } = await launchDeck();
  const empty = { type: "NTAG", uid: "", text: "", data: "" };
  expect(() => launchQueue.launch(empty)).toThrow("at least one of uid, text and data must not be empty");
  expect(names()).toEqual([]);
});

test("a listener that launches when a script ends starts no second queue", async () => {
  const deck = await launchDeck();
  let more = 3;
  deck.bus.on("launch.finished", () => {
    if (more-- > 0) deck.launch(more % 2 === 0 ? "" : "**echo:x");
  });
  deck.launch("");
  await eventually(() => expect(deck.ends()).toHaveLength(4));
  expect(deck.names()).toEqual(
    Array.from({ length: 4 }, () => ["running", "launch.finished"] as const).flat(),
  );
});

test("close ends a player that will not end, and refuses whatever comes after", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.stubborn");
  const player = await deck.playerOf("a.stubborn");
  await deck.launchQueue.close();
  expect(await liveMembers(player)).toEqual([]);
  expect(deck.names()).toEqual(["running", "media.started", "launch.finished", "media.stopped"]);
  expect(() => deck.launch("SNES/a.sleep")).toThrow("the service is stopping");
});

test("close ends what a player left behind", async () => {
  const deck = await launchDeck();
  deck.launch("SNES/a.family");
  const player = await deck.playerOf("a.family");
  await eventually(() => expect(deck.count("media.stopped")).toBe(1));
  expect(await liveMembers(player)).not.toEqual([]);
  await deck.launchQueue.close();
  expect(await liveMembers(player)).toEqual([]);
});

test.each([
  ["blank", /^the tag is blank: /],
  ["unformatted", /^the tag is not formatted /],
  ["half-written", /^the message on the tag is cut short/],
  ["other-message", /^the message on the tag is neither a text nor a link/],
  ["locked", /^the tag keeps its memory locked/],
  ["unreadable", /^the tag's memory could not be read/],
] as const)(
  "a tag that is %s says so, and a mapping for it helps all the same",
  async (problem, sentence) => {
    const deck = await launchDeck({ map: ({ uid }) => (uid === "04bb" ? "**delay:1" : undefined) });
    for (const uid of ["04aa", "04bb"])
      deck.launchQueue.launch({ type: "NTAG", uid, text: "", data: "" }, { readerId: "reader", problem });
    await eventually(() => expect(deck.ends()).toHaveLength(2));
    expect(deck.ends()).toEqual([expect.stringMatching(sentence), true]);
    expect(deck.ends()[0]).toContain("no mapping for it");
  },
);
