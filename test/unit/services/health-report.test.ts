/** The checks of the media folders and of certificates in `health`. */

import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Fault } from "../../../src/core/faults.ts";
import { certificateWarnDays } from "../../../src/core/limits.ts";
import {
  certificateFaults,
  createHealth,
  createMediaCheck,
  type FolderToCheck,
} from "../../../src/services/health-report.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

test("a media folder that is missing, or lost all its media, is a fault; one that never had any is none", async () => {
  const top = await mkdtemp(join(tmpdir(), "tapdeck-health-"));
  try {
    const at = (name: string) => join(top, name);
    for (const name of ["root/SNES", "empty", "own", "lost"]) await mkdir(at(name), { recursive: true });
    await writeFile(at("own/a.mp3"), "");
    const check = (...folders: readonly FolderToCheck[]) => createMediaCheck(() => folders)();
    const [isStated, indexed]: [boolean, readonly string[]] = [true, []];
    const of = (name: string, facts: Partial<FolderToCheck> = {}) => ({
      folder: at(name),
      isStated,
      indexed,
      ...facts,
    });
    const fault = (name: string): Fault => ({ code: "media-missing", of: "owner", subject: at(name) });
    // The owner makes the default folder, and no setting names it.
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

const dayMs = 24 * 60 * 60_000;
const nowMs = Date.parse("2030-01-01T00:00:00Z");

test("a certificate that ends within 30 days is a fault with the days left, and one that has ended is another", () => {
  const faults = (endMs: number, host?: string) =>
    certificateFaults([{ of: "mqtt.certificate", endMs, ...(host === undefined ? {} : { host }) }], nowMs);
  expect(certificateFaults([], nowMs)).toBeUndefined();
  expect(faults(nowMs + certificateWarnDays * dayMs)).toEqual([]);
  const soon = { code: "certificate-ends", of: "owner", subject: "mqtt.certificate" } as const;
  expect(faults(nowMs + certificateWarnDays * dayMs - 1)).toEqual([{ ...soon, days: "29" }]);
  expect(faults(nowMs)).toEqual([{ ...soon, days: "0" }]);
  expect(faults(nowMs - 1)).toEqual([
    { code: "certificate-ended", of: "owner", subject: "mqtt.certificate" },
  ]);
  expect(faults(nowMs + dayMs, "broker.lan")).toEqual([
    { code: "broker-certificate-ends", of: "others", subject: "broker.lan", days: "1" },
  ]);
  expect(faults(nowMs, "broker.lan")).toMatchObject([{ code: "broker-certificate-ends", days: "0" }]);
  // A certificate that has ended is a fault of the connection instead.
  expect(faults(nowMs - 1, "broker.lan")).toEqual([]);
});

test("the uptime is that of the service, though the clock is set on or back", async () => {
  const clock = createManualClock();
  const health = createHealth({
    clock,
    readers: () => ({ connected: 0, configured: 0 }),
    fingerprint: () => undefined,
    mqtt: () => undefined,
    updates: () => undefined,
    certificates: async () => [],
    checks: [],
  });
  for (const ms of [8 * 3_600_000, -9 * 3_600_000]) {
    clock.jump(ms);
    const { uptime } = await health();
    expect(uptime).toBeGreaterThanOrEqual(0);
    expect(uptime).toBeLessThan(3600);
  }
});
