/** The database: one SQLite file in the data folder, opened once, brought up to date by numbered migrations. */
import { Database, SQLiteError } from "bun:sqlite";
import { join } from "node:path";
import { type Clock, systemClock } from "../core/clock.ts";
import { exitCodes, messageOf, StartError } from "../core/errors.ts";
import { type Log, silentLog } from "../core/log.ts";
import { createCoalesced } from "../core/serial-queue.ts";
import { createClientTable, createPairingGuesses } from "./client-table.ts";
import { createBackup } from "./database-copy.ts";
import { keepPrivate, lockFolderOf, makePrivate, syncBehind } from "./database-files.ts";
import { createDurableWrites, isDamage } from "./durable-writes.ts";
import { createFavourites } from "./favourites.ts";
import { createHistory } from "./history.ts";
import { createMappings } from "./mapping-table.ts";
import { bringUpToDate } from "./migrations.ts";
import { createLastMedia, createPlayTimes } from "./play-state.ts";
import { createPlays } from "./plays.ts";
import { createPositions } from "./positions.ts";
import { lossOf, type Recovery, recover, recoverySentence } from "./recover.ts";
import { createV1Clients } from "./v1-clients.ts";

export type Store = ReturnType<typeof openStore>;

export interface StoreOptions {
  readonly clock?: Clock;
  readonly log?: Log;
}

/**
 * Opens or creates `tapdeck.db` in `folder`. A damaged file is moved aside, and its last good copy replaces it. Throws
 * `StartError` with the fault and its remedy, for example if another service uses the folder.
 */
export function openStore(folder: string, { clock = systemClock, log = silentLog }: StoreOptions = {}) {
  const path = join(folder, "tapdeck.db");
  const lock = lockFolderOf(path);
  try {
    const { database, recovered } = openSound(path, clock);
    if (recovered !== undefined) log.error("store", recoverySentence(recovered));
    for (const name of keepPrivate(path))
      log.warn("store", "others may read a file with secrets in it", { name });
    return assemble({ database, recovered, path, clock, log, lock });
  } catch (error) {
    lock[Symbol.dispose]();
    const sentence = `cannot use the database ${path}: ${messageOf(error)}. Name another folder with --data, or move that file away.`;
    throw new StartError(exitCodes.cannotCreate, sentence, error);
  }
}

function assemble({
  database,
  recovered,
  path,
  clock,
  log,
  lock,
}: Required<StoreOptions> &
  ReturnType<typeof openSound> & { readonly path: string; readonly lock: Disposable }) {
  const writes = createDurableWrites(database, {
    onWritten: () => backup.changed(),
    onDamage: (reason) =>
      log.error("store", "the database is damaged: the next start restores its copy", { reason }),
  });
  const onDisk = () => syncBehind(`${path}-wal`);
  // Each sync has a descriptor. The next row of the history reports a disk that fails.
  const syncAll = createCoalesced(() => onDisk().catch(() => {}));
  const history = createHistory(database, writes, () => void syncAll());
  const clients = createClientTable(database, writes, clock);
  const v1Clients = createV1Clients(database, writes, clock, onDisk);
  const backup = createBackup({ path, clock, log, writes });
  return {
    history,
    mappings: createMappings(database, writes),
    clients: {
      ...clients,
      remove(id: string): boolean {
        const gone = clients.remove(id);
        // A restored copy must not hold a removed client.
        if (gone) backup.removed();
        return gone;
      },
    },
    playTimes: createPlayTimes(database, writes),
    lastMedia: createLastMedia(database, writes, history),
    plays: createPlays(database, writes, history),
    positions: createPositions(database, writes, history),
    favourites: createFavourites(database, writes),
    v1Clients,
    pairingGuesses: createPairingGuesses(database, writes),
    /** The recovery at this start; undefined if the file was sound. */
    recovered,
    /** Throws a sentence if there is damage, a failed write, or a recovery at this start. */
    check(): void {
      history.check();
      const damage = writes.damage();
      const why =
        damage === undefined
          ? (backup.fault() ?? (recovered && recoverySentence(recovered)))
          : `the database is damaged (${damage}): restart the service, and it goes back to its last good copy`;
      if (why !== undefined) throw new Error(why);
    },
    /** Writes the rows in memory, and resolves once all rows are on the disk. */
    async settle(): Promise<void> {
      history.flush();
      await onDisk();
    },
    /** Writes the rows in memory, and the backup copy if it is out of date. */
    close(): void {
      history.close();
      clients.close();
      v1Clients.close();
      backup.close();
      database.close();
      lock[Symbol.dispose]();
    },
  };
}

/** Opens the file if it is sound; otherwise recovers, and opens the copy. The caller holds the lock of the folder. */
export function openSound(
  path: string,
  clock: Clock,
): { database: Database; recovered: Recovery | undefined } {
  const first = lossOf(path) ?? openWhole(path);
  if (typeof first !== "string") return { database: first, recovered: undefined };
  const recovered = recover(path, first, clock.now());
  const second = openWhole(path);
  if (typeof second === "string") throw new Error(second);
  return { database: second, recovered };
}

/**
 * Opens the database; the result is its damage if it has some. Each start checks all pages, because most runs end with a power
 * cut. The check takes 8 to 16 ms for a file of 10,000 mappings and 10,000 launches (5.6 MB, measured on x86-64).
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
 * WAL mode needs 32 KiB of shared memory. If the disk has no room for that, this opens the database for one connection
 * alone, which needs no shared memory (sqlite.org/wal.html, 6). A full disk must not keep the service from starting. The
 * backup copy needs a second connection, so it fails until the next start, and `check` reports it.
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
    // A commit waits for no sync. `durable` and the history make theirs (`durable-writes.ts`). A power cut never breaks
    // the file.
    database.run("PRAGMA synchronous = NORMAL");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
