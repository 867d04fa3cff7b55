/** The check of the media folders in `health`. */

import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Fault } from "../../../src/core/faults.ts";
import { createMediaCheck, type FolderToCheck } from "../../../src/services/health-report.ts";

test("a media folder that is missing, or lost all its media, is a fault; one that never had any is none", async () => {
  const top = await mkdtemp(join(tmpdir(), "tapdeck-health-"));
  try {
    const at = (name: string) => join(top, name);
    for (const name of ["root/SNES", "empty", "own", "lost"]) await mkdir(at(name), { recursive: true });
    await writeFile(at("own/a.mp3"), "");
    const check = (...folders: readonly FolderToCheck[]) => createMediaCheck(() => folders)();
    const [isStated, indexed]: [boolean, readonly string[]] = [true, []];
    const of = (name: string, facts: Partial<FolderToCheck> = {}) => ({
      ...{ folder: at(name), isStated, indexed },
      ...facts,
    });
    const fault = (name: string): Fault => ({ code: "media-missing", of: "owner", subject: at(name) });
    // The default folder is made by the owner, and nobody stated it.
    expect(await check(of("absent", { isStated: false }), of("empty"))).toEqual([]);
    expect(await check(of("absent"), of("root"), of("gone"))).toEqual([fault("absent"), fault("gone")]);
    expect(await check(of("root", { indexed: [at("root/NES"), at("root/SNES")] }))).toEqual([]);
    const bytes = new TextEncoder().encode(at("root/SNES"));
    expect(await check(of("root", { indexed: [bytes] }))).toEqual([]);
    expect(await check(of("empty", { isStated: false, indexed: [at("empty/NES")] }))).toEqual([
      fault("empty"),
    ]);
    expect(await check(of("own", { indexed: [at("own")] }))).toEqual([]);
    expect(await check(of("lost", { indexed: [at("lost")] }))).toEqual([fault("lost")]);
  } finally {
    await rm(top, { recursive: true });
  }
});
