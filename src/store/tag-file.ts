/**
 * The tags of audio files beside the media index, in a SQLite file of their own, because they take much longer to read
 * than names. A job writes it row by row while the service reads it. It is made only from the media files, so a damaged
 * one is deleted.
 *
 *   audio     by path: size and time of the file when it was read, its tags, and the number of its picture
 *   behind    one row while the index lacks words of these tags
 *   picture   embedded pictures, made small, each once; `sum` is a hash of the embedded bytes
 *
 * `tries` counts the starts of a reading that did not end, because a file may crash its reader; it is 0 after the end.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { rmSync } from "node:fs";
import { folderLengthFilesMax } from "../core/limits.ts";
import type { AudioTags } from "../core/media.ts";
import { makePrivate } from "./database-files.ts";
import type { StoredName } from "./media-index-write.ts";

/** This number is raised with each change of the layout. A file of another layout is made again. */
const layout = 2;

const schema = [
  `CREATE TABLE audio (path ANY PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL, tries INTEGER NOT NULL,
                       title TEXT, artist TEXT, album TEXT, track INTEGER, disc INTEGER, duration INTEGER,
                       picture INTEGER) STRICT, WITHOUT ROWID`,
  // One row while the index lacks words of the tags, because it was built before they were read.
  "CREATE TABLE behind (id INTEGER PRIMARY KEY) STRICT",
  "CREATE TABLE picture (id INTEGER PRIMARY KEY, sum TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL) STRICT",
];

const selectTags = `SELECT title, artist, album, track, disc, duration AS durationMs FROM audio WHERE path = ?`;
const selectPicture = `SELECT picture.bytes FROM audio JOIN picture ON picture.id = audio.picture WHERE audio.path = ?`;
const selectPictureBelow = `SELECT picture.bytes FROM audio JOIN picture ON picture.id = audio.picture
                            WHERE audio.path > ? AND audio.path < ? ORDER BY audio.path LIMIT 1`;
const selectLength = `SELECT count(*) AS files, sum(duration) AS durationMs FROM
                        (SELECT duration FROM audio WHERE path > ?1 AND path < ?2 LIMIT ?3)`;

/** The path of the tags that belong to an index: `media-tags.db` for `media.db`. */
export function tagPathOf(indexPath: string): string {
  return indexPath.replace(/\.db$/, "-tags.db");
}

/** Deletes the tags of an index. */
export function removeTags(indexPath: string): void {
  for (const part of ["", "-wal", "-shm"]) rmSync(tagPathOf(indexPath) + part, { force: true });
}

export type TagFile = ReturnType<typeof readTags>;

/** Opens the tags of an index for reading; undefined if there are none that can be read. */
export function openTags(indexPath: string): TagFile | undefined {
  const database = openExisting(tagPathOf(indexPath));
  // The version is in the head of the file, and the tables may be damaged.
  const tags = database && orNothing(() => readTags(database));
  if (tags === undefined) database?.close();
  return tags;
}

function openExisting(path: string): Database | undefined {
  let database: Database | undefined;
  try {
    database = new Database(path, { readwrite: true, create: false, strict: true });
    if (layoutOf(database) === layout) return database;
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
  }
  database?.close();
  return undefined;
}

function layoutOf(database: Database): number | undefined {
  return database.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version;
}

/** Reads the tags. If the file is damaged, every answer is empty, because the next run of the job makes it again. */
function readTags(database: Database) {
  type Row = { readonly [Name in keyof AudioTags]-?: AudioTags[Name] | null };
  type Bytes = { readonly bytes: Uint8Array };
  const tags = database.query<Row, [StoredName]>(selectTags);
  const picture = database.query<Bytes, [StoredName]>(selectPicture);
  const pictureBelow = database.query<Bytes, [string, string]>(selectPictureBelow);
  type Length = { readonly files: number; readonly durationMs: number | null };
  const length = database.query<Length, [string, string, number]>(selectLength);
  return {
    /** The tags of a file by its absolute path; undefined if it has none. */
    of(path: StoredName): AudioTags | undefined {
      const row = orNothing(() => tags.get(path));
      const known = Object.entries(row ?? {}).filter(([, value]) => value !== null);
      return known.length === 0 ? undefined : Object.fromEntries(known);
    },
    /** The picture in a file, as WebP. */
    picture: (path: string): Uint8Array | undefined => orNothing(() => picture.get(path))?.bytes,
    /** The picture of the first file with one in a folder or below it. */
    pictureBelow: (folder: string): Uint8Array | undefined =>
      orNothing(() => pictureBelow.get(...rangeBelow(folder)))?.bytes,
    /** The sum of the lengths in a folder and below it, in milliseconds; 0 for more than `folderLengthFilesMax` files. */
    length(folder: string): number {
      const found = orNothing(() => length.get(...rangeBelow(folder), folderLengthFilesMax + 1));
      return (found?.files ?? 0) > folderLengthFilesMax ? 0 : (found?.durationMs ?? 0);
    },
    close: () => database.close(),
  };
}

/** All paths in a folder lie between these two, because `/` is followed by `0` in ASCII. */
function rangeBelow(folder: string): [string, string] {
  return [`${folder}/`, `${folder}0`];
}

function orNothing<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof SQLiteError) return undefined;
    throw error;
  }
}

/** A file in its state when its tags were read. */
export interface ReadFile {
  readonly size: number;
  /** The time of the last change in milliseconds since 1970. */
  readonly changedMs: number;
}

export type TagWriter = ReturnType<typeof writeTags>;

/** Opens the tags of an index for the job; a new or damaged file is made empty. Throws `SQLiteError`. */
export function openTagWriter(indexPath: string): TagWriter {
  const path = tagPathOf(indexPath);
  const found = openSoundTags(path);
  if (found !== undefined) return writeTags(found);
  removeTags(indexPath);
  makePrivate(path);
  const database = new Database(path, { create: true, strict: true });
  database.transaction(() => {
    for (const statement of schema) database.run(statement);
    database.run(`PRAGMA user_version = ${layout}`);
  })();
  return writeTags(database);
}

/** The existing file; undefined if there is none, it is damaged, or of another layout. */
function openSoundTags(path: string): Database | undefined {
  const database = openExisting(path);
  const check = () => database?.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get();
  if (orNothing(check)?.quick_check === "ok") return database;
  database?.close();
  return undefined;
}

function writeTags(database: Database) {
  // The service reads while the job writes. The tags of a commit that is lost at a power cut are read again.
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA synchronous = NORMAL");
  const { close: _close, ...reader } = readTags(database);
  const begin = database.query(
    `INSERT INTO audio (path, size, changed, tries) VALUES (?1, ?2, ?3, 1)
     ON CONFLICT (path) DO UPDATE SET size = ?2, changed = ?3,
       tries = iif(size = ?2 AND changed = ?3, tries + 1, 1)`,
  );
  const end = database.query(
    `UPDATE audio SET tries = 0, title = $title, artist = $artist, album = $album, track = $track, disc = $disc,
                      duration = $durationMs, picture = $picture WHERE path = $path`,
  );
  const pictureOf = database.query<{ id: number }, [string]>("SELECT id FROM picture WHERE sum = ?");
  const addPicture = database.query<{ id: number }, [string, Uint8Array]>(
    "INSERT INTO picture (sum, bytes) VALUES (?, ?) RETURNING id",
  );
  const remove = database.query("DELETE FROM audio WHERE path = ?");
  return {
    ...reader,
    /** Each read file by its path, with the number of readings that did not end. */
    *all(): Generator<ReadFile & { readonly path: StoredName; readonly tries: number }> {
      yield* database
        .query<ReadFile & { path: StoredName; tries: number }, []>(
          "SELECT path, size, changed AS changedMs, tries FROM audio",
        )
        .iterate();
    },
    /** Notes that the reading of a file begins. */
    begin: (path: StoredName, { size, changedMs }: ReadFile) => void begin.run(path, size, changedMs),
    end(path: StoredName, tags: AudioTags, picture: number | undefined): void {
      const { title, artist, album, track, disc, durationMs } = tags;
      end.run({
        path,
        title: title ?? null,
        artist: artist ?? null,
        album: album ?? null,
        track: track ?? null,
        disc: disc ?? null,
        durationMs: durationMs ?? null,
        picture: picture ?? null,
      });
    },
    /** The number of a picture by the hash of its embedded bytes. */
    pictureNumber: (sum: string): number | undefined => pictureOf.get(sum)?.id,
    addPicture: (sum: string, bytes: Uint8Array): number | undefined => addPicture.get(sum, bytes)?.id,
    pictures: () =>
      database.query<{ count: number }, []>("SELECT count(*) AS count FROM picture").get()?.count ?? 0,
    /** Whether the index lacks words of these tags, also after a run that was killed. */
    isIndexBehind: () => database.query("SELECT 1 FROM behind").get() !== null,
    setIndexBehind: () => void database.run("INSERT OR IGNORE INTO behind VALUES (1)"),
    setIndexDone: () => void database.run("DELETE FROM behind"),
    /** Removes files that are gone, and the pictures that no file has. */
    removeAll(paths: Iterable<StoredName>): void {
      database.transaction(() => {
        for (const path of paths) remove.run(path);
        database.run(
          "DELETE FROM picture WHERE id NOT IN (SELECT picture FROM audio WHERE picture IS NOT NULL)",
        );
      })();
    },
    close: () => database.close(),
  };
}
