/**
 * Figures of the image, which are printed when they are measured, and all together at the end. They do not decide a test.
 */

const measured: string[] = [];

export function print(what: string, figure: string): void {
  const line = `image: ${what}: ${figure}\n`;
  measured.push(line);
  process.stdout.write(line);
}

/** All figures of this file's tests, in one place. */
export function printTogether(): void {
  process.stdout.write(`\nThe image's figures, on emulated boards:\n${measured.join("")}\n`);
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
