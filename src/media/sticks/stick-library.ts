/**
 * The media folders and the USB sticks that are plugged in, as one library. Each stick has an index of its own beside the main
 * one, so that neither is touched when the other changes: what is on a stick goes in a moment, and is back at once when the
 * stick comes again.
 */
import { readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { basename, join } from "node:path";
import { messageOf } from "../../core/errors.ts";
import { stickIndexesMax } from "../../core/limits.ts";
import type { IndexStatus } from "../../core/media.ts";
import { indexPath } from "../index/index-file.ts";
import { createMedia, type MediaLibrary, type MediaOptions, tellsPerSecondMax } from "../media-library.ts";
import { indexWhenFree } from "../scan/index-when-free.ts";
import { joinedAny, joinedSearch, joinedStatus, joinedSystems, joinedTitle } from "./joined.ts";
import { type SoughtMedia, stickWith } from "./stick-away.ts";

export interface MediaWithSticks extends MediaLibrary {
  /** The media folders alone. */
  readonly main: MediaLibrary;
  /** Folders of the sticks that are plugged in. */
  sticks(): readonly string[];
  /** These are plugged in now, and are indexed at once where they are new. Returns those that went. */
  plug(folders: readonly string[]): readonly string[];
  /** The name of the stick that is not plugged in and holds this. */
  stickWith(sought: SoughtMedia): Promise<string | undefined>;
}

interface Stick {
  readonly library: MediaLibrary;
  isOver: boolean;
}

export function createMediaWithSticks(options: MediaOptions): MediaWithSticks {
  const { folder: dataFolder, log } = options;
  const sticks = new Map<string, Stick>();
  const closing = new Map<string, Promise<void>>();
  const all = () => [main, ...[...sticks.values()].map(({ library }) => library)];
  /** Those that have an index: nobody waits for the first one of a stick. */
  const ready = () => {
    const indexed = all().filter((library) => library.status().exists);
    return indexed.length === 0 ? [main] : indexed;
  };
  const status = () => joinedStatus(all());
  const tell = tellerOf(options, status);
  const main = createMedia({ ...options, emit: tell });

  const add = (folder: string) => {
    const name = indexNameOf(folder);
    keepFew(dataFolder, name);
    const library = createMedia({
      ...options,
      name,
      folders: () => {
        const { closed } = options.folders();
        return { roots: [folder], own: [], ...(closed && { closed }) };
      },
      emit: tell,
    });
    const stick: Stick = { library, isOver: false };
    sticks.set(folder, stick);
    log.info("media", "a USB stick was plugged in", { folder });
    // The run of the time before may still be ending, and would take this one's file away.
    const begin = async () => {
      await closing.get(folder);
      await indexWhenFree(library, [], () => stick.isOver);
    };
    begin().catch((error: unknown) => {
      if (!stick.isOver) log.warn("media", messageOf(error), { folder });
    });
  };
  const drop = (folder: string, stick: Stick) => {
    stick.isOver = true;
    sticks.delete(folder);
    const closed = stick.library.close().finally(() => closing.delete(folder));
    closing.set(folder, closed);
    log.info("media", "a USB stick was removed", { folder });
  };

  return {
    main,
    status,
    sticks: () => [...sticks.keys()],
    plug(folders) {
      const gone = [...sticks].filter(([folder]) => !folders.includes(folder));
      for (const [folder, stick] of gone) drop(folder, stick);
      for (const folder of folders) if (!sticks.has(folder)) add(folder);
      if (gone.length > 0) tell();
      return gone.map(([folder]) => folder);
    },
    stickWith(sought) {
      const plugged = new Set([...sticks.keys()].map(indexNameOf));
      const files = stickIndexes(dataFolder).filter((path) => !plugged.has(basename(path)));
      return stickWith(files, sought, options.prefer());
    },
    systems: () => joinedSystems(ready()),
    search: (query) => (sticks.size === 0 ? main.search(query) : joinedSearch(ready(), query)),
    any: (sources, random) =>
      sticks.size === 0 ? main.any(sources, random) : joinedAny(ready(), sources, random),
    count: async (sources) => {
      const counts = await Promise.all(ready().map((library) => library.count(sources)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    findTitle: (system, title) => joinedTitle(ready(), system, title),
    async index(systems) {
      const others = [...sticks.values()].map(({ library, isOver }) =>
        indexWhenFree(library, systems, () => isOver),
      );
      await Promise.all([main.index(systems), ...others]);
    },
    cancel() {
      for (const library of all()) library.cancel();
    },
    async close() {
      for (const stick of sticks.values()) stick.isOver = true;
      await Promise.all([...all().map((library) => library.close()), ...closing.values()]);
    },
  };
}

/** Several indexes at work tell no more often than one: what is no news in itself waits for a quarter of a second. */
function tellerOf({ clock, emit }: MediaOptions, status: () => IndexStatus): () => void {
  const newsOf = ({ indexing, optimizing, currentStep, totalMedia }: IndexStatus) =>
    JSON.stringify([indexing, optimizing, currentStep, totalMedia]);
  let last = "";
  let toldMs = -Infinity;
  return () => {
    const now = status();
    const news = newsOf(now);
    const sinceMs = clock.now() - toldMs;
    if (news === last && now.indexing && sinceMs >= 0 && sinceMs < 1000 / tellsPerSecondMax) return;
    [last, toldMs] = [news, clock.now()];
    emit(now);
  };
}

const indexNames = /^stick-[0-9a-f]+\.db$/;

function indexNameOf(folder: string): string {
  return `stick-${Bun.hash(folder).toString(16)}.db`;
}

/** Indexes of sticks in the data folder, the one that was used last first. */
function stickIndexes(dataFolder: string): readonly string[] {
  let names: readonly string[] = [];
  try {
    names = readdirSync(dataFolder).filter((name) => indexNames.test(name));
  } catch {
    // Nothing was ever kept there.
  }
  return names
    .map((name) => indexPath(dataFolder, name))
    .map((path) => ({ path, usedMs: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.usedMs - a.usedMs)
    .map(({ path }) => path);
}

/** Marks the index as used, and deletes those of the sticks that were not seen for the longest time. */
function keepFew(dataFolder: string, name: string): void {
  const path = join(dataFolder, name);
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) utimesSync(path, new Date(), new Date());
    const others = stickIndexes(dataFolder).filter((one) => one !== path);
    for (const old of others.slice(stickIndexesMax - 1)) rmSync(old, { force: true });
  } catch {
    // A data folder that is read-only keeps what it has.
  }
}
