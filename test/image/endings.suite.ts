/**
 * Power cuts while the sleep timer ends a sound, and while the device switches itself off. mpv plays a sound of half an
 * hour. The power is cut at a seeded moment around the end. After the next start the database is sound, a position that was
 * acknowledged is there, and the sound is as loud as before the fade. A position is acknowledged half a second after
 * `media.stopped`, and by the answer of `device.shutdown`. `CUTS` is the number of cuts, and `SEED` selects their moments.
 * Run by `make test-image`.
 */
import { afterAll, expect, test } from "bun:test";
import type { Client } from "../../src/client/client.ts";
import { seededRandom } from "../emulators/emulated-line.ts";
import { listenTo } from "../helpers/tapdeck.ts";
import { type Board, cardBytes, image, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print } from "./figures.ts";
import { expectHealthy, loudspeaker, positionOf, putSound, storedPosition, tapSound } from "./long-sound.ts";
import { patienceMs, until } from "./until.ts";

const cuts = Number(process.env.CUTS ?? 2);
const seed = Number(process.env.SEED ?? 1);
/** The shortest time of the sleep timer. */
const sleepMinutes = 1;
/** The time from the start of the timer to a cut: from its fade, which takes 20 s, to some seconds after the stop. */
const sleepCutMs = { least: 42_000, most: 66_000 };
/** The time from the request of a shutdown to every third cut, and from its answer to the others. */
const shutdownCutMs = { least: 0, most: 4000 };
const safeAfterMs = 500;
/** mpv reports its position once a second, and a position that changed by less than a second is not stored. */
const nearMs = 2500;

interface Owned {
  readonly card: Card;
  /** The position that no cut may lose. */
  certainMs: number;
  /** The volume of the player at its first start. */
  volume: number | undefined;
}

const ends: string[] = [];

afterAll(() => {
  print(`power cuts of seed ${seed} around an end`, `${ends.length}, and no acknowledged position lost`);
  for (const [number, end] of ends.entries()) print(`cut ${number + 1}`, end);
});

test(
  "a power cut while the sleep timer ends the sound, or in a shutdown, loses no acknowledged position, and the fade stays in the player",
  async () => {
    await using card = await makeCard(image, cardBytes);
    const owned: Owned = { card, certainMs: 0, volume: undefined };
    {
      await using board = await startOn(card);
      await board.pong();
      await putSound(board);
      await board.kill();
    }
    for (let number = 0; number < cuts; number++) {
      const random = seededRandom(seed * 100_003 + number);
      await using board = await startOn(card);
      await board.pong();
      const client = await board.client();
      await playOn(board, client, owned);
      const end = number % 2 === 0 ? cutSleep : cutShutdown;
      ends.push(await end(board, client, owned, random));
      await board.kill();
      client.close();
      card.powerCycle(seed * 7 + number);
    }
    await using board = await startOn(card);
    await board.pong();
    const client = await board.client();
    await playOn(board, client, owned);
    client.close();
  },
  (cuts + 2) * patienceMs,
);

const startOn = (card: Card) => startBoard({ card, more: loudspeaker, watchdog: false });

/** Checks what the last cut left, and plays the sound by its card until it is beyond the position that was stored. */
async function playOn(board: Board, client: Client, owned: Owned): Promise<void> {
  await expectHealthy(client);
  const storedMs = await storedPosition(board);
  expect(storedMs).toBeGreaterThanOrEqual(owned.certainMs);
  owned.certainMs = storedMs;
  await tapSound(board);
  const volume = await until("the volume of the player", async () => {
    const active = await client.call("media.active").catch(() => null);
    return (active?.positionMs ?? 0) > storedMs + nearMs ? active?.volume : undefined;
  });
  owned.volume ??= volume;
  expect(volume).toBe(owned.volume);
}

const between = ({ least, most }: { readonly least: number; readonly most: number }, part: number) =>
  least + part * (most - least);

async function cutSleep(board: Board, client: Client, owned: Owned, random: () => number): Promise<string> {
  const heard = listenTo(client);
  let lastMs = 0;
  let stoppedMs: number | undefined;
  await client.call("sleep.update", { minutes: sleepMinutes });
  const cutMs = performance.now() + between(sleepCutMs, random());
  while (performance.now() < cutMs) {
    if (heard.names().includes("media.stopped")) stoppedMs ??= performance.now();
    if (stoppedMs === undefined)
      lastMs = (await positionOf(client).catch(() => undefined))?.positionMs ?? lastMs;
    await Bun.sleep(100);
  }
  await board.kill();
  if (stoppedMs === undefined) return `in the fade, at ${lastMs} ms of the sound`;
  const ago = performance.now() - stoppedMs;
  if (ago >= safeAfterMs) owned.certainMs = lastMs - nearMs;
  return `${Math.round(ago)} ms after the sleep timer had stopped the sound`;
}

async function cutShutdown(
  board: Board,
  client: Client,
  owned: Owned,
  random: () => number,
): Promise<string> {
  const { positionMs = 0 } = (await positionOf(client)) ?? {};
  let answeredMs: number | undefined;
  const askedMs = performance.now();
  const answered = board.shell("tapdeck call device.shutdown </dev/null").then(
    () => {
      answeredMs = performance.now();
    },
    () => {},
  );
  const part = random();
  if (random() > 1 / 3) await answered;
  await Promise.race([board.off(), Bun.sleep(between(shutdownCutMs, part))]);
  const cutMs = performance.now();
  const since = (ms: number) => `${Math.round(cutMs - ms)} ms after`;
  await board.kill();
  if (answeredMs === undefined) return `${since(askedMs)} the request of a shutdown`;
  owned.certainMs = positionMs - nearMs;
  return `${since(answeredMs)} the answer to a shutdown`;
}
