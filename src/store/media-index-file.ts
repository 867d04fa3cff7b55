/**
 * Reads the media index, a SQLite file of its own. The writer (`media-index-write.ts`) writes a whole new file beside
 * the old one and renames it, so a reader has the old or the new one. The file never changes after that.
 */
import { Database, SQLiteError } from "bun:sqlite";
import {
  layout,
  type StoredBase,
  type StoredFile,
  type StoredFolder,
  type StoredName,
  type StoredPlace,
  type StoredSystem,
  type StoredTitles,
  sumOf,
} from "./media-index-write.ts";

const selectSystems = "SELECT name AS id, fingerprint FROM system ORDER BY system.id";
const selectBases = "SELECT path, root, mounted FROM base ORDER BY id";
const selectFilesBelow = `SELECT file.system, folder.path, file.name FROM file JOIN folder ON folder.id = file.folder
                          WHERE folder.base = ? ORDER BY file.id`;
const selectFolders = "SELECT base, path FROM folder ORDER BY id";
const selectFiles = "SELECT system, folder, name FROM file ORDER BY id";
// The rows come in the order of the list, because SQLite never reorders a cross join (sqlite.org/lang_select.html, 2.1).
const selectPlaces = `SELECT file.system, file.name, folder.base, folder.path FROM json_each(?) AS wanted
                      CROSS JOIN file ON file.id = wanted.value CROSS JOIN folder ON folder.id = file.folder`;
const selectSomeFolders = "SELECT base, path FROM folder WHERE id >= ?1 AND id < ?1 + ?2 ORDER BY id";
const filesInFolders = `FROM file WHERE id >= ?1 AND id < ?1 + ?2 AND (?3 IS NULL OR system = ?3)
                        AND folder IN (SELECT value FROM json_each(?4))`;
const countFilesIn = `SELECT count(*) AS count ${filesInFolders}`;
const selectFileIn = `SELECT id ${filesInFolders} ORDER BY id LIMIT 1 OFFSET ?5`;
const selectHoldings = `SELECT holding.folder, folder.base, folder.path, holding.files FROM holding
                        CROSS JOIN folder ON folder.id = holding.folder
                        WHERE holding.system = ? AND holding.folder > ? ORDER BY holding.folder LIMIT ?`;
const selectHeld = "SELECT coalesce(sum(files), 0) AS files FROM holding WHERE system = ?";
const listFiles = `SELECT id, name FROM file INDEXED BY file_place
                   WHERE system = ?1 AND folder = ?2 AND id >= ?3 AND id < ?4 ORDER BY id`;
const selectListed = `${listFiles} LIMIT ?5`;
const selectListedBackwards = `${listFiles} DESC LIMIT ?5`;
const selectNames = "SELECT system, name FROM file WHERE id >= ?1 AND id < ?1 + ?2";
const selectName = "SELECT name FROM file WHERE id = ?";
const selectCount = "SELECT coalesce(max(id) + 1, 0) AS count FROM file";
const selectPieces = "SELECT sum, bytes FROM piece WHERE name = ? ORDER BY number";
const selectPiecesBytes = "SELECT coalesce(sum(length(bytes)), 0) AS bytes FROM piece WHERE name = ?";
const selectShortcut = "SELECT sum, anywhere, start FROM shortcut WHERE key = ?";
const selectTitles = `SELECT length, sum, bytes FROM title WHERE system = ? AND plain = ? AND length BETWEEN ? AND ?
                      ORDER BY length, number`;

/** The file is not an index, not complete, or of another layout. It must be made again. */
export class IndexDamage extends Error {
  override readonly name = "IndexDamage";
}

export interface Holding {
  readonly folder: number;
  /** The absolute path of the system's folder. */
  readonly base: StoredName;
  /** The path below the folder of the system. */
  readonly path: StoredName;
  /** The number of files of the system in this folder. */
  readonly files: number;
}

export type MediaIndexFile = ReturnType<typeof read>;

/** Opens an index; undefined if there is no file. This function and the methods throw `IndexDamage`. */
export function openMediaIndex(path: string): MediaIndexFile | undefined {
  return guarded(() => {
    const database = openExisting(path);
    if (database === undefined) return undefined;
    try {
      return read(database);
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

function openExisting(path: string): Database | undefined {
  try {
    return new Database(path, { readonly: true, strict: true });
  } catch (error) {
    if (error instanceof SQLiteError && error.code === "SQLITE_CANTOPEN") return undefined;
    throw error;
  }
}

function read(database: Database) {
  // One transaction lasts as long as the index is open. The file never changes, and a check of this at each query would
  // take longer than the query.
  database.run("BEGIN");
  const version = database.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version;
  if (version !== layout) throw new IndexDamage(`its layout is ${version}, not ${layout}`);
  database.run("PRAGMA cache_size = -1024");
  const systems = database.query<StoredSystem, []>(selectSystems).all();
  const places = database.query<StoredPlace, [string]>(selectPlaces);
  const name = database.query<{ name: StoredName }, [number]>(selectName);
  const shortcut = database.query<{ sum: number; anywhere: Uint8Array; start: Uint8Array }, [number]>(
    selectShortcut,
  );
  return {
    count: database.query<{ count: number }, []>(selectCount).get()?.count ?? 0,
    systems,
    bases: () => guarded(() => readBases(database)),
    /** The files of a system's folder and all below it, in order. */
    filesBelow: (base: StoredName) =>
      guarded(() => database.query<Omit<StoredPlace, "base">, [StoredName]>(selectFilesBelow).all(base)),
    /** All folders, in order. */
    folders: () => guarded(() => database.query<StoredFolder, []>(selectFolders).all()),
    files: (): Iterable<StoredFile> => database.query<StoredFile, []>(selectFiles).iterate(),
    /** At most `most` folders, from the number `first` on. */
    someFolders: (first: number, most: number): readonly StoredFolder[] =>
      guarded(() => database.query<StoredFolder, [number, number]>(selectSomeFolders).all(first, most)),
    /** The files in one of these folders, of a system or of all. */
    filesIn: (system: number | undefined, folders: readonly number[]) =>
      filesIn(database, system, JSON.stringify(folders)),
    /** The folders with files of a system, with their numbers: at most `most` folders after the one with the number `after`. */
    holdings: (system: number, after: number, most: number) =>
      guarded(() => database.query<Holding, number[]>(selectHoldings).all(system, after, most)),
    /** The number of files of a system. */
    held: (system: number) =>
      guarded(() => database.query<{ files: number }, [number]>(selectHeld).get(system))?.files ?? 0,
    /** The first or last `most` files of a system in a folder, among the numbers from `from` to before `to`. */
    listed: (
      at: Holding & { readonly system: number },
      from: number,
      to: number,
      most: number,
      way: 1 | -1,
    ) =>
      guarded(() =>
        database
          .query<{ id: number; name: StoredName }, number[]>(way < 0 ? selectListedBackwards : selectListed)
          .all(at.system, at.folder, from, to, most),
      ),
    /** The names of at most `most` files, from the number `first` on. */
    names: (first: number, most: number) =>
      guarded(() =>
        database.query<{ system: number; name: StoredName }, number[]>(selectNames).all(first, most),
      ),
    /** The places of these files. Throws `IndexDamage` if one of them does not exist. */
    places(wanted: readonly number[]): readonly StoredPlace[] {
      const found = guarded(() => places.all(JSON.stringify(wanted)));
      if (found.length !== wanted.length) throw new IndexDamage("a file is missing");
      return found;
    },
    name(file: number): StoredName {
      const found = guarded(() => name.get(file));
      if (found === null) throw new IndexDamage("a file is missing");
      return found.name;
    },
    /** A part of the search structure. Each step reads one piece of at most 256 KiB. */
    piece: (wanted: string) => readPieces(database, wanted),
    shortcut: (key: number) =>
      guarded(() => {
        const found = shortcut.get(key);
        if (found === null) return undefined;
        const { sum, anywhere, start: atStart } = found;
        if (sumOf(anywhere, atStart) !== sum) throw new IndexDamage("a ready answer has a wrong sum");
        return { anywhere, atStart };
      }),
    /** The titles of a system whose keys have a length in this range, in bytes. They are read one piece at a time. */
    titles: (system: number, isPlain: boolean, lengthMin: number, lengthMax: number) =>
      readTitles(database, system, isPlain, lengthMin, lengthMax),
    /** Reads the whole file, and throws `IndexDamage` if it is not sound. */
    check(): void {
      const said = guarded(() =>
        database.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get(),
      )?.quick_check;
      if (said !== "ok") throw new IndexDamage(said ?? "it cannot be checked");
    },
    close: () => database.close(),
  };
}

function readBases(database: Database): readonly StoredBase[] {
  const rows = database.query<{ path: StoredName; root: string; mounted: number }, []>(selectBases).all();
  return rows.map(({ path, root, mounted }) => ({ path, root, isMount: mounted === 1 }));
}

/** The files in some folders, of a system or of all, among the numbers from `first` to `first + span - 1`. */
function filesIn(database: Database, system: number | undefined, folders: string) {
  const count = database.query<{ count: number }, [number, number, number | null, string]>(countFilesIn);
  const file = database.query<{ id: number }, [number, number, number | null, string, number]>(selectFileIn);
  const wanted = system ?? null;
  return {
    count: (first: number, span: number) =>
      guarded(() => count.get(first, span, wanted, folders))?.count ?? 0,
    /** The number of the file at this place among those files; undefined if there are fewer. */
    at: (first: number, span: number, place: number) =>
      guarded(() => file.get(first, span, wanted, folders, place))?.id,
  };
}

function* readPieces(database: Database, name: string): Generator<void, Uint8Array, void> {
  const size =
    guarded(() => database.query<{ bytes: number }, [string]>(selectPiecesBytes).get(name))?.bytes ?? 0;
  const whole = new Uint8Array(size);
  const pieces = database.query<{ sum: number; bytes: Uint8Array }, [string]>(selectPieces).iterate(name);
  let at = 0;
  for (const { sum, bytes } of guardedRows(pieces)) {
    if (Bun.hash.crc32(bytes) !== sum || at + bytes.length > size)
      throw new IndexDamage(`a piece of ${name} has a wrong sum`);
    whole.set(bytes, at);
    at += bytes.length;
    yield;
  }
  return whole;
}

function* readTitles(
  database: Database,
  system: number,
  isPlain: boolean,
  lengthMin: number,
  lengthMax: number,
): Generator<StoredTitles> {
  const rows = database.prepare<{ length: number; sum: number; bytes: Uint8Array }, number[]>(selectTitles);
  try {
    const pieces = rows.iterate(system, isPlain ? 1 : 0, lengthMin, lengthMax);
    for (const { length, sum, bytes } of guardedRows(pieces)) {
      if (Bun.hash.crc32(bytes) !== sum) throw new IndexDamage("a piece of the titles has a wrong sum");
      const count = bytes.length / (length + 8);
      const numbers = bytes.slice(count * length);
      yield {
        system,
        isPlain,
        length,
        keys: bytes.subarray(0, count * length),
        files: new Uint32Array(numbers.buffer, 0, count),
        signatures: new Uint32Array(numbers.buffer, count * 4, count),
      };
    }
  } finally {
    rows.finalize();
  }
}

function* guardedRows<Row>(rows: Iterator<Row>): Generator<Row, void, void> {
  for (;;) {
    const { done, value } = guarded(() => rows.next());
    if (done) return;
    yield value;
  }
}

/** Throws each error of SQLite as `IndexDamage`. */
function guarded<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof SQLiteError)
      throw new IndexDamage(`it cannot be read: ${error.message}`, { cause: error });
    throw error;
  }
}
