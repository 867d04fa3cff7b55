/** The rows of the history that are synced, and the times of the syncs. `store.test.ts` has the cases of its contents. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { createHistory, type LaunchRow } from "../../../src/store/history.ts";
import { createTables } from "../../../src/store/migrations.ts";

const row: LaunchRow = {
  timeMs: 1_800_000_000_000,
  type: "",
  uid: "04aa",
  text: "a",
  data: "",
  readerId: "",
  script: "a",
};

/** A history whose disk refuses all writes while `disk.refuses` is true; `synced` has the committed rows at each sync. */
function newHistory() {
  const database = new Database(":memory:", { strict: true });
  createTables(database);
  const disk = { refuses: false };
  const synced: unknown[] = [];
  const ask = <T>(run: () => T): T => {
    if (disk.refuses) throw new Error("the disk is full");
    return run();
  };
  const committed = () => ({
    isOpen: database.inTransaction,
    rows: database.query("SELECT id, success FROM history ORDER BY id").all(),
  });
  const history = createHistory(database, { ask }, () => void synced.push(committed()));
  return { history, disk, synced, [Symbol.dispose]: () => database.close() };
}

test("a power cut half a minute after a launch loses its row", () => {
  using made = newHistory();
  const { history, synced } = made;
  history.finish(history.open(row));
  expect(synced).toEqual([]);
  history.flush();
  expect(synced).toEqual([{ isOpen: false, rows: [{ id: 1, success: 1 }] }]);
});

test("a start is not synced, because its player reads the disk then", () => {
  using made = newHistory();
  const { history, synced } = made;
  const id = history.open(row);
  history.beside(() => {});
  history.flush();
  expect(synced).toEqual([]);
  history.finish(id, { error: "no such file" });
  history.flush();
  expect(synced).toEqual([{ isOpen: false, rows: [{ id: 1, success: 0 }] }]);
});

test("launches that end together cost one sync", () => {
  using made = newHistory();
  const { history, synced } = made;
  for (let n = 0; n < 5; n++) history.finish(history.open(row));
  history.besideSynced(() => {});
  history.flush();
  history.flush();
  expect(synced).toHaveLength(1);
});

test("rows that the disk refused are not synced later", () => {
  using made = newHistory();
  const { history, disk, synced } = made;
  disk.refuses = true;
  history.finish(history.open(row));
  history.flush();
  disk.refuses = false;
  history.open(row);
  history.flush();
  expect(synced).toEqual([]);
});
