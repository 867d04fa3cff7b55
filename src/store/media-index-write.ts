/** Writes the file of the media index, whole, and puts it in its place. What stands in it: `media-index-layout.ts`. */
import { Database } from "bun:sqlite";
import { closeSync, fsyncSync, openSync, rmSync } from "node:fs";
import { makePrivate, moveDurably } from "./database-files.ts";
import {
  type IndexContent,
  layout,
  pieceBytesMax,
  type StoredTitles,
  schema,
  sumOf,
} from "./media-index-layout.ts";

const insertSystem = "INSERT INTO system VALUES ($id, $name, $fingerprint)";
const insertBase = "INSERT INTO base VALUES (?, ?, ?, ?)";
const insertFolder = "INSERT INTO folder VALUES (?, ?, ?)";
const insertFile = "INSERT INTO file VALUES (?, ?, ?, ?)";
const insertPiece = "INSERT INTO piece VALUES ($name, $number, $sum, $bytes)";
const insertShortcut = "INSERT INTO shortcut VALUES ($key, $sum, $anywhere, $start)";
const insertTitles = "INSERT INTO title VALUES ($system, $plain, $length, $number, $sum, $bytes)";

/** Writes the index beside `path` and puts it there; returns once that is on the disk. */
export function writeMediaIndex(path: string, content: IndexContent): void {
  const fresh = `${path}.new`;
  rmSync(fresh, { force: true });
  makePrivate(fresh);
  const database = new Database(fresh, { create: true, strict: true });
  try {
    // Nobody reads it before it has its name, and one that has not got it is thrown away: a journal saves nothing.
    database.run("PRAGMA journal_mode = OFF");
    database.run("PRAGMA synchronous = OFF");
    database.run("PRAGMA page_size = 4096");
    database.transaction(() => fill(database, content))();
  } finally {
    database.close();
  }
  syncFile(fresh);
  moveDurably(fresh, path);
}

function syncFile(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function fill(database: Database, { systems, bases, folders, files, titles, search }: IndexContent): void {
  for (const statement of schema) database.run(statement);
  database.run(`PRAGMA user_version = ${layout}`);
  const system = database.query(insertSystem);
  for (const [id, { id: name, fingerprint }] of systems.entries()) system.run({ id, name, fingerprint });
  const base = database.query(insertBase);
  for (const [id, { path, root, isMount }] of bases.entries()) base.run(id, path, root, isMount ? 1 : 0);
  const folder = database.query(insertFolder);
  for (const [id, { base, path }] of folders.entries()) folder.run(id, base, path);
  const file = database.query(insertFile);
  let id = 0;
  for (const one of files) file.run(id++, one.system, one.folder, one.name);
  fillTitles(database, titles());
  const { pieces, shortcuts } = search();
  const piece = database.query(insertPiece);
  for (const [name, bytes] of Object.entries(pieces)) {
    for (let at = 0, number = 0; at < bytes.length; at += pieceBytesMax, number++) {
      const part = bytes.subarray(at, at + pieceBytesMax);
      piece.run({ name, number, sum: Bun.hash.crc32(part), bytes: part });
    }
  }
  const shortcut = database.query(insertShortcut);
  for (const { key, anywhere, atStart } of shortcuts)
    shortcut.run({ key, sum: sumOf(anywhere, atStart), anywhere, start: atStart });
}

function fillTitles(database: Database, titles: Iterable<StoredTitles>): void {
  const insert = database.query(insertTitles);
  let number = 0;
  for (const { system, isPlain, length, keys, files, signatures } of titles) {
    const bytes = Buffer.concat([keys, bytesOf(files), bytesOf(signatures)]);
    const row = { system, plain: isPlain ? 1 : 0, length, number: number++ };
    insert.run({ ...row, sum: Bun.hash.crc32(bytes), bytes });
  }
}

function bytesOf(numbers: Uint32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}
