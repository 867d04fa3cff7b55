/**
 * Watches the media folders, as a process of its own: to set up some ten thousand watches takes a second, in which a
 * service would answer nobody. It reads one line of JSON, writes one line for each burst of changes, and ends when its
 * standard input does.
 */
import { watch } from "node:fs";
import { messageOf } from "../core/errors.ts";
import { knownSystems, systemByFolder } from "./systems.ts";

export interface WatchJob {
  readonly roots: readonly string[];
}

/** Ids of the systems in whose folders something changed, or why no changes can be seen. */
export type WatchLine = { readonly systems: readonly string[] } | { readonly failed: string };

/** A burst is over when nothing happened for so long: copying a folder is one change. */
const settleMs = 2000;
/** A burst that does not end is told on the way. */
const burstMsMax = 60_000;

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
    const { roots }: WatchJob = JSON.parse(text);
    for (const root of roots) watchRoot(root, burst, tell);
  }
  return 0;
}

function watchRoot(
  root: string,
  burst: (systems: readonly string[]) => void,
  tell: (line: WatchLine) => void,
): void {
  const failed = (error: unknown) => tell({ failed: `${root}: ${messageOf(error)}` });
  try {
    const watcher = watch(root, { recursive: true }, (_, name) => burst(systemsOf(name ?? "")));
    watcher.on("error", failed);
  } catch (error) {
    // The folder is not there, or the kernel has no room for so many watches.
    failed(error);
  }
}

/** The system whose folder holds the path, and those that live with it. */
function systemsOf(path: string): readonly string[] {
  const host = systemByFolder(path.split("/")[0] ?? "");
  if (host === undefined) return [];
  const guests = knownSystems().filter(({ livesWith }) => livesWith?.includes(host.id));
  return [host, ...guests].map(({ id }) => id);
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
