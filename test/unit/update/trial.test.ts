import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { updateNoteBytesMax } from "../../../src/core/console-limits.ts";
/** The trial of an updated system: its success, its failure, and the complaints that count. */
import { noMediaAt, noProgram, startedAgain } from "../../../src/core/operating-system.ts";
import { imagePaths } from "../../../src/update/machine.ts";
import {
  gapMsMax,
  healthyMs,
  isExcused,
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
  // Healthy for a minute at that very moment: it is kept.
  expect(verdicts(healthy(trialMsMax - healthyMs, trialMsMax)).at(-1)).toBe("keep");
});

test("a fault from before the update, or an action of the watchdog, is no fault of it", () => {
  const before = "no reader is connected; 12 MB are free";
  expect(isExcused("", "")).toBe(true);
  expect(isExcused("no reader is connected", before)).toBe(true);
  expect(isExcused("7 MB are free; no reader is connected", before)).toBe(true);
  expect(isExcused(`${startedAgain} 5 minutes ago`, "")).toBe(true);
  expect(isExcused(`no reader is connected; ${startedAgain} once`, before)).toBe(true);
});

test("what the owner's drives and files lack is no fault of the new system", () => {
  const missing = `${noMediaAt} /mnt/drive: its drive is away; ${noProgram} snes9x, which the launcher a needs for SNES`;
  expect(isExcused(missing, "")).toBe(true);
  expect(isExcused(`${missing}; the index could not be read`, "")).toBe(false);
});

test("a broker that was away during a trial undid a good update", () => {
  for (const complaint of [
    "no broker answers at broker.lan port 8883: check mqtt.url, and whether the broker runs",
    "the connection to the broker ended",
    "the broker is shutting down",
    "the shared cards of the server are not used: it was not signed by cards.key",
  ])
    expect(isExcused(complaint, "")).toBe(true);
  expect(isExcused("the connection to the broker ended; the index could not be read", "")).toBe(false);
});

test("one new complaint among known ones counts", () => {
  const before = "no reader is connected";
  expect(isExcused("the index could not be read", before)).toBe(false);
  expect(isExcused("no reader is connected; the index could not be read", before)).toBe(false);
  expect(isExcused("no reader", before)).toBe(false);
  expect(isExcused(`yesterday ${startedAgain}`, before)).toBe(false);
});

test("a note is read as it was written, for each event and slot, and is its owner's alone", async () => {
  const paths = { ...imagePaths, note: join(folder, "update") };
  expect(await readUpdateNote(paths)).toBeUndefined();
  for (const event of ["trying", "kept", "back"] as const)
    for (const slot of ["a", "b"] as const)
      for (const excused of ["", "no reader is connected; 12 MB are free"]) {
        const note = { event, slot, version: "0.2.0-rc.1", excused };
        await writeUpdateNote(paths, note);
        expect(await readUpdateNote(paths)).toEqual(note);
      }
  expect((await stat(paths.note)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["update"]);
});

test("a note of an unknown event or slot, or half a note, is none", async () => {
  const paths = { ...imagePaths, note: join(folder, "update") };
  for (const line of [
    "",
    "event=trying slot=b",
    "event=lost slot=b version=0.2.0 excused=\n",
    "event=kept slot=c version=0.2.0 excused=\n",
  ]) {
    await writeFile(paths.note, line);
    expect([line, await readUpdateNote(paths)]).toEqual([line, undefined]);
  }
});

test("a long complaint of several lines becomes one line, and its note stays within the limit", async () => {
  const paths = { ...imagePaths, note: join(folder, "update") };
  const complaint = `no reader\n\tis connected; ${"x".repeat(updateNoteBytesMax)}`;
  await writeUpdateNote(paths, { event: "trying", slot: "a", version: "0.2.0", excused: complaint });
  const excused = `no reader is connected; ${"x".repeat(updateNoteBytesMax)}`.slice(
    0,
    updateNoteBytesMax / 2,
  );
  expect(await readFile(paths.note, "utf8")).toBe(`event=trying slot=a version=0.2.0 excused=${excused}\n`);
  expect(await readUpdateNote(paths)).toMatchObject({ excused });
});

test("a note that cannot be written leaves the old one", async () => {
  const paths = { ...imagePaths, note: join(folder, "update") };
  const note = { event: "kept", slot: "a", version: "0.1.0", excused: "" } as const;
  await writeUpdateNote(paths, note);
  await writeUpdateNote({ ...paths, note: join(folder, "no-folder", "update") }, { ...note, slot: "b" });
  expect(await readUpdateNote(paths)).toEqual(note);
});
