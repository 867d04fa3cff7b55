/**
 * Power cuts at a seeded write of the emulated card, during uploads and backups, and during restores. An upload continues
 * after each start. Its file is invisible until it is complete, and has the right hash at the end. A kept backup is
 * complete or absent, and earlier ones stay. After a restore that was cut off, the settings, mapping files and rows are
 * all old or all new. `CUTS` is the number of cuts, and `SEED` selects them. Run by `make test-image`.
 */
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkBackupFile, writeBackup } from "../../src/backup/backup-file.ts";
import type { Client } from "../../src/client/client.ts";
import { uploadFile } from "../../src/client/upload.ts";
import { backupsKeptMax } from "../../src/core/console-limits.ts";
import { schemaVersion } from "../../src/store/migrations.ts";
import { run } from "../../tools/image/run.ts";
import { seededRandom } from "../emulators/emulated-line.ts";
import { type Board, cardBytes, image, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print, seconds } from "./figures.ts";
import { patienceMs, until } from "./until.ts";

const cuts = Number(process.env.CUTS ?? 2);
const seed = Number(process.env.SEED ?? 1);
/** The number of cuts of one card. */
const cutsOfCard = 10;

type Kind = "carrying" | "restoring";
const kinds: readonly Kind[] = ["carrying", "restoring"];
/** A cut comes within this many writes, which is about the number of writes in the phase. */
const writesOf: Readonly<Record<Kind, number>> = { carrying: 60, restoring: 60 };

/** The upload is longer than the end that the service considers torn after a cut, so an upload continues. */
const uploadBytes = 32 * 2 ** 20;
const rows = 400;
const states = ["old", "new"] as const;
type State = (typeof states)[number];
const other = (state: State): State => (state === "old" ? "new" : "old");

interface Owned {
  readonly card: Card;
  /** The file of the unacknowledged upload, and whether its end was requested. */
  upload: { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer>; mayBeWhole: boolean };
  /** The SHA-256 of acknowledged files, by name. */
  readonly whole: Map<string, string>;
  /** The SHA-256 of acknowledged backups, by number. */
  readonly kept: Map<number, string>;
  /** The state of the settings, mapping files and rows; undefined during a restore. */
  state: State | undefined;
}

const made: Record<Kind, number> = { carrying: 0, restoring: 0 };
const ends = { uploads: 0, backups: 0, restores: 0, oldAfterCut: 0, newAfterCut: 0 };
const startsMs: number[] = [];

afterAll(() => {
  print(
    `power cuts of seed ${seed}`,
    `${made.carrying} during uploads and backups, ${made.restoring} during restores`,
  );
  print("finished meanwhile", `${ends.uploads} uploads, ${ends.backups} backups, ${ends.restores} restores`);
  print("states after a cut in a restore", `${ends.oldAfterCut} old, ${ends.newAfterCut} new`);
  if (startsMs.length === 0) return;
  print(
    "starts after a cut, to the first pong",
    `${seconds(Math.min(...startsMs))} to ${seconds(Math.max(...startsMs))}`,
  );
});

for (let first = 0; first < cuts; first += cutsOfCard) {
  const count = Math.min(cutsOfCard, cuts - first);
  test(
    `cuts ${first + 1} to ${first + count} of seed ${seed}: uploads continue, backups are whole, restores are all old or all new`,
    async () => {
      await using card = await makeCard(image, cardBytes);
      const owned: Owned = {
        card,
        upload: newUpload(0),
        whole: new Map(),
        kept: new Map(),
        state: undefined,
      };
      await prepare(owned);
      for (let number = first; number < first + count; number++) {
        const kind = kinds[number % kinds.length] ?? "carrying";
        const writes = 1 + Math.floor(seededRandom(seed * 100_003 + number)() * writesOf[kind]);
        await using board = await startAgain(owned);
        await begin[kind](board, owned, strike(card, writes));
        await board.kill();
        card.powerCycle(seed * 7 + number);
        made[kind]++;
        print(`cut ${number + 1}, ${kind}, at write ${writes}`, `${owned.whole.size} uploads are whole`);
      }
      await using board = await startAgain(owned);
      // Without a further cut, the upload is finished.
      await carryOne(board, await board.client(), owned, new AbortController().signal);
      await check(board, owned);
    },
    (cutsOfCard + 2) * patienceMs,
  );
}

/**
 * The hardware watchdog is left out, because it resets a board on a busy host. The cuts are therefore the only losses of power.
 */
const startOn = (card: Card) => startBoard({ card, watchdog: false });

function strike(card: Card, writes: number): Promise<"struck"> {
  return new Promise((resolve) => card.cutAfter(writes, () => resolve("struck")));
}

function newUpload(number: number): Owned["upload"] {
  const random = seededRandom(seed * 31 + number);
  const bytes = new Uint8Array(new Float64Array(uploadBytes / 8).map(() => random()).buffer);
  return { name: `Film-${number}.mkv`, bytes, mayBeWhole: false };
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Puts a backup of each state on the card, and restores the old one. */
async function prepare(owned: Owned): Promise<void> {
  await using board = await startOn(owned.card);
  await board.pong();
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-transfers-"));
  try {
    for (const state of states) {
      const path = join(folder, state);
      await writeBackup(path, linesOf(state));
      await put(board, `/data/${state}`, await readFile(path));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  await restore(board, "old");
  owned.state = "old";
  await check(board, owned);
}

async function put(board: Board, path: string, bytes: Uint8Array): Promise<void> {
  const text = Buffer.from(bytes).toString("base64");
  for (let at = 0; at < text.length; at += 2048)
    await board.shell(`printf %s ${text.slice(at, at + 2048)} >>/run/text`);
  await board.shell(`base64 -d /run/text >${path} && rm /run/text && chmod 644 ${path} && sync`);
}

async function* linesOf(state: State): AsyncGenerator<string> {
  const lines = [
    { tapdeck: "0.1.0", made: "2031-05-08T12:00:00Z", schema: schemaVersion, media: "/data/tapdeck/media" },
    { config: `[audio]\nvolume_max = ${volumeOf(state)}\n` },
    { mappingFile: `${state}.toml`, text: `# ${state}\n` },
    { mappingFile: "both.toml", text: `# ${state}\n` },
    ...Array.from({ length: rows }, (_, nth) => ({
      table: "mappings",
      row: {
        id: nth + 1,
        added_ms: 1,
        enabled: 1,
        label: `${state} ${nth}`,
        type: "uid",
        match: "exact",
        pattern: nth.toString(16).padStart(8, "0"),
        override: `SNES/${state}.sfc`,
      },
    })),
    ...Array.from({ length: rows }, (_, nth) => ({
      table: "positions",
      row: {
        id: nth + 1,
        path: `/data/tapdeck/media/Video/${nth}.mkv`,
        position_ms: positionOf(state),
        duration_ms: 7_200_000,
        item: "",
      },
    })),
  ];
  for (const line of lines) yield JSON.stringify(line);
  yield JSON.stringify({ lines: lines.length });
}

const volumeOf = (state: State) => (state === "old" ? 41 : 42);
const positionOf = (state: State) => (state === "old" ? 100_000 : 200_000);

/** Resolves when the service has started with this state. */
async function restore(board: Board, state: State): Promise<void> {
  await board.shell(`tapdeck restore /data/${state} --json </dev/null`);
}

/** The board starts, and all acknowledged data are present. */
async function startAgain(owned: Owned): Promise<Board> {
  const board = await startOn(owned.card);
  try {
    startsMs.push(await board.pong());
    await check(board, owned);
    return board;
  } catch (error) {
    await board[Symbol.asyncDispose]();
    throw error;
  }
}

const begin: Readonly<
  Record<Kind, (board: Board, owned: Owned, struck: Promise<"struck">) => Promise<void>>
> = {
  /** Uploads one file after the other, and keeps one backup after the other, until the power is cut. */
  async carrying(board, owned, struck) {
    const client = await board.client();
    const over = new AbortController();
    void struck.then(() => over.abort());
    const works = Promise.all([carry(board, client, owned, over.signal), keep(board, owned, over.signal)]);
    // After the cut, no request gets an answer.
    works.catch(() => {});
    const ended = await Promise.race([struck, works]);
    client.close();
    if (ended !== "struck") throw new Error("the works ended before the cut");
  },
  /** Restores the states in turn, until the power is cut. */
  async restoring(board, owned, struck) {
    for (let state = other(owned.state ?? "new"); ; state = other(state)) {
      owned.state = undefined;
      const restored = restore(board, state).then(() => "restored" as const);
      restored.catch(() => {});
      if ((await Promise.race([struck, restored])) === "struck") return;
      owned.state = state;
      ends.restores++;
    }
  },
};

async function carry(board: Board, client: Client, owned: Owned, over: AbortSignal): Promise<void> {
  while (!over.aborted) await carryOne(board, client, owned, over);
}

async function carryOne(board: Board, client: Client, owned: Owned, signal: AbortSignal): Promise<void> {
  const { upload, whole } = owned;
  const { name, bytes } = upload;
  await uploadFile(
    client,
    { system: "Video", path: name, file: new Blob([bytes]) },
    {
      origin: board.origin,
      signal,
      onProgress(there) {
        // Before this request, the service was not asked to make it a media file.
        if (there === bytes.length) upload.mayBeWhole = true;
      },
    },
  );
  whole.set(name, sha256(bytes));
  ends.uploads++;
  owned.upload = newUpload(whole.size);
}

async function keep(board: Board, { kept }: Owned, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const said = await board.shell(`tapdeck call backup '{"keep":true}' </dev/null`);
    const [, number] = /before-update-(\d+)\.tapdeck/.exec(said) ?? [];
    const [, sum = ""] = /"sha256": ?"([0-9a-f]{64})"/.exec(said) ?? [];
    kept.set(Number(number), sum);
    ends.backups++;
  }
}

async function check(board: Board, owned: Owned): Promise<void> {
  const { checks } = await until("its health", async () => {
    const client = await board.client();
    return client
      .call("health")
      .finally(() => client.close())
      .catch(() => undefined);
  });
  expect(checks.filter(({ name, ok }) => (name === "database" || name === "device") && !ok)).toEqual([]);
  await checkUploads(board, owned);
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-transfers-"));
  try {
    await copyData(board, folder);
    await checkBackups(join(folder, "tapdeck/backups"), owned);
    await checkState(folder, owned);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The file of an upload is complete or absent. */
async function checkUploads(board: Board, owned: Owned): Promise<void> {
  const { upload, whole } = owned;
  const said = await board.shell(
    "cd /data/tapdeck/media/Video 2>/dev/null && sha256sum * 2>/dev/null || true",
  );
  const found = new Map(
    [...said.matchAll(/^([0-9a-f]{64}) {2}(\S+)\r?$/gm)].map(([, sum = "", name = ""]) => [name, sum]),
  );
  if (upload.mayBeWhole && found.has(upload.name)) {
    // The cut came between the rename of the file and the answer. The sender would get the answer that the file exists
    // already.
    whole.set(upload.name, sha256(upload.bytes));
    owned.upload = newUpload(whole.size);
  }
  expect([...found].sort()).toEqual([...whole].sort());
}

/** Copies the files of the service to the host, at a moment without a write. */
async function copyData(board: Board, folder: string): Promise<void> {
  const files = "config/tapdeck tapdeck/tapdeck.db tapdeck/tapdeck.db-wal tapdeck/backups";
  const said = await board.shell(
    `cd /data; mkdir -p tapdeck/backups; until tar c ${files} >/run/one 2>/dev/null; sleep 0.1; ` +
      `tar c ${files} >/run/two 2>/dev/null; cmp -s /run/one /run/two; do :; done; gzip -c /run/one | base64`,
  );
  await Bun.write(join(folder, "all.tar"), Bun.gunzipSync(Buffer.from(said, "base64")));
  await run(["tar", "xf", join(folder, "all.tar"), "-C", folder]);
}

/** All backups are whole, and of the acknowledged ones only the oldest may be gone. */
async function checkBackups(folder: string, { kept }: Owned): Promise<void> {
  const sums = new Map<number, string>();
  for (const name of await readdir(folder)) {
    const [, number] = /^before-(?:update|restore)-(\d+)\.tapdeck$/.exec(name) ?? [];
    if (number === undefined) continue;
    const facts = await checkBackupFile(join(folder, name));
    if (name.startsWith("before-update-")) sums.set(Number(number), facts.sha256);
  }
  const newest = Math.max(0, ...sums.keys(), ...kept.keys());
  const expected = [...kept].filter(([number]) => number > newest - backupsKeptMax);
  expect(expected.map(([number]) => [number, sums.get(number)])).toEqual(expected);
  expect(sums.size).toBeLessThanOrEqual(backupsKeptMax + 1);
}

/** All parts belong to one state. After an acknowledged restore, the state is that of the restore. */
async function checkState(folder: string, owned: Owned): Promise<void> {
  const config = await readFile(join(folder, "config/tapdeck/config.toml"), "utf8");
  const mappings = join(folder, "config/tapdeck/mappings");
  await mkdir(mappings, { recursive: true });
  const files = (await readdir(mappings)).sort();
  const texts = await Promise.all(files.map((name) => readFile(join(mappings, name), "utf8")));
  using database = new Database(join(folder, "tapdeck/tapdeck.db"));
  const all = {
    volume: Number(/volume_max = (\d+)/.exec(config)?.[1]),
    files: files.map((name, nth) => [name, texts[nth]]),
    integrity: database.query("PRAGMA integrity_check").values(),
    mappings: database.query("SELECT override, count(*) FROM mappings GROUP BY override").values(),
    positions: database.query("SELECT position_ms, count(*) FROM positions GROUP BY position_ms").values(),
  };
  const state = owned.state ?? (all.volume === volumeOf("old") ? "old" : "new");
  expect(all).toEqual({
    volume: volumeOf(state),
    files: [`${state}.toml`, "both.toml"].sort().map((name) => [name, `# ${state}\n`]),
    integrity: [["ok"]],
    mappings: [[`SNES/${state}.sfc`, rows]],
    positions: [[positionOf(state), rows]],
  });
  if (owned.state === undefined) ends[state === "old" ? "oldAfterCut" : "newAfterCut"]++;
  owned.state = state;
}
