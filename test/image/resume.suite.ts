/**
 * Power cuts while mpv plays a sound of half an hour. A card starts it on the emulated board. The power is cut at a seeded
 * moment, or at a write to the card after that moment. After the next start, the database is sound, and the same card resumes
 * the sound within 2 s of the position that the database has. `CUTS` is the number of cuts, and `SEED` selects them. Run by
 * `make test-image`.
 */
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../../src/client/client.ts";
import { savedApartMs } from "../../src/launch/ports/resuming.ts";
import { seededRandom } from "../emulators/emulated-line.ts";
import { makeSound } from "../helpers/sound-file.ts";
import { type Board, cardBytes, image, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print, seconds } from "./figures.ts";
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

const media = "/data/tapdeck/media/Audio";
const soundSeconds = 30 * 60;
const soundHeaderBytes = 44;
/** A television's loudspeaker, without a display. */
const sound = ["-device", "qemu-xhci", "-audiodev", "none,id=sound", "-device", "usb-audio,audiodev=sound"];

/** The position at a moment of the host. */
interface Seen {
  readonly positionMs: number;
  readonly atMs: number;
}

interface Owned {
  readonly card: Card;
  /** The position at the last cut; undefined before the first one. */
  cutMs: number | undefined;
  /** The last position that is surely on the card. */
  storedMs: number;
}

const startsMs: number[] = [];
/** The play time that each cut lost, and the distance from the stored position to the resumed one. */
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
const startOn = (card: Card) => startBoard({ card, more: sound, watchdog: false });

/** Copies the sound to the card. The rest of the file is zeros, which take up no space. */
async function prepare(card: Card): Promise<void> {
  await using board = await startOn(card);
  await board.pong();
  const header = Buffer.from(makeSound(soundSeconds).subarray(0, soundHeaderBytes)).toString("base64");
  const path = `${media}/Book.wav`;
  const bytes = makeSound(soundSeconds).length;
  await board.shell(
    `mkdir -p ${media} && echo ${header} | base64 -d >${path} && truncate -s ${bytes} ${path}`,
  );
  await board.shell(
    `printf '[readers]\\nconnect = ["file:/tmp/card"]\\n' >>/data/config/tapdeck/config.toml && sync`,
  );
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
    const asked = look(client).catch(() => undefined);
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

/** The position that mpv reports; undefined before its first report. */
async function look(client: Client): Promise<Seen | undefined> {
  const { positionMs } = (await client.call("media.active")) ?? {};
  return positionMs === undefined ? undefined : { positionMs, atMs: performance.now() };
}

/** Checks the database, starts the sound with its card, and checks its first position. */
async function resume(board: Board, client: Client, owned: Owned): Promise<Seen> {
  // On a busy machine the service may be replaced during a request.
  const { checks } = await until("its health", () => client.call("health").catch(() => undefined));
  expect(checks.filter(({ name, ok }) => (name === "database" || name === "device") && !ok)).toEqual([]);
  const storedMs = await storedPosition(board);
  // A position that was certainly on the card is not lost.
  expect(storedMs).toBeGreaterThanOrEqual(owned.storedMs);
  owned.storedMs = storedMs;
  if (owned.cutMs !== undefined) lostMs.push(owned.cutMs - storedMs);
  await board.shell("echo Audio/Book.wav >/tmp/card");
  // The sound began after the last answer that had no position.
  let silentMs = performance.now();
  const first = await until("the first position", async () => {
    const askedMs = performance.now();
    const seen = await look(client).catch(() => "no answer" as const);
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

/** Reads the database on the host, without the service; 0 if it has no position. */
async function storedPosition(board: Board): Promise<number> {
  expect((await board.shell("ls /data/tapdeck | grep damaged || true")).trim()).toBe("");
  const said = await board.shell(
    "mkdir -p /run/copy; cd /data/tapdeck; " +
      // The copy is repeated until no write came during it.
      "until cp tapdeck.db tapdeck.db-wal /run/copy && cmp -s tapdeck.db /run/copy/tapdeck.db && cmp -s tapdeck.db-wal /run/copy/tapdeck.db-wal; " +
      "do sleep 0.1; done; gzip -c /run/copy/tapdeck.db | base64; echo -next-; gzip -c /run/copy/tapdeck.db-wal | base64",
  );
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-resume-"));
  try {
    const path = join(folder, "tapdeck.db");
    const [main = "", log = ""] = said
      .split("-next-")
      .map((text) => Bun.gunzipSync(Buffer.from(text, "base64")));
    await Bun.write(path, main);
    await Bun.write(`${path}-wal`, log);
    using database = new Database(path);
    expect(database.query("PRAGMA integrity_check").values()).toEqual([["ok"]]);
    const stored = database.query<{ positionMs: number }, []>(
      "SELECT position_ms AS positionMs FROM positions",
    );
    return stored.get()?.positionMs ?? 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
