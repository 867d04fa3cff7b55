/**
 * One run of the index, as a process of its own. It runs at the lowest priority, its memory is freed at its end, and it may
 * be killed at any moment. It reads one line of JSON, an `IndexJob`, from its standard input and writes a `JobLine` of JSON
 * for each event. It ends when nobody reads its output.
 */
import { readFileSync, writeSync } from "node:fs";
import { messageOf } from "../../core/errors.ts";
import { scanComplaintsMax } from "../../core/limits.ts";
import type { MediaFolders } from "../../core/media.ts";
import { IndexDamage, type MediaIndexFile, openMediaIndex } from "../../store/media-index-file.ts";
import { lowerPriority } from "../../system/own-program.ts";
import { buildMediaIndex } from "../index/index-build.ts";
import type { TagLine } from "../tags/tag-job.ts";
import { type ScanStep, scan } from "./scan.ts";
import { knownOf, nothingKnown, ScanResult, takeOver } from "./scan-result.ts";

export interface IndexJob {
  /** The path of the index. */
  readonly path: string;
  readonly folders: MediaFolders;
  /** Ids of the systems; empty means all. */
  readonly systems: readonly string[];
  /** True for a run that reads the tags in the audio files of the index, and no folders. */
  readonly isForTags?: boolean;
}

export type JobLine =
  | ({ readonly kind: "system"; readonly files: number } & ScanStep)
  | { readonly kind: "files"; readonly files: number }
  | { readonly kind: "writing"; readonly files: number }
  | { readonly kind: "complaint"; readonly path: string; readonly why: string }
  | { readonly kind: "complaints"; readonly more: number }
  | TagLine
  | { readonly kind: "failed"; readonly why: string };

/** Time between two lines with the number of files. */
const tellMs = 250;

/** Runs the job of the standard input; returns the exit code. */
export async function runIndexJob(): Promise<number> {
  lowerPriority();
  try {
    const job: IndexJob = JSON.parse(readFileSync(0, "utf8"));
    if (job.isForTags === true) await (await import("../tags/tag-job.ts")).runTagJob(job.path, write);
    else runJob(job, write);
    return 0;
  } catch (error) {
    // Nobody reads the output, or the disk is full: the old index stays.
    try {
      write({ kind: "failed", why: messageOf(error) });
    } catch {
      // Nobody reads the output.
    }
    return 1;
  }
}

function write(line: JobLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** Updates the index. `tell` may throw to end the update. */
export function runJob(job: IndexJob, tell: (line: JobLine) => void): void {
  const { path } = job;
  const found = new ScanResult();
  const old = openSound(path);
  // Without an old index, the other systems have nothing to be taken over from.
  const systems = old === undefined ? [] : job.systems;
  const asked = new Set(systems);
  try {
    walkAll({ ...job, systems }, found, old, tell);
    if (old !== undefined && isUnchanged(old, found, asked)) {
      tell({ kind: "done", files: old.count, changed: false, songs: found.songs });
      return;
    }
    if (old !== undefined && asked.size > 0) takeOver(old, found, asked);
  } finally {
    old?.close();
  }
  tell({ kind: "writing", files: found.files });
  // The scan left much garbage, and the next step needs the most memory.
  Bun.gc(true);
  const { songs } = found;
  tell({ kind: "done", files: buildMediaIndex(path, found), changed: true, songs });
}

function walkAll(
  { folders, systems }: IndexJob,
  found: ScanResult,
  old: MediaIndexFile | undefined,
  tell: (line: JobLine) => void,
): void {
  let complaints = 0;
  let emittedMs = performance.now();
  scan(
    {
      folders,
      systems: new Set(systems),
      known: old === undefined ? nothingKnown : knownOf(old),
      onSystem: (step) => tell({ kind: "system", files: found.files, ...step }),
      onFolder(files) {
        if (performance.now() - emittedMs < tellMs) return;
        emittedMs = performance.now();
        tell({ kind: "files", files });
      },
      onComplaint(place, why) {
        if (++complaints <= scanComplaintsMax) tell({ kind: "complaint", path: place, why });
      },
    },
    found,
  );
  if (complaints > scanComplaintsMax) tell({ kind: "complaints", more: complaints - scanComplaintsMax });
}

/** The old index; undefined if there is none, or if it is damaged. */
function openSound(path: string): MediaIndexFile | undefined {
  let file: MediaIndexFile | undefined;
  try {
    file = openMediaIndex(path);
    file?.check();
    return file;
  } catch (error) {
    file?.close();
    if (error instanceof IndexDamage) return undefined;
    throw error;
  }
}

/** True if the asked systems have the same files as in the index. */
function isUnchanged(old: MediaIndexFile, found: ScanResult, asked: ReadonlySet<string>): boolean {
  const isAsked = ({ id }: { readonly id: string }) => asked.size === 0 || asked.has(id);
  const now = found.systems;
  const before = new Map(old.systems.filter(isAsked).map(({ id, fingerprint }) => [id, fingerprint]));
  return now.length === before.size && now.every(({ id, fingerprint }) => before.get(id) === fingerprint);
}
