/**
 * The layout of the file of the media index, and its writer. `media-index-file.ts` reads it.
 *
 *   file      the files, numbered from 0 in the order of their folded names; a name that is not UTF-8 is a blob
 *   folder    absolute path of a system's folder, and the path below it
 *   base      the systems' folders, each with its media folder and whether it was a mount point
 *   holding   the number of files of a system in a folder, without the folders below it
 *   system    ids, and fingerprints that are equal if a new walk found the same files
 *   piece     the search structure in pieces of at most 256 KiB, each with its checksum
 *   shortcut  ready answers for one or two bytes of text
 *   title     keys of titles by system and length, some hundred a piece, each with its checksum: the keys, all of that
 *             length, then a file and a signature for each, 32 bits, low byte first
 */
import { Database } from "bun:sqlite";
import { rmSync } from "node:fs";
import { makePrivate, moveDurably, syncPath } from "./database-files.ts";

/**
 * This number is raised with each change of the layout, or of the folding or order of names. An index of another layout
 * is made again.
 */
export const layout = 5;

const pieceBytesMax = 256 * 1024;

const schema = [
  "CREATE TABLE system (id INTEGER PRIMARY KEY, name TEXT NOT NULL, fingerprint TEXT NOT NULL) STRICT",
  "CREATE TABLE base (id INTEGER PRIMARY KEY, path ANY NOT NULL, root TEXT NOT NULL, mounted INTEGER NOT NULL) STRICT",
  "CREATE TABLE folder (id INTEGER PRIMARY KEY, base ANY NOT NULL, path ANY NOT NULL) STRICT",
  "CREATE TABLE file (id INTEGER PRIMARY KEY, system INTEGER NOT NULL, folder INTEGER NOT NULL, name ANY NOT NULL) STRICT",
  `CREATE TABLE holding (system INTEGER NOT NULL, folder INTEGER NOT NULL, files INTEGER NOT NULL,
                         PRIMARY KEY (system, folder)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE piece (name TEXT NOT NULL, number INTEGER NOT NULL, sum INTEGER NOT NULL, bytes BLOB NOT NULL,
                       PRIMARY KEY (name, number)) STRICT`,
  `CREATE TABLE shortcut (key INTEGER PRIMARY KEY, sum INTEGER NOT NULL, anywhere BLOB NOT NULL, start BLOB NOT NULL) STRICT`,
  `CREATE TABLE title (system INTEGER NOT NULL, plain INTEGER NOT NULL, length INTEGER NOT NULL, number INTEGER NOT NULL,
                       sum INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (system, plain, length, number)) STRICT`,
];

/** These indexes are made after the files are written, which is faster. */
const places = [
  "CREATE INDEX file_place ON file (system, folder)",
  "INSERT INTO holding SELECT system, folder, count(*) FROM file GROUP BY system, folder",
];

/** A name as on the disk; bytes if it is not UTF-8. */
export type StoredName = string | Uint8Array;

export interface StoredSystem {
  readonly id: string;
  /** A text that is equal if the files and their order are the same: pairs of a folder and its mark, in JSON. */
  readonly fingerprint: string;
}

export interface StoredFolder {
  /** The absolute path of the system's folder. */
  readonly base: StoredName;
  /** The path below `base`; empty for that folder itself. */
  readonly path: StoredName;
}

export interface StoredBase {
  /** The absolute path of the system's folder. */
  readonly path: StoredName;
  /** The media folder as in the settings; for the folder of one system, that folder itself. */
  readonly root: string;
  /** True for a folder on another file system than its media folder. */
  readonly isMount: boolean;
}

export interface StoredFile {
  /** `system` and `folder` are places in the lists of systems and folders. */
  readonly system: number;
  readonly folder: number;
  readonly name: StoredName;
}

export interface StoredPlace extends StoredFolder {
  readonly system: number;
  readonly name: StoredName;
}

/** The stored answer to one or two bytes of text, as packed lists (`src/media/index/lists.ts`). */
export interface StoredShortcut {
  readonly key: number;
  /** The files with the text anywhere, and those with it at the start of a word. */
  readonly anywhere: Uint8Array;
  readonly atStart: Uint8Array;
}

/** Titles of one system whose keys are of one length. */
export interface StoredTitles {
  readonly system: number;
  /** True if numerals stay letters in these keys. */
  readonly isPlain: boolean;
  /** The length of each key, in bytes. */
  readonly length: number;
  readonly keys: Uint8Array;
  /** The file of each key, and then its signature. */
  readonly files: Uint32Array;
  readonly signatures: Uint32Array;
}

export interface IndexContent {
  readonly systems: readonly StoredSystem[];
  readonly bases: readonly StoredBase[];
  readonly folders: readonly StoredFolder[];
  /** The files in the order of their numbers. */
  readonly files: Iterable<StoredFile>;
  /** The titles by system and length. The function is called after the files are written. */
  readonly titles: () => Iterable<StoredTitles>;
  /** The search structure. It is called after the files and titles are written, because both at once need much memory. */
  readonly search: () => {
    readonly pieces: Readonly<Record<string, Uint8Array>>;
    readonly shortcuts: Iterable<StoredShortcut>;
  };
}

/** The checksum of a ready answer. */
export function sumOf(anywhere: Uint8Array, atStart: Uint8Array): number {
  return (Bun.hash.crc32(anywhere) ^ Bun.hash.crc32(atStart)) >>> 0;
}

/** Writes the index beside `path` and renames it to `path`. Returns once the file is on the disk. */
export function writeMediaIndex(path: string, content: IndexContent): void {
  const fresh = `${path}.new`;
  rmSync(fresh, { force: true });
  makePrivate(fresh);
  const database = new Database(fresh, { create: true, strict: true });
  try {
    // No journal is needed: the file is read only after its rename, and an unfinished file is deleted.
    database.run("PRAGMA journal_mode = OFF");
    database.run("PRAGMA synchronous = OFF");
    database.run("PRAGMA page_size = 4096");
    database.transaction(() => fill(database, content))();
  } finally {
    database.close();
  }
  syncPath(fresh);
  moveDurably(fresh, path);
}

function fill(database: Database, { systems, bases, folders, files, titles, search }: IndexContent): void {
  for (const statement of schema) database.run(statement);
  database.run(`PRAGMA user_version = ${layout}`);
  const system = database.query("INSERT INTO system VALUES ($id, $name, $fingerprint)");
  for (const [id, { id: name, fingerprint }] of systems.entries()) system.run({ id, name, fingerprint });
  const base = database.query("INSERT INTO base VALUES (?, ?, ?, ?)");
  for (const [id, { path, root, isMount }] of bases.entries()) base.run(id, path, root, isMount ? 1 : 0);
  const folder = database.query("INSERT INTO folder VALUES (?, ?, ?)");
  for (const [id, { base, path }] of folders.entries()) folder.run(id, base, path);
  const file = database.query("INSERT INTO file VALUES (?, ?, ?, ?)");
  let id = 0;
  for (const one of files) file.run(id++, one.system, one.folder, one.name);
  for (const statement of places) database.run(statement);
  fillTitles(database, titles());
  const { pieces, shortcuts } = search();
  const piece = database.query("INSERT INTO piece VALUES ($name, $number, $sum, $bytes)");
  for (const [name, bytes] of Object.entries(pieces)) {
    for (let at = 0, number = 0; at < bytes.length; at += pieceBytesMax, number++) {
      const part = bytes.subarray(at, at + pieceBytesMax);
      piece.run({ name, number, sum: Bun.hash.crc32(part), bytes: part });
    }
  }
  const shortcut = database.query("INSERT INTO shortcut VALUES ($key, $sum, $anywhere, $start)");
  for (const { key, anywhere, atStart } of shortcuts)
    shortcut.run({ key, sum: sumOf(anywhere, atStart), anywhere, start: atStart });
}

function fillTitles(database: Database, titles: Iterable<StoredTitles>): void {
  const insert = database.query("INSERT INTO title VALUES ($system, $plain, $length, $number, $sum, $bytes)");
  let number = 0;
  for (const { system, isPlain, length, keys, files, signatures } of titles) {
    const bytes = Buffer.concat([keys, uint32Bytes(files), uint32Bytes(signatures)]);
    const row = { system, plain: isPlain ? 1 : 0, length, number: number++ };
    insert.run({ ...row, sum: Bun.hash.crc32(bytes), bytes });
  }
}

/** The same memory as bytes. */
export function uint32Bytes(numbers: Uint32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}
