/** `make soak`: runs the whole day and prints its figures. `--taps` and `--seed` choose another day. */
import { parseArgs } from "node:util";
import { type DayFigures, liveDay } from "./day.ts";

const { values } = parseArgs({
  options: { taps: { type: "string", default: "100000" }, seed: { type: "string", default: "1" } },
});
const began = performance.now();
const seconds = () => Math.round((performance.now() - began) / 1000);
const say = (line: string) => process.stdout.write(`${line}\n`);
// The runtime opens its output with the first line, and the day must not count that descriptor.
say(`a day of ${values.taps} taps, seed ${values.seed}`);
const figures = await liveDay({
  taps: Number(values.taps),
  seed: Number(values.seed),
  progress: (taps, failures) => say(`${taps} taps in ${seconds()} s, ${failures} failures`),
});
print(figures);
process.exitCode = figures.failures.length === 0 ? 0 : 1;

function print({
  faults,
  failures,
  slowestAdded,
  slowestRemoved,
  descriptors,
  readerEvents,
  ...rest
}: DayFigures): void {
  for (const failure of failures.slice(0, 40)) say(`FAILED ${failure}`);
  const many = [...faults].map(([name, count]) => `  ${name}: ${count}`);
  say(`faults injected: ${[...faults.values()].reduce((sum, count) => sum + count, 0)}`);
  for (const line of many.sort()) say(line);
  say(`taps: ${rest.taps}, launches: ${rest.launches}, players started: ${rest.players}`);
  say(`readers.added: ${readerEvents.added}, readers.removed: ${readerEvents.removed}`);
  say(`slowest card: ${slowestAdded.ms} ms (${slowestAdded.what})`);
  say(`slowest removal: ${slowestRemoved.ms} ms (${slowestRemoved.what})`);
  say(`descriptors: ${descriptors.join(" before, ")} after; timers at the end: ${rest.timers}`);
  say(`heap in MB along the day: ${rest.heapMb.join(" ")}`);
  say(
    `${rest.emulatedHours.toFixed(1)} hours of emulated time in ${seconds()} s; failures: ${failures.length}`,
  );
}
