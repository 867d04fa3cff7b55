/**
 * One run of the index, as a process of its own: it may take all the time that nobody else wants, its memory goes back
 * when it ends, and it may be killed at any moment. It reads one line of JSON, what to do, from its standard input and
 * writes one line of JSON for each thing that it has to tell; it ends when nobody listens any more.
 */
import { readFileSync, writeSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { messageOf } from "../../core/errors.ts";
import { scanComplaintsMax } from "../../core/limits.ts";
import type { MediaFolders } from "../../core/media.ts";
import { IndexDamage, type MediaIndexFile, openMediaIndex } from "../../store/media-index-file.ts";
import { buildIndex } from "../index/index-build.ts";
import { knownOf, nothingKnown } from "./previous-index.ts";
import { type ScanStep, scan } from "./scan.ts";
import { Found } from "./scan-result.ts";

export interface Job {
  /** Of the index. */
  readonly path: string;
  readonly folders: MediaFolders;
  /** System ids; empty means all. */
  readonly systems: readonly string[];
}

export type JobLine =
  | ({ readonly kind: "system"; readonly files: number } & ScanStep)
  | { readonly kind: "files"; readonly files: number }
  | { readonly kind: "writing"; readonly files: number }
  | { readonly kind: "complaint"; readonly path: string; readonly why: string }
  | { readonly kind: "complaints"; readonly more: number }
  | { readonly kind: "done"; readonly files: number; readonly changed: boolean }
  | { readonly kind: "failed"; readonly why: string };

/** How often the number of files is told; the listener tells it on no faster. */
const tellMs = 250;

/** Runs the job of the standard input; returns the exit code. */
export function runIndexJob(): number {
  yieldToAll();
  try {
    const job: Job = JSON.parse(readFileSync(0, "utf8"));
    runJob(job, (line) => writeSync(1, `${JSON.stringify(line)}\n`));
    return 0;
  } catch (error) {
    // Nobody listens any more, or the disk is full: the old index is there as it was.
    tellFailure(messageOf(error));
    return 1;
  }
}

/** Brings the index up to date; `tell` may throw to end it. */
export function runJob(job: Job, tell: (line: JobLine) => void): void {
  const { path, systems } = job;
  const asked = new Set(systems);
  const found = new Found();
  const old = openSound(path);
  try {
    walkAll(job, found, old, tell);
    if (old !== undefined && isUnchanged(old, found, asked)) {
      tell({ kind: "done", files: old.count, changed: false });
      return;
    }
    if (old !== undefined && asked.size > 0) takeOver(old, found, asked);
  } finally {
    old?.close();
  }
  tell({ kind: "writing", files: found.files });
  // The walk left much behind, and the most memory is needed next.
  Bun.gc(true);
  tell({ kind: "done", files: buildIndex(path, found), changed: true });
}

function walkAll(
  { folders, systems }: Job,
  found: Found,
  old: MediaIndexFile | undefined,
  tell: (line: JobLine) => void,
): void {
  let complaints = 0;
  let toldMs = performance.now();
  scan(
    {
      folders,
      systems: new Set(systems),
      known: old === undefined ? nothingKnown : knownOf(old),
      onSystem: (step) => tell({ kind: "system", files: found.files, ...step }),
      onFolder(files) {
        if (performance.now() - toldMs < tellMs) return;
        toldMs = performance.now();
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

/** The old index, where it is whole; what is damaged is made anew. */
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

/** True where each asked system is in the index with the same files, and no other is. */
function isUnchanged(old: MediaIndexFile, found: Found, asked: ReadonlySet<string>): boolean {
  const isAsked = ({ id }: { readonly id: string }) => asked.size === 0 || asked.has(id);
  const now = found.systems;
  const before = new Map(old.systems.filter(isAsked).map(({ id, fingerprint }) => [id, fingerprint]));
  return now.length === before.size && now.every(({ id, fingerprint }) => before.get(id) === fingerprint);
}

/** Adds the files of all systems that were not asked for as they stand in the old index. */
function takeOver(old: MediaIndexFile, found: Found, asked: ReadonlySet<string>): void {
  const folders = old.folders();
  const systems = old.systems.map((system) =>
    asked.has(system.id) ? undefined : found.system(system.id, system.fingerprint),
  );
  const taken = new Map<number, number>();
  for (const { system, folder, name } of old.files()) {
    const place = systems[system];
    const from = folders[folder];
    if (place === undefined || from === undefined) continue;
    let to = taken.get(folder);
    if (to === undefined) {
      to = found.folder(from.base, from.path);
      taken.set(folder, to);
    }
    found.file(name, to, place);
  }
  for (const base of old.bases()) found.base(base);
}

/** Whatever else wants the processor or, as the kernel derives it from that, the disk goes first. */
function yieldToAll(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // Where that is forbidden, it works as fast as the others.
  }
}

function tellFailure(why: string): void {
  try {
    const line: JobLine = { kind: "failed", why };
    writeSync(1, `${JSON.stringify(line)}\n`);
  } catch {
    // Nobody listens.
  }
}
