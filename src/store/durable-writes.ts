/**
 * The two grades of durability, and the refusals of a database. Mappings, clients, favourites and play time are on the disk
 * when their write returns. The history is not (`history.ts`): its rows wait 50 ms in memory, and a sync in the background
 * follows the end of each launch. A commit without a sync reaches an SD card when the kernel writes it, 30 to 60 s later.
 */
import { type Database, SQLiteError } from "bun:sqlite";
import { assert, failed, messageOf, type ServiceError } from "../core/errors.ts";

export type DurableWrites = ReturnType<typeof createDurableWrites>;

/** Calls `onWritten` after each `durable` write, and `onDamage` once. */
export function createDurableWrites(
  database: Database,
  { onWritten, onDamage }: { readonly onWritten: () => void; readonly onDamage: (reason: string) => void },
) {
  /** The damage found in this run; undefined if there is none. */
  let damage: string | undefined;

  /** Runs a read, or a write that may be lost, with the same refusals as `durable`. */
  const ask = <T>(run: () => T): T => {
    try {
      return run();
    } catch (error) {
      if (isDamage(error) && damage === undefined) {
        damage = messageOf(error);
        onDamage(damage);
      }
      throw refusalOf(error) ?? error;
    }
  };
  /** Like `durable`, for rows that are not in the backup copy. */
  const durableOnly = <T>(write: () => T): T => {
    assert(!database.inTransaction, "a durable write is not part of another transaction");
    if (damage !== undefined) throw failed(damagedSentence);
    return ask(() => syncing(database, write));
  };
  /**
   * Runs a write, and returns once it is on the disk. It must not run inside a transaction, but the write may hold one.
   * Throws `ServiceError("failed")` if the disk is full or broken, or the database is damaged. Reads continue.
   */
  const durable = <T>(write: () => T): T => {
    const result = durableOnly(write);
    onWritten();
    return result;
  };
  return { durable, durableOnly, ask, damage: () => damage };
}

/**
 * In WAL mode `FULL` syncs the log at each commit, and `NORMAL` only before a checkpoint (sqlite.org/pragma.html,
 * synchronous). `run` prepares both statements each time: this pragma takes effect while it is prepared, so a cached
 * statement does nothing the second time.
 */
function syncing<T>(database: Database, write: () => T): T {
  database.run("PRAGMA synchronous = FULL");
  try {
    return write();
  } finally {
    database.run("PRAGMA synchronous = NORMAL");
  }
}

/** True if the file itself is broken. A full disk or a wrong statement is no damage. */
export function isDamage(error: unknown): boolean {
  return error instanceof SQLiteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code ?? "");
}

const damagedSentence =
  "the database is damaged: restart the service, and it goes back to the last good copy of the mappings and clients";

/** The error for the caller; undefined if the fault is in this program. */
function refusalOf(cause: unknown): ServiceError | undefined {
  if (!(cause instanceof SQLiteError)) return undefined;
  if (isDamage(cause)) return failed(damagedSentence, cause);
  const code = cause.code ?? "";
  if (code === "SQLITE_FULL") return failed("the disk is full: free some space, then try again", cause);
  if (/^SQLITE_(IOERR|READONLY|CANTOPEN|BUSY|LOCKED|PERM)/.test(code))
    return failed(`the database cannot be used now: ${cause.message}`, cause);
  return undefined;
}
