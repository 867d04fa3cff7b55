/**
 * Power cuts at a seeded write of the emulated card. The board is in its first start, stores acknowledged data, or is
 * being updated. Unflushed writes are partly lost, and one write is torn. The board always boots, and all acknowledged
 * data are present. `CUTS` is the number of cuts, and `SEED` selects them. Run by `make test-image`.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Client } from "../../src/client/client.ts";
import type { Fault } from "../../src/core/faults.ts";
import { seededRandom } from "../emulators/emulated-line.ts";
import { type Board, cardBytes, image, startBoard } from "./board.ts";
import { serveUpdates, type Updates, version } from "./bundles.ts";
import { type Card, makeCard } from "./card.ts";
import { print, seconds } from "./figures.ts";
import { patienceMs, until } from "./until.ts";

const cuts = Number(process.env.CUTS ?? 4);
const seed = Number(process.env.SEED ?? 1);

type Kind = "first start" | "writing" | "updating";
/** The phases in a card's life, each with one cut. From the update on, the boot loader chooses the system. */
const life: readonly Kind[] = ["first start", "writing", "updating", "writing"];
const updateAt = life.indexOf("updating");

/**
 * A cut comes within this many writes, which is about the number of writes in the phase. A cut after the end of the phase
 * also counts.
 */
const writesOf: Readonly<Record<Kind, number>> = {
  // Most of them are in the growth of the partition and its file system; the last are in the writes after the first pong.
  "first start": 60,
  // A mapping takes some ten writes. A cut within these writes is in one of them, or in the copies that follow.
  writing: 120,
  updating: 80,
};
const updateRootBytes = 6 * 2 ** 20;
const updateVersion = "0.1.1";

let attempts = 0;
const made: Record<Kind, number> = { "first start": 0, writing: 0, updating: 0 };
const startsMs: number[] = [];
let updates: Updates;

beforeAll(async () => {
  updates = await serveUpdates();
  await updates.makeStartless("small", updateVersion, updateRootBytes);
}, patienceMs);

afterAll(async () => {
  await updates[Symbol.asyncDispose]();
  const kinds = Object.entries(made).map(([kind, count]) => `${count} ${kind}`);
  print(`power cuts of seed ${seed}`, kinds.join(", "));
  const [least = 0, most = 0] = [Math.min(...startsMs), Math.max(...startsMs)];
  print("starts after a cut, to the first pong", `${seconds(least)} to ${seconds(most)}`);
});

for (let first = 0; first < cuts; first += life.length) {
  const count = Math.min(life.length, cuts - first);
  test(
    `cuts ${first + 1} to ${first + count} of seed ${seed}: it boots, and what was acknowledged is there`,
    async () => {
      await using card = await makeCard(image, cardBytes);
      const acknowledged: string[] = [];
      for (const [index, kind] of life.slice(0, count).entries()) {
        const number = first + index;
        const writes = 1 + Math.floor(seededRandom(seed * 100_003 + number)() * writesOf[kind]);
        await cut({ card, acknowledged }, kind, writes, index);
        card.powerCycle(seed * 7 + number);
        made[kind]++;
        print(
          `cut ${number + 1}, ${kind}, at write ${writes}`,
          `${acknowledged.length} mappings were acknowledged`,
        );
      }
      await using _board = await startAgain({ card, acknowledged }, count);
    },
    (life.length + 1) * patienceMs,
  );
}

/** A card, and the data that were acknowledged to its owner. */
interface Owned {
  readonly card: Card;
  readonly acknowledged: string[];
}

async function cut(owned: Owned, kind: Kind, writes: number, index: number): Promise<void> {
  switch (kind) {
    case "first start":
      return cutFirstStart(owned, writes);
    case "writing": {
      await using board = await startAgain(owned, index);
      await keep(board, strike(owned.card, writes), owned.acknowledged);
      return;
    }
    case "updating": {
      await using board = await startAgain(owned, index);
      await update(board, owned.card, writes);
      return;
    }
  }
}

async function cutFirstStart({ card, acknowledged }: Owned, writes: number): Promise<void> {
  const struck = strike(card, writes);
  await using board = await startBoard({ card });
  const started = board.pong().then(() => "started" as const);
  // After the process is killed, its start is no longer awaited.
  started.catch(() => {});
  if ((await Promise.race([struck, started])) === "struck") return board.kill();
  // The start took fewer writes than the seed chose, so the others are made here.
  print("writes of a first start, to the first pong", `${card.writes}`);
  await keep(board, struck, acknowledged);
}

/**
 * Starts the board after a cut. The earlier system runs again, and all acknowledged data are present. `cutsBefore` is
 * the card's age.
 */
async function startAgain({ card, acknowledged }: Owned, cutsBefore: number): Promise<Board> {
  const board = await startBoard({ card, loader: cutsBefore >= updateAt });
  try {
    startsMs.push(await board.pong());
    await check(board, acknowledged);
    if (cutsBefore > updateAt)
      expect(await board.shell("tapdeck update --status </dev/null")).toMatch(
        new RegExp(`^slot a: ${version}, runs, is kept\nslot b: (no whole system|0\\.1\\.1)(\nlast: .*)?$`),
      );
    return board;
  } catch (error) {
    await board[Symbol.asyncDispose]();
    throw error;
  }
}

function strike(card: Card, writes: number): Promise<"struck"> {
  return new Promise((resolve) => card.cutAfter(writes, () => resolve("struck")));
}

/**
 * Updates the board to a system that cannot start, until the power is cut, or the earlier system is about to start again.
 */
async function update(board: Board, card: Card, writes: number): Promise<void> {
  // This waits until no other write is pending, so the cut is in the update.
  await board.shell(`wget -q -O /data/small ${updates.address("small")} && sync`);
  const starts = board.console().split("Tapdeck: starting slot a").length;
  const struck = strike(card, writes);
  void board.shell("tapdeck update /data/small </dev/null").catch(() => {}); // The power may be cut meanwhile.
  const from = card.writes;
  const back = board.said("Tapdeck: starting slot a", starts).then(() => "back" as const);
  // After the process is killed, this text is no longer awaited.
  back.catch(() => {});
  if ((await Promise.race([struck, back])) === "back")
    print("writes of an update, to its end", `${card.writes - from}`);
  await board.kill();
}

/** Makes mappings, one after the other, until the power is cut. */
async function keep(board: Board, struck: Promise<"struck">, acknowledged: string[]): Promise<void> {
  const connecting = board.client();
  // Pairing also needs writes, so the power may be cut before its end.
  connecting.catch(() => {});
  const client = await Promise.race([struck, connecting]);
  if (client === "struck") return board.kill();
  for (;;) {
    // A mapping that was stored but not acknowledged would be refused a second time, so each attempt has a new label.
    const label = `mapping ${attempts++}`;
    // The connection ends with the power, or with a service that was too slow. In both cases the mapping was not acknowledged.
    const attempt = make(client, label).catch(() => Bun.sleep(100));
    const came = await Promise.race([struck, attempt]);
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
  // On a busy machine the service may be replaced during the request.
  const { labels, checks } = await until("its answers", () => answersOf(client).catch(() => undefined));
  client.close();
  expect(acknowledged.filter((label) => !labels.has(label))).toEqual([]);
  // Neither the partition nor the database may be reported as lost. An update that did not start is reported once.
  const asked = checks.filter(({ name }) => name === "device" || name === "database");
  expect(asked).toHaveLength(2);
  const faults = asked.flatMap((one) => one.faults ?? []);
  const isOther = ({ code, subject }: Fault) => code !== "update-not-kept" || subject !== updateVersion;
  expect(faults.filter(isOther)).toEqual([]);
}

async function answersOf(client: Client) {
  const { mappings } = await client.call("mappings");
  const { checks } = await client.call("health");
  return { labels: new Set(mappings.map(({ label }) => label)), checks };
}
