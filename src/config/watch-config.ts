/** Tells when a file may have changed, also where an editor puts another one in its place. */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../core/clock.ts";
import { watchFolder } from "./watch-folder.ts";

// Editors write in several steps, and truncate before they write.
const settleMs = 100;

export interface FileWatch extends Disposable {
  /** Watches these paths from now on, by their folders. */
  aim(paths: readonly string[]): void;
}

/** Calls `changed` once things have been quiet for `settleMs`. It may be called for nothing: compare what stands there. */
export function watchFile(changed: () => void, clock: Clock): FileWatch {
  const folders = new Map<string, Disposable>();
  let aimed: readonly string[] = [];
  let stamps: string | undefined;
  let timer: Disposable | undefined;

  const noticed = () => {
    // The folder may be a busy one: the database of a small set-up stands there too.
    const now = aimed.map(stampOf).join();
    if (now === stamps) return;
    stamps = now;
    timer?.[Symbol.dispose]();
    timer = clock.after(settleMs, changed);
  };
  return {
    aim(paths) {
      if (paths.join("\0") === aimed.join("\0")) return;
      aimed = paths;
      const wanted = new Set(paths.map((path) => dirname(path)));
      for (const [folder, watching] of folders) {
        if (wanted.has(folder)) continue;
        watching[Symbol.dispose]();
        folders.delete(folder);
      }
      for (const folder of wanted)
        if (!folders.has(folder)) folders.set(folder, watchFolder(folder, noticed));
      // What changed before the watch, or behind a link that now points elsewhere.
      noticed();
    },
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]();
      for (const watching of folders.values()) watching[Symbol.dispose]();
      folders.clear();
    },
  };
}

/** Differs whenever the file, or what a link points to, was written or replaced. */
function stampOf(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch {
    // A file that is not there, or may not be looked at, has no stamp; that too is a change.
    return "";
  }
}
