/**
 * The cost of the arm64 binary on a Cortex-A53, in instructions of its main thread, which vary far less than time.
 * `figures.json` has the accepted ones, and a figure that is too far above its own fails. With the environment variable ACCEPT, a
 * reason, the measured figures become the accepted ones.
 *
 * The runtime compiles and collects beside the main thread, so the same program does not always run the same instructions. The
 * least of several runs counts, and each figure has a margin above the spread that was seen, also next to four busy loops. An
 * index took 660 to 960 million instructions next to other work. It is counted on one processor, where the threads take
 * turns: there it took 685 to 707 million next to any work.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeFiles } from "../helpers/library.ts";
import { makePlace, noReaders, type Place, type Running, startTapdeck } from "../helpers/tapdeck.ts";

const root = join(import.meta.dir, "../..");
const binary = join(root, "dist/tapdeck-linux-arm64");
const folder = join(root, "build/cost");
const figuresPath = join(import.meta.dir, "figures.json");
const libraries = "/usr/aarch64-linux-gnu";
const emulator = [
  ...["qemu-aarch64", "-cpu", "cortex-a53"],
  ...(existsSync(libraries) ? ["-L", libraries] : []),
];

/**
 * The number of runs to accept new figures. The gate needs one run; if a figure is too high, it makes more, because a busy
 * machine may have disturbed the whole run.
 */
const runs = 2;
const moreRuns = 3;
/** The number of starts in each run. A start varies by 15 %, but the least of many by 2 %. */
const starts = 8;
const indexes = 2;
const files = 10_000;
const taps = 60;
const searches = 40;

const names = {
  start: "from the start of the program to the first pong, with a new data folder",
  index: `an index of ${files} files`,
  tap: "a tap, to the end of its player",
  search: `a search in ${files} files`,
} as const;
/** The share of the accepted figure above which one fails. */
const shareMax = { start: 1.06, index: 1.07, tap: 1.35, search: 1.07 } as const;
type Name = keyof typeof names;
type Figures = Readonly<Record<Name, number>>;
type Accepted = Record<Name, { instructions: number; reason: string }>;

const config = `${noReaders}
[log]
console = false
[[launchers]]
id = "none"
systems = ["SNES"]
command = ["/bin/true", "{path}"]
`;

/** Compiles the plug-in for the version of the interface that this QEMU has. */
async function makePlugin(): Promise<string> {
  await mkdir(folder, { recursive: true });
  const plugin = join(folder, "count.so");
  const flags = ["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", plugin];
  const tried: string[] = [];
  for (let api = 1; api <= 8; api++) {
    run(["gcc", ...flags, `-DAPI=${api}`, join(import.meta.dir, "count.c")]);
    const out = join(folder, "try.counts");
    const { exitCode, stderr } = Bun.spawnSync([...counted(plugin, out), binary, "version"]);
    if (exitCode === 0) return plugin;
    tried.push(stderr.toString().trim());
  }
  throw new Error(`qemu-aarch64 takes no plug-in: ${tried.join("; ")}`);
}

function run(command: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...command]);
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr}`);
}

const counted = (plugin: string, out: string) => [...emulator, "-plugin", `${plugin},to=${out}`];

/** The number of instructions of the main thread so far. */
async function countIn(path: string): Promise<number> {
  const bytes = await readFile(path);
  return Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
}

async function measure(plugin: string): Promise<Figures> {
  await using place = await makePlace(config);
  makeFiles(
    join(place.folder, "media"),
    Array.from({ length: files }, (_, at) => `SNES/Game ${at} Super (USA).sfc`),
  );
  const out = join(place.folder, "counts");
  const index = await leastOf(indexes, () => measureIndex(plugin, place, out));
  const start = await leastOf(starts, () => measureStart(plugin));
  await using service = await startTapdeck(place, [...counted(plugin, out), binary]);
  await service.client.ping();
  const costOf = async (act: () => Promise<unknown>) => {
    const before = await countIn(out);
    await act();
    return (await countIn(out)) - before;
  };
  const found = await leastOf(searches, (at) => costOf(() => search(service, at)));
  return { start, index, search: found, tap: await leastOf(taps, () => costOf(() => tap(service))) };
}

/** The least of several counts, because a timer that fires meanwhile adds to one of them. */
async function leastOf(times: number, cost: (at: number) => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < times; at++) least = Math.min(least, await cost(at));
  return least;
}

/** Counts the instructions from the start of the program to the first pong, with a new data folder. */
async function measureStart(plugin: string): Promise<number> {
  await using place = await makePlace(config);
  const out = join(place.folder, "counts");
  await using service = await startTapdeck(place, [...counted(plugin, out), binary]);
  await service.client.ping();
  return await countIn(out);
}

/** Counts the instructions of a first index. */
async function measureIndex(plugin: string, place: Place, out: string): Promise<number> {
  const path = join(place.folder, "media.db");
  for (const end of ["", "-wal", "-shm"]) await rm(path + end, { force: true });
  await rm(out, { force: true });
  const job = {
    path,
    folders: { roots: [join(place.folder, "media")], own: [] },
    systems: [],
  };
  const onOne = ["taskset", "--cpu-list", "0"];
  const child = Bun.spawn([...onOne, ...counted(plugin, out), binary, "index-job"], {
    stdin: new Blob([JSON.stringify(job)]),
    stdout: "pipe",
    stderr: "inherit",
  });
  const said = await new Response(child.stdout).text();
  expect([await child.exited, said]).toEqual([0, expect.stringContaining(`"files":${files},"changed":true`)]);
  return await countIn(out);
}

async function search({ client }: Running, at: number): Promise<void> {
  const { total } = await client.call("media.search", { query: `game ${at}`, maxResults: 20 });
  expect(total).toBeGreaterThan(0);
}

async function tap({ client, heard }: Running): Promise<void> {
  await client.call("tokens.scan", { text: "SNES/Game 7 Super (USA).sfc", uid: "04aa", duration: 1 });
  await heard.next("media.stopped");
  await heard.next("launch.finished");
}

const keys = Object.keys(names) as Name[];

test("no figure has risen by more than its margin", async () => {
  const plugin = await makePlugin();
  const accepted: Accepted = JSON.parse(await readFile(figuresPath, "utf8"));
  const limit = (name: Name) => accepted[name].instructions * shareMax[name];
  const reason = process.env.ACCEPT ?? "";
  const all: Figures[] = [];
  const least = (name: Name) => Math.min(...all.map((one) => one[name]));
  const risen = () => keys.filter((name) => least(name) > limit(name));
  const fewest = reason === "" ? 1 : runs;
  while (all.length < fewest || (reason === "" && risen().length > 0 && all.length < fewest + moreRuns))
    all.push(await measure(plugin));
  for (const name of keys) {
    const { instructions } = accepted[name];
    const change = `${((least(name) / instructions - 1) * 100).toFixed(1)} %`;
    const spread = all.map((one) => (one[name] / 1e6).toFixed(2)).join(", ");
    process.stdout.write(
      `${names[name]}: ${(least(name) / 1e6).toFixed(2)} million instructions (${change}; runs: ${spread})\n`,
    );
  }
  if (reason !== "") {
    for (const name of keys) {
      const isOther = Math.abs(least(name) / accepted[name].instructions - 1) > shareMax[name] - 1;
      const why = isOther ? reason : accepted[name].reason;
      accepted[name] = { instructions: least(name), reason: why };
    }
    await writeFile(figuresPath, `${JSON.stringify(accepted, null, 2)}\n`);
    return;
  }
  const sentences = risen().map(
    (name) =>
      `${names[name]} takes ${least(name)} instructions, and ${accepted[name].instructions} were accepted`,
  );
  if (sentences.length > 0)
    throw new Error(`${sentences.join("; ")}. With a reason: make check-cost ACCEPT="why it is worth that"`);
}, 1_800_000);
