import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { createLog } from "../../../src/core/log.ts";
import type { StoredClient } from "../../../src/store/client-table.ts";
import { schemaVersionMin } from "../../../src/store/migrations.ts";
import type { Store } from "../../../src/store/open.ts";
import { createManualClock, type ManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";
import { createStores } from "../../helpers/stores.ts";

const { newFolder, open, close, clean } = createStores();
afterEach(clean);

const client = (id: string): StoredClient => ({
  id,
  name: id,
  secret: "ab".repeat(32),
  address: "",
  role: "member",
  added: "1970-01-01T00:00:00.001Z",
});
const launch = { timeMs: 1, type: "", uid: "", text: "t", data: "", readerId: "", script: "" };
const aside = "tapdeck.db.damaged-2027-01-15T080000Z";

const damages: readonly (readonly [what: string, damage: (path: string) => void, reason: RegExp])[] = [
  [
    "a file that is no database",
    (path) => writeFileSync(path, "a letter ".repeat(999)),
    /^it is no database$/,
  ],
  ["a wrong header", (path) => overwrite(path, 0, Buffer.alloc(16, 0x20)), /^it is no database$/],
  ["a file cut in half", (path) => truncateSync(path, statSync(path).size / 2), /./],
  ["a file cut inside its first page", (path) => truncateSync(path, 700), /./],
  ["a page of zeros", (path) => overwrite(path, rootOf(path, "clients"), Buffer.alloc(4096)), /./],
  ["a page of noise", (path) => overwrite(path, rootOf(path, "history"), Buffer.alloc(4096, 0xa7)), /./],
  ["a schema of noise", (path) => overwrite(path, 100, Buffer.alloc(400, 0xa7)), /./],
  ["a column of another name", renameColumn, /^its tables are not what they were$/],
  ["an absurd version", (path) => overwrite(path, 60, Buffer.alloc(4, 0x7f)), /^its version cannot be true/],
  [
    "a version behind its tables",
    (path) => overwrite(path, 60, Buffer.from([0, 0, 0, schemaVersionMin])),
    /duplicate column/,
  ],
];

for (const [what, damage, reason] of damages)
  test(`${what} is set aside, and the last good copy takes its place`, () => {
    const folder = filled();
    const path = join(folder, "tapdeck.db");
    damage(path);
    const damaged = readFileSync(path);
    const madeAt = new Date(Math.trunc(statSync(`${path}.backup`).mtimeMs)).toISOString();
    const { recovered, clients, history } = open(folder, { clock: createManualClock() });
    expect(recovered).toEqual({
      reason: expect.stringMatching(reason),
      setAside: aside,
      restoredFrom: madeAt,
    });
    expect(clients.list().map(({ id }) => id)).toEqual(["a", "b"]);
    expect(history.page({ limit: 5 }).entries).toEqual([]);
    expect(readFileSync(join(folder, aside)).equals(damaged)).toBe(true);
  });

test("a file of one byte is set aside like any other", () => {
  const folder = filled();
  truncateSync(join(folder, "tapdeck.db"), 1);
  const { recovered } = open(folder, { clock: createManualClock() });
  expect(recovered).toMatchObject({ reason: "it is no database", setAside: aside });
  expect(statSync(join(folder, aside)).size).toBe(1);
});

test("an empty file, or none, beside a copy is a loss too", () => {
  for (const [reason, lose] of [
    ["the file is empty", (path: string) => truncateSync(path, 0)],
    ["the file is gone", (path: string) => rmSync(path)],
  ] as const) {
    const folder = filled();
    lose(join(folder, "tapdeck.db"));
    const { recovered, clients } = open(folder);
    expect(recovered).toEqual({ reason, restoredFrom: expect.any(String) });
    expect(clients.list()).toHaveLength(2);
  }
});

test("the log of a damaged database goes with it, and never into the restored one", () => {
  const folder = filled();
  const store = open(folder);
  store.clients.add(client("only in the log"), 1);
  const killed = newFolder();
  for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(killed, name));
  overwrite(join(killed, "tapdeck.db"), 0, Buffer.alloc(16, 0x20));
  const { clients, recovered } = open(killed, { clock: createManualClock() });
  expect(recovered?.setAside).toBe(aside);
  expect(existsSync(join(killed, `${aside}-wal`))).toBe(true);
  expect(clients.list().map(({ id }) => id)).toEqual(["a", "b"]);
});

test("without a copy it starts afresh, keeps the damaged file, and says so", () => {
  const folder = filled();
  rmSync(join(folder, "tapdeck.db.backup"));
  writeFileSync(join(folder, "tapdeck.db"), "a letter ".repeat(999));
  const { recovered, clients, check } = open(folder, { clock: createManualClock() });
  expect(recovered).toEqual({ reason: "it is no database", setAside: aside });
  expect(clients.list()).toEqual([]);
  expect(check).toThrow(/^the database could not be used .* starts afresh; the damaged file is kept as /);
});

test("a damaged copy is not restored, and is kept where no later copy overwrites it", () => {
  const folder = filled();
  const backup = join(folder, "tapdeck.db.backup");
  overwrite(backup, 4096, Buffer.alloc(statSync(backup).size - 4096, 0xa7));
  const damaged = readFileSync(backup);
  writeFileSync(join(folder, "tapdeck.db"), "a letter ".repeat(999));
  const store = open(folder, { clock: createManualClock() });
  expect(store.recovered).toEqual({ reason: "it is no database", setAside: aside });
  store.clients.add(client("new"), 1);
  close(store);
  expect(readFileSync(join(folder, `${aside}-backup`)).equals(damaged)).toBe(true);
});

test.each([
  ["a newer version", 99],
  ["an unpublished build", schemaVersionMin - 1],
])("a copy of %s is kept, not restored", (_what, version) => {
  const folder = filled();
  const backup = join(folder, "tapdeck.db.backup");
  overwrite(backup, 60, Buffer.from([0, 0, 0, version]));
  writeFileSync(join(folder, "tapdeck.db"), "a letter ".repeat(999));
  expect(open(folder, { clock: createManualClock() }).recovered).toEqual({
    reason: "it is no database",
    setAside: aside,
  });
  expect(existsSync(join(folder, `${aside}-backup`))).toBe(true);
});

test("a recovery is reported by the log and by check, until the next start", () => {
  const folder = filled();
  writeFileSync(join(folder, "tapdeck.db"), "a letter ".repeat(999));
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  const first = open(folder, { log });
  expect(lines.join("\n")).toMatch(
    /^error store: the database could not be used \(it is no database\), so its copy of \S+ took its place/,
  );
  expect(first.check).toThrow(
    /its copy of \S+ took its place, without the history; the damaged file is kept/,
  );
  close(first);
  const second = open(folder, { log });
  expect(second.recovered).toBeUndefined();
  expect(second.check).not.toThrow();
  expect(lines).toHaveLength(1);
});

test("at most three damaged files are kept, the newest ones", () => {
  const folder = filled();
  const clock = createManualClock();
  for (let time = 0; time < 5; time++) breakAndOpen(folder, clock, `letter ${time} `);
  const kept = asideIn(folder);
  expect(kept.map((name) => readFileSync(join(folder, name), "utf8").slice(0, 8))).toEqual([
    "letter 2",
    "letter 3",
    "letter 4",
  ]);
});

test("two damaged files of one second both have a name", () => {
  const folder = filled();
  const clock = createManualClock();
  for (const text of ["one", "two"]) {
    writeFileSync(join(folder, "tapdeck.db"), text.repeat(999));
    close(open(folder, { clock }));
  }
  expect(asideIn(folder)).toEqual([aside, `${aside}-2`]);
});

test("if the plug is pulled in the middle of a recovery, the next start ends it", () => {
  const folder = filled();
  // The damaged file has its new name already, and the copy is not in its place yet.
  rmSync(join(folder, "tapdeck.db"));
  writeFileSync(join(folder, aside), "a letter");
  writeFileSync(join(folder, "tapdeck.db.restored"), "half a copy");
  const { clients } = open(folder);
  expect(clients.list()).toHaveLength(2);
  expect(readFileSync(join(folder, aside), "utf8")).toBe("a letter");
});

test("damage found while running refuses writes, is reported by check, leaves the copy alone, and heals at the next start", () => {
  const folder = filled();
  const path = join(folder, "tapdeck.db");
  const store = open(folder);
  breakPage(path, "clients");
  const copied = readFileSync(`${path}.backup`);
  const refusal = /^the database is damaged: restart the service/;
  expect(() => store.clients.list()).toThrow(refusal);
  expect(() => store.clients.add(client("c"), 1)).toThrow(refusal);
  expect(() => store.clients.remove("a")).toThrow(refusal);
  expect(store.check).toThrow(/^the database is damaged \(.*\): restart the service/);
  close(store);
  expect(readFileSync(`${path}.backup`).equals(copied)).toBe(true);
  const { recovered, clients } = open(folder);
  expect(recovered?.restoredFrom).toBeString();
  expect(clients.list()).toHaveLength(2);
});

test("damage that a copy comes upon leaves the last good copy alone, and is reported like any other", async () => {
  const folder = filled();
  const path = join(folder, "tapdeck.db");
  const clock = createManualClock();
  const store = open(folder, { clock });
  breakPage(path, "clients");
  const copied = readFileSync(`${path}.backup`);
  clock.advance(60_000);
  await eventually(() => expect(store.check).toThrow(/^the database is damaged \(/));
  close(store);
  expect(readFileSync(`${path}.backup`).equals(copied)).toBe(true);
});

test("for any damage of the file, the service starts, and the start after it finds nothing to mend", () => {
  const original = filled();
  const bytes = readFileSync(join(original, "tapdeck.db"));
  const backup = readFileSync(join(original, "tapdeck.db.backup"));
  const place = fc.integer({ min: 0, max: bytes.length - 1 });
  const harm = fc.oneof(
    fc.record({ kind: fc.constant("cut" as const), at: place }),
    fc.record({
      kind: fc.constant("noise" as const),
      at: place,
      noise: fc.uint8Array({ minLength: 1, maxLength: 5000 }),
    }),
  );
  fc.assert(
    fc.property(fc.array(harm, { minLength: 1, maxLength: 3 }), (harms) => {
      const folder = newFolder();
      let harmed = Buffer.from(bytes);
      for (const one of harms) {
        if (one.kind === "cut") harmed = harmed.subarray(0, Math.max(1, one.at));
        else
          harmed.set(
            one.noise.subarray(0, Math.max(0, harmed.length - one.at)),
            Math.min(one.at, harmed.length),
          );
      }
      writeFileSync(join(folder, "tapdeck.db"), harmed);
      writeFileSync(join(folder, "tapdeck.db.backup"), backup);
      const first = open(folder);
      if (first.recovered !== undefined) expect(first.clients.list().map(({ id }) => id)).toEqual(["a", "b"]);
      first.clients.add(client("new"), 1);
      first.history.finish(first.history.open(launch));
      first.history.page({ limit: 1000 }).entries;
      close(first);
      const second = open(folder);
      expect(second.recovered).toBeUndefined();
      expect(second.clients.get("new")).toEqual(client("new"));
      clean();
    }),
    { numRuns: 200, seed: 1 },
  );
});

/** A closed store with two clients and a history of some pages, and its copy. */
function filled(): string {
  const folder = newFolder();
  const store = open(folder);
  for (const id of ["a", "b"]) store.clients.add(client(id), 1);
  for (let row = 0; row < 100; row++)
    store.history.finish(store.history.open({ ...launch, text: "t".repeat(200) }));
  close(store);
  return folder;
}

function breakAndOpen(folder: string, clock: ManualClock, text: string): Store {
  clock.advance(1000);
  writeFileSync(join(folder, "tapdeck.db"), text.repeat(999));
  const store = open(folder, { clock });
  close(store);
  return store;
}

function asideIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.includes(".damaged-"))
    .sort();
}

function overwrite(path: string, offset: number, bytes: Uint8Array): void {
  const whole = readFileSync(path);
  whole.set(bytes, offset);
  writeFileSync(path, whole);
}

/** Changes a name in the text of the schema, which no check of SQLite's covers. */
function renameColumn(path: string): void {
  overwrite(path, readFileSync(path).indexOf("reader_id TEXT"), Buffer.from("rider"));
}

/** The offset of the first page of a table. */
function rootOf(path: string, table: string): number {
  using database = new Database(path, { readonly: true });
  const row = database
    .query<{ rootpage: number }, { table: string }>("SELECT rootpage FROM sqlite_schema WHERE name = $table")
    .get({ table });
  return ((row?.rootpage ?? 1) - 1) * 4096;
}

/** Breaks a table's first page below an open store, which then reads it again. */
function breakPage(path: string, table: string): void {
  using other = new Database(path, { strict: true });
  const row = other
    .query<{ rootpage: number }, { table: string }>("SELECT rootpage FROM sqlite_schema WHERE name = $table")
    .get({ table });
  other.run("PRAGMA wal_checkpoint(TRUNCATE)");
  overwrite(path, ((row?.rootpage ?? 1) - 1) * 4096, Buffer.alloc(4096, 0xa7));
  // A write by another connection makes the store drop its pages in memory.
  other.run(
    "INSERT INTO history (time_ms, type, uid, text, data, reader_id, script) VALUES (1, '', '', '', '', '', '')",
  );
}
