import { afterEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../../src/core/log.ts";
import { closeToOthers } from "../../../src/system/private-files.ts";

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
});

function newFolder(mode: number): string {
  const folder = mkdtempSync(join(tmpdir(), "tapdeck-private-"));
  made.push(folder);
  chmodSync(folder, mode);
  return folder;
}

const modeOf = (path: string) => statSync(path).mode & 0o7777;

/** The log lines about it, each with its sentence and file. */
async function closed(folder: string): Promise<readonly string[]> {
  const lines: string[] = [];
  await closeToOthers(folder, createLog({ debug: false, write: (line) => lines.push(line) }));
  return lines;
}

test("a folder that is private already is left alone, and nothing is said", async () => {
  const folder = newFolder(0o700);
  writeFileSync(join(folder, "tapdeck.db"), "", { mode: 0o600 });
  writeFileSync(join(folder, "config.toml"), "");
  chmodSync(join(folder, "config.toml"), 0o644);
  expect(await closed(folder)).toEqual([]);
  expect(modeOf(join(folder, "config.toml"))).toBe(0o644);
});

test("a group passes through the data folder only where media is shared with it by the setgid bit", async () => {
  for (const [media, expected] of [
    [0o2770, 0o710],
    [0o2775, 0o710],
    [0o2750, 0o700],
    [0o770, 0o700],
    [0o755, 0o700],
  ] as const) {
    const folder = newFolder(0o755);
    mkdirSync(join(folder, "media"));
    chmodSync(join(folder, "media"), media);
    expect(await closed(folder)).toHaveLength(1);
    expect([media, modeOf(folder)]).toEqual([media, expected]);
    expect(modeOf(join(folder, "media"))).toBe(media);
  }
});

test("a folder for all users, such as /tmp, is not taken from them, and the log says what to do", async () => {
  const folder = newFolder(0o1777);
  const [line = ""] = await closed(folder);
  expect(line).toContain("it is a folder for all users: name another one with --data");
  expect(modeOf(folder)).toBe(0o1777);
});

test("only a file with secrets asks for new pairings", async () => {
  const folder = newFolder(0o700);
  for (const name of ["tapdeck.db.backup", "media.db"]) {
    writeFileSync(join(folder, name), "");
    chmodSync(join(folder, name), 0o644);
  }
  const lines = await closed(folder);
  expect(lines).toHaveLength(2);
  expect(lines.filter((line) => line.includes("re-pair clients"))).toHaveLength(1);
  expect(lines.find((line) => line.includes("re-pair clients"))).toContain("tapdeck.db.backup");
});
