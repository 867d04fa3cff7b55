/**
 * Mappings in files, `mappings/*.toml` beside the config file: read at the start and after each change. An invalid file
 * is logged, and its last valid mappings stay in use.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, rfc3339, sleep } from "../core/clock.ts";
import { codeOf, messageOf } from "../core/errors.ts";
import { mappingFileBytesMax, mappingFilesMax, mappingsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { createCoalesced } from "../core/serial-queue.ts";
import type { Mapping, MappingParams } from "../core/token.ts";
import { type MappingCheck, MappingFileFault, readMappingsToml } from "./mapping-file.ts";
import { watchFolder } from "./watch-files.ts";

export interface FileMapping extends Mapping {
  /** The name of its file in the folder. */
  readonly file: string;
}

export type MappingFiles = ReturnType<typeof createMappingFiles>;

export interface MappingJudge {
  readonly check: MappingCheck;
  /** A sentence that says which limit these mappings exceed together; undefined if they exceed none. */
  excessOf(mappings: readonly MappingParams[]): string | undefined;
}

interface MappingFilesOptions {
  /** The folder may be absent. */
  readonly folder: string;
  /** Files from elsewhere, which come after those of the folder. `reload` reads them again. */
  readonly shared?: () => readonly { readonly name: string; readonly source: string }[];
  readonly log: Log;
  readonly clock: Clock;
}

// Editors write in several steps, and git writes one file after another.
const gatherMs = 150;

export function createMappingFiles({ folder, shared = () => [], log, clock }: MappingFilesOptions) {
  let files = new Map<string, ReadFile>();
  let watching: Disposable | undefined;
  let timer: Disposable | undefined;
  let closed = false;
  let readAgain = async () => {};

  return {
    /**
     * Reads all files and watches them. Calls `changed` with all mappings, in the order of file names and within the files,
     * before it resolves and after each change.
     */
    async start(judge: MappingJudge, changed: (mappings: readonly FileMapping[]) => void): Promise<void> {
      const breathe = breather(clock);
      const read = async () => {
        const next = await readAll({ folder, shared, earlier: files, judge, log, breathe, clock });
        if (closed) return;
        const isNews = !isSame(files, next);
        files = next;
        if (isNews) changed([...files.values()].flatMap(({ mappings }) => mappings));
      };
      readAgain = createCoalesced(async () => {
        timer?.[Symbol.dispose]();
        timer = undefined;
        if (!closed)
          await read().catch((error) =>
            log.warn("mappings", "cannot read the folder", { error: messageOf(error) }),
          );
      });
      watching = watchFolder(folder, () => {
        if (closed) return;
        timer?.[Symbol.dispose]();
        timer = clock.after(gatherMs, () => void readAgain());
      });
      await readAgain();
    },
    /** Reads the files that changed. */
    reload: (): Promise<void> => readAgain(),
    close(): void {
      closed = true;
      timer?.[Symbol.dispose]();
      watching?.[Symbol.dispose]();
    },
  };
}

/** The result of the last read of a file. */
interface ReadFile {
  /** A text that differs after each change of the file. */
  readonly mark: string;
  /** The mappings of its last valid version. */
  readonly mappings: readonly FileMapping[];
  /** The mappings of each file before it, if these files left no room for it. */
  readonly beside?: readonly (readonly FileMapping[])[];
}

interface Reading extends Required<MappingFilesOptions> {
  readonly earlier: ReadonlyMap<string, ReadFile>;
  readonly judge: MappingJudge;
  readonly breathe: () => Promise<void>;
}

/** A file that may have to be read. */
interface SourceFile {
  readonly name: string;
  readonly mark: string;
  readonly modifiedMs: number;
  readonly text: () => Promise<string>;
}

async function readAll(reading: Reading): Promise<Map<string, ReadFile>> {
  const { earlier, judge, log } = reading;
  const files = new Map<string, ReadFile>();
  const admitted: FileMapping[] = [];
  for (const file of await sourceFiles(reading)) {
    const { name, mark } = file;
    const before = earlier.get(name);
    const beside = [...files.values()].map(({ mappings }) => mappings);
    if (before?.mark === mark && isAsRefused(before, beside)) {
      files.set(name, before);
      admitted.push(...before.mappings);
      continue;
    }
    let why: string | undefined;
    try {
      const mappings = await readOne(reading, file);
      why = judge.excessOf([...admitted, ...mappings]);
      if (why !== undefined) throw new Error(why);
      files.set(name, { mark, mappings });
      admitted.push(...mappings);
      log.info("mappings", "read a file", { file: name, mappings: mappings.length });
    } catch (error) {
      const line = error instanceof MappingFileFault ? error.line : undefined;
      const kept = before?.mappings ?? [];
      const reason = messageOf(error);
      log.error("mappings", "refused a file", { file: name, line, reason, kept: kept.length });
      files.set(name, { mark, mappings: kept, ...(why === undefined ? {} : { beside }) });
      admitted.push(...kept);
    }
  }
  return files;
}

/** False for a file that other files left no room for, if these have changed since then. */
function isAsRefused({ beside }: ReadFile, now: readonly (readonly FileMapping[])[]): boolean {
  return beside === undefined || (beside.length === now.length && beside.every((one, at) => one === now[at]));
}

async function sourceFiles({ folder, shared, log, clock }: Reading): Promise<readonly SourceFile[]> {
  const own = (await namesIn(folder, log)).map(async (name) => {
    const path = join(folder, name);
    return { name, ...(await markOf(path)), text: () => readText(path) };
  });
  const others = shared().map(({ name, source }) => ({
    name: `shared/${name}`,
    mark: source,
    modifiedMs: clock.now(),
    text: async () => source,
  }));
  return [...(await Promise.all(own)), ...others];
}

async function namesIn(folder: string, log: Log): Promise<readonly string[]> {
  try {
    const names = (await readdir(folder)).filter((name) => /^[^.].*\.toml$/.test(name)).sort();
    if (names.length > mappingFilesMax)
      log.warn("mappings", `more than ${mappingFilesMax} files: the last by name are not read`, { folder });
    return names.slice(0, mappingFilesMax);
  } catch (error) {
    // An absent folder holds no mappings; the watch notices when it appears.
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** A file that this user may not read also has a mark, so it is refused once and not at every read. */
async function markOf(path: string): Promise<{ mark: string; modifiedMs: number }> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(path);
    return { mark: `${ino} ${size} ${mtimeMs} ${ctimeMs}`, modifiedMs: mtimeMs };
  } catch (error) {
    return { mark: messageOf(error), modifiedMs: 0 };
  }
}

async function readOne(
  { judge, breathe }: Reading,
  { name, modifiedMs, text }: SourceFile,
): Promise<readonly FileMapping[]> {
  const source = await text();
  const added = rfc3339(Math.trunc(modifiedMs));
  const { mappings, faults } = await readMappingsToml(source, judge.check, breathe);
  const [fault] = faults;
  if (fault !== undefined) throw fault;
  if (mappings.length > mappingsMax)
    throw new Error(`it holds ${mappings.length} mappings, and ${mappingsMax} is the most`);
  return mappings.map(({ params }, place) => ({ ...params, id: idOf(name, place), added, file: name }));
}

async function readText(path: string): Promise<string> {
  const file = await stat(path);
  if (!file.isFile()) throw new Error("it is not a file");
  if (file.size > mappingFileBytesMax)
    throw new Error(`it is larger than ${mappingFileBytesMax} bytes: divide it into several`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (error) {
    throw error instanceof TypeError ? new Error("it is not UTF-8 text", { cause: error }) : error;
  }
}

const placesBits = 14; // 2^14 places are more than the mappings that a file may hold.

/**
 * The id of a mapping of a file: negative, because ids of the database are positive. It is stable while the file keeps its
 * name and the mapping its place. From high to low: 32 bits of the name (FNV-1a), 14 bits of the place. A number holds
 * these 46 bits exactly.
 */
function idOf(file: string, place: number): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(file)) hash = Math.imul(hash ^ byte, 0x01000193);
  return -((hash >>> 0) * 2 ** placesBits + place + 1);
}

function isSame(one: ReadonlyMap<string, ReadFile>, other: ReadonlyMap<string, ReadFile>): boolean {
  return (
    one.size === other.size && [...one].every(([name, file]) => other.get(name)?.mappings === file.mappings)
  );
}

/** Returns a function that yields to other work if the last yield was more than 2 ms ago. */
export function breather(clock: Clock): () => Promise<void> {
  const workMs = 2;
  let startedMs = performance.now();
  return async () => {
    if (performance.now() - startedMs < workMs) return;
    await sleep(clock, 0);
    startedMs = performance.now();
  };
}
