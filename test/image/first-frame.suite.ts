/**
 * A game's first picture on the emulated board: after a card on the reader, and after a start of the same RetroArch by
 * hand. Times are in seconds of the host, and in instructions of the guest, which depend less on the load of the host. Run
 * by `make test-image BOARDS=first-frame`; STARTS=3 is the number of measurements of each.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../../src/client/client.ts";
import { createType2Tag } from "../emulators/emulated-tags.ts";
import { createPn532Device, type Pn532Device } from "../emulators/pn532-device.ts";
import { makeColorNesGame } from "../helpers/nes-games.ts";
import { type Board, makePlainCard, startBoard } from "./board.ts";
import { print } from "./figures.ts";
import { type Counter, makeCounter } from "./guest-instructions.ts";
import { type Color, differing, type Picture, shareOf } from "./picture.ts";
import { patienceMs, until } from "./until.ts";

const starts = Number(process.env.STARTS ?? 3);
const pollMs = 100;
const quietMs = 500;
// In this time an idle board with its service executes 5 to 12 million instructions, and a board that starts something
// executes 30 million or more.
const quietInstructionsMax = 20e6;

// The status screen's color when it waits for a card (src/screen/drawings.ts), and the game's.
const ready: Color = [0x5e, 0xe6, 0xb5];
const red: Color = [212, 46, 3];
const game = "NES/Color.nes";

let folder: string;
let counter: Counter;
let server: ReturnType<typeof Bun.serve>;
let card: Awaited<ReturnType<typeof makePlainCard>>;
let reader: Pn532Device;
let board: Board;
let client: Client;
/** The command line of a start by hand. */
let command: readonly string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-first-frame-"));
  counter = await makeCounter(folder);
  await Bun.write(join(folder, "Color.nes"), makeColorNesGame());
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => new Response(Bun.file(join(folder, new URL(url).pathname))),
  });
  card = await makePlainCard();
  reader = createPn532Device({ timing: "none" });
  board = await startBoard({ card, reader: reader.path, display: "320x240", more: counter.more });
  await board.pong();
  await board.shell("mkdir -p /data/tapdeck/media/NES; mkfifo /run/go; chmod 666 /run/go");
  await fetchFile("Color.nes", `/data/tapdeck/media/${game}`);
  client = await board.client();
  await client.call("settings.update", { insertMode: true });
}, 2 * patienceMs);

afterAll(async () => {
  client.close();
  await board[Symbol.asyncDispose]();
  await server.stop(true);
  await reader.close();
  await card[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}, patienceMs);

async function fetchFile(name: string, path: string): Promise<void> {
  await board.shell(`wget -q -O ${path} http://10.0.2.2:${server.port}/${name}`);
}

interface Start {
  readonly seconds: number;
  readonly instructions: number;
}

test(
  "the first picture of a game comes after a card, and after the same words by hand",
  async () => {
    const byCard: Start[] = [];
    const byHand: Start[] = [];
    // The first round of each kind fills the guest's caches.
    for (let round = 0; round <= starts; round++) {
      byCard.push(await startByCard());
      byHand.push(await startByHand());
    }
    report(byCard.slice(1), byHand.slice(1));
  },
  (starts + 1) * patienceMs,
);

async function startByCard(): Promise<Start> {
  await quiet();
  const text = `${game}?resume=no`;
  const uid = Uint8Array.fromHex("04a1b2c3d4e5f6");
  const start = await measured(() => reader.put(createType2Tag("ntag215", { uid, text })));
  await makeHand();
  await until("the reader", async () =>
    (await client.call("readers")).readers.some(({ connected }) => connected),
  );
  reader.take();
  return start;
}

/**
 * Saves the start of the running game in the guest: its words, its variables and its file of settings. The folders of these
 * settings are made again, because the service removes its own.
 */
async function makeHand(): Promise<void> {
  const pid = await board.shell("pidof retroarch");
  const argv = await words(pid, "cmdline");
  const variables = (await words(pid, "environ")).filter(
    (word) => !/^(PWD|OLDPWD|SHLVL|_|TAPDECK_\w*)=/.test(word),
  );
  const option = "--appendconfig=";
  const settings = argv.find((word) => word.startsWith(option))?.slice(option.length);
  if (settings === undefined) throw new Error(`no settings in ${argv.join(" ")}`);
  await board.shell(`cp ${settings} /run/settings.cfg; chmod 644 /run/settings.cfg`);
  const folders = await board.shell(
    `sed -n 's/^[a-z]*_directory = "\\(.*\\)"/\\1/p' /run/settings.cfg | tr '\\n' ' '`,
  );
  command = argv.map((word) => (word === `${option}${settings}` ? `${option}/run/settings.cfg` : word));
  await Bun.write(
    join(folder, "hand"),
    `umask 077; mkdir -p ${folders}\nexec env -i ${variables.map(quoted).join(" ")} setpriv --nnp sh -c ` +
      `${quoted(`read -r go </run/go; exec ${command.map(quoted).join(" ")} </dev/null >/dev/null 2>&1`)}\n`,
  );
  await fetchFile("hand", "/run/hand");
}

async function words(pid: string, name: "cmdline" | "environ"): Promise<readonly string[]> {
  const said = await board.shell(`tr '\\0' '\\n' </proc/${pid}/${name}`);
  return said.split(/\r?\n/).filter((word) => word !== "");
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

/** Starts the game from a waiting shell of the service's user, with the service's groups; the shell becomes the game. */
async function startByHand(): Promise<Start> {
  await board.shell(
    "grep -q 'video:.*tapdeck' /etc/group || " +
      "{ sed -E '/^(dialout|input|audio|video|plugdev):/s/$/tapdeck/' /etc/group >/run/group; mount --bind /run/group /etc/group; }",
  );
  await board.shell("cd /; su -s /bin/sh tapdeck -c '. /run/hand' >/run/hand.log 2>&1 &");
  await quiet();
  const start = await measured(() => board.shell("echo go >/run/go"));
  const pid = await board.shell("pidof retroarch");
  expect(await words(pid, "cmdline")).toEqual(command);
  expect(await board.shell(`cat /proc/${pid}/status`)).toMatch(/^Uid:\t900\t/m);
  await board.shell("kill $(pidof retroarch); while pidof retroarch; do usleep 100000; done");
  return start;
}

/** Measures the time from `start` to the first picture of the game. */
async function measured(start: () => unknown): Promise<Start> {
  const from = { at: performance.now(), count: await counter.instructions() };
  await start();
  const deadline = from.at + patienceMs;
  for (;;) {
    const picture = await board.picture();
    if (shareOf(picture, red) > 0.9) break;
    if (performance.now() > deadline)
      throw new Error(await board.shell("logread | tail -n 20; cat /run/hand.log; ps | grep retroarch"));
    await Bun.sleep(pollMs);
  }
  const taken = {
    seconds: (performance.now() - from.at) / 1000,
    instructions: (await counter.instructions()) - from.count,
  };
  print("one start", `${taken.seconds.toFixed(2)} s, ${taken.instructions} instructions`);
  return taken;
}

/** Resolves when the status screen waits for a card, and the guest is idle. */
async function quiet(): Promise<void> {
  let before: Picture | undefined;
  let last = Number.NaN;
  await until(`a quiet board, not ${last} instructions`, async () => {
    const from = await counter.instructions();
    await Bun.sleep(quietMs);
    last = (await counter.instructions()) - from;
    const picture = await board.picture();
    const isStill = before !== undefined && differing(before, picture) === 0;
    before = picture;
    return isStill && shareOf(picture, ready) > 0.02 && last < quietInstructionsMax;
  });
}

/** Prints all measurements, and the ratio of the medians. */
function report(byCard: readonly Start[], byHand: readonly Start[]): void {
  const line = (unit: string, figure: (start: Start) => number) => {
    const [cards, hands] = [byCard.map(figure), byHand.map(figure)];
    const list = (figures: readonly number[]) =>
      `${median(figures).toFixed(2)} (${figures.map((each) => each.toFixed(2)).join(", ")})`;
    const ratio = (median(cards) / median(hands)).toFixed(3);
    print(`first picture in ${unit}`, `card ${list(cards)}, by hand ${list(hands)}, ratio ${ratio}`);
  };
  line("seconds", ({ seconds }) => seconds);
  line("10^9 instructions", ({ instructions }) => instructions / 1e9);
}

function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]];
  return (low + high) / 2;
}
