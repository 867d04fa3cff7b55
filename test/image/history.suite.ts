/**
 * Power cuts after launches. The kernel writes the data partition every 30 s, and the rows of launches must not wait for
 * that. Each launch is on the card before half of that time has passed, and the power is cut half a second after the last
 * one is. After the next start, the history has all of them. `CUTS` is the number of cuts, and `SEED` selects the pauses
 * between launches. Run by `make test-image`.
 */
import { afterAll, expect, test } from "bun:test";
import type { Client } from "../../src/client/client.ts";
import { seededRandom } from "../emulators/emulated-line.ts";
import { listenTo } from "../helpers/tapdeck.ts";
import { cardBytes, image, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print } from "./figures.ts";
import { patienceMs, until } from "./until.ts";

const cuts = Number(process.env.CUTS ?? 2);
const seed = Number(process.env.SEED ?? 1);
const launchesOfCut = 5;
const pauseMsMax = 2000;
/** `commit=` of overlay/etc/init.d/S11data. */
const kernelWritesMs = 30_000;
/** After this time without a write or flush, the card counts as idle. */
const quietMs = 500;

/** The times from `launch.finished` at the client to the last write or flush of its row. */
const safeAfterMs: number[] = [];
const flushesOf: number[] = [];

afterAll(() => {
  if (safeAfterMs.length === 0) return;
  const least = Math.min(...safeAfterMs);
  const most = Math.max(...safeAfterMs);
  print(
    `power cuts of seed ${seed} after launches`,
    `${cuts}, with ${safeAfterMs.length} launches, and none lost`,
  );
  print("from the end of a launch to its row on the card", `${least.toFixed(0)} to ${most.toFixed(0)} ms`);
  print("flushes of the card in a launch", flushesOf.join(" "));
});

test(
  "a power cut half a minute after a launch loses its row",
  async () => {
    await using card = await makeCard(image, cardBytes);
    const launched: string[] = [];
    for (let number = 0; number < cuts; number++) {
      await using board = await startBoard({ card, watchdog: false });
      await board.pong();
      const client = await board.client();
      await expectHistory(client, launched);
      const random = seededRandom(seed * 100_003 + number);
      for (let n = 0; n < launchesOfCut; n++) {
        const text = `**echo:launch ${n} before cut ${number}`;
        await launch(card, client, text);
        launched.push(text);
        if (n < launchesOfCut - 1) await Bun.sleep(random() * pauseMsMax);
      }
      await board.kill();
      client.close();
      card.powerCycle(seed * 7 + number);
    }
    await using board = await startBoard({ card, watchdog: false });
    await board.pong();
    const client = await board.client();
    await expectHistory(client, launched);
    client.close();
  },
  (cuts + 1) * patienceMs,
);

/**
 * Launches the text, and waits until its row is on the card. The bytes of a row are written a moment before the new length of
 * their file. The sync is therefore complete only when the card has become idle.
 */
async function launch(card: Card, client: Client, text: string): Promise<void> {
  const heard = listenTo(client);
  const flushesBefore = card.flushes;
  await client.call("launch", text);
  expect(await heard.next("launch.finished", (end) => end.text === text)).toMatchObject({ success: true });
  const finishedMs = performance.now();
  let busyMs = finishedMs;
  let work = card.writes + card.flushes;
  while (!card.holds(text) || performance.now() - busyMs < quietMs) {
    const waitedMs = performance.now() - finishedMs;
    if (waitedMs > kernelWritesMs / 2)
      throw new Error(`the row of ${text} was not on the card after ${Math.round(waitedMs)} ms`);
    await Bun.sleep(10);
    if (card.writes + card.flushes !== work) busyMs = performance.now();
    work = card.writes + card.flushes;
  }
  safeAfterMs.push(busyMs - finishedMs);
  flushesOf.push(card.flushes - flushesBefore);
}

async function expectHistory(client: Client, launched: readonly string[]): Promise<void> {
  // On a busy machine the service may be replaced during a request.
  const { entries, checks } = await until("its answers", () => answersOf(client).catch(() => undefined));
  expect(entries.map(({ text, state }) => `${state}: ${text}`).reverse()).toEqual(
    launched.map((text) => `done: ${text}`),
  );
  expect(checks.filter(({ name, ok }) => (name === "database" || name === "device") && !ok)).toEqual([]);
}

async function answersOf(client: Client) {
  const { entries } = await client.call("tokens.history");
  const { checks } = await client.call("health");
  return { entries, checks };
}
