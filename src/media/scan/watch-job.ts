/**
 * Watches the media folders, as a process of its own, because ten thousand watches take a second to set up. Reads one line
 * of JSON, writes one line for each burst of changes, and ends when its standard input does.
 */
import { type FSWatcher, readFileSync, realpathSync, type Stats, statSync, watch } from "node:fs";
import { relative } from "node:path";
import { createInterface } from "node:readline";
import { exitCodes, messageOf } from "../../core/errors.ts";
import { type MediaFolders, uploadsFolder } from "../../core/media.ts";
import { systemByFolder, systemByName, withGuests } from "../known-systems.ts";

/** Ids of the systems with changed folders, none for all; or why changes cannot be watched. */
export type WatchLine = { readonly systems: readonly string[] } | { readonly failed: string };

/** A burst ends after this time without a change, so that copying a folder is one burst. */
const settleMs = 2000;
/** A longer burst is reported before its end. */
const burstMsMax = 60_000;
/** Time between two looks at the mounts, because a mount over a folder is no change in it. */
const mountedMs = 3000;

/** The systems of a changed path below a watched folder. */
type About = (path: string) => readonly string[];

/** Runs until the standard input ends. */
export async function runWatchJob(): Promise<never> {
  const tell = (line: WatchLine) => void process.stdout.write(`${JSON.stringify(line)}\n`);
  const burst = createBurst(tell);
  for await (const line of createInterface({ input: process.stdin })) {
    const { folders }: { readonly folders: MediaFolders } = JSON.parse(line);
    // The first folder below a root names the system. That of unfinished uploads names none.
    const about: About = (path) => withGuests(systemByFolder(path.split("/")[0] ?? "")?.id);
    for (const root of folders.roots) watchFolder(root, about, burst, tell);
    for (const { system, folder } of folders.own) {
      const systems = withGuests(systemByName(system)?.id);
      const isUnfinished = (path: string) => path.split("/").includes(uploadsFolder);
      watchFolder(folder, (path) => (isUnfinished(path) ? [] : systems), burst, tell);
    }
  }
  // The watches and intervals would keep the process alive.
  process.exit(exitCodes.ok);
}

/** Watches the folder, and later mounts in its place or below it. */
function watchFolder(
  folder: string,
  about: About,
  burst: (systems: readonly string[]) => void,
  tell: (line: WatchLine) => void,
): void {
  let watcher: FSWatcher | undefined;
  let seen: Stats | undefined;
  let mounted: readonly string[] = [];
  const failed = (error: unknown) => tell({ failed: `${folder}: ${messageOf(error)}` });
  const begin = () => {
    watcher?.close();
    watcher = undefined;
    try {
      watcher = watch(folder, { recursive: true }, (_, name) => burst(about(name ?? "")));
      watcher.on("error", failed);
    } catch (error) {
      // There is no such folder, or the kernel has no room for so many watches.
      failed(error);
    }
  };
  const look = () => {
    const now = statSync(folder, { throwIfNoEntry: false });
    const isOther = now?.dev !== seen?.dev || now?.ino !== seen?.ino;
    const mounts = now === undefined ? [] : mountsAt(folder);
    const appeared = mounts.filter((path) => !mounted.includes(path));
    if (!isOther && appeared.length === 0 && mounts.length === mounted.length) return;
    seen = now;
    mounted = mounts;
    // The files of an unplugged drive stay in the index.
    if (now === undefined) return;
    begin();
    if (isOther) tell({ systems: [...about("")] });
    else for (const path of appeared) tell({ systems: [...about(path)] });
  };
  seen = statSync(folder, { throwIfNoEntry: false });
  mounted = seen === undefined ? [] : mountsAt(folder);
  begin();
  setInterval(look, mountedMs);
}

/** The mount points below the folder, relative to it. */
function mountsAt(folder: string): readonly string[] {
  try {
    const real = realpathSync(folder);
    return mountsBelow(readFileSync("/proc/self/mountinfo", "utf8"), real).map((path) =>
      relative(real, path),
    );
  } catch {
    // The folder went away meanwhile; the next look sees that.
    return [];
  }
}

/** Collects systems until the burst ends, then reports them. */
function createBurst(tell: (line: WatchLine) => void): (systems: readonly string[]) => void {
  const changed = new Set<string>();
  let startedMs = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    tell({ systems: [...changed].sort() });
    changed.clear();
  };
  return (systems) => {
    if (systems.length === 0) return;
    if (changed.size === 0) startedMs = performance.now();
    for (const id of systems) changed.add(id);
    clearTimeout(timer);
    timer = setTimeout(end, performance.now() - startedMs > burstMsMax ? 0 : settleMs);
  };
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
