/**
 * Power cuts while mpv plays a sound of half an hour. A card starts it on the emulated board. The power is cut at a seeded
 * moment, or at a write to the card after that moment. After the next start, the database is sound, and the same card resumes
 * the sound within 2 s of the position that the database has. `CUTS` is the number of cuts, and `SEED` selects them. Run by
 * `make test-image`.
 */
import { afterAll, expect, test } from "bun:test";
import type { Client } from "../../src/client/client.ts";
import { savedApartMs } from "../../src/launch/ports/resuming.ts";
import { seededRandom } from "../emulators/emulated-line.ts";
import { type Board, cardBytes, image, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print, seconds } from "./figures.ts";
import {
  expectHealthy,
  loudspeaker,
  positionOf,
  putSound,
  type Seen,
  storedPosition,
  tapSound,
} from "./long-sound.ts";
import { patienceMs, until } from "./until.ts";

const cuts = Number(process.env.CUTS ?? 2);
const seed = Number(process.env.SEED ?? 1);
/** The number of cuts of one card. */
const cutsOfCard = 10;
/** The time from a tap to a cut. */
const playedMs = { least: 5000, most: 12_000 };
/** Every second cut comes at one of the first `writesMax` writes after its moment. A position costs two or three writes. */
const writesMax = 6;
const nearMs = 2000;

interface Owned {
  readonly card: Card;
  /** The position at the last cut; undefined before the first one. */
  cutMs: number | undefined;
  /** The last position that is surely on the card. */
  storedMs: number;
}

const startsMs: number[] = [];
/** The play time that each cut lost, and the difference between the stored position and the resumed one. */
const lostMs: number[] = [];
const apartMs: number[] = [];

afterAll(() => {
  print(`power cuts of seed ${seed} while mpv plays`, `${lostMs.length}, without a damaged database`);
  if (lostMs.length === 0) return;
  const most = (figures: readonly number[]) => {
    const sorted = figures.toSorted((a, b) => a - b);
    return `median ${seconds(sorted[Math.floor((sorted.length - 1) / 2)] ?? 0)}, most ${seconds(sorted.at(-1) ?? 0)}`;
  };
  const late = lostMs.filter((ms) => ms > savedApartMs).length;
  print("age of the stored position at the cut", `${most(lostMs)}, ${late} above ${seconds(savedApartMs)}`);
  print("from the stored position to the resumed one", most(apartMs));
  print("starts after a cut, to the first pong", most(startsMs));
});

for (let first = 0; first < cuts; first += cutsOfCard) {
  const count = Math.min(cutsOfCard, cuts - first);
  test(
    `cuts ${first + 1} to ${first + count} of seed ${seed}: mpv resumes within 2 s of the stored position`,
    async () => {
      await using card = await makeCard(image, cardBytes);
      const owned: Owned = { card, cutMs: undefined, storedMs: 0 };
      await prepare(card);
      for (let number = first; number < first + count; number++) await cut(owned, number);
      await using board = await startOn(card);
      startsMs.push(await board.pong());
      const client = await board.client();
      await resume(board, client, owned);
      client.close();
    },
    (cutsOfCard + 2) * patienceMs,
  );
}

/**
 * The hardware watchdog is left out, because it resets a board on a busy host. The cuts are therefore the only losses of power.
 */
const startOn = (card: Card) => startBoard({ card, more: loudspeaker, watchdog: false });

async function prepare(card: Card): Promise<void> {
  await using board = await startOn(card);
  await board.pong();
  await putSound(board);
}

async function cut(owned: Owned, number: number): Promise<void> {
  const random = seededRandom(seed * 100_003 + number);
  const { card } = owned;
  await using board = await startOn(card);
  startsMs.push(await board.pong());
  const client = await board.client();
  let seen = await resume(board, client, owned);
  const isAtWrite = number % 2 === 1;
  const writes = 1 + Math.floor(random() * writesMax);
  const keepsOne = number % 3 === 0;
  if (keepsOne) await keepPosition(board, owned);
  const moment = Bun.sleep(playedMs.least + random() * (playedMs.most - playedMs.least));
  const struck = moment.then(() =>
    isAtWrite ? new Promise<void>((resolve) => card.cutAfter(writes, resolve)) : undefined,
  );
  let isOver = false;
  void struck.then(() => {
    isOver = true;
  });
  while (!isOver) {
    // A request at the moment of the cut is never answered.
    const asked = positionOf(client).catch(() => undefined);
    seen = (await Promise.race([struck, asked])) ?? seen;
    await Promise.race([struck, Bun.sleep(200)]);
  }
  const cutMs = seen.positionMs + performance.now() - seen.atMs;
  await board.kill();
  client.close();
  card.powerCycle(seed * 7 + number);
  owned.cutMs = cutMs;
  print(`cut ${number + 1}${isAtWrite ? `, at write ${writes}` : ""}`, `mpv was at ${seconds(cutMs)}`);
}

/** Waits for a new position in the database, and for the disk. No later cut may lose it. */
async function keepPosition(board: Board, owned: Owned): Promise<void> {
  const before = owned.storedMs;
  const now = await until("a new position", async () => {
    const storedMs = await storedPosition(board);
    return storedMs > before && storedMs;
  });
  await board.shell("sync");
  owned.storedMs = now;
}

/** Checks the database, starts the sound with its card, and checks its first position. */
async function resume(board: Board, client: Client, owned: Owned): Promise<Seen> {
  await expectHealthy(client);
  const storedMs = await storedPosition(board);
  // A position that was certainly on the card is not lost.
  expect(storedMs).toBeGreaterThanOrEqual(owned.storedMs);
  owned.storedMs = storedMs;
  if (owned.cutMs !== undefined) lostMs.push(owned.cutMs - storedMs);
  await tapSound(board);
  // The sound began after the last answer that had no position.
  let silentMs = performance.now();
  const first = await until("the first position", async () => {
    const askedMs = performance.now();
    const seen = await positionOf(client).catch(() => "no answer" as const);
    if (seen === undefined) silentMs = askedMs;
    return seen !== "no answer" && seen;
  });
  expect(first.positionMs).toBeGreaterThanOrEqual(storedMs - nearMs);
  expect(first.positionMs - (first.atMs - silentMs)).toBeLessThanOrEqual(storedMs + nearMs);
  if (owned.cutMs !== undefined) {
    apartMs.push(Math.abs(first.positionMs - storedMs));
    print("the stored position, and the resumed one", `${seconds(storedMs)}, ${seconds(first.positionMs)}`);
  }
  owned.cutMs = undefined;
  return first;
}
