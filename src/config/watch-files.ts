/** Tells that something in a folder has changed, or may have: also one that is made, moved or deleted later. */
import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../core/clock.ts";

/**
 * Calls `changed` for each change among the folder's own files, until disposed. It may call once too often, and several
 * times for one change. Where the folder is not there, the nearest one above it that is there is watched for it; one
 * further above that is moved, with all below it, is not noticed.
 */
export function watchFolder(folder: string, changed: () => void): Disposable {
  const watched = new Map<string, { watcher: FSWatcher; inode: number }>();
  const drop = (path: string) => {
    watched.get(path)?.watcher.close();
    watched.delete(path);
  };
  const look = () => {
    // The folder, for its files; the one above, for the folder itself; if need be all that lead there.
    const wanted = new Map<string, number>();
    for (let path = folder; ; path = dirname(path)) {
      const inode = inodeOf(path);
      if (inode !== undefined) wanted.set(path, inode);
      if ((inode !== undefined && path !== folder) || path === dirname(path)) break;
    }
    for (const [path, { inode }] of [...watched]) if (wanted.get(path) !== inode) drop(path);
    const fresh = [...wanted].filter(([path]) => !watched.has(path));
    // What was made between the look and the watch makes no event: look again, until nothing new is found.
    if (fresh.filter(([path, inode]) => follow(path, inode)).length > 0) look();
  };
  const follow = (path: string, inode: number): boolean => {
    try {
      const watcher = watch(path, { persistent: false }, () => {
        look();
        changed();
      });
      // It went away: the one above tells of it too.
      watcher.on("error", () => drop(path));
      watched.set(path, { watcher, inode });
      // It may have been filled between the look and the watch.
      if (path === folder) changed();
      return true;
    } catch {
      // It went away between the look and the watch, or the kernel has no watch left: then a restart reads the files.
      return false;
    }
  };
  look();
  return {
    [Symbol.dispose]() {
      for (const path of [...watched.keys()]) drop(path);
    },
  };
}

function inodeOf(path: string): number | undefined {
  try {
    const found = statSync(path);
    return found.isDirectory() ? found.ino : undefined;
  } catch {
    // Not there, or not for us: as good as absent.
    return undefined;
  }
}

// Editors write in several steps, and truncate before they write.
const settleMs = 100;

interface FileWatch extends Disposable {
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
