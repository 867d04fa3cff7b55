/**
 * The service itself over a large library: its memory with the index, and while the index is made. It also prints the
 * delay of a tap and of a `ping` during that time. The player is a shell that writes into a pipe, as in `taps.ts`; the
 * card comes over the API.
 */
import { createReadStream, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { monotonicNs } from "../helpers/monotonic.ts";
import { indexMedia, makePlace, startTapdeck } from "../helpers/tapdeck.ts";
import { judgedLine, line, milliseconds, quantile, spread } from "./figures.ts";
import { childrenOf, memoryOf } from "./memory.ts";
import { settled } from "./settled.ts";

const idleTaps = 300;
const tapEveryMs = 30;

interface Samples {
  readonly taps: number[];
  readonly pings: number[];
}

/** Prints the figures for the library at `root`. */
export async function measureService(root: string, folder: string, isLarge: boolean): Promise<void> {
  const pipe = join(folder, "tapped");
  Bun.spawnSync(["mkfifo", pipe]);
  const player = ["/bin/sh", "-c", `echo started > ${pipe}`, "{path}"];
  await using place = await makePlace(`
[log]
console = false
[readers]
detect = false
[systems]
root_folders = [${JSON.stringify(root)}, "${folder}/cards"]
[[launchers]]
id = "stamp"
extensions = [".stamp"]
command = ${JSON.stringify(player)}
`);
  await Bun.write(join(folder, "cards/SNES/card.stamp"), "x");
  const stream = createReadStream(pipe, { flags: "r+" });
  let arrived = (_: bigint) => {};
  stream.on("data", () => arrived(monotonicNs()));
  try {
    await using service = await startTapdeck(place);
    await indexMedia(service.client);
    await settled(service);
    const aimOf = (figure: number, bound: string) => (isLarge ? undefined : { figure, unit: "MB", bound });
    const idleAim = aimOf(60, "the runtime itself, and the dictionary of the search");
    judgedLine(
      "the service with the index, idle",
      memoryText(service.pid),
      memoryOf([service.pid]).rss,
      idleAim,
    );
    const tap = async (): Promise<number> => {
      const here = new Promise<bigint>((resolve) => (arrived = resolve));
      const from = monotonicNs();
      await service.client.call("launch", "SNES/card.stamp");
      const ms = milliseconds(from, await here);
      await service.heard.next("media.stopped");
      return ms;
    };
    const sample = async (isOver: (samples: Samples) => boolean): Promise<Samples> => {
      const samples: Samples = { taps: [], pings: [] };
      while (!isOver(samples)) {
        samples.taps.push(await tap());
        const from = monotonicNs();
        await service.client.ping();
        samples.pings.push(milliseconds(from, monotonicNs()));
        service.heard.forget();
        await Bun.sleep(tapEveryMs);
      }
      return samples;
    };
    const idle = await sample(({ taps }) => taps.length >= idleTaps);
    let [peak, jobPeak, runs] = [0, 0, 0];
    const watch = setInterval(() => {
      peak = Math.max(peak, memoryOf([service.pid]).rss);
      jobPeak = Math.max(jobPeak, memoryOf(childrenOf(service.pid).filter(isIndexJob)).rss);
    }, 50);
    const busy: Samples = { taps: [], pings: [] };
    while (busy.taps.length < idleTaps && runs++ < 20) {
      let isDone = false;
      // Without the old index, all of it is made again.
      rmSync(join(place.folder, "media.db"), { force: true });
      const run = service.client.call("media.index").finally(() => (isDone = true));
      const { taps, pings } = await sample(() => isDone);
      await run;
      busy.taps.push(...taps);
      busy.pings.push(...pings);
    }
    clearInterval(watch);
    const peakAim = aimOf(140, "two indexes in memory while the new one is put to use");
    judgedLine("  while indexing, at most", `${peak} MB resident`, peak, peakAim);
    const jobAim = aimOf(140, "the names and their keys, held while they are sorted");
    judgedLine("  the process of the index, at most", `${jobPeak} MB resident`, jobPeak, jobAim);
    compare("launch to the player's first word", idle.taps, busy.taps);
    compare("ping", idle.pings, busy.pings);
  } finally {
    stream.destroy();
  }
}

function compare(what: string, idle: readonly number[], busy: readonly number[]): void {
  const ratio = quantile(busy, 0.99) / quantile(idle, 0.99);
  line(`${what}, idle`, spread(idle, "ms"));
  const aim = {
    figure: 2,
    unit: "times idle",
    bound: "the kernel's scheduler: nothing of the run is in the service",
  };
  judgedLine(`${what}, while indexing`, `${spread(busy, "ms")}: p99 ${ratio.toFixed(2)} times`, ratio, aim);
}

function isIndexJob(pid: number): boolean {
  const path = `/proc/${pid}/cmdline`;
  return existsSync(path) && readFileSync(path, "latin1").includes("\0index-job\0");
}

function memoryText(pid: number): string {
  const { rss, anon } = memoryOf([pid]);
  const watcher = memoryOf(childrenOf(pid));
  return `${rss} MB resident, of that ${anon} MB its own; the process that watches the folders ${watcher.rss}, ${watcher.anon}`;
}
