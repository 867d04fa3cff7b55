/** Medians, 99th percentiles and the lines in which the bench prints them. */
import { readFile } from "node:fs/promises";

const ticksPerSecond = 100; // sysconf(_SC_CLK_TCK) on every Linux that we run on.

/** The value below which `share` (0..1) of the samples lie; NaN without samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function spread(samples: readonly number[], unit: string): string {
  const [median, p99] = [quantile(samples, 0.5), quantile(samples, 0.99)];
  return `median ${median.toFixed(2)} ${unit}, p99 ${p99.toFixed(2)} ${unit} (${samples.length} samples)`;
}

/** One figure beside its aim. */
export function line(what: string, figure: string, aim = ""): void {
  process.stdout.write(`  ${what.padEnd(52)} ${figure}${aim === "" ? "" : `   [aim: ${aim}]`}\n`);
}

/** The limit that a figure should keep, and the cause that bounds the figure, which is printed after a miss. */
export interface Aim {
  readonly figure: number;
  readonly unit: string;
  readonly isLeast?: boolean;
  readonly bound: string;
}

/** One figure with its verdict: `hit`, or the amount by which it was missed and the cause that bounds it. */
export function judgedLine(what: string, text: string, figure: number, aim: Aim | undefined): void {
  line(what, aim === undefined ? text : `${text}   ${verdictOf(figure, aim)}`);
}

/** `[aim: at most 5 ms: hit]`, `[aim: at least 100000 files/s: MISSED by 20 %; bounded by the walk]`. */
export function verdictOf(figure: number, { figure: aim, unit, isLeast = false, bound }: Aim): string {
  const isHit = isLeast ? figure >= aim : figure <= aim;
  const missed = Math.max(1, Math.round((isLeast ? 1 - figure / aim : figure / aim - 1) * 100));
  const what = `at ${isLeast ? "least" : "most"} ${aim} ${unit}`;
  return `[aim: ${what}: ${isHit ? "hit" : `MISSED by ${missed} %; bounded by ${bound}`}]`;
}

export function title(text: string): void {
  process.stdout.write(`\n${text}\n`);
}

export function milliseconds(fromNs: bigint, toNs: bigint): number {
  return Number(toNs - fromNs) / 1e6;
}

/** Processor time of a process so far: user and system (proc(5), stat fields 14 and 15). */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
