import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { StoredClient } from "../../../src/store/client-table.ts";
import { verify } from "../../../src/store/database-copy.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually, eventuallyExists } from "../../helpers/processes.ts";
import { createStores } from "../../helpers/stores.ts";

const { newFolder, open, close, clean } = createStores();
afterEach(clean);

const client = (id: string): StoredClient => ({
  id,
  name: "",
  secret: "ab".repeat(32),
  address: "",
  role: "member",
  added: "1970-01-01T00:00:00.001Z",
});
const launch = { timeMs: 1, type: "", uid: "", text: "t", data: "", readerId: "", script: "" };
const minuteMs = 60_000;

test("a change is copied a minute later, and the copy is a whole database", async () => {
  const folder = newFolder();
  const clock = createManualClock();
  const { clients } = open(folder, { clock });
  clients.add(client("a"), 1);
  clock.advance(minuteMs - 1);
  clients.add(client("b"), 1);
  await turns();
  expect(existsSync(copyIn(folder))).toBe(false);
  clock.advance(1);
  await eventuallyExists(copyIn(folder));
  expect(idsIn(copyIn(folder))).toEqual(["a", "b"]);
  expect(() => verify(copyIn(folder))).not.toThrow();
  expect(statSync(copyIn(folder)).mode & 0o777).toBe(0o600);
});

test("all mappings are in the copy, however many slices they take, and no id is given again after it", async () => {
  const folder = newFolder();
  const store = open(folder);
  fillMappings(folder, 10_000);
  close(store);
  using copy = new Database(copyIn(folder), { readonly: true });
  using whole = new Database(join(folder, "tapdeck.db"), { readonly: true });
  for (const query of ["SELECT * FROM mappings", "SELECT * FROM sqlite_sequence", "PRAGMA user_version"])
    expect(Bun.hash(JSON.stringify(copy.query(query).all()))).toBe(
      Bun.hash(JSON.stringify(whole.query(query).all())),
    );
  expect(copy.query("SELECT count(*) AS rows FROM mappings").get()).toEqual({ rows: 10_000 });
});

test("the history is not in the copy, and a tap makes none", async () => {
  const folder = newFolder();
  const first = open(folder);
  first.clients.add(client("a"), 1);
  first.history.finish(first.history.open(launch));
  close(first);
  {
    using copy = new Database(copyIn(folder), { readonly: true });
    expect(copy.query("SELECT count(*) AS rows FROM history").get()).toEqual({ rows: 0 });
  }
  const { ino } = statSync(copyIn(folder));
  const second = open(folder);
  second.history.finish(second.history.open(launch));
  close(second);
  expect(statSync(copyIn(folder)).ino).toBe(ino);
});

test("the copy is of one moment: what is changed while it is made comes with the next one", async () => {
  const folder = newFolder();
  const clock = createManualClock();
  const { clients } = open(folder, { clock });
  fillMappings(folder, 5000);
  clients.add(client("before"), 1);
  clock.advance(minuteMs);
  // The slices run in turns of the event loop.
  await turns(2);
  clients.add(client("meanwhile"), 1);
  await eventuallyExists(copyIn(folder));
  expect(idsIn(copyIn(folder))).toEqual(["before"]);
  await eventually(() => {
    clock.advance(minuteMs);
    expect(idsIn(copyIn(folder))).toHaveLength(2);
  });
});

test("a copy that would be the same is not written again", async () => {
  const folder = newFolder();
  const first = open(folder);
  first.clients.add(client("a"), 1);
  close(first);
  const { ino, mtimeMs } = statSync(copyIn(folder));
  const clock = createManualClock();
  const second = open(folder, { clock });
  clock.advance(minuteMs);
  await turns(20);
  second.clients.add(client("b"), 1);
  second.clients.remove("b");
  close(second);
  expect(statSync(copyIn(folder))).toMatchObject({ ino, mtimeMs });
});

test("if nobody has made anything, there is no copy", () => {
  const folder = newFolder();
  close(open(folder));
  expect(readdirSync(folder)).toEqual(["tapdeck.db", "tapdeck.db.lock"]);
});

test("a client that was removed leaves the copy at once", async () => {
  const folder = newFolder();
  const first = open(folder);
  for (const id of ["a", "b"]) first.clients.add(client(id), 1);
  close(first);
  expect(idsIn(copyIn(folder))).toEqual(["a", "b"]);
  const clock = createManualClock();
  open(folder, { clock }).clients.remove("a");
  clock.advance(0);
  await eventually(() => expect(idsIn(copyIn(folder))).toHaveLength(1));
  expect(idsIn(copyIn(folder))).toEqual(["b"]);
});

test("a change that was not copied when the plug was pulled is copied a minute after the next start", async () => {
  const folder = newFolder();
  const first = open(folder);
  first.clients.add(client("a"), 1);
  close(first);
  rmSync(copyIn(folder));
  const clock = createManualClock();
  open(folder, { clock });
  clock.advance(minuteMs);
  await eventuallyExists(copyIn(folder));
  expect(idsIn(copyIn(folder))).toEqual(["a"]);
});

test("a copy that is under way when the store is closed neither fails nor replaces the newer one", async () => {
  const folder = newFolder();
  const clock = createManualClock();
  const store = open(folder, { clock });
  fillMappings(folder, 5000);
  store.clients.add(client("a"), 1);
  clock.advance(minuteMs);
  await turns(2);
  store.clients.add(client("b"), 1);
  close(store);
  expect(idsIn(copyIn(folder))).toEqual(["a", "b"]);
  await turns(50);
  expect(idsIn(copyIn(folder))).toEqual(["a", "b"]);
});

test("a copy that cannot be written is reported by check, and tried again", async () => {
  const folder = newFolder();
  const clock = createManualClock();
  const store = open(folder, { clock });
  store.clients.add(client("a"), 1);
  mkdirSync(`${copyIn(folder)}.new`);
  clock.advance(minuteMs);
  await eventually(() => expect(faultOf(store.check)).not.toBe(""));
  expect(faultOf(store.check)).toStartWith("the backup copy could not be written: ");
  rmSync(`${copyIn(folder)}.new`, { recursive: true });
  await eventually(() => {
    clock.advance(minuteMs);
    expect(existsSync(copyIn(folder))).toBe(true);
    expect(faultOf(store.check)).toBe("");
  });
});

const copyIn = (folder: string) => join(folder, "tapdeck.db.backup");

function idsIn(path: string): string[] {
  using database = new Database(path, { readonly: true });
  return database
    .query<{ id: string }, []>("SELECT id FROM clients ORDER BY rowid")
    .all()
    .map(({ id }) => id);
}

function fillMappings(folder: string, rows: number): void {
  using database = new Database(join(folder, "tapdeck.db"));
  database.run(`
    WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ${rows})
    INSERT INTO mappings (added_ms, enabled, label, type, match, pattern, override)
    SELECT id, 1, 'label ' || id, 'uid', 'exact', '04aa' || id, '**launch:SNES/Game ' || id FROM n`);
}

/** Passes this many turns of the event loop. */
async function turns(count = 5): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function faultOf(check: () => void): string {
  try {
    check();
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
