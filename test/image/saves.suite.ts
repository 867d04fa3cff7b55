/**
 * Power cuts while a game saves. A stand-in for RetroArch changes its battery RAM each second. It writes the file like
 * RetroArch: it truncates the old one and writes the new one in pieces. The emulated card dies at a seeded write. The
 * board boots, and the file is a complete version, at least as new as the last one that is certainly on the card. `CUTS`
 * is the number of cuts, and `SEED` selects them. Run by `make test-image`.
 */
import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { seededRandom } from "../emulators/emulated-line.ts";
import { type Board, cardBytes, image, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print, seconds } from "./figures.ts";
import { patienceMs, until } from "./until.ts";

const cuts = Number(process.env.CUTS ?? 2);
const seed = Number(process.env.SEED ?? 1);
/** A save takes some ten writes to the card. */
const writesMax = 60;
/** The number of cuts of one card. */
const cutsOfCard = 10;

const home = "/data/tapdeck/saves/NES/Game.srm";
const pieces = 15;

/**
 * Replaces RetroArch: `--appendconfig` names the folder. Each piece has a number that counts up over all starts, and
 * the guest's seconds. The last piece is a sum of all the others.
 */
const standIn = [
  "#!/bin/sh",
  "for word; do",
  "  case $word in --appendconfig=*) settings=$" + "{word#*=} ;; esac",
  "  game=$word",
  "done",
  'folder=$(sed -n \'s/^savefile_directory = "\\(.*\\)"$/\\1/p\' "$settings")/NES',
  'file=$folder/$(basename "$game" .nes).srm',
  'mkdir -p "$folder"',
  'set -- $(head -n 1 "$file" 2>/dev/null)',
  "number=$" + "{2:-0}",
  "while :; do",
  "  number=$((number + 1))",
  "  read -r now rest </proc/uptime",
  '  piece=$(printf "%-511s" "save $number $now")',
  `  all=$(for nth in $(seq ${pieces}); do echo "$piece"; done)`,
  '  sum=$(echo "$all" | md5sum)',
  "  {",
  `    for nth in $(seq ${pieces}); do echo "$piece"; done`,
  '    printf "%-511s\\n" "$sum"',
  '  } >"$file"',
  "  sleep 1",
  "done",
];

const config = `
[[launchers]]
id = "stand-in"
systems = ["NES"]
kind = "retroarch"
core = "/data/core.so"
command = ["/data/stand-in", "{path}"]`;

interface Save {
  readonly number: number;
  /** The time at which the save was made, in the guest's seconds. */
  readonly atSeconds: number;
}

/** The parsed lines of the file; throws if it is not whole. */
function saveIn(lines: readonly string[]): Save {
  const all = lines.slice(0, pieces).map((line) => `${line}\n`);
  const [, number, at] = /^save (\d+) (\S+) *$/.exec(lines[0] ?? "") ?? [];
  const sum = createHash("md5").update(all.join("")).digest("hex");
  if (lines.length !== pieces + 1 || lines[pieces]?.slice(0, 32) !== sum || number === undefined)
    throw new Error(`the save is damaged: ${lines.length} lines, ${JSON.stringify(lines[0])}`);
  return { number: Number(number), atSeconds: Number(at) };
}

interface Look {
  readonly save: Save;
  /** The guest's present time in seconds. */
  readonly nowSeconds: number;
}

/** A card, the number of the save that is certainly on it, and the guest's last time before the cut. */
interface Owned {
  readonly card: Card;
  certain: number;
  seenSeconds: number;
  /** The number of the first save after the last cut. */
  first: number;
}

const startsMs: number[] = [];
const ages: number[] = [];
let saves = 0;

afterAll(() => {
  print(`power cuts of seed ${seed} while a game saves`, `${ages.length}, with ${saves} saves`);
  if (ages.length === 0) return;
  const sorted = ages.toSorted((a, b) => a - b);
  const age = (part: number) => (sorted[Math.floor(part * (sorted.length - 1))] ?? 0).toFixed(1);
  print("age of the save that was kept, in the guest's seconds", `median ${age(0.5)}, most ${age(1)}`);
  print(
    "starts, to the first pong",
    `${seconds(Math.min(...startsMs))} to ${seconds(Math.max(...startsMs))}`,
  );
});

for (let first = 0; first < cuts; first += cutsOfCard) {
  const count = Math.min(cutsOfCard, cuts - first);
  test(
    `cuts ${first + 1} to ${first + count} of seed ${seed}: the board boots, and the save is whole and the last one that was kept`,
    async () => {
      await using card = await makeCard(image, cardBytes);
      const owned: Owned = { card, certain: 0, seenSeconds: 0, first: 0 };
      await prepare(owned);
      for (let number = first; number < first + count; number++) await cut(owned, number);
      await using board = await startBoard({ card });
      startsMs.push(await board.pong());
      await check(board, owned);
    },
    (cutsOfCard + 2) * patienceMs,
  );
}

/** Copies the game and its player to the card. */
async function prepare({ card }: Owned): Promise<void> {
  await using board = await startBoard({ card });
  startsMs.push(await board.pong());
  const put = async (path: string, lines: readonly string[]) => {
    const bytes = Buffer.from(`${lines.join("\n")}\n`).toString("base64");
    await board.shell(`echo ${bytes} | base64 -d >>${path}`);
  };
  await put("/data/stand-in", standIn);
  await put("/data/config/tapdeck/config.toml", config.split("\n"));
  await board.shell(
    "chmod 755 /data/stand-in && mkdir -p /data/tapdeck/media/NES && : >/data/tapdeck/media/NES/Game.nes && sync",
  );
  await board.kill();
}

async function cut(owned: Owned, number: number): Promise<void> {
  const writes = 1 + Math.floor(seededRandom(seed * 100_003 + number)() * writesMax);
  await using board = await startBoard({ card: owned.card });
  startsMs.push(await board.pong());
  await check(board, owned);
  // A save that is visible may not be on the card yet. The save before it certainly is, because saves are copied home one
  // after the other.
  owned.certain = (await lookBeyond(board, owned.certain)).save.number;
  let last = await lookBeyond(board, owned.certain);
  const struck = new Promise<"struck">((resolve) => owned.card.cutAfter(writes, () => resolve("struck")));
  for (;;) {
    const looking = play(board).then(() => look(board));
    // A request at the moment of the cut is never answered.
    looking.catch(() => {});
    const seen = await Promise.race([struck, looking]);
    if (seen === "struck") break;
    if (seen === undefined) throw new Error("the save is gone");
    if (seen.save.number > last.save.number) owned.certain = last.save.number;
    last = seen;
  }
  owned.seenSeconds = last.nowSeconds;
  const { number: seen } = last.save;
  await board.kill();
  owned.card.powerCycle(seed * 7 + number);
  print(`cut ${number + 1}, at write ${writes}`, `save ${seen} was seen, ${owned.certain} is certain`);
}

/** The save on the card; undefined if there is none. Rejects if it is damaged. */
async function look(board: Board): Promise<Look | undefined> {
  const said = await board.shell(`cut -d " " -f 1 /proc/uptime; if [ -e ${home} ]; then cat ${home}; fi`);
  const [now = "", ...lines] = said.replaceAll("\r", "").split("\n");
  return lines.length === 0 ? undefined : { nowSeconds: Number(now), save: saveIn(lines) };
}

/** Starts the game if it does not run: on a busy machine the service may have been replaced, and the game with it. */
async function play(board: Board): Promise<void> {
  const launch = `tapdeck call launch '{"text":"NES/Game.nes"}' </dev/null`;
  // The process is found by its name, because the words of the waiting player also have the path.
  await board.shell(`ps | grep -q '[{]stand-in}' || ${launch} >/dev/null 2>&1 || true`);
}

/** Resolves with a save that is later than this one. */
async function lookBeyond(board: Board, number: number): Promise<Look> {
  try {
    return await until(`a save after ${number}`, async () => {
      await play(board);
      const seen = await look(board);
      return seen !== undefined && seen.save.number > number && seen;
    });
  } catch (error) {
    const told = await board.shell("logread | tail -n 20; ps; ls -l /run/tapdeck/*/*/files/NES || true");
    throw new Error(`no save came:\n${told}`, { cause: error });
  }
}

/** The save on the card is whole, and new enough. */
async function check(board: Board, owned: Owned): Promise<void> {
  if (owned.certain === 0) return;
  const seen = await look(board);
  if (seen === undefined) throw new Error("the save is gone");
  const { save } = seen;
  expect(save.number).toBeGreaterThanOrEqual(owned.certain);
  saves += save.number - owned.first;
  owned.first = save.number;
  owned.certain = save.number;
  if (owned.seenSeconds > 0) ages.push(owned.seenSeconds - save.atSeconds);
  owned.seenSeconds = 0;
}
