/**
 * Indexing and searching libraries of 250,000 and 1,000,000 files, in one run. Beside it, if installed, `find`, `updatedb`
 * and `plocate`, and SQLite's `LIKE` and trigram index over the same names. The search and the run of the index are those
 * of the service.
 */
import { Database } from "bun:sqlite";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { fold, foldedWords } from "../../src/media/index/fold.ts";
import { createMedia, type MediaLibrary } from "../../src/media/media-library.ts";
import { seededRandom } from "../emulators/emulated-line.ts";
import { defaultConfig } from "../helpers/defaults.ts";
import { libraryPaths, makeLibrary } from "../helpers/library.ts";
import { type Aim, judgedLine, line, quantile, spread, title } from "./figures.ts";
import { measureService } from "./media-service.ts";
import { childrenOf, memoryOf } from "./memory.ts";

const queriesPerRun = 1000;

interface Size {
  readonly files: number;
  readonly searchMsAim: number;
}

const smaller = 250_000;
const sizes: readonly Size[] = [
  { files: smaller, searchMsAim: 5 },
  { files: 1_000_000, searchMsAim: 15 },
];

/** The seconds that the smaller library took, with which those of the larger one are compared. */
const secondsOfSmaller = { first: Number.NaN, again: Number.NaN };
const timesMax = 5;
const growth = "the memory of the run, which outgrows the caches";

/** Prints all figures; `only` limits it to libraries of at most that many files. */
export async function measureMedia(only = Number.POSITIVE_INFINITY): Promise<void> {
  for (const size of sizes.filter(({ files }) => files <= only)) {
    const folder = await mkdtemp(join(tmpdir(), "tapdeck-bench-"));
    try {
      await measureSize(folder, size);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

async function measureSize(folder: string, size: Size): Promise<void> {
  const root = join(folder, "media");
  const made = makeLibrary(root, size.files);
  title(`Media: ${made.toLocaleString("en")} files`);
  // A higher load than the number of processors shows that the machine also does other work.
  line("load of the machine before", `${loadavg()[0]?.toFixed(1)} on ${cpus().length} processors`);
  await measureWalk(root, folder);
  const media = createMedia({
    folder: join(folder, "data"),
    folders: () => ({ roots: [root], own: [] }),
    prefer: () => defaultConfig.systems.prefer,
    emit: () => {},
    clock: systemClock,
    log: silentLog,
  });
  media.status();
  line("this process before", memoryLine([process.pid]));
  const first = await measureIndex(media);
  const rate = made / first.seconds;
  const isSmaller = size.files === smaller;
  if (isSmaller) secondsOfSmaller.first = first.seconds;
  const anew = `${first.seconds.toFixed(2)} s, ${Math.round(rate).toLocaleString("en")} files/s`;
  if (isSmaller)
    judgedLine("index made again", anew, rate, {
      figure: 100_000,
      unit: "files/s",
      isLeast: true,
      bound: "one core: the walk by readdir, sorting, and SQLite's rows",
    });
  else judgeGrowth("index made again", anew, first.seconds / secondsOfSmaller.first);
  judgedLine("  memory of its process at most", first.text, first.rss, memoryAim(isSmaller));
  const again = await measureIndex(media);
  if (isSmaller) secondsOfSmaller.again = again.seconds;
  const unchanged = `${again.seconds.toFixed(2)} s`;
  if (isSmaller)
    judgedLine("index run again, nothing changed", unchanged, again.seconds, {
      figure: 1,
      unit: "s",
      bound: "the walk by readdir (see find) and the check of the old index",
    });
  else judgeGrowth("index run again, nothing changed", unchanged, again.seconds / secondsOfSmaller.again);
  line("  memory of its process at most", again.text);
  line("index on disk", `${(Bun.file(join(folder, "data/media.db")).size / 1e6).toFixed(1)} MB`);
  Bun.gc(true);
  line("this process with the index", memoryLine([process.pid]));
  measureSearch(media, size);
  await measureTitles(media);
  Bun.gc(true);
  line("this process after the searches", memoryLine([process.pid]));
  await media.close();
  measureRivals(folder, size);
  await measureService(root, folder, !isSmaller);
}

async function measureWalk(root: string, folder: string): Promise<void> {
  // `find` runs twice, because the first run warms the kernel's caches.
  for (const what of ["find, first", "find, caches warm"]) {
    const started = performance.now();
    await Bun.spawn(["find", root, "-name", "nothing"], { stdout: "ignore" }).exited;
    line(what, `${((performance.now() - started) / 1000).toFixed(2)} s`);
  }
  if (Bun.which("updatedb") === null || Bun.which("plocate") === null) {
    line("updatedb, plocate", "not installed");
    return;
  }
  const database = join(folder, "plocate.db");
  const argv = [
    "updatedb",
    "--output",
    database,
    "--database-root",
    root,
    "--require-visibility",
    "0",
    "--prunepaths",
    "",
  ];
  for (const what of ["updatedb, first", "updatedb, again"]) {
    const started = performance.now();
    await Bun.spawn(argv, { stdout: "ignore" }).exited;
    line(what, `${((performance.now() - started) / 1000).toFixed(2)} s`);
  }
  const samples: number[] = [];
  for (const query of queriesOf(100)) {
    const started = performance.now();
    const words = foldedWords(query);
    await Bun.spawn(["plocate", "--database", database, "--ignore-case", "--basename", "--count", ...words], {
      stdout: "ignore",
    }).exited;
    samples.push(performance.now() - started);
  }
  line("plocate --count, its start included", spread(samples, "ms"));
}

async function measureIndex(
  media: MediaLibrary,
): Promise<{ readonly seconds: number; readonly rss: number; readonly text: string }> {
  let peak = { rss: 0, anon: 0 };
  const watch = setInterval(() => {
    const now = memoryOf(childrenOf(process.pid));
    peak = { rss: Math.max(peak.rss, now.rss), anon: Math.max(peak.anon, now.anon) };
  }, 10);
  const started = performance.now();
  await media.index([]);
  clearInterval(watch);
  const seconds = (performance.now() - started) / 1000;
  return { seconds, rss: peak.rss, text: `${peak.rss} MB resident, of that ${peak.anon} MB its own` };
}

function measureSearch(media: MediaLibrary, { searchMsAim }: Size): void {
  for (const [what, maxResults] of [
    ["search, first round", 250],
    ["search, 250 results", 250],
    ["search, 25 results", 25],
    ["search, 1,000 results", 1000],
  ] as const) {
    const samples = queriesOf(queriesPerRun).map((query) => {
      const started = performance.now();
      media.search({ query, systems: [], maxResults });
      return performance.now() - started;
    });
    const aim = {
      figure: searchMsAim,
      unit: "ms at p99",
      bound: "joining the lists of files of all words that hold a short piece",
    };
    const text = `${spread(samples, "ms")}, most ${quantile(samples, 1).toFixed(2)} ms`;
    judgedLine(what, text, quantile(samples, 0.99), maxResults === 250 ? aim : undefined);
  }
}

/** Titles of cards, looked up in the system with the most files, and the longest wait of others meanwhile. */
async function measureTitles(media: MediaLibrary): Promise<void> {
  const names = [...libraryPaths(20_000)]
    .filter((path) => path.startsWith("SNES/"))
    .map((path) => basename(path).replace(/ *\(.*$/, ""))
    .filter((name) => name.length >= 10)
    .slice(0, 300);
  for (const [what, spelt] of [
    ["title that is there", (name: string) => name],
    ["title with a slip", (name: string) => `${name.slice(0, 4)}${name.slice(5)}`],
    ["title that is not there", (name: string) => `Qzxv ${[...name].reverse().join("")}`],
  ] as const) {
    const samples: number[] = [];
    let waitedMs = 0;
    let isOver = false;
    let turnedMs = performance.now();
    const turn = () => {
      waitedMs = Math.max(waitedMs, performance.now() - turnedMs);
      turnedMs = performance.now();
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    for (const name of names) {
      const started = performance.now();
      await media.findTitle("SNES", spelt(name));
      samples.push(performance.now() - started);
      // Other work has a turn of the event loop between two look-ups.
      await new Promise((resolve) => setImmediate(resolve));
    }
    isOver = true;
    const text = `${spread(samples, "ms")}, others waited ${waitedMs.toFixed(2)} ms at most`;
    judgedLine(what, text, waitedMs, {
      figure: 5,
      unit: "ms of waiting",
      bound: "one piece of titles, and what else the machine does",
    });
  }
}

function judgeGrowth(what: string, text: string, times: number): void {
  const aim = { figure: timesMax, unit: `times ${smaller.toLocaleString("en")}`, bound: growth };
  judgedLine(what, `${text}, ${times.toFixed(1)} times`, times, Number.isNaN(times) ? undefined : aim);
}

function memoryAim(isSmaller: boolean): Aim | undefined {
  const bound = "the names and their keys, held while they are sorted";
  return isSmaller ? { figure: 140, unit: "MB", bound } : undefined;
}

/** The structures that were not chosen, over the same folded names, and their cost. */
function measureRivals(folder: string, { files }: Size): void {
  const names = [...libraryPaths(files)].map((path) => fold(basename(path).replace(/\.\w+$/, "")));
  const queries = queriesOf(60).map(foldedWords);
  const text = Buffer.from(`${names.join("\n")}\n`);
  line(
    "rival: one buffer and indexOf, exact totals",
    spread(
      queries.map((words) => timeOf(() => scan(text, words))),
      "ms",
    ),
  );
  const database = new Database(join(folder, "rival.db"));
  database.run("PRAGMA journal_mode = OFF");
  database.run("CREATE VIRTUAL TABLE name USING fts5 (text, tokenize = 'trigram', detail = 'none')");
  database.run("CREATE TABLE plain (text TEXT)");
  fill(database, "INSERT INTO plain VALUES (?)", names);
  const building = timeOf(() => fill(database, "INSERT INTO name VALUES (?)", names));
  const like = (words: readonly string[]) => words.map(() => "text LIKE ?").join(" AND ");
  const ask = (table: string, words: readonly string[]) => {
    const bound = words.map((word) => `%${word.replace(/[%_]/g, "_")}%`);
    database.query(`SELECT count(*) FROM ${table} WHERE ${like(words)}`).get(...bound);
    database.query(`SELECT text FROM ${table} WHERE ${like(words)} ORDER BY text LIMIT 250`).all(...bound);
  };
  for (const [what, table] of [
    ["rival: SQLite LIKE", "plain"],
    ["rival: FTS5 trigram", "name"],
  ] as const) {
    const samples = queries.slice(0, 30).map((words) => timeOf(() => ask(table, words)));
    line(`${what}, total and 250 by name`, spread(samples, "ms"));
  }
  database.close();
  const bytes = Bun.file(join(folder, "rival.db")).size;
  line(
    "rival: FTS5 trigram, building and size",
    `${(building / 1000).toFixed(1)} s, ${(bytes / 1e6).toFixed(0)} MB`,
  );
}

function fill(database: Database, sql: string, names: readonly string[]): void {
  const insert = database.query(sql);
  database.transaction(() => {
    for (const name of names) insert.run(name);
  })();
}

/**
 * Names with all words are counted: the first word is searched in the buffer, and the others in each line that was found.
 */
function scan(text: Buffer, [first = "", ...rest]: readonly string[]): number {
  const sought = Buffer.from(first);
  let total = 0;
  for (let at = text.indexOf(sought); at >= 0; ) {
    const [start, end] = [text.lastIndexOf(10, at) + 1, text.indexOf(10, at)];
    const name = text.toString("utf8", start, end);
    if (rest.every((word) => name.includes(word))) total++;
    at = text.indexOf(sought, end);
  }
  return total;
}

function timeOf(run: () => void): number {
  const started = performance.now();
  run();
  return performance.now() - started;
}

/** One to five pieces of one name, of one to eight letters; one piece in twenty is in no name. */
function queriesOf(count: number): readonly string[] {
  const random = seededRandom(7);
  const below = (limit: number) => Math.floor(random() * limit);
  const names = [...libraryPaths(20_000)].map((path) => basename(path).replace(/\.\w+$/, ""));
  return Array.from({ length: count }, () => {
    const words = (names[below(names.length)] ?? "").split(" ");
    const piece = () => {
      const word = words[below(words.length)] ?? "";
      const length = 1 + below(8);
      const start = below(Math.max(1, word.length - length + 1));
      return random() < 0.05 ? "qxzv" : word.slice(start, start + length);
    };
    return Array.from({ length: 1 + below(5) }, piece).join(" ");
  });
}

function memoryLine(pids: readonly number[]): string {
  const { rss, anon } = memoryOf(pids);
  return `${rss} MB resident, of that ${anon} MB its own`;
}
