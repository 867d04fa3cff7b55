/**
 * Mappings: the worst set that is accepted, in the database and again in files, and the wait of others while it is made.
 * Times are processor time of the main thread, which other programs do not lengthen.
 */
import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMappingFiles } from "../../src/config/mapping-files.ts";
import { systemClock } from "../../src/core/clock.ts";
import { ServiceError } from "../../src/core/errors.ts";
import {
  mappingFileBytesMax,
  partialMappingsMax,
  patternFieldCharsMax,
  regexMappingsMax,
} from "../../src/core/limits.ts";
import { silentLog } from "../../src/core/log.ts";
import type { MappingParams, TokenParams } from "../../src/core/token.ts";
import { createMapper, type Mapper } from "../../src/mappings/mapper.ts";
import { createRegexes, isFault } from "../../src/mappings/regex.ts";
import { createDurableWrites } from "../../src/store/durable-writes.ts";
import { createMappings } from "../../src/store/mapping-table.ts";
import { createTables } from "../../src/store/migrations.ts";
import { hostileFamilies, hostileTexts } from "../helpers/hostile-regexes.ts";
import { line, quantile, spread, title } from "./figures.ts";

const tapsPerText = 25;

export async function measureWorstMappings(): Promise<void> {
  title(
    "Mappings: the worst sets accepted, in the database and again in files; fields of 16 KiB; processor time",
  );
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-bench-mappings-"));
  const results: Result[] = [];
  for (const [name, family] of Object.entries(hostileFamilies)) {
    const set = acceptedOf(family);
    // Each family starts without the garbage of another.
    Bun.gc(true);
    if (set.length > 0) results.push({ name, rules: set.length, ...(await measureSet(set, folder)) });
  }
  await rm(folder, { recursive: true, force: true });
  const idle = await longestWait(async () => {
    await new Promise((resolve) => setTimeout(resolve, 1000));
  });
  const slowest = worstOf(results, ({ taps }) => quantile(taps, 0.5));
  line(`a tap: ${slowest.name}, 2 x ${slowest.rules}`, spread(slowest.taps, "ms"), "20 ms");
  line("a wait of others in a second without mappings", `the longest ${idle.toFixed(1)} ms`);
  for (const [what, waitOf] of [
    ["while the set is made over the API", ({ making }: Result) => making],
    ["while a start reads it", ({ starting }: Result) => starting],
    ["while its files are read again", ({ reloading }: Result) => reloading],
  ] as const) {
    const longest = worstOf(results, waitOf);
    const median = quantile(results.map(waitOf), 0.5);
    line(
      `a wait of others ${what}`,
      `the longest ${waitOf(longest).toFixed(1)} ms (${longest.name}), the median family's ${median.toFixed(1)} ms`,
      "50 ms",
    );
  }
  const start = worstOf(results, ({ startMs }) => startMs);
  line("a start until every mapping counts", `the longest ${start.startMs.toFixed(0)} ms (${start.name})`);
}

interface Measured {
  readonly taps: readonly number[];
  /** Longest waits in ms. */
  readonly making: number;
  readonly starting: number;
  readonly reloading: number;
  readonly startMs: number;
}

interface Result extends Measured {
  readonly name: string;
  readonly rules: number;
}

function worstOf(results: readonly Result[], figure: (result: Result) => number): Result {
  const [worst] = results.toSorted((a, b) => figure(b) - figure(a));
  if (worst === undefined) throw new Error("no family of expressions is accepted");
  return worst;
}

function acceptedOf(family: (nth: number) => string): readonly MappingParams[] {
  const regexes = createRegexes();
  const patterns = Array.from({ length: regexMappingsMax }, (_, nth) => family(nth));
  if (patterns.some((pattern) => isFault(regexes.get(pattern)))) return [];
  return patterns.map((pattern) => ({
    enabled: true,
    label: "",
    type: "text",
    match: "regex",
    pattern,
    override: "x",
  }));
}

/** Measures the set together with as many partial patterns as are accepted, each of which almost occurs in the text. */
async function measureSet(set: readonly MappingParams[], folder: string): Promise<Measured> {
  const partial = Array.from(
    { length: partialMappingsMax },
    (_, nth): MappingParams => ({
      enabled: true,
      label: "",
      type: "text",
      match: "partial",
      pattern: "a".repeat(patternFieldCharsMax / 2 - 4) + String(nth).padStart(4, "0"),
      override: "x",
    }),
  );
  const all = [...set, ...partial];
  using database = new Database(":memory:", { strict: true });
  createTables(database);
  const mappings = createMappings(database, createDurableWrites(database, { onWritten() {}, onDamage() {} }));
  const noFiles = { start: async () => {}, reload: async () => {}, close() {} };
  const parts = { store: { mappings }, log: silentLog, clock: systemClock };
  const empty = await createMapper({ ...parts, files: noFiles });
  const making = await longestWait(async () => {
    for (const one of all) {
      add(empty, one);
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  empty.close();

  const place = join(folder, "mappings");
  await rm(place, { recursive: true, force: true });
  await mkdir(place);
  await writeFiles(place, all);
  const files = createMappingFiles({ folder: place, log: silentLog, clock: systemClock });
  const started: Mapper[] = [];
  const beganMs = threadMs();
  const starting = await longestWait(async () => {
    started.push(await createMapper({ ...parts, files }));
  });
  const startMs = threadMs() - beganMs;
  const [mapper] = started;
  if (mapper === undefined) throw new Error("it was started");
  const taps = Object.values(hostileTexts).flatMap((text) => tapsOf(mapper, text));
  const reloading = await longestWait(async () => {
    await rm(join(place, "0.toml"));
    await until(() => mapper.list().length < 2 * all.length);
    await writeFiles(place, all);
    await until(() => mapper.list().length === 2 * all.length);
  });
  mapper.close();
  return { taps, making, starting, reloading, startMs };
}

function add(mapper: Mapper, params: MappingParams): void {
  try {
    mapper.add(params);
  } catch (error) {
    // All patterns together have a limit of their own, and this set fills it.
    if (!(error instanceof ServiceError && error.data?.limit === "mappingsCharsMax")) throw error;
  }
}

async function writeFiles(folder: string, all: readonly MappingParams[]): Promise<void> {
  let text = "";
  let files = 0;
  for (const { type, match, pattern, override } of all) {
    const table = `[[mapping]]\ntype = "${type}"\nmatch = "${match}"\npattern = ${JSON.stringify(pattern)}\noverride = "${override}"\n`;
    if (text.length + table.length > mappingFileBytesMax / 4) {
      await writeFile(join(folder, `${files++}.toml`), text);
      text = "";
    }
    text += table;
  }
  await writeFile(join(folder, `${files}.toml`), text);
}

async function until(isTrue: () => boolean): Promise<void> {
  const endMs = performance.now() + 60_000;
  while (!isTrue()) {
    if (performance.now() > endMs) throw new Error("the files were not read within a minute");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function tapsOf(mapper: Mapper, text: string): readonly number[] {
  const ascii = Array.from(text, (char) => ((char.codePointAt(0) ?? 0) % 16).toString(16)).join("");
  return Array.from({ length: tapsPerText }, (_, nth) => {
    const token: TokenParams = { type: "", uid: `04${nth}`, text: text.slice(nth), data: ascii.slice(nth) };
    const began = process.cpuUsage();
    mapper.map(token);
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1000;
  });
}

/** Time that the main thread was on a processor so far, in ms (Documentation/scheduler/sched-stats.rst, first field). */
function threadMs(): number {
  return Number(readFileSync("/proc/self/schedstat", "latin1").split(" ")[0]) / 1e6;
}

/** The longest time that a due timer waited for this process during `work`. */
async function longestWait(work: () => Promise<void>): Promise<number> {
  const state = { isDone: false };
  const working = work().finally(() => {
    state.isDone = true;
  });
  let longest = 0;
  while (!state.isDone) {
    const dueMs = threadMs();
    await new Promise((resolve) => setTimeout(resolve, 0));
    longest = Math.max(longest, threadMs() - dueMs);
  }
  await working;
  return longest;
}
