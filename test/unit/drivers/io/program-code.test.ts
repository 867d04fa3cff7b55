/** The code of the program in memory: what is released, and that the program still runs. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { releaseCode } from "../../../../drivers/io/program-code.ts";

function codeKb(): number {
  const smaps = readFileSync("/proc/self/smaps", "latin1");
  const code = /^\S+ r-xp \S+ \S+ \d+ +\/\S*bun\S*\n(?:\w+:.*\n)*?Rss: +(\d+) kB/m.exec(smaps);
  return Number(code?.[1] ?? Number.NaN);
}

test("less of the code is in memory after its release, and the program still runs", async () => {
  const before = codeKb();
  expect(await releaseCode()).toBeGreaterThan(20e6);
  const after = codeKb();
  expect(before).toBeGreaterThan(10_000);
  expect(after).toBeLessThan(before / 2);
  expect(JSON.parse(JSON.stringify({ sum: [3, 1, 2].toSorted() }))).toEqual({ sum: [1, 2, 3] });
  expect(Bun.spawnSync(["/bin/echo", "still here"]).stdout.toString()).toBe("still here\n");
});

test("the code of a program that was written a moment ago is released, too", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-code-"));
  try {
    const program = join(folder, "bun");
    await copyFile(process.execPath, program);
    const script = `console.log(await (await import("${import.meta.dir}/../../../../drivers/io/program-code.ts")).releaseCode())`;
    const { stdout, stderr } = Bun.spawnSync([program, "-e", script]);
    expect(stderr.toString()).toBe("");
    expect(Number(stdout.toString())).toBeGreaterThan(20e6);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
