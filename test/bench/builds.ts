/**
 * `make bench ONLY=builds BESIDE=93d318f,c60c836`: one table with a column for this build and for each of the named commits. The
 * builds take turns, so that other work on the machine disturbs all of them. A cell has the median of all samples, and the least
 * in brackets.
 *
 * A start, a launch and an index are timed from outside. The instructions are those of the arm64 binary on an emulated
 * Cortex-A53 (test/cost/counting.ts).
 */
import { createReadStream, existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { type CostName, costNames, countCosts, makePlugin } from "../cost/counting.ts";
import { makeLibrary } from "../helpers/library.ts";
import { monotonicNs } from "../helpers/monotonic.ts";
import { indexMedia, makePlace, noReaders, type Place, startTapdeck } from "../helpers/tapdeck.ts";
import { startEmulator } from "./emulator.ts";
import { milliseconds, quantile, title } from "./figures.ts";
import { familyOf, memoryOf, shareOf } from "./memory.ts";
import { type Build, buildsBeside, ownBuild } from "./other-builds.ts";
import { settled } from "./settled.ts";
import { timeStart } from "./starts.ts";
import { timeTaps } from "./taps.ts";

const files = 100_000;
const rounds = Number(process.env.ROUNDS ?? 3);
const startsEach = 6;
const launchesEach = 80;
const tapsEach = 60;
const indexesEach = 2;
/** A person does not launch faster, and the process that becomes the next player is ready by then. */
const launchPauseMs = 150;
/** The job of the tags has begun by then. */
const jobsMs = 2000;

const rows = {
  start: ["start to pong in a fresh folder", "ms", 0],
  startCpu: ["processor time of that start, all threads", "ms", 0],
  byHand: ["the player, started by hand", "ms", 2],
  launch: ["`launch` to the player's first act", "ms", 2],
  launchCpu: ["processor time of a launch and its end, the service", "ms", 2],
  tap: ["tap to the player's first word, less the start by hand", "ms", 2],
  index: [`index of ${files.toLocaleString("en")} files`, "s", 2],
  resident: ["resident after it, the service", "MB", 1],
  own: ["private and changed, all processes, with files", "MB", 1],
  pss: ["PSS of all processes, with files", "MB", 1],
  ownEmpty: ["private and changed, all processes, without files", "MB", 1],
  pssEmpty: ["PSS of all processes, without files", "MB", 1],
} as const;
type Row = keyof typeof rows;
type Samples = Map<Row, number[]>;

interface Setting {
  readonly folder: string;
  readonly library: string;
  readonly samples: Samples;
}

export async function measureBuilds(): Promise<void> {
  const builds = [...(await buildsBeside()), ownBuild];
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-bench-"));
  const library = join(folder, "library");
  title(`${builds.length} builds by turns, ${rounds} rounds; ${load()}`);
  try {
    makeLibrary(library, files);
    const measured = new Map<Build, Samples>(builds.map((build) => [build, new Map()]));
    for (let round = 0; round < rounds; round++) {
      // Each round begins with another build.
      for (let at = 0; at < builds.length; at++) {
        const build = builds[(at + round) % builds.length] ?? ownBuild;
        await measureBuild(build, { folder, library, samples: measured.get(build) ?? new Map() });
      }
      process.stderr.write(`  round ${round + 1} of ${rounds} is done; ${load()}\n`);
    }
    const names = Object.keys(rows) as Row[];
    printTable(
      builds.map(({ name }) => name),
      names.map((row) => [
        `${rows[row][0]}, ${rows[row][1]}`,
        ...builds.map((build) => cell(measured.get(build), row)),
      ]),
    );
    process.stdout.write(`  afterwards: ${load()}\n`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  await printCosts(builds);
}

async function measureBuild(build: Build, setting: Setting): Promise<void> {
  const add = adderTo(setting.samples);
  for (let start = 0; start < startsEach; start++) {
    await using place = await makePlace(noReaders);
    const { tookMs, cpuMs } = await timeStart([build.program, `--data=${place.folder}`], place.port);
    add("start", tookMs);
    add("startCpu", cpuMs);
  }
  {
    await using place = await makePlace(`[log]\nconsole = false\n${noReaders}`);
    await using service = await startTapdeck(place, [build.program]);
    await indexMedia(service.client);
    await settled(service);
    const { own, pss } = familyMemory(service.pid);
    add("ownEmpty", own);
    add("pssEmpty", pss);
  }
  await measureWithFiles(build, setting);
  await measureReader(build, setting);
}

/** Index, launches and memory with the library. */
async function measureWithFiles(build: Build, { folder, library, samples }: Setting): Promise<void> {
  const add = adderTo(samples);
  const own = await mkdtemp(join(folder, "launch-"));
  const pipe = join(own, "pipe");
  Bun.spawnSync(["mkfifo", pipe]);
  const player = ["/bin/sh", "-c", `echo started > ${pipe}`];
  await using place = await makePlace(`
[log]
console = false
[readers]
detect = false
[systems]
root_folders = [${JSON.stringify(library)}, "${own}/cards"]
[[launchers]]
id = "stamp"
extensions = [".stamp"]
command = ${JSON.stringify([...player, "{path}"])}
`);
  await Bun.write(join(own, "cards/SNES/card.stamp"), "x");
  await using service = await startTapdeck(place, [build.program]);
  for (let index = 0; index < indexesEach; index++) {
    await indexMedia(service.client);
    await settled(service, jobsMs);
    await forgetIndex(place);
    const startedMs = performance.now();
    await service.client.call("media.index");
    add("index", (performance.now() - startedMs) / 1000);
  }
  await indexMedia(service.client);
  await settled(service);
  add("resident", memoryOf([service.pid]).rss);
  const { own: changed, pss } = familyMemory(service.pid);
  add("own", changed);
  add("pss", pss);
  const stream = createReadStream(pipe, { flags: "r+" });
  let arrived = (_: bigint) => {};
  stream.on("data", () => arrived(monotonicNs()));
  const arrival = () => new Promise<bigint>((resolve) => (arrived = resolve));
  for (let launch = 0; launch < launchesEach; launch++) {
    const here = arrival();
    const beforeMs = threadsMs(service.pid);
    const fromNs = monotonicNs();
    await service.client.call("launch", "SNES/card.stamp");
    add("launch", milliseconds(fromNs, await here));
    await service.heard.next("launch.finished");
    service.heard.forget();
    await Bun.sleep(launchPauseMs / 2);
    add("launchCpu", threadsMs(service.pid) - beforeMs);
    const again = arrival();
    const spawnNs = monotonicNs();
    Bun.spawn([...player], { stdio: ["ignore", "ignore", "ignore"] });
    add("byHand", milliseconds(spawnNs, await again));
    await Bun.sleep(launchPauseMs / 2);
  }
  stream.destroy();
  // A pending read in the runtime's thread keeps this process from ending.
  Bun.spawnSync(player, { stdio: ["ignore", "ignore", "ignore"] });
}

async function measureReader(build: Build, { folder, samples }: Setting): Promise<void> {
  const link = join(await mkdtemp(join(folder, "reader-")), "ttyEMU0");
  const emulator = await startEmulator(link);
  try {
    const { fromAnswer, byHand } = await timeTaps({ folder, link, count: tapsEach }, emulator, [
      build.program,
    ]);
    adderTo(samples)("tap", quantile(fromAnswer, 0.5) - quantile(byHand, 0.5));
  } finally {
    await emulator.stop();
  }
}

/** Processor time of all threads of a process so far, in milliseconds (Linux, Documentation/scheduler/sched-stats.rst). */
function threadsMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const spent = threads.map((thread) => {
    const path = `/proc/${pid}/task/${thread}/schedstat`;
    return existsSync(path) ? Number(readFileSync(path, "utf8").split(" ")[0]) : 0;
  });
  return spent.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

/** Without the old index, all of it is made again. */
async function forgetIndex({ folder }: Place): Promise<void> {
  for (const end of ["", "-wal", "-shm"]) await rm(join(folder, `media.db${end}`), { force: true });
}

function familyMemory(pid: number): { readonly pss: number; readonly own: number } {
  const shares = familyOf(pid).map(shareOf);
  const sum = (of: "pss" | "own") => shares.reduce((total, share) => total + share[of], 0);
  return { pss: sum("pss"), own: sum("own") };
}

/** Instructions, in millions. */
async function printCosts(builds: readonly Build[]): Promise<void> {
  if (Bun.which("qemu-aarch64") === null || !existsSync(ownBuild.arm64)) {
    process.stdout.write(
      "  instructions: qemu-aarch64 or the arm64 binary is missing (make check-cost makes both)\n",
    );
    return;
  }
  const plugin = await makePlugin(ownBuild.arm64);
  const figures = new Map<Build, Readonly<Record<CostName, number>>>();
  for (const build of builds) figures.set(build, await countCosts(plugin, build.arm64));
  const names = Object.keys(costNames) as CostName[];
  printTable(
    builds.map(({ name }) => name),
    names.map((name) => [
      `${costNames[name]}, million instructions`,
      ...builds.map((build) => ((figures.get(build)?.[name] ?? Number.NaN) / 1e6).toFixed(2)),
    ]),
  );
}

function adderTo(samples: Samples) {
  return (row: Row, value: number) => {
    const list = samples.get(row) ?? [];
    list.push(value);
    samples.set(row, list);
  };
}

function cell(samples: Samples | undefined, row: Row): string {
  const list = samples?.get(row) ?? [];
  const digits = rows[row][2];
  return `${quantile(list, 0.5).toFixed(digits)} (${Math.min(...list).toFixed(digits)})`;
}

/** A table in Markdown, so that it can be copied into a text. */
function printTable(names: readonly string[], lines: readonly (readonly string[])[]): void {
  const all = [["", ...names], ["---", ...names.map(() => "---")], ...lines];
  for (const cells of all) process.stdout.write(`| ${cells.join(" | ")} |\n`);
}

/** A higher load than the number of processors means that the machine does something else. */
function load(): string {
  return `load of the machine ${loadavg()[0]?.toFixed(1)} on ${cpus().length} processors`;
}
