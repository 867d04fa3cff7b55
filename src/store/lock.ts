/**
 * One service a data folder. The lock is SQLite's own, on an empty file beside the database: the kernel lets go of it
 * when the process ends, however it ends (fcntl(2)), so that none is ever left behind.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { dirname } from "node:path";
import { exitCodes, StartError } from "../core/errors.ts";
import { makePrivate } from "./database-files.ts";

// A service that was just asked to end is done by then.
const waitMs = 2000;

/**
 * Holds the lock of the database at `path` until it is disposed. Throws `StartError` where another process holds it. Where
 * there can be no such file, as on a full disk, nothing is held: the service must start all the same.
 */
export function lockFolderOf(path: string): Disposable {
  let lock: Database | undefined;
  try {
    makePrivate(`${path}.lock`);
    lock = new Database(`${path}.lock`, { create: true, strict: true });
    lock.run(`PRAGMA busy_timeout = ${waitMs}`);
    lock.run("PRAGMA journal_mode = MEMORY");
    lock.run("BEGIN EXCLUSIVE");
  } catch (error) {
    lock?.close();
    lock = undefined;
    if (error instanceof SQLiteError && error.code === "SQLITE_BUSY")
      throw new StartError(
        exitCodes.unavailable,
        `another tapdeck uses the data folder ${dirname(path)}: end that one first, or name another folder with --data`,
        error,
      );
  }
  return { [Symbol.dispose]: () => lock?.close() };
}
