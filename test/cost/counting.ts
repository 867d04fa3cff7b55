/**
 * Counts the instructions of the main thread of an arm64 binary on an emulated Cortex-A53, for the gate of cost and for the bench
 * that compares builds.
 *
 * The runtime compiles and collects beside the main thread, so the same program does not always run the same instructions, and
 * the least of several runs counts. An index took 660 to 960 million instructions next to other work. Indexes, taps and searches are
 * therefore counted on one processor, where the threads take turns. There an index took 685 to 707 million, whatever else ran.
 *
 * Of 60 taps the first quarter counts, because few taps meet neither a timer nor a collection of garbage, and their least varies by a
 * fourth. In four quiet runs that quarter took up to 4.75 to 4.84 million instructions, and up to 5.98 to 6.19 million in four runs at a
 * load of 5, where the runtime compiles later.
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { quantile } from "../bench/figures.ts";
import { makeFiles } from "../helpers/library.ts";
import { makePlace, noReaders, type Place, type Running, startTapdeck } from "../helpers/tapdeck.ts";

const root = join(import.meta.dir, "../..");
const folder = join(root, "build/cost");
const libraries = "/usr/aarch64-linux-gnu";
const onOne = ["taskset", "--cpu-list", "0"];
const emulator = [
  ...["qemu-aarch64", "-cpu", "cortex-a53"],
  ...(existsSync(libraries) ? ["-L", libraries] : []),
];

/** The number of starts in each run. A start varies by 15 %, but the least of many by 2 %. */
const starts = 8;
const indexes = 2;
const files = 10_000;
const taps = 60;
/** What a tap leaves to be done, such as the next spare, is done by then, and counts for no other tap. */
const tapPauseMs = 150;
const searches = 40;

export const costNames = {
  start: "from the start of the program to the first pong, with a new data folder",
  index: `an index of ${files} files`,
  tap: "a tap, to the end of its player",
  search: `a search in ${files} files`,
} as const;
export type CostName = keyof typeof costNames;
export type CostFigures = Readonly<Record<CostName, number>>;

const config = `${noReaders}
[log]
console = false
[[launchers]]
id = "none"
systems = ["SNES"]
command = ["/bin/true", "{path}"]
`;

/** Compiles the plug-in for the version of the interface that this QEMU has, and returns its path. */
export async function makePlugin(binary: string): Promise<string> {
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

/** Every figure of `binary`, in instructions. */
export async function countCosts(plugin: string, binary: string): Promise<CostFigures> {
  await using place = await makePlace(config);
  makeFiles(
    join(place.folder, "media"),
    Array.from({ length: files }, (_, at) => `SNES/Game ${at} Super (USA).sfc`),
  );
  const out = join(place.folder, "counts");
  const index = await leastOf(indexes, () => measureIndex(place, [...counted(plugin, out), binary], out));
  const start = await leastOf(starts, () => measureStart(plugin, binary));
  await using service = await startTapdeck(place, [...onOne, ...counted(plugin, out), binary]);
  await service.client.ping();
  const costOf = async (act: () => Promise<unknown>) => {
    const before = await countIn(out);
    await act();
    return (await countIn(out)) - before;
  };
  const found = await leastOf(searches, (at) => costOf(() => search(service, at)));
  const eachTap: number[] = [];
  for (let at = 0; at < taps; at++) {
    eachTap.push(await costOf(() => tap(service)));
    await Bun.sleep(tapPauseMs);
  }
  return { start, index, search: found, tap: quantile(eachTap, 0.25) };
}

/** The least of several counts, because a timer that fires meanwhile adds to one of them. */
async function leastOf(times: number, cost: (at: number) => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < times; at++) least = Math.min(least, await cost(at));
  return least;
}

/** Counts the instructions from the start of the program to the first pong, with a new data folder. */
async function measureStart(plugin: string, binary: string): Promise<number> {
  await using place = await makePlace(config);
  const out = join(place.folder, "counts");
  await using service = await startTapdeck(place, [...counted(plugin, out), binary]);
  await service.client.ping();
  return await countIn(out);
}

/** Counts the instructions of a first index. */
async function measureIndex(place: Place, command: readonly string[], out: string): Promise<number> {
  const path = join(place.folder, "media.db");
  for (const end of ["", "-wal", "-shm"]) await rm(path + end, { force: true });
  await rm(out, { force: true });
  const job = {
    path,
    folders: { roots: [join(place.folder, "media")], own: [] },
    systems: [],
  };
  const child = Bun.spawn([...onOne, ...command, "index-job"], {
    stdin: new Blob([JSON.stringify(job)]),
    stdout: "pipe",
    stderr: "inherit",
  });
  const said = await new Response(child.stdout).text();
  if ((await child.exited) !== 0 || !said.includes(`"files":${files},"changed":true`))
    throw new Error(`the index was not made: ${said}`);
  return await countIn(out);
}

async function search({ client }: Running, at: number): Promise<void> {
  const { total } = await client.call("media.search", { query: `game ${at}`, maxResults: 20 });
  if (total === 0) throw new Error("nothing was found");
}

async function tap({ client, heard }: Running): Promise<void> {
  await client.call("tokens.scan", { text: "SNES/Game 7 Super (USA).sfc", uid: "04aa", duration: 1 });
  await heard.next("media.stopped");
  await heard.next("launch.finished");
}
