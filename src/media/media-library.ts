/**
 * The media of the device: searches in the index, and its updates. The index in use is read-only and stays in use until a
 * newer one replaces it; a damaged one is made again.
 */
import { mkdirSync, rmSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import { messageOf, publicError, type ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type {
  AudioTags,
  IndexStatus,
  MediaAnswer,
  MediaFolders,
  MediaQuery,
  System,
  TitlePreferences,
} from "../core/media.ts";
import {
  answerOf,
  chooseAny,
  countAny,
  type FoundTitle,
  filteredAnswer,
  findTitle,
  type MediaSource,
  mediaAt,
  systemOf,
} from "./index/answers.ts";
import { foldedWords } from "./index/fold.ts";
import {
  type FolderQuery,
  filesOfSystems,
  folderContent,
  foldersNamed,
  tagsOfNames,
} from "./index/folder.ts";
import { holdIndex, type IndexHolder, indexPath, type LoadedIndex } from "./index/index-file.ts";
import { noSystemNamed, systemById, systemByName } from "./known-systems.ts";
import type { JobLine } from "./scan/index-job.ts";
import { type Run, startRun } from "./scan/indexer.ts";

export interface MediaOptions {
  /** The folder of the index. */
  readonly folder: string;
  /** The name of the index; that of the index of the media folders if absent. */
  readonly name?: string;
  /** Returns the media folders. It is called at each run. */
  readonly folders: () => MediaFolders;
  /** Returns the preferences. It is called for each title. */
  readonly prefer: () => TitlePreferences;
  /** Called at the start, at each system, at the end, and at most four times a second between these. */
  readonly emit: (status: IndexStatus) => void;
  readonly clock: Clock;
  readonly log: Log;
  /** The program that runs the index, for tests. */
  readonly command?: readonly string[];
}

export type MediaLibrary = ReturnType<typeof createMedia>;

/** After this many damaged indexes the disk counts as bad, and no index is written. */
const repairsMax = 3;

/** Opens the index if there is one; a run begins if it is damaged. */
export function createMedia(options: MediaOptions) {
  const { folder, log } = options;
  const path = indexPath(folder, options.name);
  let repairs = 0;
  const holder = holdIndex(path, (why) => {
    const isHopeless = ++repairs > repairsMax;
    log.warn("media", `the index is damaged${isHopeless ? "" : ": it is being made again"}`, { why });
    rmSync(path, { force: true });
    if (isHopeless) return;
    runs.index([]).catch((error: unknown) => log.warn("media", messageOf(error)));
  });
  const runs = createRuns(options, path, holder);
  /** Throws if the answer is undefined because the first run is not finished. */
  const orIndexing = <T>(answer: T | undefined): T | undefined => {
    if (answer === undefined && holder.current() === undefined && runs.status().indexing)
      throw publicError("failed", "the media are being indexed: try again then");
    return answer;
  };

  return {
    status: runs.status,
    index: runs.index,
    /** Systems that have media in the index, by id. */
    systems: (): readonly System[] =>
      (holder.current()?.usedSystemIds ?? []).map(systemOf).sort((a, b) => (a.id < b.id ? -1 : 1)),
    /** The folders of systems with files, each with its media folder as in the settings. */
    bases: () => holder.use((held) => held.bases()) ?? [],
    search: (query: MediaQuery): MediaAnswer =>
      orIndexing(holder.use((held) => answerOf(held, query))) ?? { results: [], total: 0 },
    /** Like `search`, with only the names that `keeps` accepts. */
    filteredSearch: async (query: MediaQuery, keeps: (name: string) => boolean): Promise<MediaAnswer> =>
      orIndexing(await holder.walk((held) => filteredAnswer(held, query, keeps))) ?? {
        results: [],
        total: 0,
      },
    /** The content of a folder; undefined if there is no index. */
    folder: async (query: FolderQuery) => orIndexing(await holder.walk((held) => folderContent(held, query))),
    /** The folders whose own name has each word of the query; undefined if there is no index. */
    foldersNamed: async (query: string) =>
      orIndexing(await holder.walk((held) => foldersNamed(held, foldedWords(query)))),
    /** The number of files of each system that has some; undefined if there is no index. */
    filesOfSystems: async () => orIndexing(await holder.walk(filesOfSystems)),
    /** The number of files of these systems, or of all, that have each tag; undefined if there is no index. */
    tags: async (systems: readonly string[]) =>
      orIndexing(await holder.walk((held) => tagsOfNames(held, systems))),
    /** A random file, as `chooseAny` chooses it. */
    any: async (sources: readonly MediaSource[], random: () => number) =>
      orIndexing(
        await holder.walk(function* (held) {
          const file = yield* chooseAny(held, sources, random);
          return file === undefined ? undefined : mediaAt(held, file);
        }),
      ),
    /** The tags of an audio file by its absolute path. */
    audioOf: (file: string): AudioTags | undefined => holder.use((held) => held.tags?.of(file)),
    /** The picture in an audio file, or in the first such file of a folder and below it. */
    embeddedPicture: (file: string): Uint8Array | undefined =>
      holder.use(({ tags }) => tags?.picture(file) ?? tags?.pictureBelow(file)),
    /** The number of files that `any` chooses from. */
    count: async (sources: readonly MediaSource[]) =>
      (await holder.walk((held) => countAny(held, sources))) ?? 0,
    /**
     * The file for `@System/Title (tag)`, or in any system if the text names none; undefined if there is no such file.
     * Rejects with `not-found` for an unknown system.
     */
    async findTitle(name: string | undefined, title: string): Promise<FoundTitle | undefined> {
      const system = name === undefined ? undefined : systemByName(name);
      if (name !== undefined && system === undefined) throw unknownSystem(name);
      return holder.walk((held) => findTitle(held, system?.id, title, options.prefer()));
    },
    cancel: runs.cancel,
    async close(): Promise<void> {
      await runs.close();
      holder.close();
    },
  };
}

/** Runs of the index, one at a time, and their progress. The tags of audio files are read after each. */
function createRuns(options: MediaOptions, path: string, holder: IndexHolder) {
  const { folder, folders, log, command } = options;
  let running: Underway | undefined;
  let progress: Progress | undefined;
  let closed = false;

  const status = () => ({ ...statusOf(holder.current(), progress), ...tags.progress() });
  const tell = createTeller(options, status);
  const tags = createTagRuns(options, path, async (changed) => {
    if (changed && !closed) await holder.renew();
    if (!closed) tell();
  });
  const finish = async (run: Run) => {
    let found = 0;
    try {
      const { files, changed, songs } = await run.done;
      if (changed && !closed) await holder.renew();
      log.info("media", "indexed", { files, changed });
      found = songs;
    } finally {
      // A killed run leaves an unfinished file.
      rmSync(`${path}.new`, { force: true });
      running = undefined;
      progress = undefined;
      if (found > 0 && !closed) tags.start();
      if (!closed) tell();
    }
  };
  const onLine = (line: JobLine) => {
    progress = progressAfter(progress ?? {}, line);
    tell();
  };
  const index = async (systems: readonly string[]): Promise<void> => {
    if (closed) throw publicError("failed", "the service is stopping");
    const unknown = systems.find((id) => systemById(id) === undefined);
    if (unknown !== undefined) throw unknownSystem(unknown);
    if (running !== undefined) throw publicError("conflict", "the media are being indexed already");
    if (tags.isRunning()) {
      // A new game must not wait for the tags of a thousand songs.
      await tags.end();
      // Another caller may have begun a run meanwhile.
      return index(systems);
    }
    mkdirSync(folder, { recursive: true });
    const run = startRun({ path, folders: folders(), systems }, { command, log, onLine });
    progress = { totalFiles: 0 };
    const ended = finish(run);
    running = { run, ended };
    tell();
    await ended;
  };

  return {
    status,
    /**
     * Updates the index for these systems, or for all if the list is empty, and resolves when the new index is in use. Rejects
     * with `conflict` during another run, `not-found` for an unknown system, and `failed`, also after `cancel`.
     */
    index,
    /** Ends the current run. */
    cancel() {
      running?.run.cancel();
      void tags.end();
    },
    async close() {
      closed = true;
      running?.run.cancel();
      // The caller of `index` gets the error.
      await running?.ended.catch(() => {});
      await tags.end();
    },
  };
}

/** Runs that read the tags of audio files. `onDone` gets true if the index was built again. */
function createTagRuns(
  { folders, log, command }: MediaOptions,
  path: string,
  onDone: (changed: boolean) => Promise<void>,
) {
  let running: Underway | undefined;
  let progress: Pick<IndexStatus, "tagsRead" | "tagsTotal"> = {};
  const onLine = (line: JobLine) => {
    if (line.kind === "tags") progress = { tagsRead: line.read, tagsTotal: line.of };
  };
  const follow = async (run: Run) => {
    const startedMs = performance.now();
    try {
      const { changed, songs } = await run.done;
      const ms = Math.round(performance.now() - startedMs);
      if (songs > 0) log.info("media", "the tags of audio files were read", { files: songs, ms });
      return changed;
    } catch (error) {
      if (!run.isCancelled()) log.warn("media", "not all tags were read", { why: messageOf(error) });
      return false;
    } finally {
      rmSync(`${path}.new`, { force: true });
      running = undefined;
      progress = {};
    }
  };
  return {
    progress: () => progress,
    isRunning: () => running !== undefined,
    start(): void {
      try {
        const job = { path, folders: folders(), systems: [], isForTags: true };
        const run = startRun(job, { command, log, onLine });
        running = { run, ended: follow(run).then(onDone) };
      } catch (error) {
        log.warn("media", messageOf(error));
      }
    },
    /** Ends the run. The next run continues it. */
    async end(): Promise<void> {
      running?.run.cancel();
      await running?.ended;
    },
  };
}

interface Underway {
  readonly run: Run;
  readonly ended: Promise<void>;
}

/** The part of a status that is known during a run. */
type Progress = Partial<Omit<IndexStatus, "exists" | "indexing">>;

function progressAfter(before: Progress, line: JobLine): Progress {
  switch (line.kind) {
    case "system":
      // The last step writes the index.
      return {
        totalFiles: line.files,
        totalSteps: line.steps + 1,
        currentStep: line.step,
        currentStepDisplay: line.name,
      };
    case "files":
      return { ...before, totalFiles: line.files };
    case "writing":
      return {
        ...before,
        totalFiles: line.files,
        optimizing: true,
        ...(before.totalSteps && { currentStep: before.totalSteps }),
      };
    case "complaint":
    case "complaints":
    case "tags":
    case "done":
    case "failed":
      return before;
  }
}

function statusOf(index: LoadedIndex | undefined, progress: Progress | undefined): IndexStatus {
  const { totalFiles = index?.count, optimizing = false, ...step } = progress ?? {};
  return {
    exists: index !== undefined,
    indexing: progress !== undefined,
    optimizing,
    ...step,
    ...(totalFiles === undefined ? {} : { totalFiles }),
    ...(index && { totalMedia: index.count }),
  };
}

const tellsPerSecondMax = 4;

/** Reports news at once, and other progress at most four times a second. */
export function createTeller(
  { clock, emit }: Pick<MediaOptions, "clock" | "emit">,
  status: () => IndexStatus,
): () => void {
  const newsOf = ({ indexing, optimizing, currentStep, totalMedia }: IndexStatus) =>
    JSON.stringify([indexing, optimizing, currentStep, totalMedia]);
  let last = "";
  let emittedMs = -Infinity;
  return () => {
    const now = status();
    const news = newsOf(now);
    const sinceMs = clock.now() - emittedMs;
    // A clock that was set back must not suppress reports.
    if (news === last && now.indexing && sinceMs >= 0 && sinceMs < 1000 / tellsPerSecondMax) return;
    last = news;
    emittedMs = clock.now();
    emit(now);
  };
}

function unknownSystem(name: string): ServiceError {
  return publicError("not-found", noSystemNamed(name));
}
