/** The last uses of clients: exact in memory, on the disk at most once in `clientUseSavedMs` for each client, and at the end. */
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { clientUseSavedMs } from "../core/limits.ts";

export interface ClientUse {
  readonly address: string;
  readonly lastUsedMs: number;
}

export interface ClientUses {
  /** Notes a use from now. The client exists. */
  note(id: string, address: string): void;
  /** The last use of this run; undefined if there was none. */
  of(id: string): ClientUse | undefined;
  forget(id: string): void;
  /** Saves what is not on the disk yet. */
  close(): void;
}

export interface ClientUsesParts {
  readonly clock: Pick<Clock, "now">;
  /** When the use on the disk was; undefined if there is none. */
  readonly savedMs: (id: string) => number | undefined;
  readonly save: (id: string, use: ClientUse) => void;
}

interface NotedUse extends ClientUse {
  /** When it was saved, or tried to be. */
  readonly savedMs: number | undefined;
  readonly isSaved: boolean;
}

export function createClientUses({ clock, savedMs, save }: ClientUsesParts): ClientUses {
  const uses = new Map<string, NotedUse>();
  const isSaved = (id: string, use: ClientUse) => {
    try {
      save(id, use);
      return true;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      // A full disk keeps no client out. The next write is tried an hour later, and at the end.
      return false;
    }
  };
  return {
    note(id, address) {
      const nowMs = clock.now();
      const before = uses.get(id);
      const lastMs = before === undefined ? savedMs(id) : before.savedMs;
      const use = { address, lastUsedMs: nowMs };
      // A clock that was set back must not keep a use off the disk for long.
      const isDue = lastMs === undefined || Math.abs(nowMs - lastMs) >= clientUseSavedMs;
      uses.set(
        id,
        isDue
          ? { ...use, savedMs: nowMs, isSaved: isSaved(id, use) }
          : { ...use, savedMs: lastMs, isSaved: false },
      );
    },
    of: (id) => uses.get(id),
    forget: (id) => void uses.delete(id),
    close() {
      for (const [id, use] of uses) if (!use.isSaved) isSaved(id, use);
    },
  };
}
