/** The files around the database: their modes, their durable writes, and the lock of the data folder. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exitCodes, StartError } from "../../../src/core/errors.ts";
import {
  keepPrivate,
  lengthOf,
  lockFolderOf,
  makePrivate,
  moveDurably,
  syncBehind,
  writeBehind,
  writeDurably,
} from "../../../src/store/database-files.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tapdeck-files-"));
  path = join(folder, "tapdeck.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

const modeOf = (file: string) => statSync(file).mode & 0o777;

/** A file that others may read. */
function openFile(name: string): string {
  const file = join(folder, name);
  writeFileSync(file, "x");
  chmodSync(file, 0o644);
  return file;
}

test("a database is created empty and private, and an old one keeps its bytes", () => {
  makePrivate(path);
  expect([lengthOf(path), modeOf(path)]).toEqual([0, 0o600]);
  const old = openFile("old.db");
  makePrivate(old);
  expect([readFileSync(old, "utf8"), modeOf(old)]).toEqual(["x", 0o600]);
});

test("the database and its side files become private, and no file of another name", () => {
  const own = ["tapdeck.db", "tapdeck.db-wal", "tapdeck.db.backup"].map(openFile);
  const others = ["tapdeck.dbx", "other-tapdeck.db", "tapdeck"].map(openFile);
  expect(keepPrivate(path)).toEqual([]);
  expect(own.map(modeOf)).toEqual([0o600, 0o600, 0o600]);
  expect(others.map(modeOf)).toEqual([0o644, 0o644, 0o644]);
});

test("a file that is private already is not touched", async () => {
  makePrivate(path);
  const { ctimeMs } = statSync(path);
  await Bun.sleep(20); // The kernel's file times advance in steps of up to 10 ms.
  expect(keepPrivate(path)).toEqual([]);
  expect(statSync(path).ctimeMs).toBe(ctimeMs);
});

test("a file whose mode cannot be changed is named, and one that is gone is not", () => {
  symlinkSync("/proc/self/status", `${path}-foreign`);
  symlinkSync(join(folder, "nowhere"), `${path}-gone`);
  expect(keepPrivate(path)).toEqual(["tapdeck.db-foreign"]);
});

test("what is written replaces the whole file, and a moved file has its new name alone", async () => {
  writeDurably(path, Buffer.from("a long text"));
  writeDurably(path, Buffer.from("short"));
  moveDurably(path, `${path}.moved`);
  expect([readdirSync(folder), readFileSync(`${path}.moved`, "utf8")]).toEqual([
    ["tapdeck.db.moved"],
    "short",
  ]);
  await writeBehind(`${path}.moved`, Buffer.from("x"));
  expect([lengthOf(`${path}.moved`), modeOf(`${path}.moved`), lengthOf(path)]).toEqual([1, 0o600, undefined]);
});

test("a log that does not exist needs no sync, and any other fault of a sync is thrown", async () => {
  await syncBehind(`${path}-wal`);
  openFile("tapdeck.db");
  await syncBehind(path);
  await expect(syncBehind(join(path, "below-a-file"))).rejects.toThrow("ENOTDIR");
});

test("a data folder is locked for one service until that one ends", () => {
  const first = lockFolderOf(path);
  let refused: unknown;
  try {
    lockFolderOf(path);
  } catch (error) {
    refused = error;
  }
  expect(refused).toBeInstanceOf(StartError);
  expect(refused).toMatchObject({
    exitCode: exitCodes.unavailable,
    message: expect.stringContaining(`another tapdeck uses the data folder ${folder}`),
  });
  first[Symbol.dispose]();
  using _second = lockFolderOf(path);
});

test("a folder whose lock cannot be created or read is used without it", () => {
  lockFolderOf(join(folder, "no-folder", "tapdeck.db"))[Symbol.dispose]();
  writeFileSync(`${path}.lock`, "a letter ".repeat(999));
  lockFolderOf(path)[Symbol.dispose]();
});
