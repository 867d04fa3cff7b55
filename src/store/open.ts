/** The database: one SQLite file in the data folder, opened once, brought up to date by numbered migrations. */
import { Database, SQLiteError } from "bun:sqlite";
import { join } from "node:path";
import { type Clock, systemClock } from "../core/clock.ts";
import { exitCodes, messageOf, StartError } from "../core/errors.ts";
import { type Log, silentLog } from "../core/log.ts";
import { createBackup } from "./backup.ts";
import { type Clients, createClients } from "./clients.ts";
import { keepPrivate, makePrivate, syncBehind } from "./database-files.ts";
import { createGuard, isDamage } from "./durable.ts";
import { createHistory, type History } from "./history.ts";
import { createLastMedia, type LastMedia } from "./last-media.ts";
import { lockFolderOf } from "./lock.ts";
import { createMappings, type Mappings } from "./mapping-table.ts";
import { bringUpToDate } from "./migrate.ts";
import { createPairingGuesses, type PairingGuesses } from "./pairing-guesses.ts";
import { createPlayTimes, type PlayTimes } from "./play-time-table.ts";
import { lossOf, type Recovery, recover, sentenceOf } from "./recover.ts";
import { createV1Clients, type V1Clients } from "./v1-clients.ts";

export interface Store {
  readonly history: History;
  readonly mappings: Mappings;
  readonly clients: Clients;
  readonly playTimes: PlayTimes;
  readonly lastMedia: LastMedia;
  readonly v1Clients: V1Clients;
  readonly pairingGuesses: PairingGuesses;
  /** What was done at the start, where the file could not be used; undefined where it could. */
  readonly recovered: Recovery | undefined;
  /** Throws a sentence where something is not well: damage, a write that failed, or a recovery at this start. */
  check(): void;
  /** Writes what is noted, and the backup copy where it is behind. */
  close(): void;
}

export interface StoreOptions {
  readonly clock?: Clock;
  readonly log?: Log;
}

/**
 * Opens or makes `tapdeck.db` in `folder`. A damaged file is set aside and its last good copy takes its place. Throws
 * `StartError` with what was wrong and what to do, also where another service has the folder.
 */
export function openStore(
  folder: string,
  { clock = systemClock, log = silentLog }: StoreOptions = {},
): Store {
  const path = join(folder, "tapdeck.db");
  const lock = lockFolderOf(path);
  try {
    const { database, recovered } = openSound(path, clock);
    if (recovered !== undefined) log.error("store", sentenceOf(recovered));
    for (const name of keepPrivate(path))
      log.warn("store", "others may read a file with secrets in it", { name });
    return assemble(database, { path, clock, log, recovered, lock });
  } catch (error) {
    lock[Symbol.dispose]();
    const sentence = `cannot use the database ${path}: ${messageOf(error)}. Name another folder with --data, or move that file away.`;
    throw new StartError(exitCodes.cannotCreate, sentence, error);
  }
}

interface Parts extends Required<StoreOptions> {
  readonly path: string;
  readonly recovered: Recovery | undefined;
  readonly lock: Disposable;
}

function assemble(database: Database, { path, clock, log, recovered, lock }: Parts): Store {
  const guard = createGuard(database, {
    onWritten: () => backup.changed(),
    onDamage: (reason) =>
      log.error("store", "the database is damaged: the next start restores its copy", { reason }),
  });
  const history = createHistory(database, guard);
  const clients = createClients(database, guard, clock);
  const onDisk = () => syncBehind(`${path}-wal`);
  const v1Clients = createV1Clients(database, { ...guard, clock, onDisk });
  const backup = createBackup({ path, clock, log, guard });
  return {
    history,
    mappings: createMappings(database, guard),
    clients: {
      ...clients,
      remove(id) {
        const gone = clients.remove(id);
        // A restored copy must not let in again who was turned out.
        if (gone) backup.removed();
        return gone;
      },
    },
    playTimes: createPlayTimes(database, guard),
    lastMedia: createLastMedia(database, guard, history),
    v1Clients,
    pairingGuesses: createPairingGuesses(database, guard),
    recovered,
    check() {
      history.check();
      const damage = guard.damage();
      const why =
        damage === undefined
          ? (backup.fault() ?? (recovered && sentenceOf(recovered)))
          : `the database is damaged (${damage}): restart the service, and it goes back to its last good copy`;
      if (why !== undefined) throw new Error(why);
    },
    close() {
      history.close();
      clients.close();
      v1Clients.close();
      backup.close();
      database.close();
      lock[Symbol.dispose]();
    },
  };
}

/** Opens the file if it is whole; else goes back to the last good copy, and opens that. */
function openSound(path: string, clock: Clock): { database: Database; recovered: Recovery | undefined } {
  const first = lossOf(path) ?? openWhole(path);
  if (typeof first !== "string") return { database: first, recovered: undefined };
  const recovered = recover(path, first, clock.now());
  const second = openWhole(path);
  if (typeof second === "string") throw new Error(second);
  return { database: second, recovered };
}

/**
 * The database, or what is damaged in it. Each start looks at all pages, because the plug is how a start usually ends:
 * 8 to 16 ms for a file of 10,000 mappings and 10,000 launches (5.6 MB, measured on x86-64).
 */
function openWhole(path: string): Database | string {
  makePrivate(path);
  try {
    const database = connect(path);
    try {
      const fault = bringUpToDate(database);
      if (fault !== undefined) database.close();
      return fault ?? database;
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    if (isDamage(error)) return messageOf(error);
    throw error;
  }
}

/**
 * Where the disk has no room for the 32 KiB of shared memory that WAL mode takes, the database is opened for one
 * connection alone, which needs none (sqlite.org/wal.html, 6): a full disk must not keep the service from starting.
 * The backup copy, made over a second connection, then fails until the next start, and `check` says so.
 */
function connect(path: string): Database {
  try {
    return connectBy(path, "NORMAL");
  } catch (error) {
    if (!(error instanceof SQLiteError) || error.code !== "SQLITE_IOERR_SHMSIZE") throw error;
    return connectBy(path, "EXCLUSIVE");
  }
}

function connectBy(path: string, locking: "NORMAL" | "EXCLUSIVE"): Database {
  const database = new Database(path, { create: true, strict: true });
  try {
    database.run("PRAGMA busy_timeout = 2000");
    database.run(`PRAGMA locking_mode = ${locking}`);
    database.run("PRAGMA journal_mode = WAL");
    // A tap writes its row behind the spawn: the newest rows may be lost with the power, but the file never breaks.
    database.run("PRAGMA synchronous = NORMAL");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
