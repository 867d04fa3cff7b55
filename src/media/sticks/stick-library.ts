/**
 * The media folders and the plugged-in USB sticks as one library. Each stick has an index of its own beside the main one.
 * Its files therefore disappear as soon as it is removed, and return as soon as it is plugged in again.
 */
import { readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { basename, join } from "node:path";
import { messageOf } from "../../core/errors.ts";
import { stickIndexesMax } from "../../core/limits.ts";
import { nextTurn } from "../../core/long-lists.ts";
import { mediaNameOf, type TitlePreferences } from "../../core/media.ts";
import { IndexDamage, openMediaIndex } from "../../store/media-index-file.ts";
import { removeTags } from "../../store/tag-file.ts";
import { answerOf, findTitle } from "../index/answers.ts";
import { indexPath, type LoadedIndex, openIndex } from "../index/index-file.ts";
import { systemByFolder, systemByName } from "../known-systems.ts";
import { createMedia, createTeller, type MediaLibrary, type MediaOptions } from "../media-library.ts";
import { indexWhenFree } from "../scan/indexer.ts";
import {
  joinedAny,
  joinedCounts,
  joinedFilteredSearch,
  joinedFolder,
  joinedFolders,
  joinedSearch,
  joinedStatus,
  joinedSystems,
  joinedTitle,
} from "./joined.ts";

export interface MediaWithSticks extends MediaLibrary {
  /** The media folders alone. */
  readonly main: MediaLibrary;
  /** Folders of the plugged-in sticks. */
  sticks(): readonly string[];
  /** Sets the plugged-in sticks and indexes new ones. Returns the folders of removed sticks. */
  plug(folders: readonly string[]): readonly string[];
  /** The name of a stick that holds the media and is not plugged in. */
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
  /** The libraries that have an index, so a search does not wait for the first index of a stick. */
  const ready = () => {
    const indexed = all().filter((library) => library.status().exists);
    return indexed.length === 0 ? [main] : indexed;
  };
  const firstKnown = <T>(ask: (library: MediaLibrary) => T | undefined): T | undefined => {
    for (const library of ready()) {
      const known = ask(library);
      if (known !== undefined) return known;
    }
    return undefined;
  };
  const status = () => joinedStatus(all());
  const tell = createTeller(options, status);
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
    // The last run for this stick may still be ending, and it deletes its unfinished file.
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
    bases: main.bases,
    systems: () => joinedSystems(ready()),
    search: (query) => (sticks.size === 0 ? main.search(query) : joinedSearch(ready(), query)),
    filteredSearch: (query, keeps) => joinedFilteredSearch(ready(), query, keeps),
    folder: (query) => joinedFolder(ready(), query),
    foldersNamed: (query) => joinedFolders(ready(), query),
    filesOfSystems: () => joinedCounts(ready().map((library) => library.filesOfSystems())),
    tags: (systems) => joinedCounts(ready().map((library) => library.tags(systems))),
    any: (sources, random) =>
      sticks.size === 0 ? main.any(sources, random) : joinedAny(ready(), sources, random),
    audioOf: (file) => firstKnown((library) => library.audioOf(file)),
    embeddedPicture: (file) => firstKnown((library) => library.embeddedPicture(file)),
    count: async (sources) => {
      const counts = await Promise.all(ready().map((library) => library.count(sources)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    findTitle: (system, title) => joinedTitle(ready(), system, title, options.prefer()),
    async index(systems) {
      const others = [...sticks.values()].map((stick) =>
        indexWhenFree(stick.library, systems, () => stick.isOver).catch((error: unknown) => {
          // The run ends with the removal of its stick.
          if (!stick.isOver) throw error;
        }),
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

const indexNames = /^stick-[0-9a-f]+\.db$/;

function indexNameOf(folder: string): string {
  return `stick-${Bun.hash(folder).toString(16)}.db`;
}

/** The indexes of sticks in the data folder, the last used first. */
function stickIndexes(dataFolder: string): readonly string[] {
  let names: readonly string[] = [];
  try {
    names = readdirSync(dataFolder).filter((name) => indexNames.test(name));
  } catch {
    // The data folder does not exist yet.
  }
  return names
    .map((name) => indexPath(dataFolder, name))
    .map((path) => ({ path, usedMs: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.usedMs - a.usedMs)
    .map(({ path }) => path);
}

/** Marks the index as used, and deletes the least recently used ones. */
function keepFew(dataFolder: string, name: string): void {
  const path = join(dataFolder, name);
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) utimesSync(path, new Date(), new Date());
    const others = stickIndexes(dataFolder).filter((one) => one !== path);
    for (const old of others.slice(stickIndexesMax - 1)) {
      rmSync(old, { force: true });
      removeTags(old);
    }
  } catch {
    // A read-only data folder stays as it is.
  }
}

type SoughtMedia =
  /** A path such as `<System>/<path>`, as on a card. */
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "title"; readonly system?: string; readonly title: string };

/** The name of the first stick whose index, one of these files, has the media; undefined if no index has it. */
async function stickWith(
  files: readonly string[],
  sought: SoughtMedia,
  prefer: TitlePreferences,
): Promise<string | undefined> {
  for (const file of files) {
    try {
      if (await holds(file, sought, prefer)) return nameIn(file);
    } catch (error) {
      // When the stick is plugged in again, a damaged index is replaced.
      if (!(error instanceof IndexDamage)) throw error;
    }
  }
  return undefined;
}

async function holds(file: string, sought: SoughtMedia, prefer: TitlePreferences): Promise<boolean> {
  const index = await inTurns(openIndex(file));
  if (index === undefined) return false;
  try {
    return await inTurns(lookFor(index, sought, prefer));
  } finally {
    index.close();
  }
}

function* lookFor(
  index: LoadedIndex,
  sought: SoughtMedia,
  prefer: TitlePreferences,
): Generator<void, boolean, void> {
  if (sought.kind === "title") {
    const id = sought.system && systemByName(sought.system)?.id;
    const isKnown = id !== undefined || sought.system === undefined;
    return isKnown && (yield* findTitle(index, id, sought.title, prefer)) !== undefined;
  }
  const [folder = "", ...rest] = sought.path.split("/");
  const system = systemByFolder(folder) ?? systemByName(folder);
  if (system === undefined) return false;
  const path = `${system.id}/${rest.join("/")}`.toLowerCase();
  const query = mediaNameOf(sought.path);
  const { results } = answerOf(index, { query, systems: [system.id], maxResults: candidatesMax });
  return results.some((one) => one.path.toLowerCase() === path);
}

// Files whose names contain the name of the wanted one.
const candidatesMax = 100;

function nameIn(file: string): string | undefined {
  const index = openMediaIndex(file);
  try {
    return index?.bases()[0] && basename(index.bases()[0]?.root ?? "");
  } finally {
    index?.close();
  }
}

async function inTurns<T>(steps: Generator<void, T, void>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await nextTurn();
  }
}
