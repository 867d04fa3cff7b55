/** The reports of the image's start and of the watchdog, as `health` shows them. */

import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/core/clock.ts";
import { faultLine } from "../../../src/core/faults.ts";
import { machineFaultBytesMax, machineFaultsMax } from "../../../src/core/limits.ts";
import { machineChecks, watchdogFaults } from "../../../src/system/machine-checks.ts";

const nowMs = 1_700_000_000_000;
const dayMs = 24 * 60 * 60 * 1000;
const line = (event: string, resets = 0) =>
  `event=${event} time=1700000000 restarts=1 resets=${resets} why=it hung\n`;

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-machine-"));
  try {
    await run(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test("a machine that names no places has no such checks", () => {
  expect(machineChecks({}, systemClock)).toEqual([]);
  expect(machineChecks({ TAPDECK_FAULTS: "", TAPDECK_WATCHDOG_STATE: "" }, systemClock)).toEqual([]);
});

test("each fault of the start is reported, by the name of its file, and a folder without one is well", () =>
  withFolder(async (folder) => {
    const [device] = machineChecks({ TAPDECK_FAULTS: folder }, systemClock);
    expect(device?.ask()).toEqual([]);
    await writeFile(join(folder, "data"), "data-damaged\n");
    await writeFile(join(folder, "conf"), "conf-file-missing\nsubject=a=b.pem\nkey=ca_file\n");
    await writeFile(join(folder, "empty"), "");
    await writeFile(join(folder, "other"), "no-such-code\n");
    expect(device?.ask()).toEqual([
      { code: "conf-file-missing", of: "owner", subject: "a=b.pem", key: "ca_file" },
      { code: "data-damaged", of: "system" },
      { code: "check-failed", of: "system", subject: "no-such-code", why: "no-such-code is no known fault" },
    ]);
  }));

test("faults without end are cut at the limits", () =>
  withFolder(async (folder) => {
    for (let n = 0; n < machineFaultsMax + 10; n++)
      await writeFile(join(folder, `${n}`), `conf-invalid\nwhy=${"x".repeat(machineFaultBytesMax)}`);
    const [device] = machineChecks({ TAPDECK_FAULTS: folder }, systemClock);
    const fitting = "x".repeat(machineFaultBytesMax - "conf-invalid\nwhy=".length);
    expect(device?.ask().map(({ why }) => why)).toEqual(Array(machineFaultsMax).fill(fitting));
  }));

test("a fault that cannot be read is reported, because it may say that all is lost", () =>
  withFolder(async (folder) => {
    await mkdir(join(folder, "state"));
    const checks = machineChecks(
      { TAPDECK_FAULTS: folder, TAPDECK_WATCHDOG_STATE: join(folder, "state") },
      systemClock,
    );
    for (const { ask } of checks) expect(ask).toThrow("EISDIR");
  }));

test("a folder of faults that is gone is reported, because then nobody knows", () =>
  withFolder(async (folder) => {
    const [device] = machineChecks({ TAPDECK_FAULTS: join(folder, "gone") }, systemClock);
    expect(() => device?.ask()).toThrow("ENOENT");
  }));

test("the watchdog's event is reported with its reason", () =>
  withFolder(async (folder) => {
    const path = join(folder, "state");
    const [watchdog] = machineChecks({ TAPDECK_WATCHDOG_STATE: path }, { ...systemClock, now: () => nowMs });
    expect(watchdog?.ask()).toEqual([]);
    for (const [event, code, sentence] of [
      ["restart", "service-restarted", "the watchdog started the service again: it hung"],
      ["giving-up", "machine-resetting", "the watchdog is about to reset this machine: it hung"],
      ["reset", "machine-reset", "the watchdog reset this machine: it hung"],
      ["silent", "service-silent", "the watchdog got no answer: it hung"],
      ["unguarded", "machine-unguarded", "nothing resets this machine should it hang: it hung"],
    ] as const) {
      await writeFile(path, line(event));
      expect(watchdog?.ask()).toEqual([{ code, of: "system", why: "it hung" }]);
      expect(faultLine(watchdog?.ask() ?? [])).toBe(sentence);
    }
    await writeFile(path, line("reset", 2));
    expect(faultLine(watchdog?.ask() ?? [])).toBe(
      "the watchdog reset this machine, 2 times in a row: it hung",
    );
  }));

test("after a day it is history, unless the machine is still unguarded; a time to come is one of a wrong clock", () => {
  expect(watchdogFaults(line("restart"), nowMs + dayMs)).not.toEqual([]);
  expect(watchdogFaults(line("restart"), nowMs + dayMs + 1)).toEqual([]);
  expect(watchdogFaults(line("restart"), 0)).not.toEqual([]);
  expect(watchdogFaults(line("unguarded"), nowMs + 9 * dayMs)).not.toEqual([]);
});

test("a line of any other form says nothing", () => {
  for (const text of [
    "",
    "\n",
    "event=restart",
    line("dancing"),
    "event= time=1 restarts=1 resets=0 why=x",
    "\0\xff",
  ])
    expect(watchdogFaults(text, nowMs)).toEqual([]);
});
