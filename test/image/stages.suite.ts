/**
 * The stages of a start of the emulated board, from the power to the first pong and the status screen, in seconds of the host
 * and in instructions of the guest. Run by `make test-image BOARDS=stages`; STARTS=3 is the number of starts after the first
 * one of the card. The kernel's log has the border of each stage (overlay/etc/init.d/rcS).
 */
import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Board, makePlainCard, startBoard } from "./board.ts";
import type { Card } from "./card.ts";
import { print, printTogether } from "./figures.ts";
import { type Counter, makeCounter } from "./guest-instructions.ts";
import { type Color, shareOf } from "./picture.ts";
import { patienceMs } from "./until.ts";

const starts = Number(process.env.STARTS ?? 3);
// The color of src/screen/drawings.ts that is the background of each screen.
const background: Color = [0x14, 0x18, 0x3a];
const pollMs = 20;
const picturesMs = 250;

interface Point {
  readonly stage: string;
  readonly seconds: number;
  readonly instructions: number;
}

test(
  "each start passes all stages, and shows what each takes",
  async () => {
    await using card = await makePlainCard();
    let name = "first start of the card";
    for (const display of [undefined, "640x360"] as const) {
      const kind = display === undefined ? "without a display" : "with a display";
      for (let start = 0; start <= starts; start++) {
        const points = await measureStart(card, display);
        report(`${name} ${kind}`, points);
        name = "later start";
        const wanted = ["kernel", "init", "S11data", "S90tapdeck", "pong"];
        expect(points.map(({ stage }) => stage)).toEqual(expect.arrayContaining(wanted));
      }
    }
    printTogether();
  },
  2 * (starts + 1) * patienceMs,
);

type Display = "640x360" | undefined;

async function measureStart(card: Pick<Card, "url">, display: Display): Promise<readonly Point[]> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-stages-"));
  try {
    const counter = await makeCounter(folder);
    const more = counter.more;
    const began = performance.now();
    // A setting of the image keeps most of the kernel's messages from its console.
    const append = "ignore_loglevel";
    await using board = await startBoard({ card, more, append, ...(display && { display }) });
    const points = await follow(board, counter, began, display !== undefined);
    // The card is for further starts, so the guest writes all of it.
    await board.shell("sync");
    return points;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves with a point for each border, once the service answers and the screen shows its picture. */
async function follow(
  board: Board,
  counter: Counter,
  began: number,
  hasDisplay: boolean,
): Promise<readonly Point[]> {
  const points: Point[] = [];
  const add = async (stage: string) => {
    const seconds = (performance.now() - began) / 1000;
    points.push({ stage, seconds, instructions: await counter.instructions() });
  };
  let seen = 0;
  const look = async () => {
    const borders = bordersIn(board.console());
    for (; seen < borders.length; seen++) await add(borders[seen] ?? "");
  };
  const ends = [
    board.pong().then(() => add("pong")),
    ...(hasDisplay ? [showsOurs(board).then(() => add("picture"))] : []),
  ];
  let isOver = false;
  void Promise.allSettled(ends).then(() => (isOver = true));
  while (!isOver) {
    await look();
    await Bun.sleep(pollMs);
  }
  await Promise.all(ends);
  return points;
}

function bordersIn(said: string): readonly string[] {
  const found = [...said.matchAll(/Booting Linux|Run \S+ as init|init: \/etc\/init.d\/(\w+)/g)];
  return found.map(([text, script]) => script ?? (text.startsWith("Boot") ? "kernel" : "init"));
}

async function showsOurs(board: Board): Promise<void> {
  for (;;) {
    // QEMU's monitor answers a moment after its start.
    const picture = await board.picture().catch(() => undefined);
    if (picture !== undefined && shareOf(picture, background) > 0.6) return;
    await Bun.sleep(picturesMs);
  }
}

function report(name: string, points: readonly Point[]): void {
  points.forEach(({ stage, seconds, instructions }, at) => {
    const next = points[at + 1];
    const own = next === undefined ? "" : `, takes ${step(next, { seconds, instructions })}`;
    print(`${name}, ${stage}`, `${seconds.toFixed(2)} s, ${(instructions / 1e6).toFixed(0)} million${own}`);
  });
}

function step(to: Omit<Point, "stage">, from: Omit<Point, "stage">): string {
  const millions = (to.instructions - from.instructions) / 1e6;
  return `${(to.seconds - from.seconds).toFixed(2)} s, ${millions.toFixed(0)} million`;
}
