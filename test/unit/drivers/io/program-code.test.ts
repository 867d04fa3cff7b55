/** The code of the program in memory: what is released, and that the program still runs. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
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

test("a compiled program releases its bundle, and runs code of it afterwards", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-code-"));
  try {
    const lines = Array.from({ length: 20_000 }, (_, at) => `  if (word === "word ${at}") return ${at};`);
    await writeFile(
      join(folder, "words.ts"),
      `export function find(word: string) {\n${lines.join("\n")}\n}\n`,
    );
    await writeFile(
      join(folder, "main.ts"),
      `import { readFileSync } from "node:fs";
import { releaseCode } from "${import.meta.dir}/../../../../drivers/io/program-code.ts";
import { find } from "./words.ts";
const first = find("word 19998");
const rows = () => readFileSync("/proc/self/smaps", "latin1").matchAll(/^\\S+ rw-p \\S+ \\S+ \\d+ +\\/.*main\\n(?:\\w+:.*\\n)*?Rss: +(\\d+)/gm);
const writableKb = () => [...rows()].reduce((sum, [, kb]) => sum + Number(kb), 0);
const before = writableKb();
await releaseCode();
const after = writableKb();
console.log(JSON.stringify({ before, after, found: [first, find("word 19999")] }));`,
    );
    const outfile = join(folder, "main");
    const built = await Bun.build({
      entrypoints: [join(folder, "main.ts")],
      bytecode: true,
      format: "esm",
      compile: { outfile },
    });
    expect(built.success).toBe(true);
    const { stdout, stderr } = Bun.spawnSync([outfile]);
    expect(stderr.toString()).toBe("");
    const said = JSON.parse(stdout.toString());
    expect(said.found).toEqual([19_998, 19_999]);
    expect(said.before - said.after).toBeGreaterThan(1000);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
