/** Medians, 99th percentiles and the lines in which the bench prints them. */

/** The value below which `share` (0..1) of the samples lie; NaN where there are none. */
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

export function title(text: string): void {
  process.stdout.write(`\n${text}\n`);
}

export function milliseconds(fromNs: bigint, toNs: bigint): number {
  return Number(toNs - fromNs) / 1e6;
}
