/** The trial of an updated system: its success, its failure, and the faults that end it. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { updateNoteBytesMax } from "../../../src/core/console-limits.ts";
import { type Fault, faultCodes, faultOf, faultTable, knownFault } from "../../../src/core/faults.ts";
import { imagePaths } from "../../../src/update/machine.ts";
import {
  faultsAgainst,
  gapMsMax,
  healthyMs,
  judge,
  readUpdateNote,
  startTrial,
  trialMsMax,
  writeUpdateNote,
} from "../../../src/update/trial.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-trial-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** The verdicts of a trial that starts at 1000 ms and is asked at each of the times, in milliseconds since its start. */
function verdicts(asked: readonly (readonly [atMs: number, healthy: boolean])[]): readonly string[] {
  let trial = startTrial(1000);
  return asked.map(([atMs, healthy]) => {
    const judged = judge(trial, { nowMs: 1000 + atMs, healthy });
    trial = judged.trial;
    return judged.verdict;
  });
}

/** Good answers every 5 s, from one time to another. */
function healthy(fromMs: number, toMs: number): (readonly [number, boolean])[] {
  const count = Math.floor((toMs - fromMs) / 5000) + 1;
  return Array.from({ length: count }, (_, at) => [fromMs + at * 5000, true]);
}

test("a system is kept once it was healthy for 60 s, and not a millisecond before", () => {
  expect(healthyMs).toBe(60_000);
  expect(verdicts([...healthy(0, 55_000), [59_999, true], [60_000, true]]).slice(-3)).toEqual([
    "wait",
    "wait",
    "keep",
  ]);
});

test("a bad answer starts the minute again", () => {
  const all = [...healthy(0, 55_000), [57_000, false] as const, ...healthy(58_000, 118_000)];
  expect(verdicts(all).lastIndexOf("wait")).toBe(all.length - 2);
  expect(verdicts(all).at(-1)).toBe("keep");
});

test("a silence of more than 10 s starts the minute again, one of 10 s does not", () => {
  expect(gapMsMax).toBe(10_000);
  const before = healthy(0, 50_000);
  expect(verdicts([...before, [60_000, true]]).at(-1)).toBe("keep");
  expect(verdicts([...before, [60_001, true], [65_000, true]]).slice(-2)).toEqual(["wait", "wait"]);
  expect(verdicts([...before, ...healthy(60_001, 120_001)]).at(-1)).toBe("keep");
  expect(verdicts([...before, ...healthy(60_001, 115_001), [120_000, true]]).at(-1)).toBe("wait");
});

test("a silence before the first answer counts as well", () => {
  expect(verdicts([[70_000, true]])).toEqual(["wait"]);
});

test("a system that is not kept within 5 minutes is given up", () => {
  expect(trialMsMax).toBe(300_000);
  expect(verdicts([[trialMsMax - 1, false]])).toEqual(["wait"]);
  expect(verdicts([[trialMsMax, false]])).toEqual(["give-up"]);
  expect(verdicts([[trialMsMax, true]])).toEqual(["give-up"]);
  // A system that has been healthy for a minute at that very moment is kept.
  expect(verdicts(healthy(trialMsMax - healthyMs, trialMsMax)).at(-1)).toBe("keep");
});

const reader = faultOf("reader-failed", { subject: "/dev/x", why: "it is silent" });
const full = faultOf("disk-full", { kib: "9000" });
const damaged = faultOf("database-failed", { why: "it is damaged" });

test("a fault from before the update, in whatever words, or a restart by the watchdog, is no fault of it", () => {
  const before = [{ code: "reader-failed", subject: "/dev/x" }, { code: "disk-full" }];
  const restarted = faultOf("service-restarted", { why: "it hung" });
  expect(faultsAgainst([], [])).toEqual([]);
  expect(faultsAgainst([full, reader, { ...reader, why: "other words" }, restarted], before)).toEqual([]);
  expect(faultsAgainst([restarted], [])).toEqual([]);
});

test("no fault of the owner or of others ends a trial, and each one of the system does", () => {
  const faults = faultCodes.map((code): Fault => knownFault(code, {}));
  const counted = faultsAgainst(faults, []).map(({ code }): string => code);
  expect(counted).toEqual(Object.keys(faultTable.system).filter((code) => code !== "service-restarted"));
});

test("one new fault among known ones counts, and so does a known one of another subject", () => {
  const before = [{ code: "reader-failed", subject: "/dev/x" }];
  const other = faultOf("reader-failed", { subject: "/dev/y", why: "it is silent" });
  expect(faultsAgainst([reader, damaged, other], before)).toEqual([damaged, other]);
});

test("a note is read as it was written, for each event and slot, and is its owner's alone", async () => {
  const paths = { ...imagePaths, note: join(folder, "update") };
  expect(await readUpdateNote(paths)).toBeUndefined();
  for (const event of ["trying", "kept", "back"] as const)
    for (const slot of ["a", "b"] as const)
      for (const faults of [[], [reader, full]]) {
        const note = { event, slot, version: "0.2.0-rc.1" };
        await writeUpdateNote(paths, { ...note, faults });
        const noted =
          faults.length === 0 ? [] : [{ code: "reader-failed", subject: "/dev/x" }, { code: "disk-full" }];
        expect(await readUpdateNote(paths)).toEqual({ ...note, faults: noted });
      }
  expect((await stat(paths.note)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["update"]);
});

test("a note of an unknown event or slot, or half a note, is none", async () => {
  const paths = { ...imagePaths, note: join(folder, "update") };
  for (const line of [
    "",
    "event=trying slot=b",
    "event=lost slot=b version=0.2.0 faults=[]\n",
    "event=kept slot=c version=0.2.0 faults=[]\n",
  ]) {
    await writeFile(paths.note, line);
    expect([line, await readUpdateNote(paths)]).toEqual([line, undefined]);
  }
});

test("a note without faults, or with a list that is none, has no faults", async () => {
  const paths = { ...imagePaths, note: join(folder, "update") };
  const note = { event: "trying", slot: "b", version: "0.2.0", faults: [] } as const;
  for (const rest of [
    "",
    " excused=the card is full",
    " faults=[{",
    ' faults=[{"code":1}]',
    " faults=[null]",
  ]) {
    await writeFile(paths.note, `event=trying slot=b version=0.2.0${rest}\n`);
    expect([rest, await readUpdateNote(paths)]).toEqual([rest, note]);
  }
});

test("a note of many faults is one line within the limit", async () => {
  const paths = { ...imagePaths, note: join(folder, "update") };
  const faults = Array.from({ length: 100 }, (_, at) => ({
    ...faultOf("reader-failed", { subject: `/dev/\n ${at} ${"ß".repeat(50)}`, why: "x" }),
  }));
  await writeUpdateNote(paths, { event: "trying", slot: "a", version: "0.2.0", faults });
  const text = await readFile(paths.note, "utf8");
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(updateNoteBytesMax);
  expect(text.trimEnd().split("\n")).toHaveLength(1);
  const read = await readUpdateNote(paths);
  expect(read?.faults.length).toBeGreaterThan(20);
  expect(faultsAgainst(faults, read?.faults ?? [])).toEqual(faults.slice(read?.faults.length));
});

test("a note that cannot be written leaves the old one", async () => {
  const paths = { ...imagePaths, note: join(folder, "update") };
  const note = { event: "kept", slot: "a", version: "0.1.0", faults: [] } as const;
  await writeUpdateNote(paths, note);
  await writeUpdateNote({ ...paths, note: join(folder, "no-folder", "update") }, { ...note, slot: "b" });
  expect(await readUpdateNote(paths)).toEqual(note);
});
