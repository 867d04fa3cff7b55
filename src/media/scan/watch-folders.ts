/**
 * Watches the media folders, and indexes the systems of those that changed. The watches are set a few folders at a time, because
 * ten thousand of them take a second on a board.
 */
import type { Stats } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { relative } from "node:path";
import { type Clock, systemClock } from "../../core/clock.ts";
import { ifThere, messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { type MediaFolders, uploadsFolder } from "../../core/media.ts";
import type { FolderEvent, OpenFolderWatches } from "../../core/operating-system.ts";
import { createSerialQueue } from "../../core/serial-queue.ts";
import { systemByFolder, systemByName, withGuests } from "../known-systems.ts";
import { type Indexed, indexWhenFree } from "./indexer.ts";

/** A burst ends after this time without a change, so the copying of a folder is one burst. */
const settleMs = 2000;
/** A longer burst is reported before its end. */
const burstMsMax = 60_000;
/**
 * Folders that are read at the same time. Reading them one after another takes three times as much processor time.
 * Reading 16 at a time delays a tap by 0.1 ms.
 */
const atOnce = 16;
/** Time between two looks at the mounts, because a mount over a folder does not count as a change in the folder. */
const mountedMs = 3000;

interface WatchOptions {
  readonly media: Indexed;
  /** After a change of the settings the caller creates a new watch. */
  readonly folders: MediaFolders;
  readonly log: Log;
  readonly open: OpenFolderWatches;
  readonly clock?: Clock;
}

/** A media folder of the settings, with all folders below it. */
interface Root {
  readonly folder: string;
  /** The ids of the systems that a path below the folder belongs to; an empty list means all. */
  readonly systemsOf: (path: string) => readonly string[];
  /** The number of times that the watches were begun. Only the last start may set watches. */
  round: number;
  seen: Stats | undefined;
  mounted: readonly string[];
}

/** Indexes the systems of changed folders, until disposed. If the kernel has no room for the watches, it only logs that. */
export function watchMedia({ media, folders, log, open, clock = systemClock }: WatchOptions): Disposable {
  let isOver = false;
  const inTurn = createSerialQueue();
  const index = (systems: readonly string[]) => {
    inTurn(() => indexWhenFree(media, systems, () => isOver)).catch((error: unknown) =>
      log.warn("media", messageOf(error)),
    );
  };
  const burst = createBurst(clock, index);
  const roots = rootsOf(folders);
  const tree = watchTrees({
    open,
    onChange: (root, path) => burst.add(root.systemsOf(path)),
    // A folder that is made again at once may have the same inode.
    onGone(root) {
      root.seen = undefined;
    },
    async onMissed() {
      await Promise.all(roots.map(begin));
      index([]);
    },
    isWanted: (root, round) => !isOver && root.round === round,
  });
  const complain = (root: Root, why: string) => {
    // After the end the watches are closed, and refuse every folder.
    if (!isOver) log.warn("media", "changes are not seen", { why: `${root.folder}: ${why}` });
  };
  const begin = async (root: Root) => {
    root.round += 1;
    tree.drop(root, "");
    try {
      await tree.follow(root, "");
    } catch (error) {
      // The folder does not exist, or the kernel has no room for so many watches.
      complain(root, messageOf(error));
    }
  };
  const look = async (root: Root, mountinfo: string) => {
    const now = await ifThere(stat(root.folder)).catch(() => undefined);
    const mounted = now === undefined ? [] : await mountsAt(root.folder, mountinfo);
    const { seen, mounted: before } = root;
    const isOther = now?.dev !== seen?.dev || now?.ino !== seen?.ino;
    const appeared = mounted.filter((path) => !before.includes(path));
    if (isOver || (!isOther && appeared.length === 0 && mounted.length === before.length)) return;
    root.seen = now;
    root.mounted = mounted;
    // The files of an unplugged drive stay in the index.
    if (now === undefined) return;
    // A file that appears in a folder that is indexed, but not watched yet, would not be found.
    await begin(root);
    if (isOther) index(root.systemsOf(""));
    else for (const path of appeared) index(root.systemsOf(path));
  };
  const lookAtAll = async () => {
    const mountinfo = (await ifThere(readFile("/proc/self/mountinfo", "utf8")).catch(() => "")) ?? "";
    await Promise.all(roots.map((root) => look(root, mountinfo)));
    if (!isOver) looking = clock.after(mountedMs, () => void lookAtAll());
  };
  const start = async () => {
    const mountinfo = (await ifThere(readFile("/proc/self/mountinfo", "utf8")).catch(() => "")) ?? "";
    for (const root of roots) {
      if (isOver) return;
      root.seen = await ifThere(stat(root.folder)).catch(() => undefined);
      root.mounted = root.seen === undefined ? [] : await mountsAt(root.folder, mountinfo);
      await begin(root);
    }
    if (!isOver) looking = clock.after(mountedMs, () => void lookAtAll());
  };
  let looking: Disposable | undefined;
  void start();
  return {
    [Symbol.dispose]() {
      isOver = true;
      looking?.[Symbol.dispose]();
      burst[Symbol.dispose]();
      tree.close();
    },
  };
}

function rootsOf({ roots, own }: MediaFolders): readonly Root[] {
  const rootAt = (folder: string, systemsOf: Root["systemsOf"]): Root => {
    return { folder, systemsOf, round: 0, seen: undefined, mounted: [] };
  };
  return [
    // The first folder below a root names the system. The folder of unfinished uploads does not name a system.
    ...roots.map((folder) =>
      rootAt(folder, (path) => withGuests(systemByFolder(path.split("/")[0] ?? "")?.id)),
    ),
    ...own.map(({ system, folder }) => {
      const systems = withGuests(systemByName(system)?.id);
      const isUnfinished = (path: string) => path.split("/").includes(uploadsFolder);
      return rootAt(folder, (path) => (isUnfinished(path) ? [] : systems));
    }),
  ];
}

interface TreeParts {
  readonly open: OpenFolderWatches;
  /** Called with the path of the changed file or folder, below the root. */
  readonly onChange: (root: Root, path: string) => void;
  /** Called when the folder of a root was deleted or unmounted. */
  readonly onGone: (root: Root) => void;
  /** Called when changes were missed. */
  readonly onMissed: () => void;
  /** Whether the root still wants the watches of this round. */
  readonly isWanted: (root: Root, round: number) => boolean;
}

/** The watches of all folders below the roots. Links are not followed. */
function watchTrees({ open, onChange, onGone, onMissed, isWanted }: TreeParts) {
  /** The paths of each watched folder, by root. The folder of one system may lie below a root. */
  const watched = new Map<number, Map<Root, string>>();
  const watches = open((events) => events.forEach(take));

  const take = (event: FolderEvent) => {
    if (event.kind === "overflow") return onMissed();
    const places = watched.get(event.watch);
    if (places === undefined) return;
    if (event.kind === "ended") {
      for (const [root, folder] of places) if (folder === "") onGone(root);
      return void watched.delete(event.watch);
    }
    for (const [root, folder] of [...places]) {
      const path = joined(folder, event.name);
      if (event.isFolder && event.kind === "left") drop(root, path);
      // A folder that is gone again has no changes to report.
      if (event.isFolder && event.kind === "appeared") void follow(root, path).catch(() => {});
      onChange(root, path);
    }
  };
  /** Ends the watches of a folder and of all below it. */
  const drop = (root: Root, folder: string) => {
    for (const [watch, places] of watched) {
      const path = places.get(root);
      if (path === undefined || !(folder === "" || path === folder || path.startsWith(`${folder}/`)))
        continue;
      places.delete(root);
      if (places.size > 0) continue;
      watched.delete(watch);
      watches.remove(watch);
    }
  };
  /** Watches one folder, and returns the folders in it. Rejects if the kernel has no room. */
  const followOne = async (root: Root, path: string): Promise<readonly string[] | undefined> => {
    const whole = joined(root.folder, path);
    // The watch begins before the entries are read, so an entry that appears in the next moment causes an event.
    const watch = watches.add(whole);
    if (watch === undefined) {
      const isThere = await ifThere(stat(whole)).catch(() => undefined);
      if (isThere !== undefined)
        throw new Error("the kernel watches no more folders: see fs.inotify.max_user_watches");
      return undefined;
    }
    const places = watched.get(watch) ?? new Map<Root, string>();
    watched.set(watch, places.set(root, path));
    const entries = (await ifThere(readdir(whole, { withFileTypes: true })).catch(() => undefined)) ?? [];
    return entries.flatMap((entry) => (entry.isDirectory() ? [joined(path, entry.name)] : []));
  };
  /** Watches the folder and all below it. Rejects if the folder does not exist, or the kernel has no room. */
  const follow = async (root: Root, folder: string) => {
    const { round } = root;
    const first = await followOne(root, folder);
    if (first === undefined) throw new Error("there is no such folder");
    const waiting = [...first];
    // A folder that was removed meanwhile is no error here.
    while (waiting.length > 0 && isWanted(root, round)) {
      const found = await Promise.all(waiting.splice(-atOnce).map((path) => followOne(root, path)));
      for (const folders of found) waiting.push(...(folders ?? []));
    }
  };
  return { follow, drop, close: () => watches.close() };
}

function joined(folder: string, name: string): string {
  return folder === "" || name === "" ? folder || name : `${folder}/${name}`;
}

/** Collects systems until the burst ends, then reports them. */
function createBurst(clock: Clock, report: (systems: readonly string[]) => void) {
  const changed = new Set<string>();
  let startedMs = 0;
  let timer: Disposable | undefined;
  const end = () => {
    const systems = [...changed].sort();
    changed.clear();
    report(systems);
  };
  return {
    add(systems: readonly string[]) {
      if (systems.length === 0) return;
      if (changed.size === 0) startedMs = clock.now();
      for (const id of systems) changed.add(id);
      timer?.[Symbol.dispose]();
      timer = clock.after(clock.now() - startedMs > burstMsMax ? 0 : settleMs, end);
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}

/** The mount points below the folder, relative to it. */
async function mountsAt(folder: string, mountinfo: string): Promise<readonly string[]> {
  try {
    const real = await realpath(folder);
    return mountsBelow(mountinfo, real).map((path) => relative(real, path));
  } catch {
    // The folder went away meanwhile; the next look sees that.
    return [];
  }
}

/** The mount points below a folder, which is absolute and without links; `mountinfo` as in proc_pid_mountinfo(5). */
export function mountsBelow(mountinfo: string, folder: string): readonly string[] {
  const start = folder.endsWith("/") ? folder : `${folder}/`;
  return mountinfo
    .split("\n")
    .map((line) => unescaped(line.split(" ")[4] ?? ""))
    .filter((place) => place.startsWith(start) && place !== start);
}

/** The kernel escapes spaces, tabs, line feeds and backslashes as three octal digits. */
function unescaped(place: string): string {
  return place.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
