/** Wrong guesses at pairing codes, over restarts: one row, on the disk when a call returns. */
import type { Database } from "bun:sqlite";
import type { Guard } from "./durable.ts";

export interface GuessRecord {
  readonly wrong: number;
  /** Milliseconds since 1970 of the last guess. */
  readonly lastMs: number;
}

export interface PairingGuesses {
  /** Undefined if nothing was saved yet. */
  read(): GuessRecord | undefined;
  /** Throws `ServiceError("failed")` if the disk refuses. */
  save(record: GuessRecord): void;
}

const sql = {
  read: "SELECT wrong, last_ms FROM pairing_guesses WHERE id = 1",
  save: `INSERT INTO pairing_guesses (id, wrong, last_ms) VALUES (1, $wrong, $lastMs)
         ON CONFLICT (id) DO UPDATE SET wrong = $wrong, last_ms = $lastMs`,
} as const;

export function createPairingGuesses(database: Database, { durableOnly, ask }: Guard): PairingGuesses {
  const read = database.query<{ wrong: number; last_ms: number }, []>(sql.read);
  const save = database.query(sql.save);
  return {
    read() {
      const row = ask(() => read.get());
      return row === null ? undefined : { wrong: row.wrong, lastMs: row.last_ms };
    },
    save: ({ wrong, lastMs }) => void durableOnly(() => save.run({ wrong, lastMs })),
  };
}
