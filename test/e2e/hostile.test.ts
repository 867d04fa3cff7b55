/** Twenty seconds of all attacks at once from a neighbour: memory stays limited, and callers on the device still launch. */
import { expect, test } from "bun:test";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { runHostile } from "../load/hostile.ts";

const seconds = 20;
// All attacks at once take 137 to 170 MB. The bound of 150 MB is for long messages of strangers alone (attacks-intake.test.ts), and
// for ten minutes of `make hostile`.
const residentMbMax = 200;

test.skipIf(!canMakeNetworks)(
  "under hostile load from 40 addresses memory stays bounded, and every launch from the device starts its player",
  async () => {
    const report = await runHostile(seconds);
    const taps = report.attacked["media.started"];
    process.stdout.write(`peak resident memory: ${report.peakMb.toFixed(0)} MB, ${taps.length} launches\n`);
    expect(report.peakMb).toBeLessThan(residentMbMax);
    expect(report.failures).toEqual([]);
    expect(taps.length).toBeGreaterThan(0);
    // The report shows that attacks took place.
    const opened = report.attackers.map((attacker) => JSON.parse(attacker).opened as number);
    expect(opened.every((count) => count > 0)).toBe(true);
    expect(opened.reduce((sum, count) => sum + count)).toBeGreaterThan(500);
  },
  120_000,
);
