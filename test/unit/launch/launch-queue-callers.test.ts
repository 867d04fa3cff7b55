/**
 * Launches by caller: the places that each kind has in the queue, and the end of a caller's launches when its rights end.
 * Covers: src/launch/launch-queue.ts.
 */
import { expect, test } from "bun:test";
import { ServiceError } from "../../../src/core/errors.ts";
import { launchesForCardsMax, launchQueueMax, untrustedLaunchesMax } from "../../../src/core/limits.ts";
import { pairingLink } from "../../../src/core/pairing-link.ts";
import type { Grant } from "../../../src/core/rights.ts";
import { cardOf } from "../../../src/launch/run-context.ts";
import { defaultConfig } from "../../helpers/defaults.ts";
import { type DeckOptions, makeDeck } from "../../helpers/launch-harness.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const waits = "**delay:1000";

/** A deck whose scripts wait until the test moves the clock. */
async function waitingDeck(options: DeckOptions = {}) {
  const clock = createManualClock();
  const deck = await makeDeck({ clock, ...options });
  return Object.assign(deck, { clock });
}

function caller(client: string, first: Grant = "change") {
  let now = first;
  return {
    requester: { client, grant: () => now },
    lower(grant: Grant) {
      now = grant;
    },
  };
}

function refusalOf(attempt: () => void): unknown {
  try {
    attempt();
  } catch (error) {
    return error;
  }
  return undefined;
}

test("cards have places of their own in a full queue, and no more than those", async () => {
  await using deck = await waitingDeck();
  const launch = (isTap: boolean) => deck.launchQueue.launch(deck.token(waits), { isTap });
  launch(false);
  await Bun.sleep(0); // The first launch runs now, so it no longer takes a place in the queue.
  for (let nth = 0; nth < launchQueueMax; nth++) launch(false);
  expect(() => launch(false)).toThrow(`${launchQueueMax} launches wait already`);
  for (let nth = 0; nth < launchesForCardsMax; nth++) launch(true);
  const sentence = `${launchQueueMax + launchesForCardsMax} launches wait already`;
  expect(() => launch(true)).toThrow(sentence);
  expect(refusalOf(() => launch(true))).toMatchObject({
    code: "busy",
    isPublic: true,
    data: { limit: "launchQueueMax" },
  });
  deck.launchQueue.stop();
});

test("callers that may only play have some places together, which the running launch takes too", async () => {
  await using deck = await waitingDeck();
  const launch = (trusted: boolean) => deck.launchQueue.launch(deck.token(waits), { trusted });
  launch(false);
  await Bun.sleep(0);
  for (let nth = 0; nth < 2 * untrustedLaunchesMax; nth++) launch(true);
  for (let nth = 1; nth < untrustedLaunchesMax; nth++) launch(false);
  expect(refusalOf(() => launch(false))).toMatchObject({
    code: "busy",
    isPublic: true,
    data: { limit: "untrustedLaunchesMax" },
  });
  launch(true);
  deck.launchQueue.stop();
});

test("every caller may read why its launch was refused", async () => {
  await using deck = await waitingDeck();
  const refusals = [
    () => deck.launchQueue.launch({ type: "NTAG", uid: "", text: "", data: "" }),
    () => deck.launchQueue.confirm(),
  ];
  for (const attempt of refusals) expect(refusalOf(attempt)).toMatchObject({ isPublic: true });
  for (const part of ["uid", "text", "data"] as const)
    deck.launchQueue.launch({ type: "", uid: "", text: "", data: "", [part]: "01" });
  await eventually(() => deck.ends().length === 3);
  await deck.launchQueue.close();
  const closed = refusalOf(() => deck.launchQueue.launch(deck.token(waits)));
  expect(closed).toBeInstanceOf(ServiceError);
  expect(closed).toMatchObject({ code: "busy", message: "the service is stopping", isPublic: true });
});

test("a card with a pairing link says that it is for a phone", async () => {
  await using deck = await waitingDeck();
  const link = pairingLink("https://tapdeck.example", {
    id: "5f4dcc3b-0000-4000-8000-000000000001",
    secret: "ab".repeat(32),
  });
  expect(await deck.tapAndWait(link ?? "")).toBe(
    "this card lets a phone in: tap the phone on it, not the reader",
  );
});

test("a tag of Home Assistant was a failed launch, although the broker had its event", async () => {
  const tag = "https://www.home-assistant.io/tag/5f0ba733-172f-430d-a7f8-e4ad940c88d7";
  await using deck = await waitingDeck({
    config: { mqtt: { ...defaultConfig.mqtt, url: "mqtt://broker.lan" } },
  });
  expect(await deck.tapAndWait(tag)).toBe(true);
  await using alone = await waitingDeck();
  expect(await alone.tapAndWait(tag)).toBe(
    `${tag} is a tag of Home Assistant: the deck tells it of the tag once mqtt.url names its broker`,
  );
});

test("a revoked client's launches end, whether they run, wait or are held back, and no others", async () => {
  await using deck = await waitingDeck({ config: { launch: { guard: true } } });
  await deck.files("SNES/a.sleep", "SNES/b.sleep");
  expect(await deck.tapAndWait("SNES/a.sleep")).toBe(true);
  const [phone, tablet] = [caller("phone"), caller("tablet")];
  deck.launchQueue.launch(deck.token("SNES/b.sleep"), { isTap: true, requester: phone.requester });
  await eventually(() => deck.count("launch.guarded") === 1);
  for (const { requester } of [phone, tablet, phone])
    deck.launchQueue.launch(deck.token(waits), { requester });
  await Bun.sleep(0);
  deck.launchQueue.revoke("tablet");
  expect(deck.ends().slice(2)).toEqual(["its client was revoked, or has another role now"]);
  deck.launchQueue.revoke("phone");
  await eventually(() => deck.ends().length === 5);
  expect(deck.ends().slice(3)).toEqual([
    "its client was revoked, or has another role now",
    "its client was revoked, or has another role now",
  ]);
  expect(() => deck.launchQueue.confirm()).toThrow("nothing waits to be confirmed");
  expect(deck.launchQueue.activeMedia()?.mediaName).toBe("a");
});

test("a launch that is held back outlives the revocation of another client", async () => {
  await using deck = await waitingDeck({ config: { launch: { guard: true } } });
  await deck.files("SNES/a.sleep", "SNES/b.sleep");
  expect(await deck.tapAndWait("SNES/a.sleep")).toBe(true);
  deck.launchQueue.launch(deck.token("SNES/b.sleep"), { isTap: true, requester: caller("phone").requester });
  await eventually(() => deck.count("launch.guarded") === 1);
  deck.launchQueue.revoke("tablet");
  deck.launchQueue.confirm();
  await eventually(() => deck.started().length === 2);
  expect(deck.started()).toEqual(["a", "b"]);
});

const lost = "its caller may not start it any more";

test.each(["play", "none"] as const)(
  "a caller whose right falls to %s loses its running script",
  async (grant) => {
    await using deck = await waitingDeck();
    const { requester, lower } = caller("phone");
    deck.launchQueue.launch(deck.token(waits), { requester });
    await Bun.sleep(0);
    deck.launchQueue.review();
    await Bun.sleep(0);
    expect(deck.ends()).toEqual([]);
    lower(grant);
    deck.launchQueue.review();
    await eventually(() => deck.ends().length === 1);
    expect(deck.ends()).toEqual([lost]);
  },
);

test("a waiting launch is judged by the right that its caller has when it starts", async () => {
  await using deck = await waitingDeck();
  const [phone, tablet] = [caller("phone", "play"), caller("tablet", "play")];
  deck.launchQueue.launch(deck.token(waits));
  for (const { requester } of [phone, tablet]) deck.launchQueue.launch(deck.token("**echo:x"), { requester });
  await Bun.sleep(0);
  phone.lower("look");
  deck.launchQueue.review();
  deck.clock.advance(1000);
  await eventually(() => deck.ends().length === 3);
  expect(deck.ends()).toEqual([true, lost, true]);
});

test("a card launches until its script has ended, and no other card with it", async () => {
  await using deck = await waitingDeck();
  const [first, second] = [deck.token(waits), deck.token("**echo:two")];
  const launching = () => [first, second].map((token) => deck.launchQueue.isLaunching(cardOf(token)));
  expect(launching()).toEqual([false, false]);
  deck.launchQueue.launch(first, { isTap: true });
  expect(launching()).toEqual([true, false]);
  await Bun.sleep(0);
  expect(launching()).toEqual([true, false]);
  // A launch without a tap belongs to no card.
  deck.launchQueue.launch(second);
  expect(launching()).toEqual([true, false]);
  deck.clock.advance(1000);
  await eventually(() => deck.ends().length === 2);
  expect(launching()).toEqual([false, false]);
});

test("a card that is taken off ends its own script, and leaves the scripts of others", async () => {
  await using deck = await waitingDeck();
  const token = deck.token(waits);
  deck.launchQueue.launch(token, { isTap: true });
  await Bun.sleep(0);
  deck.launchQueue.stopMedia("another reason");
  deck.launchQueue.stopMedia("its card was taken off", cardOf(deck.token("**echo:other")));
  await Bun.sleep(0);
  expect(deck.ends()).toEqual([]);
  deck.launchQueue.stopMedia("its card was taken off", cardOf(token));
  await eventually(() => deck.ends().length === 1);
  expect(deck.ends()).toEqual(["its card was taken off"]);
});

test("media on a stick that was removed stops with the reason, and media beside it plays on", async () => {
  await using deck = await waitingDeck();
  await deck.files("SNES/a.sleep");
  expect(await deck.tapAndWait("SNES/a.sleep")).toBe(true);
  deck.launchQueue.stopMediaIn(`${deck.folder}/SN`);
  await Bun.sleep(0);
  expect(deck.launchQueue.activeMedia()?.mediaName).toBe("a");
  deck.launchQueue.stopMediaIn(`${deck.folder}/SNES`);
  await eventually(() => deck.count("media.stopped") === 1);
  expect(deck.heard.at(-1)?.payload).toMatchObject({
    mediaName: "a",
    why: "the USB stick SNES was removed",
    stick: "SNES",
  });
  expect(deck.launchQueue.cardOfMedia()).toBeUndefined();
});

test("a fault of the service is in the log with its place, and the caller learns nothing of it", async () => {
  await using deck = await waitingDeck({
    devices: {
      input() {
        throw new Error("a secret place");
      },
      writeTag: async () => {},
      pair: async () => {},
    },
  });
  expect(await deck.tapAndWait("**input.keyboard:a")).toBe("internal error: see the log");
  expect(deck.lines).toEqual([expect.stringMatching(/^error launch: internal error .*a secret place.* at /)]);
});

test("a forbidden script is refused to its caller, and of a tap it ends the launch", async () => {
  await using deck = await waitingDeck();
  const token = deck.token("**http.get:http://localhost/");
  const { requester } = caller("phone", "play");
  expect(refusalOf(() => deck.launchQueue.launch(token, { requester }))).toMatchObject({ code: "forbidden" });
  expect([deck.count("running"), deck.ends()]).toEqual([0, []]);
  deck.launchQueue.launch(token, { requester, isTap: true });
  await eventually(() => deck.ends().length === 1);
  expect(deck.ends()).toEqual([expect.stringContaining("reaches outside this device")]);
});

test("a launch by a caller that may only play is not the last card of the scripts that run", async () => {
  await using deck = await waitingDeck();
  const uid = "04aabb";
  deck.launchQueue.launch({ type: "", uid, text: "**delay:1||**echo:[[last_scanned.id]]", data: "" });
  await Bun.sleep(0);
  deck.launchQueue.launch(deck.token("**echo:x"), { requester: caller("phone", "play").requester });
  deck.clock.advance(1);
  await eventually(() => deck.ends().length === 2);
  expect(deck.lines).toEqual([`info  script: ${uid}`, "info  script: x"]);
});

test("each tap is one line of the log, with its reader and without the text of its card", async () => {
  await using deck = await waitingDeck({
    map: ({ uid }) => (uid === "04ff" ? "**launch.title:Mapped Secret" : undefined),
  });
  await deck.files("SNES/Dear Diary.sleep", "SNES/Diary.false");
  const tap = async (text: string, readerId: string | undefined, uid: string) => {
    const before = deck.ends().length;
    deck.launchQueue.launch(
      { type: "", uid, text, data: "" },
      { isTap: true, ...(readerId && { readerId }) },
    );
    await eventually(() => {
      // A player that continues proves itself after a while; a player that ends must end before that.
      if (text.endsWith(".sleep")) deck.clock.advance(1000);
      expect(deck.ends()).toHaveLength(before + 1);
    });
    return deck.taps.at(-1);
  };
  const from = "uid=04aa reader=chip-1";
  expect(await tap("SNES/Dear Diary.sleep", "chip-1", "04aa")).toBe(
    `info  launch: started ${from} system=SNES launcher=sleep`,
  );
  expect(await tap("**echo:Dear Diary", undefined, "04aa")).toBe("info  launch: started uid=04aa reader=api");
  const nothing = "warn  launch: nothing started error=";
  expect(await tap("SNES/Missing Diary.sfc", "chip-1", "04aa")).toBe(
    `${nothing}"there is no file … below the media folders" ${from}`,
  );
  expect(await tap("", "chip-1", "04aa")).toBe(
    `${nothing}"there is no text on this token, and no mapping for it" ${from}`,
  );
  expect(await tap("some text", "chip-1", "04ff")).not.toMatch(/mapped|secret/i);
  // In this deck the extension of a file is the name of its player.
  expect(await tap("SNES/Diary.false", "chip-1", "04aa")).toMatch(
    /^warn {2}launch: nothing started error="the player … ended with code 9 after [0-9.]+ s" uid=04aa reader=chip-1$/,
  );
  expect([deck.taps.length, deck.lines]).toEqual([6, ["info  script: Dear Diary"]]);
  await deck.run("SNES/Missing.sfc");
  // A launch without a tap is in the history only.
  expect(deck.taps).toHaveLength(6);
});

test("a tap that a stop ends, or that waits in the queue then, is one line each", async () => {
  await using deck = await waitingDeck();
  for (let nth = 0; nth < 3; nth++) deck.tap(waits);
  await Bun.sleep(0);
  deck.launchQueue.stop();
  await eventually(() => deck.ends().length === 3);
  expect(deck.taps.map((line) => line.replace(/ uid=.*/, ""))).toEqual(
    Array(3).fill('warn  launch: nothing started error="it was stopped"'),
  );
});
