/** Tells when a file may have changed, also where an editor puts another one in its place. */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

// Editors write in several steps, and truncate before they write.
const settleMs = 100;

export interface FileWatch extends Disposable {
  /** Watches these paths from now on, by their folders. */
  aim(paths: readonly string[]): void;
}

/** Calls `changed` once things have been quiet for `settleMs`. It may be called for nothing: compare what stands there. */
export function watchFile(changed: () => void, clock: Clock, log: Log): FileWatch {
  let watchers = new Map<string, FSWatcher>();
  let names = new Set<string>();
  let timer: Disposable | undefined;

  const noticed = (name: string | null) => {
    if (name !== null && !names.has(name)) return;
    timer?.[Symbol.dispose]();
    timer = clock.after(settleMs, changed);
  };
  const openWatcher = (folder: string): FSWatcher | undefined => {
    try {
      const watcher = watch(folder, (_event, name) => noticed(name));
      watcher.on("error", (error) => {
        log.warn("config", "edits by hand are no longer noticed", { folder, error: messageOf(error) });
        watcher.close();
        watchers.delete(folder);
      });
      return watcher;
    } catch (error) {
      log.warn("config", "edits by hand are noticed at the next start only", {
        folder,
        error: messageOf(error),
      });
      return undefined;
    }
  };

  return {
    aim(paths) {
      names = new Set(paths.map((path) => basename(path)));
      const wanted = new Map<string, FSWatcher>();
      for (const folder of new Set(paths.map((path) => dirname(path)))) {
        const watcher = watchers.get(folder) ?? openWatcher(folder);
        if (watcher !== undefined) wanted.set(folder, watcher);
      }
      for (const [folder, watcher] of watchers) if (!wanted.has(folder)) watcher.close();
      watchers = wanted;
    },
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]();
      for (const watcher of watchers.values()) watcher.close();
      watchers = new Map();
    },
  };
}
