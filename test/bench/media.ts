/**
 * Indexing and searching libraries of 250,000 and 1,000,000 files, beside `find`, `updatedb` and `plocate` where they are
 * installed, and SQLite's `LIKE` and trigram index over the same names, in one run. The search runs as the service runs
 * it; the run of the index is the same process that the service starts.
 */
import { Database } from "bun:sqlite";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { seededRandom } from "../../drivers/emulator/faults.ts";
import { defaultConfig } from "../../src/config/shape.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { fold, foldedWords } from "../../src/media/fold.ts";
import { createMedia, type MediaLibrary } from "../../src/media/media.ts";
import { libraryPaths, makeLibrary } from "../helpers/library.ts";
import { line, quantile, spread, title } from "./figures.ts";
import { measureService } from "./media-service.ts";
import { childrenOf, memoryOf } from "./memory.ts";

const queriesPerRun = 1000;

interface Size {
  readonly files: number;
  readonly indexAim: string;
  readonly againAim: string;
  readonly searchAim: string;
  readonly memoryAim: string;
}

const sizes: readonly Size[] = [
  {
    files: 250_000,
    indexAim: "100,000 files/s",
    againAim: "1 s",
    searchAim: "p99 5 ms",
    memoryAim: "140 MB",
  },
  {
    files: 1_000_000,
    indexAim: "5 times 250,000",
    againAim: "5 times 250,000",
    searchAim: "p99 15 ms",
    memoryAim: "",
  },
];

/** Prints all figures; `only` limits it to libraries of at most so many files. */
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
  const rate = `${Math.round(made / first.seconds).toLocaleString("en")} files/s`;
  line("index made anew", `${first.seconds.toFixed(2)} s, ${rate}`, size.indexAim);
  line(
    "  memory of its process at most",
    `${first.peak}`,
    size.memoryAim === "" ? "" : `${size.memoryAim} with the service`,
  );
  const again = await measureIndex(media);
  line("index run again, nothing changed", `${again.seconds.toFixed(2)} s`, size.againAim);
  line("  memory of its process at most", again.peak);
  line("index on disk", `${(Bun.file(join(folder, "data/media.db")).size / 1e6).toFixed(1)} MB`);
  Bun.gc(true);
  line("this process with the index", memoryLine([process.pid]));
  measureSearch(media, size);
  Bun.gc(true);
  line("this process after the searches", memoryLine([process.pid]));
  await media.close();
  measureRivals(folder, size);
  await measureService(root, folder, size.memoryAim === "");
}

async function measureWalk(root: string, folder: string): Promise<void> {
  // Twice: the first warms the kernel's caches for everybody.
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
): Promise<{ readonly seconds: number; readonly peak: string }> {
  let peak = { rss: 0, anon: 0 };
  const watch = setInterval(() => {
    const now = memoryOf(childrenOf(process.pid));
    peak = { rss: Math.max(peak.rss, now.rss), anon: Math.max(peak.anon, now.anon) };
  }, 10);
  const started = performance.now();
  await media.index([]);
  clearInterval(watch);
  const seconds = (performance.now() - started) / 1000;
  return { seconds, peak: `${peak.rss} MB resident, of that ${peak.anon} MB its own` };
}

function measureSearch(media: MediaLibrary, { searchAim }: Size): void {
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
    line(
      what,
      `${spread(samples, "ms")}, most ${quantile(samples, 1).toFixed(2)} ms`,
      maxResults === 250 ? searchAim : "",
    );
  }
}

/** The structures that were not chosen, over the same folded names, and what they cost. */
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

/** Names with all words, counted: the first word is looked for in the buffer, the rest in each line found. */
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
