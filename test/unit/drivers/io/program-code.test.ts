/** The code of the program in memory: what is released, and that the program still runs. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
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
