/** The database: one SQLite file in the data folder, opened once, brought up to date by numbered migrations. */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { exitCodes, messageOf, StartError } from "../core/errors.ts";
import { createHistory, type History } from "./history.ts";
import { migrations } from "./migrations/index.ts";

export interface Store {
  readonly history: History;
  close(): void;
}

/** Opens or makes `tapdeck.db` in `folder`; throws `StartError` with what was wrong and what to do. */
export function openStore(folder: string): Store {
  const path = join(folder, "tapdeck.db");
  try {
    const database = new Database(path, { create: true, strict: true });
    // A tap writes its row behind the spawn: the newest rows may be lost with the power, but the file never breaks.
    database.run("PRAGMA journal_mode = WAL");
    database.run("PRAGMA synchronous = NORMAL");
    database.run("PRAGMA busy_timeout = 2000");
    migrate(database);
    const history = createHistory(database);
    return {
      history,
      close() {
        history.close();
        database.close();
      },
    };
  } catch (error) {
    const sentence = `cannot use the database ${path}: ${messageOf(error)}. Name another folder with --data, or move that file away.`;
    throw new StartError(exitCodes.cannotCreate, sentence, error);
  }
}

/** Runs each migration that the file has not seen, together with its number or not at all. */
function migrate(database: Database): void {
  const row = database.query<{ user_version: number }, []>("PRAGMA user_version").get();
  const done = row?.user_version ?? 0;
  if (done > migrations.length)
    throw new Error(`it was made by a newer version (${done}; this one knows ${migrations.length})`);
  for (const [index, sql] of migrations.entries()) {
    if (index < done) continue;
    database.transaction(() => {
      database.run(sql);
      database.run(`PRAGMA user_version = ${index + 1}`);
    })();
  }
}
