/** Backups that are made to use up memory: the service reads them a line at a time, and refuses lines of many values. */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { schemaVersion } from "../../src/store/migrations.ts";
import { makePlace, noReaders, startTapdeck } from "../helpers/tapdeck.ts";

const series = 12;
const peakMbMax = 200; // The service takes 75 MB at rest.

/** The file of a backup with these lines after its head, and with its last line. */
function packed(...lines: readonly string[]): Blob {
  const head = { tapdeck: "0.1", made: new Date(0).toISOString(), schema: schemaVersion, media: "/media" };
  const all = [JSON.stringify(head), JSON.stringify({ config: "" }), ...lines];
  const text = [...all, JSON.stringify({ lines: all.length })].map((line) => `${line}\n`).join("");
  const bytes = gzipSync(text, { level: 1 });
  const sum = createHash("sha256").update(bytes).digest("hex");
  const first = `tapdeck-backup 1 sha256=${sum} bytes=${String(bytes.length).padStart(10, "0")}\n`;
  return new Blob([first, bytes]);
}

/** A mapping file of 1 MiB, whose characters are written as escapes of six. */
const escaped = (name: string) => `{"mappingFile":"${name}.toml","text":"${"\\u0023".repeat(1_000_000)}"}`;

const backups: Readonly<Record<string, { readonly file: () => Blob; readonly status: number }>> = {
  "lines of millions of empty objects": {
    file: () => packed(`{"sealed":[${"{},".repeat(2_700_000)}0]}`),
    status: 422,
  },
  "the longest lines": {
    file: () => packed("A".repeat(8_300_000), "A".repeat(8_300_000)),
    status: 422,
  },
  "mapping files in escapes": {
    file: () => packed(...Array.from({ length: 10 }, (_, nth) => escaped(`file${nth}`))),
    status: 200,
  },
};

for (const [kind, { file, status }] of Object.entries(backups))
  test(`${series} backups with ${kind} take a bounded memory`, async () => {
    await using place = await makePlace(noReaders);
    await using service = await startTapdeck(place);
    const body = file();
    for (let times = 0; times < series; times++) {
      const answer = await fetch(`http://127.0.0.1:${place.port}/backup`, { method: "PUT", body });
      expect([answer.status, await answer.text()]).toEqual([status, expect.any(String)]);
    }
    const text = await readFile(`/proc/${service.pid}/status`, "utf8");
    const peakMb = Number(/VmHWM:\s+(\d+)/.exec(text)?.[1]) / 1024;
    process.stdout.write(`peak resident memory: ${peakMb.toFixed(0)} MB\n`);
    expect(peakMb).toBeLessThan(peakMbMax);
    expect(await service.client.call("version")).toMatchObject({ platform: "linux" });
  });
