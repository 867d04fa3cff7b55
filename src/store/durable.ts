/**
 * Writes that last, and what a database may refuse. Rows of the history may be lost with the power; what people made
 * may not: such a write returns once it is on the disk.
 */
import { type Database, SQLiteError } from "bun:sqlite";
import { assert, messageOf, ServiceError } from "../core/errors.ts";

/** Runs a write and returns once it is on the disk; not inside a transaction, but it may hold one. */
export type Durable = <T>(write: () => T) => T;

export interface Guard {
  /** Throws `ServiceError("failed")` where the disk is full or broken or the database is damaged; reads go on. */
  readonly durable: Durable;
  /** As `durable`, for rows that the backup copy leaves out. */
  readonly durableOnly: Durable;
  /** Runs a read, or a write that may be lost, with the same refusals. */
  ask<T>(run: () => T): T;
  /** What was found damaged while running; undefined where nothing was. */
  damage(): string | undefined;
}

export interface GuardOptions {
  /** Called after each write that is on the disk. */
  readonly onWritten: () => void;
  /** Called once, when damage is found. */
  readonly onDamage: (reason: string) => void;
}

export function createGuard(database: Database, { onWritten, onDamage }: GuardOptions): Guard {
  let damage: string | undefined;

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
  const durableOnly = <T>(write: () => T): T => {
    assert(!database.inTransaction, "a durable write is not part of another transaction");
    if (damage !== undefined) throw new ServiceError("failed", damagedSentence);
    return ask(() => syncing(database, write));
  };
  const durable = <T>(write: () => T): T => {
    const result = durableOnly(write);
    onWritten();
    return result;
  };
  return { durable, durableOnly, ask, damage: () => damage };
}

/**
 * In WAL mode `FULL` syncs the log at each commit; `NORMAL` only before a checkpoint (sqlite.org/pragma.html,
 * synchronous). Both statements run through `run`, which prepares them anew: this pragma takes effect while it is
 * prepared, and a kept statement would do nothing the second time.
 */
function syncing<T>(database: Database, write: () => T): T {
  database.run("PRAGMA synchronous = FULL");
  try {
    return write();
  } finally {
    database.run("PRAGMA synchronous = NORMAL");
  }
}

/** True where the file itself is broken, rather than the disk full or the statement wrong. */
export function isDamage(error: unknown): boolean {
  return error instanceof SQLiteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code ?? "");
}

const damagedSentence =
  "the database is damaged: restart the service, and it goes back to the last good copy of the mappings and clients";

/** What the person at the other end is told; undefined where the fault is ours. */
function refusalOf(cause: unknown): ServiceError | undefined {
  if (!(cause instanceof SQLiteError)) return undefined;
  if (isDamage(cause)) return new ServiceError("failed", damagedSentence, { cause });
  const code = cause.code ?? "";
  if (code === "SQLITE_FULL")
    return new ServiceError("failed", "the disk is full: free some space, then try again", { cause });
  if (/^SQLITE_(IOERR|READONLY|CANTOPEN|BUSY|LOCKED|PERM)/.test(code))
    return new ServiceError("failed", `the database cannot be used now: ${cause.message}`, { cause });
  return undefined;
}
