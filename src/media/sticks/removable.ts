/**
 * Detects USB sticks: folders that appear in the folders of mounts. A folder counts once it has an entry, because a mount
 * point exists before the mount. After a change, empty folders are polled for half a minute; without a change nothing is
 * polled.
 */
import { readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { watchFolder } from "../../config/watch-files.ts";
import type { Clock } from "../../core/clock.ts";
import { sticksMax } from "../../core/limits.ts";

// One mount causes several changes, which end within this time.
const settleMs = 20;
const firstLookMs = 100;
const lastLookMs = 12_800;

/** Calls `changed` with the folders of all present sticks, absolute and without links, whenever these change. */
export function watchRemovable({
  clock,
  changed,
}: {
  readonly clock: Clock;
  readonly changed: (present: readonly string[]) => void;
}) {
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
  /** Looks at all sticks at once, so a stick that hangs delays no other. A later look replaces this one. */
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
    /** Watches the entries of these folders from now on. */
    aim(folders: readonly string[]) {
      if (folders.join("\0") === aimed.join("\0")) return;
      stop();
      aimed = folders;
      watching = folders.map((folder) => watchFolder(folder, () => lookIn(settleMs, firstLookMs)));
      void look(firstLookMs);
    },
    [Symbol.dispose]: stop,
  };
}

/** The folders in a folder; none if it does not exist. */
async function foldersIn(folder: string): Promise<readonly string[]> {
  try {
    const real = await realpath(folder);
    const entries = await readdir(real, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
      .map(({ name }) => join(real, name));
  } catch {
    // The folder does not exist, or there is no permission.
    return [];
  }
}

async function hasEntries(path: string): Promise<boolean> {
  return readdir(path).then(
    (names) => names.length > 0,
    // The stick went away, or cannot be read.
    () => false,
  );
}
