/**
 * Power cuts: the emulated card dies at a seeded write while the board starts for the first time, grows its data or keeps
 * what it is told; what was not flushed is partly lost, and one write torn. It always boots, and what was acknowledged is
 * there. `CUTS` says how many, `SEED` where to begin. Run by `make test-image`.
 */
import { expect, test } from "bun:test";
import { seededRandom } from "../../drivers/emulator/faults.ts";
import type { Client } from "../../src/client/client.ts";
import { type Board, cardBytes, image, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print } from "./figures.ts";
import { patienceMs, until } from "./until.ts";

const cuts = Number(process.env.CUTS ?? 4);
const seed = Number(process.env.SEED ?? 1);
/** Of these, the first cut strikes the first start of a new card. */
const cutsPerCard = 4;
// A first start makes some 140 writes, most of them while the partition and its file system grow.
const firstStartWrites = 140;
// A mapping costs some ten: a cut within these strikes among them, and in the copies that follow.
const keepingWrites = 120;

for (let first = 0; first < cuts; first += cutsPerCard) {
  const count = Math.min(cutsPerCard, cuts - first);
  test(
    `cuts ${first + 1} to ${first + count} of seed ${seed}: it boots, and what was acknowledged is there`,
    async () => {
      await using card = await makeCard(image, cardBytes);
      const acknowledged: string[] = [];
      for (let index = 0; index < count; index++) {
        const number = first + index;
        const random = seededRandom(seed * 100_003 + number);
        if (index === 0) await cutFirstStart(card, 1 + Math.floor(random() * firstStartWrites), acknowledged);
        else await cutKeeping(card, 1 + Math.floor(random() * keepingWrites), acknowledged);
        card.powerCycle(seed * 7 + number);
        print(`cut ${number + 1}`, `${acknowledged.length} mappings were acknowledged`);
      }
      await using board = await startBoard({ card });
      await board.pong();
      await check(board, acknowledged);
    },
    (cutsPerCard + 1) * patienceMs,
  );
}

async function cutFirstStart(card: Card, writes: number, acknowledged: string[]): Promise<void> {
  const struck = strike(card, writes);
  await using board = await startBoard({ card });
  const started = board.pong().then(() => "started" as const);
  // Killed meanwhile, nobody waits for it any more.
  started.catch(() => {});
  if ((await Promise.race([struck, started])) === "struck") return board.kill();
  // It took fewer writes than the seed wanted: the rest are made.
  await keep(board, struck, acknowledged);
}

async function cutKeeping(card: Card, writes: number, acknowledged: string[]): Promise<void> {
  await using board = await startBoard({ card });
  await board.pong();
  await check(board, acknowledged);
  await keep(board, strike(card, writes), acknowledged);
}

function strike(card: Card, writes: number): Promise<"struck"> {
  return new Promise((resolve) => card.cutAfter(writes, () => resolve("struck")));
}

/** Makes mappings, one after the other, until the power goes. */
async function keep(board: Board, struck: Promise<"struck">, acknowledged: string[]): Promise<void> {
  const client = await board.client();
  for (;;) {
    const label = `mapping ${acknowledged.length}`;
    // The connection ends with the power, or with a service that was too slow; it comes back, and nobody was promised it.
    const made = make(client, label).catch(() => Bun.sleep(100));
    const came = await Promise.race([struck, made]);
    if (came === "struck") break;
    if (came === "made") acknowledged.push(label);
  }
  await board.kill();
  client.close();
}

async function make(client: Client, label: string): Promise<"made"> {
  const pattern = Buffer.from(label).toString("hex");
  await client.call("mappings.new", {
    enabled: true,
    label,
    type: "uid",
    match: "exact",
    pattern,
    override: "SNES/Game.sfc",
  });
  return "made";
}

async function check(board: Board, acknowledged: readonly string[]): Promise<void> {
  const client = await board.client();
  // A service on a busy machine may be replaced while it is asked.
  const { labels, checks } = await until("its answers", () => answersOf(client).catch(() => undefined));
  client.close();
  expect(acknowledged.filter((label) => !labels.has(label))).toEqual([]);
  // Neither the partition nor the database may have been given up.
  expect(checks.filter(({ name }) => name === "device" || name === "database")).toEqual([
    { name: "database", ok: true },
    { name: "device", ok: true },
  ]);
}

async function answersOf(client: Client) {
  const { mappings } = await client.call("mappings");
  const { checks } = await client.call("health");
  return { labels: new Set(mappings.map(({ label }) => label)), checks };
}
