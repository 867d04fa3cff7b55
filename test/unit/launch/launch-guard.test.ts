import { expect, test } from "bun:test";
import { confirmMs } from "../../../src/launch/launch-guard.ts";
import { proofMs } from "../../../src/launch/playing.ts";
import { cardOf } from "../../../src/launch/run-context.ts";
import { makeDeck } from "../../helpers/launch-harness.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const config = { launch: { guard: true } };
const held = "a plays: put the same card on once more within 10 seconds to switch";

async function guarded() {
  const clock = createManualClock();
  const deck = await makeDeck({ config, clock });
  await deck.files("SNES/a.sleep", "SNES/b.sleep", "SNES/c.sleep");
  expect(await deck.tapAndWait("SNES/a.sleep")).toBe(true);
  return Object.assign(deck, { clock });
}

test("a second tap of the same card confirms", async () => {
  await using deck = await guarded();
  expect(await deck.tapAndWait("SNES/b.sleep")).toBe(held);
  expect(deck.launchQueue.activeMedia()?.mediaName).toBe("a");
  expect(deck.heard.find(({ name }) => name === "launch.guarded")?.payload).toMatchObject({
    text: "SNES/b.sleep",
    playing: "a",
    confirmMs,
  });
  expect(await deck.tapAndWait("SNES/b.sleep")).toBe(true);
  expect(deck.started()).toEqual(["a", "b"]);
});

test("another card in between takes the place of the one that waits", async () => {
  await using deck = await guarded();
  expect(await deck.tapAndWait("SNES/b.sleep")).toBe(held);
  expect(await deck.tapAndWait("SNES/c.sleep")).toBe(held);
  expect(await deck.tapAndWait("SNES/b.sleep")).toBe(held);
  expect(await deck.tapAndWait("SNES/b.sleep")).toBe(true);
});

test("after ten seconds a tap confirms nothing", async () => {
  await using deck = await guarded();
  expect(await deck.tapAndWait("SNES/b.sleep")).toBe(held);
  deck.clock.advance(confirmMs);
  expect(await deck.tapAndWait("SNES/b.sleep")).toBe(held);
  deck.clock.advance(confirmMs - 1);
  expect(await deck.tapAndWait("SNES/b.sleep")).toBe(true);
});

test("confirm launches what waits, as a launch of its own with a row in the history, and only once", async () => {
  await using deck = await guarded();
  expect(() => deck.launchQueue.confirm()).toThrow("nothing waits to be confirmed");
  await deck.tapAndWait("SNES/b.sleep");
  deck.launchQueue.confirm();
  await Bun.sleep(0);
  expect(() => deck.launchQueue.confirm()).toThrow("nothing waits to be confirmed");
  await eventually(() => expect(deck.started()).toHaveLength(2));
  deck.clock.advance(proofMs);
  await eventually(() => expect(deck.ends()).toHaveLength(3));
  expect(deck.started()).toEqual(["a", "b"]);
  expect(deck.launchQueue.cardOfMedia()).toBe(cardOf(deck.token("SNES/b.sleep")));
  expect(deck.store.history.page({ limit: 9 }).entries.map(({ success }) => success)).toEqual([
    true,
    false,
    true,
  ]);
});

test("a stop drops the launch that waits to be confirmed", async () => {
  await using deck = await guarded();
  expect(await deck.tapAndWait("SNES/b.sleep")).toBe(held);
  deck.launchQueue.stop();
  expect(() => deck.launchQueue.confirm()).toThrow("nothing waits to be confirmed");
  await eventually(() => deck.count("media.stopped") === 1);
  expect(deck.started()).toEqual(["a"]);
  // After that time, the next tap counts as the first one again.
  expect(await deck.tapAndWait("SNES/a.sleep")).toBe(true);
  expect(await deck.tapAndWait("SNES/b.sleep")).toBe(held);
});

test("a launch that switches nothing is not held back: scripts without media, cards while nothing plays, and requests", async () => {
  await using deck = await guarded();
  expect(await deck.tapAndWait("**echo:hello")).toBe(true);
  deck.launchQueue.launch(deck.token("SNES/b.sleep"));
  await eventually(() => expect(deck.started()).toHaveLength(2));
  deck.clock.advance(proofMs);
  await eventually(() => expect(deck.ends()).toHaveLength(3));
  expect(deck.ends()).toEqual([true, true, true]);
  expect(await deck.tapAndWait("**stop")).toBe(true);
  expect(await deck.tapAndWait("SNES/c.sleep")).toBe(true);
  expect(deck.started()).toEqual(["a", "b", "c"]);
  expect(deck.count("launch.guarded")).toBe(0);
});

test("a launch that was held back keeps the origin that it had", async () => {
  let pairings = 0;
  await using deck = await makeDeck({
    config: { launch: { guard: true } },
    devices: {
      input: async () => {},
      writeTag: async () => {},
      async pair() {
        pairings += 1;
      },
    },
  });
  await deck.files("SNES/a.sleep", "SNES/b.sleep");
  await deck.tapAndWait("SNES/a.sleep");
  // This tap counts as a card that the API puts on its virtual reader, so `**pair` is refused, and nothing waits for a
  // second tap.
  expect(await deck.tapAndWait("SNES/b.sleep||**pair")).toMatch(/\*\*pair works from a card/);
  expect(() => deck.launchQueue.confirm()).toThrow("nothing waits to be confirmed");
  deck.launchQueue.launch(deck.token("**pair||SNES/b.sleep"), { isTap: true, isFromReader: true });
  await eventually(() => expect(deck.count("launch.guarded")).toBe(1));
  expect(pairings).toBe(0);
  deck.launchQueue.confirm();
  await eventually(() => expect(pairings).toBe(1));
});
