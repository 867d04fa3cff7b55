/** Watches folders and single files for changes, also if they are created, moved or deleted later. */
import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../core/clock.ts";

/**
 * Calls `changed` for each change among the folder's own files, until disposed. It may call `changed` without a change,
 * and several times for one. If the folder is absent, its nearest existing ancestor is watched until it appears. A move
 * of a more distant ancestor is not noticed.
 */
export function watchFolder(folder: string, changed: () => void): Disposable {
  const watched = new Map<string, { watcher: FSWatcher; inode: number }>();
  const drop = (path: string) => {
    watched.get(path)?.watcher.close();
    watched.delete(path);
  };
  const look = () => {
    // Watches the folder for its files, and its parent for the folder itself. If the folder is absent, the ancestors up to an
    // existing one are watched.
    const wanted = new Map<string, number>();
    for (let path = folder; ; path = dirname(path)) {
      const inode = inodeOf(path);
      if (inode !== undefined) wanted.set(path, inode);
      if ((inode !== undefined && path !== folder) || path === dirname(path)) break;
    }
    for (const [path, { inode }] of [...watched]) if (wanted.get(path) !== inode) drop(path);
    const fresh = [...wanted].filter(([path]) => !watched.has(path));
    // A file created between the look and the watch causes no event, so look again until nothing is new.
    if (fresh.filter(([path, inode]) => follow(path, inode)).length > 0) look();
  };
  const follow = (path: string, inode: number): boolean => {
    try {
      const watcher = watch(path, { persistent: false }, (_event, name) => {
        // A folder that was made again may have the inode of the one before, whose watch has ended.
        if (name !== null) drop(join(path, name));
        look();
        changed();
      });
      // The folder is gone; the watch of its parent also reports that.
      watcher.on("error", () => drop(path));
      watched.set(path, { watcher, inode });
      // Files may have been created between the look and the watch.
      if (path === folder) changed();
      return true;
    } catch {
      // The folder is gone, or the kernel has no watch left; in that case only a restart reads the files again.
      return false;
    }
  };
  look();
  return { [Symbol.dispose]: () => [...watched.keys()].forEach(drop) };
}

function inodeOf(path: string): number | undefined {
  try {
    const found = statSync(path);
    return found.isDirectory() ? found.ino : undefined;
  } catch {
    // A folder without permission counts as absent.
    return undefined;
  }
}

// Editors write in several steps, and truncate first.
const settleMs = 100;

/**
 * Calls `changed` after `settleMs` without further changes. It may call `changed` without a change, so compare the
 * content.
 */
export function watchFile(changed: () => void, clock: Clock) {
  const folders = new Map<string, Disposable>();
  let aimed: readonly string[] = [];
  let stamps: string | undefined;
  let timer: Disposable | undefined;

  const noticed = () => {
    // Other files of the folder may change often, such as a database.
    const now = aimed.map(stampOf).join();
    if (now === stamps) return;
    stamps = now;
    timer?.[Symbol.dispose]();
    timer = clock.after(settleMs, changed);
  };
  return {
    /** Watches these paths, and no others, through their folders. */
    aim(paths: readonly string[]): void {
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
      // The file may have changed before the watch, or a link may have a new target.
      noticed();
    },
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]();
      for (const watching of folders.values()) watching[Symbol.dispose]();
      folders.clear();
    },
  };
}

/** A text that changes whenever the file, or the target of a link, is written or replaced. */
function stampOf(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch {
    // An absent or unreadable file has the empty stamp, which also differs.
    return "";
  }
}
