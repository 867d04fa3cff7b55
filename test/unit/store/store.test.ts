// Covers: src/store/open.ts, src/store/history.ts, src/store/durable-writes.ts.
import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exitCodes, StartError } from "../../../src/core/errors.ts";
import { historyPageCharsMax, historyRowsMax } from "../../../src/core/limits.ts";
import { createDurableWrites } from "../../../src/store/durable-writes.ts";
import type { LaunchRow } from "../../../src/store/history.ts";
import { schemaVersion, schemaVersionMin } from "../../../src/store/migrations.ts";
import { openStore, type Store } from "../../../src/store/open.ts";
import { eventually } from "../../helpers/processes.ts";

const folders: string[] = [];
const stores: Store[] = [];

afterEach(async () => {
  for (const store of stores.splice(0)) store.close();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-store-"));
  folders.push(folder);
  return folder;
}

function open(folder: string): Store {
  const store = openStore(folder);
  stores.push(store);
  return store;
}

function close(store: Store): void {
  stores.splice(stores.indexOf(store), 1);
  store.close();
}

const timeMs = 1_800_000_000_000;
const row = (text: string, afterMs = 0): LaunchRow => ({
  timeMs: timeMs + afterMs,
  type: "NTAG",
  uid: "04aa",
  text,
  data: "0102",
  readerId: "reader",
  script: `**launch:${text}`,
});

test("a launch that went well is listed as it was, with its time in RFC 3339", async () => {
  const { history } = open(await newFolder());
  history.finish(history.open(row("a")));
  expect(history.page({ limit: 10 }).entries).toEqual([
    {
      type: "NTAG",
      uid: "04aa",
      text: "a",
      data: "0102",
      success: true,
      state: "done",
      time: "2027-01-15T08:00:00.000Z",
      readerId: "reader",
      script: "**launch:a",
    },
  ]);
});

test("a launch that failed has its reason, and what it did not have is absent", async () => {
  const { history } = open(await newFolder());
  history.finish(history.open({ ...row("a"), readerId: "", script: "" }), {
    error: "no such file",
    reason: "media-not-found",
  });
  const [entry] = history.page({ limit: 10 }).entries;
  expect(entry).toMatchObject({
    success: false,
    state: "failed",
    error: "no such file",
    reason: "media-not-found",
  });
  expect(entry).not.toHaveProperty("readerId");
  expect(entry).not.toHaveProperty("script");
});

test("a launch that still runs is not shown as a failure, because known clients read only its success", async () => {
  const { history } = open(await newFolder());
  const id = history.open(row("a"));
  const [entry] = history.page({ limit: 1 }).entries;
  expect(entry).toMatchObject({ success: true, state: "running" });
  expect(entry).not.toHaveProperty("error");
  history.finish(id);
  expect(history.page({ limit: 1 }).entries).toMatchObject([{ success: true, state: "done" }]);
});

test("the newest come first, a page at a time", async () => {
  const { history } = open(await newFolder());
  for (let index = 0; index < 5; index++) history.finish(history.open(row(`${index}`, index)));
  const texts = (page: { limit: number; beforeMs?: number }) =>
    history.page(page).entries.map(({ text }) => text);
  expect(texts({ limit: 2 })).toEqual(["4", "3"]);
  expect(texts({ limit: 2, beforeMs: timeMs + 3 })).toEqual(["2", "1"]);
  expect(texts({ limit: 2, beforeMs: timeMs })).toEqual([]);
});

test("the cards of the history are those of its launches with a UID, each once, and few of long texts", async () => {
  const { history } = open(await newFolder());
  for (const [uid, text] of [
    ["01", "old"],
    ["02", "two"],
    ["", "phone"],
    ["01", "new"],
  ] as const)
    history.finish(history.open({ ...row(text, 1), uid }));
  expect(history.cards(5).map(({ uid, text, taps }) => [uid, text, taps])).toEqual([
    ["01", "new", 2],
    ["02", "two", 1],
  ]);
  expect(history.cards(1)).toHaveLength(1);
  const long = "x".repeat(historyPageCharsMax / 2);
  for (const uid of ["03", "04", "05"]) history.open({ ...row(long, 2), uid });
  expect(history.cards(5).length).toBeLessThan(3);
});

test("one card is one, however a phone, a reader and a person write its UID", async () => {
  const { history } = open(await newFolder());
  for (const uid of ["04:AA:BB:CC", "04 aa bb cc", "04aabbcc", "04AABBCD"])
    history.finish(history.open({ ...row(uid, 1), uid }));
  expect(history.cards(5).map(({ uid, taps }) => [uid, taps])).toEqual([
    ["04AABBCD", 1],
    ["04aabbcc", 3],
  ]);
  for (const uid of ["04aabbcc", "04:AA:BB:CC"])
    expect(history.page({ limit: 5, uid }).entries.map((entry) => entry.uid)).toEqual([
      "04aabbcc",
      "04 aa bb cc",
      "04:AA:BB:CC",
    ]);
});

test("the launches of a scanned code are found by it, whatever its letters and white space are", async () => {
  const { history } = open(await newFolder());
  for (const uid of ["ÉTÉ 2026", "04:AA\t:BB", "İ\u00a0x", "a\u0000B"]) {
    history.finish(history.open({ ...row("code", 1), uid }));
    expect([uid, history.page({ limit: 5, uid }).entries.length]).toEqual([uid, 1]);
  }
});

test("launches of one millisecond, and those before a clock was set back, were missing on the next page", async () => {
  const { history } = open(await newFolder());
  for (const [text, ms] of [
    ["a", 9],
    ["b", 9],
    ["c", 9],
    ["d", 2],
    ["e", 2],
  ] as const)
    history.finish(history.open(row(text, ms)));
  const first = history.page({ limit: 2 });
  const second = history.page({ limit: 2, belowId: Number(first.nextId) });
  const third = history.page({ limit: 2, belowId: Number(second.nextId) });
  expect([first, second, third].map(({ entries }) => entries.map(({ text }) => text))).toEqual([
    ["e", "d"],
    ["c", "b"],
    ["a"],
  ]);
  expect(third.nextId).toBeUndefined();
  expect(history.page({ limit: 5 }).nextId).toBeUndefined();
});

test("a page of long texts is shorter than was asked for, and the next begins where it ends", async () => {
  const { history } = open(await newFolder());
  const long = "x".repeat(historyPageCharsMax / 16);
  for (let index = 0; index < 40; index++) history.open({ ...row(`${index}`, index), uid: long, data: long });
  history.finish(history.open(row("40", 40)), { error: "x".repeat(historyPageCharsMax + 1) });
  const seen: string[][] = [];
  let belowId: number | undefined;
  do {
    const page = history.page({ limit: 1000, ...(belowId === undefined ? {} : { belowId }) });
    seen.push(page.entries.map(({ text }) => text));
    belowId = page.nextId;
  } while (belowId !== undefined);
  expect(seen.flat()).toEqual(Array.from({ length: 41 }, (_, index) => `${40 - index}`));
  expect(seen.map(({ length }) => length)).toEqual([1, 7, 7, 7, 7, 7, 5]);
});

test("launches that end in another order than they began keep their own ends", async () => {
  const { history } = open(await newFolder());
  const [a, b] = [history.open(row("a")), history.open(row("b"))];
  history.finish(b, { error: "b failed" });
  history.finish(a);
  expect(history.page({ limit: 2 }).entries).toMatchObject([
    { text: "b", error: "b failed" },
    { text: "a", success: true },
  ]);
});

test("rows survive a close, and new ones are numbered behind them", async () => {
  const folder = await newFolder();
  const first = open(folder);
  first.history.finish(first.history.open(row("a")));
  close(first);
  const { history } = open(folder);
  history.finish(history.open(row("b")));
  expect(history.page({ limit: 10 }).entries.map(({ text }) => text)).toEqual(["b", "a"]);
});

test("a launch that was open when the service died is closed as a failure at the next start", async () => {
  const folder = await newFolder();
  const first = open(folder);
  first.history.open(row("a"));
  close(first);
  expect(open(folder).history.page({ limit: 10 }).entries).toMatchObject([
    { text: "a", success: false, state: "failed", error: "the service ended before the script did" },
  ]);
});

test("a row is on the disk a moment later, without anybody asking", async () => {
  const folder = await newFolder();
  const { history } = open(folder);
  history.open(row("a"));
  using other = new Database(join(folder, "tapdeck.db"), { readonly: true });
  const count = other.query<{ n: number }, []>("SELECT count(*) AS n FROM history");
  await eventually(() => expect(count.get()?.n).toBe(1));
});

test("nothing is written while a tap is under way", async () => {
  const folder = await newFolder();
  const { history } = open(folder);
  using other = new Database(join(folder, "tapdeck.db"), { readonly: true });
  history.finish(history.open(row("a")));
  expect(other.query<{ n: number }, []>("SELECT count(*) AS n FROM history").get()?.n).toBe(0);
});

test("the history keeps its newest rows only", async () => {
  const { history } = open(await newFolder());
  for (let index = 0; index < historyRowsMax + 5; index++) history.open(row(`${index}`, index));
  const entries = history.page({ limit: historyRowsMax + 5 }).entries;
  expect(entries).toHaveLength(historyRowsMax);
  expect(entries.at(-1)?.text).toBe("5");
});

test("a backlog of rows to drop goes in steps, without anybody asking", async () => {
  const folder = await newFolder();
  close(open(folder));
  using other = new Database(join(folder, "tapdeck.db"));
  fillHistory(other, historyRowsMax + 2000);
  const { history } = open(folder);
  history.open(row("new"));
  expect(history.page({ limit: 1 }).entries[0]?.text).toBe("new");
  const count = other.query<{ n: number }, []>("SELECT count(*) AS n FROM history");
  expect(count.get()?.n).toBeGreaterThan(historyRowsMax);
  await eventually(() => expect(count.get()?.n).toBe(historyRowsMax));
});

test("a write that the disk refuses stops no tap, and is reported by check until one succeeds", async () => {
  const folder = await newFolder();
  const { history } = open(folder);
  using other = new Database(join(folder, "tapdeck.db"));
  other.run("ALTER TABLE history RENAME TO away");
  history.finish(history.open(row("a")));
  expect(() => history.check()).toThrow(/history/);
  other.run("ALTER TABLE away RENAME TO history");
  history.finish(history.open(row("b")));
  expect(() => history.check()).not.toThrow();
  expect(history.page({ limit: 5 }).entries.map(({ text }) => text)).toEqual(["b"]);
});

test("the database is in WAL mode and knows its version", async () => {
  const folder = await newFolder();
  open(folder);
  using other = new Database(join(folder, "tapdeck.db"), { readonly: true });
  expect(other.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  expect(other.query("PRAGMA user_version").get()).toEqual({ user_version: schemaVersion });
});

test("a durable write inside another transaction is a fault of ours, for it would not be on the disk", () => {
  using database = new Database(":memory:");
  const { durable } = createDurableWrites(database, { onWritten: () => {}, onDamage: () => {} });
  expect(durable(() => 7)).toBe(7);
  const inside = database.transaction(() => durable(() => 7));
  expect(() => inside()).toThrow(/^must hold: a durable write/);
});

test("a statement that is wrong is no refusal of the world", () => {
  using database = new Database(":memory:");
  const { durable, damage } = createDurableWrites(database, { onWritten: () => {}, onDamage: () => {} });
  expect(() => durable(() => database.run("INSERT INTO nowhere VALUES (1)"))).toThrow(/no such table/);
  expect(damage()).toBeUndefined();
});

test("a folder that is not there is refused", async () => {
  expect(refusalOf(join(await newFolder(), "none")).exitCode).toBe(exitCodes.cannotCreate);
});

test.each([
  ["a newer version", 99, /made by a newer version \(99; this one knows \d+\)/],
  [
    "an unpublished build",
    schemaVersionMin - 1,
    /made by an unpublished build \(9; this version reads 10 and later\)/,
  ],
])("a database of %s is refused and left as it is", async (_what, version, sentence) => {
  const folder = await newFolder();
  close(open(folder));
  const path = join(folder, "tapdeck.db");
  {
    using database = new Database(path);
    database.run(`PRAGMA user_version = ${version}`);
  }
  expect(refusalOf(folder).message).toMatch(sentence);
  using database = new Database(path);
  expect(database.query("PRAGMA user_version").get()).toEqual({ user_version: version });
});

function fillHistory(database: Database, rows: number): void {
  database.run(`
    WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ${rows})
    INSERT INTO history (id, time_ms, type, uid, text, data, reader_id, script, success)
    SELECT id, ${timeMs} + id, 'NTAG', '04aa', 'text ' || id, '0102', 'reader', '', 1 FROM n`);
}

function refusalOf(folder: string): StartError {
  try {
    open(folder);
  } catch (error) {
    if (error instanceof StartError) return error;
    throw error;
  }
  throw new Error("it was opened");
}
