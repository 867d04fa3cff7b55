/** Media libraries for tests: a service's media over folders of its own, and the content of an index. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { createLog } from "../../src/core/log.ts";
import type { IndexStatus, SystemFolder } from "../../src/core/media.ts";
import { joinNames, readable } from "../../src/media/file-names.ts";
import { indexPath } from "../../src/media/index/index-file.ts";
import { createMedia, type MediaLibrary } from "../../src/media/media-library.ts";
import { type IndexJob, type JobLine, runJob } from "../../src/media/scan/index-job.ts";
import { jobArgument } from "../../src/media/scan/indexer.ts";
import { openMediaIndex } from "../../src/store/media-index-file.ts";
import { defaultConfig } from "./defaults.ts";

export interface Trial extends AsyncDisposable {
  /** A media folder, which is empty at first. */
  readonly root: string;
  readonly data: string;
  readonly media: MediaLibrary;
  readonly told: readonly IndexStatus[];
  readonly logged: readonly string[];
}

export interface HeldTrial extends Trial {
  /** Makes each later run wait after its beginning, so a test can cancel it. */
  hold(): Promise<unknown>;
  release(): Promise<void>;
}

/** Runs the index in a process of its own. */
export const indexProgram = join(import.meta.dir, "../../src/media/scan/index-job-main.ts");

/** A trial whose runs can be held. */
export async function heldTrial(): Promise<HeldTrial> {
  const held = join(await mkdtemp(join(tmpdir(), "tapdeck-held-")), "held");
  const script = 'while [ -e "$0" ]; do sleep 0.05; done; exec "$@"';
  const trial = await mediaTrial([], ["sh", "-c", script, held, process.execPath, indexProgram, jobArgument]);
  return {
    ...trial,
    hold: () => Bun.write(held, ""),
    release: () => rm(held, { force: true }),
    async [Symbol.asyncDispose]() {
      await trial[Symbol.asyncDispose]();
      await rm(dirname(held), { recursive: true });
    },
  };
}

export async function mediaTrial(
  own: readonly SystemFolder[] = [],
  command?: readonly string[],
): Promise<Trial> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-media-"));
  const [root, data] = [join(folder, "media"), join(folder, "data")];
  await Bun.write(join(root, ".keep"), "");
  const told: IndexStatus[] = [];
  const logged: string[] = [];
  const media = createMedia({
    folder: data,
    folders: () => ({ roots: [root], own }),
    prefer: () => defaultConfig.systems.prefer,
    emit: (status) => told.push(status),
    clock: systemClock,
    ...(command === undefined ? {} : { command }),
    log: createLog({ debug: true, write: (line) => logged.push(line) }),
  });
  return {
    root,
    data,
    media,
    told,
    logged,
    async [Symbol.asyncDispose]() {
      await media.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs a job in this process, and returns its messages. */
export function runHere(job: IndexJob): readonly JobLine[] {
  const lines: JobLine[] = [];
  runJob(job, (line) => lines.push(line));
  return lines;
}

/**
 * The text `<system>/<path>` for each file of the index in its order, and the number of files; undefined if there is no
 * index.
 */
export function contentOf(folder: string): readonly string[] | undefined {
  const index = openMediaIndex(indexPath(folder));
  if (index === undefined) return undefined;
  index.check();
  const folders = index.folders();
  const files = [...index.files()].map(({ system, folder: place, name }) => {
    const path = joinNames(folders[place]?.path ?? "", name);
    return `${index.systems[system]?.id}/${readable(path)}`;
  });
  index.close();
  return files;
}

/** The paths of all results of a search, in its order. */
export function pathsOf(media: MediaLibrary, query = "", systems: readonly string[] = []): readonly string[] {
  return media.search({ query, systems, maxResults: 1000 }).results.map(({ path }) => path);
}
