// Covers: src/media/scan/index-job.ts.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { indexPath } from "../../../src/media/index/index-file.ts";
import type { IndexJob } from "../../../src/media/scan/index-job.ts";
import { seededRandom } from "../../emulators/emulated-line.ts";
import { libraryPaths, makeFiles } from "../../helpers/library.ts";
import { contentOf, indexProgram } from "../../helpers/media.ts";

const kills = 100;
const roundsMax = 1000;

test("killed at 100 random moments, the index is the old one or the new one, whole", async () => {
  const media = mkdtempSync(join(tmpdir(), "tapdeck-kill-"));
  const [first, second] = [join(media, "first"), join(media, "second")];
  makeFiles(first, [...new Set(libraryPaths(400, 1))]);
  makeFiles(second, [...new Set(libraryPaths(400, 2))]);
  // Two jobs run at a time, so both processors have work.
  await Promise.all([1, 2].map((seed) => killOften([[first], [first, second]], seed)));
  rmSync(media, { recursive: true });
});

/** Runs with the two roots in turn, so each completed run writes the index again. */
async function killOften(roots: readonly (readonly string[])[], seed: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tapdeck-kill-"));
  const jobs = roots.map(
    (some): IndexJob => ({ path: indexPath(folder), folders: { roots: some, own: [] }, systems: [] }),
  );
  const whole: (readonly string[])[] = [];
  const takesMs = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const turn of [0, 1, 0, 1]) {
    const job = jobs[turn];
    if (job !== undefined) takesMs[turn] = Math.min(takesMs[turn] ?? 0, await runFor(job));
    whole[turn] = contentOf(folder) ?? [];
  }
  expect(whole[0]?.length).toBeGreaterThan(300);
  expect(whole[1]?.length).toBeGreaterThan(600);
  const random = seededRandom(seed);
  const sizes = new Set<number>();
  // Continues until both outcomes have occurred, or until all kills have come on one side.
  for (let round = 0; round < kills / 2 || (sizes.size < 2 && round < roundsMax); round++) {
    // Half of the kills come in the second half of a run, which writes.
    const share = round % 2 === 0 ? random() : 0.5 + random() / 2;
    const turn = Math.floor(round / 2) % 2;
    const job = jobs[turn];
    // The expected duration follows the machine's changing speed: four of five jobs are killed, and one reaches its end.
    if (job !== undefined) {
      const ms = (takesMs[turn] ?? 0) * share * 1.2;
      const wasKilled = (await runFor(job, ms)) >= ms;
      takesMs[turn] = (takesMs[turn] ?? 0) * (wasKilled ? 1.02 : 1.02 ** -4);
    }
    const left = contentOf(folder);
    sizes.add(left?.length ?? 0);
    expect(whole.some((content) => Bun.deepEquals(content, left))).toBe(true);
  }
  expect(sizes.size).toBe(2);
  rmSync(folder, { recursive: true });
}

/** Runs the job as a process and kills it after `ms`, if it still runs then; returns its duration. */
async function runFor(job: IndexJob, ms?: number): Promise<number> {
  const started = performance.now();
  const child = Bun.spawn([process.execPath, indexProgram], {
    stdin: Buffer.from(JSON.stringify(job)),
    stdout: "ignore",
    stderr: "ignore",
  });
  const timer = ms === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), ms);
  await child.exited;
  clearTimeout(timer);
  return performance.now() - started;
}
