/**
 * Sees USB sticks come and go: folders that appear where the system mounts them. A folder counts once something is in it,
 * because a mount point is made before the mount. After a change an empty folder is looked at again for half a minute; while
 * nothing changes, nothing is polled.
 */
import { readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { watchFolder } from "../../config/watch-files.ts";
import type { Clock } from "../../core/clock.ts";
import { sticksMax } from "../../core/limits.ts";

export interface RemovableFolders extends Disposable {
  /** Watches the entries of these folders from now on. */
  aim(folders: readonly string[]): void;
}

export interface RemovableOptions {
  readonly clock: Clock;
  /** Called with the folders of all sticks that are there, absolute and without links, when these changed. */
  readonly changed: (present: readonly string[]) => void;
}

// A mount and its announcement are several changes.
const settleMs = 20;
const firstLookMs = 100;
const lastLookMs = 12_800;

export function watchRemovable({ clock, changed }: RemovableOptions): RemovableFolders {
  let aimed: readonly string[] = [];
  let watching: readonly Disposable[] = [];
  let present: readonly string[] = [];
  let timer: Disposable | undefined;
  let round = 0;

  const show = (now: readonly string[]) => {
    if (now.join("\0") === present.join("\0")) return;
    present = now;
    changed(present);
  };
  const lookIn = (ms: number, nextMs: number) => {
    timer?.[Symbol.dispose]();
    timer = clock.after(ms, () => void look(nextMs));
  };
  /** A stick that does not answer delays no other: each has its own question, and a later look takes the place of this one. */
  const look = async (nextMs: number) => {
    const mine = ++round;
    const listed = (await Promise.all(aimed.map(foldersIn))).flat().sort().slice(0, sticksMax);
    if (mine !== round) return;
    show(present.filter((path) => listed.includes(path)));
    let isWaiting = false;
    await Promise.all(
      listed.map(async (path) => {
        const isFilled = await hasEntries(path);
        if (mine !== round) return;
        isWaiting ||= !isFilled;
        const others = present.filter((one) => one !== path);
        show(isFilled ? [...others, path].sort() : others);
      }),
    );
    if (mine === round && isWaiting && nextMs <= lastLookMs) lookIn(nextMs, nextMs * 2);
  };
  const stop = () => {
    round++;
    timer?.[Symbol.dispose]();
    for (const one of watching) one[Symbol.dispose]();
    watching = [];
  };
  return {
    aim(folders) {
      if (folders.join("\0") === aimed.join("\0")) return;
      stop();
      aimed = folders;
      watching = folders.map((folder) => watchFolder(folder, () => lookIn(settleMs, firstLookMs)));
      void look(firstLookMs);
    },
    [Symbol.dispose]: stop,
  };
}

/** None where the folder is not there: it may come later. */
async function foldersIn(folder: string): Promise<readonly string[]> {
  try {
    const real = await realpath(folder);
    const entries = await readdir(real, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
      .map(({ name }) => join(real, name));
  } catch {
    // It is not there, or not for this user.
    return [];
  }
}

async function hasEntries(path: string): Promise<boolean> {
  return readdir(path).then(
    (names) => names.length > 0,
    // It went away again, or cannot be read.
    () => false,
  );
}
