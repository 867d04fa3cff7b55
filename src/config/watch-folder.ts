/** Tells that something in a folder has changed, or may have: also one that is made, moved or deleted later. */
import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";

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
