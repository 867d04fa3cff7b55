/** Figures of the image, printed as they are measured, and once more together: no test is decided by them. */

const measured: string[] = [];

export function print(what: string, figure: string): void {
  const line = `image: ${what}: ${figure}\n`;
  measured.push(line);
  process.stdout.write(line);
}

/** All that this file's tests have printed, in one place. */
export function printTogether(): void {
  process.stdout.write(`\nThe image's figures, on emulated boards:\n${measured.join("")}\n`);
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
