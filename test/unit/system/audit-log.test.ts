/** The audit log: counted, limited, private, and silent if nothing happens. */
import { afterEach, expect, test } from "bun:test";
import { appendFile, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { auditFileBytesMax, auditFilesMax, auditKindsMax } from "../../../src/core/limits.ts";
import { silentLog } from "../../../src/core/log.ts";
import { createAuditLog } from "../../../src/system/audit-log.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function makeLog() {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-audit-"));
  folders.push(folder);
  const clock = createManualClock();
  return { folder, clock, audit: createAuditLog({ folder, clock, log: silentLog }) };
}

const paired = { event: "paired", client: "1", name: "phone", by: "secret" } as const;
const minute = 60_000;

test("acts of people and refusals are read newest first, before and after they are written", async () => {
  const { folder, clock, audit } = await makeLog();
  audit.note(paired);
  await clock.advance(1000);
  audit.refused("wrong-pin", { address: "10.0.0.9" });
  await clock.advance(1000);
  audit.launched({ address: "10.0.0.9", client: "1" });
  const events = async () => (await audit.read(10)).map(({ event, why }) => why ?? event);
  expect(await events()).toEqual(["launched", "wrong-pin", "paired"]);
  await audit.close();
  expect(await events()).toEqual(["launched", "wrong-pin", "paired"]);
  expect(await audit.read(1)).toHaveLength(1);
  for (const name of await readdir(folder)) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  // Another run continues at the end of this one.
  const next = createAuditLog({ folder, clock, log: silentLog });
  next.note({ event: "revoked", client: "1", name: "phone" });
  expect((await next.read(10)).map(({ event }) => event).toSorted()).toEqual([
    "launched",
    "paired",
    "refused",
    "revoked",
  ]);
  await next.close();
});

test("a thousand refusals of a kind are one line at once and one line later", async () => {
  const { clock, audit } = await makeLog();
  for (let n = 0; n < 1000; n++) audit.refused("secure-failure", { address: "10.0.0.9" });
  expect(await audit.read(10)).toMatchObject([
    { count: 999 },
    { why: "secure-failure", address: "10.0.0.9" },
  ]);
  await clock.advance(10 * minute);
  await audit.close();
  const entries = await audit.read(10);
  expect(entries.map(({ count }) => count)).toEqual([999, undefined]);
});

test("for any number of entries and addresses, the files stay below their size, and pairings stay in them", async () => {
  const { folder, clock, audit } = await makeLog();
  audit.note(paired);
  for (let round = 0; round < 60; round++) {
    for (let n = 0; n < 500; n++) audit.refused("too-many-requests", { address: `fd00::${round}:${n}` });
    await clock.advance(10 * minute);
    await audit.read(1); // This call waits until all begun lines are written.
  }
  await audit.close();
  const names = await readdir(folder);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  expect(names.length).toBeLessThanOrEqual(1 + auditFilesMax);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(auditFileBytesMax);
  expect(sizes.reduce((sum, size) => sum + size)).toBeGreaterThan(auditFileBytesMax);
  const entries = await audit.read(100_000);
  expect(entries).toContainEqual({ time: expect.any(String), ...paired });
  // Each period has at most `auditKindsMax` named lines, one line for all others, and the same number of lines with
  // counts.
  expect(entries.length).toBeLessThanOrEqual(60 * 2 * (auditKindsMax + 1) + 1);
  expect(entries.some(({ address }) => address === "others")).toBe(true);
});

test("nothing is written while nothing happens, and what happened is written within five seconds", async () => {
  const { folder, clock, audit } = await makeLog();
  await clock.advance(60 * minute);
  expect(await readdir(folder)).toEqual([]);
  audit.note(paired);
  expect(await readdir(folder)).toEqual([]);
  await clock.advance(5000);
  await audit.read(1);
  const path = join(folder, "audit.jsonl");
  const text = await readFile(path, "utf8");
  expect(JSON.parse(text)).toMatchObject(paired);
  const { mtimeMs } = await stat(path);
  await clock.advance(60 * minute);
  await audit.close();
  expect([await readdir(folder), (await stat(path)).mtimeMs]).toEqual([["audit.jsonl"], mtimeMs]);
});

test("half a line that a pulled plug left does not hide the others", async () => {
  const { folder, clock, audit } = await makeLog();
  audit.note(paired);
  await audit.close();
  await appendFile(join(folder, "audit.jsonl"), '{"time":"20');
  expect(await audit.read(10)).toMatchObject([paired]);
  const next = createAuditLog({ folder, clock, log: silentLog });
  next.note(paired);
  await next.close();
  expect(await next.read(10)).toMatchObject([paired, paired]);
});
