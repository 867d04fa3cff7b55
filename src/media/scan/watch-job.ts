/**
 * Watches the media folders, as a process of its own: to set up some ten thousand watches takes a second, in which a
 * service would answer nobody. It reads one line of JSON, writes one line for each burst of changes, and ends when its
 * standard input does.
 */
import { type FSWatcher, readFileSync, realpathSync, type Stats, statSync, watch } from "node:fs";
import { relative } from "node:path";
import { messageOf } from "../../core/errors.ts";
import type { MediaFolders } from "../../core/media.ts";
import { knownSystems, systemByFolder, systemByName } from "../systems.ts";
import { mountsBelow } from "./mounts.ts";

export interface WatchJob {
  readonly folders: MediaFolders;
}

/** Ids of the systems in whose folders something changed, none for all; or why no changes can be seen. */
export type WatchLine = { readonly systems: readonly string[] } | { readonly failed: string };

/** A burst is over when nothing happened for so long: copying a folder is one change. */
const settleMs = 2000;
/** A burst that does not end is told on the way. */
const burstMsMax = 60_000;
/** A drive that is mounted over a watched folder is no change in that folder: somebody has to look. */
const mountedMs = 3000;

/** What a changed path, below a folder that is watched, is about. */
type About = (path: string) => readonly string[];

/** Runs until the standard input ends; never returns before. */
export async function runWatchJob(): Promise<number> {
  const tell = (line: WatchLine) => void process.stdout.write(`${JSON.stringify(line)}\n`);
  const burst = createBurst(tell);
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of Bun.stdin.stream()) {
    const isRead = text.includes("\n");
    text += decoder.decode(bytes, { stream: true });
    if (isRead || !text.includes("\n")) continue;
    const { folders }: WatchJob = JSON.parse(text);
    for (const root of folders.roots) watchFolder(root, systemsAt, burst, tell);
    for (const { system, folder } of folders.own) {
      const systems = withGuests(systemByName(system)?.id);
      watchFolder(folder, () => systems, burst, tell);
    }
  }
  return 0;
}

/** Watches the folder, and whatever is mounted in its place or below it later on. */
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
      // It is not there, or the kernel has no room for so many watches.
      failed(error);
    }
  };
  const look = () => {
    const now = statSync(folder, { throwIfNoEntry: false });
    const isOther = now?.dev !== seen?.dev || now?.ino !== seen?.ino;
    const mounts = now === undefined ? [] : mountsAt(folder);
    const appeared = mounts.filter((path) => !mounted.includes(path));
    if (!isOther && appeared.length === 0 && mounts.length === mounted.length) return;
    [seen, mounted] = [now, mounts];
    // What is unplugged stays in the index: it comes back.
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

/** Where something is mounted below the folder, relative to it. */
function mountsAt(folder: string): readonly string[] {
  try {
    const real = realpathSync(folder);
    return mountsBelow(readFileSync("/proc/self/mountinfo", "utf8"), real).map((path) =>
      relative(real, path),
    );
  } catch {
    // It went away meanwhile, which the next look sees.
    return [];
  }
}

/** The system whose folder holds the path below a root, and those that live with it. */
function systemsAt(path: string): readonly string[] {
  return withGuests(systemByFolder(path.split("/")[0] ?? "")?.id);
}

function withGuests(host: string | undefined): readonly string[] {
  if (host === undefined) return [];
  const guests = knownSystems().filter(({ livesWith }) => livesWith?.includes(host));
  return [host, ...guests.map(({ id }) => id)];
}

/** Gathers systems until it is quiet, and tells them then. */
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
