/**
 * The cost of the arm64 binary on a Cortex-A53, in instructions of its main thread, which vary far less than time.
 * `figures.json` has the accepted figures, and the test fails if a measured one is too far above its accepted one. With
 * the environment variable ACCEPT, a reason, the measured figures become the accepted ones. The margin of each figure is
 * larger than the spread that was seen, which includes runs beside four busy loops (counting.ts).
 */
import { test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CostFigures, type CostName, costNames, countCosts, makePlugin } from "./counting.ts";

const binary = join(import.meta.dir, "../../dist/tapdeck-linux-arm64");
const figuresPath = join(import.meta.dir, "figures.json");

/**
 * The number of runs to accept new figures. The gate needs one run; if a figure is too high, it makes more, because a busy
 * machine may have disturbed the whole run.
 */
const runs = 2;
const moreRuns = 3;
/** The share of its accepted figure at which a measured one is too high. */
const shareMax = { start: 1.06, index: 1.07, tap: 1.35, search: 1.07 } as const;
type Accepted = Record<CostName, { instructions: number; reason: string }>;

const keys = Object.keys(costNames) as CostName[];

test("no figure has risen by more than its margin", async () => {
  const plugin = await makePlugin(binary);
  const accepted: Accepted = JSON.parse(await readFile(figuresPath, "utf8"));
  const limit = (name: CostName) => accepted[name].instructions * shareMax[name];
  const reason = process.env.ACCEPT ?? "";
  const all: CostFigures[] = [];
  const least = (name: CostName) => Math.min(...all.map((one) => one[name]));
  const risen = () => keys.filter((name) => least(name) > limit(name));
  const fewest = reason === "" ? 1 : runs;
  while (all.length < fewest || (reason === "" && risen().length > 0 && all.length < fewest + moreRuns))
    all.push(await countCosts(plugin, binary));
  for (const name of keys) {
    const { instructions } = accepted[name];
    const change = `${((least(name) / instructions - 1) * 100).toFixed(1)} %`;
    const spread = all.map((one) => (one[name] / 1e6).toFixed(2)).join(", ");
    process.stdout.write(
      `${costNames[name]}: ${(least(name) / 1e6).toFixed(2)} million instructions (${change}; runs: ${spread})\n`,
    );
  }
  if (reason !== "") {
    for (const name of keys) {
      const isOther = Math.abs(least(name) / accepted[name].instructions - 1) > shareMax[name] - 1;
      const why = isOther ? reason : accepted[name].reason;
      accepted[name] = { instructions: least(name), reason: why };
    }
    await writeFile(figuresPath, `${JSON.stringify(accepted, null, 2)}\n`);
    return;
  }
  const sentences = risen().map(
    (name) =>
      `${costNames[name]} takes ${least(name)} instructions, and ${accepted[name].instructions} were accepted`,
  );
  if (sentences.length > 0)
    throw new Error(`${sentences.join("; ")}. With a reason: make check-cost ACCEPT="why it is worth that"`);
}, 1_800_000);
