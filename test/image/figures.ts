/** Figures of the image, printed as they are measured: no test is decided by them. */

export function print(what: string, figure: string): void {
  process.stdout.write(`image: ${what}: ${figure}\n`);
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
