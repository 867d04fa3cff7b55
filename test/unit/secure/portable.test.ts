/**
 * The secure layer also runs in a browser, and costs nothing until a handshake.
 * Covers: src/secure.
 */
import { expect, test } from "bun:test";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = join(import.meta.dir, "../../../src/secure");

test("the secure layer uses nothing that a browser lacks, and speaks no transport", async () => {
  const foreign =
    /from "(node|bun):|\bBun\.|\bBuffer\b|\bprocess\.|\brequire\(|\bWebSocket\b|\bfetch\(|\bset(Timeout|Interval)\b/;
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(".ts"));
  expect(files.length).toBeGreaterThan(7);
  for (const file of files) {
    const code = (await readFile(join(folder, file), "utf8")).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    expect(foreign.test(code), file).toBe(false);
    expect(code, file).not.toMatch(/^import .*"libsodium/m);
  }
});

test("bundled for a browser, libsodium is a part of its own that is loaded with the first handshake", async () => {
  const out = await mkdtemp(join(tmpdir(), "tapdeck-secure-"));
  try {
    const built = await Bun.build({
      entrypoints: [join(folder, "handshake.ts")],
      target: "browser",
      splitting: true,
      outdir: out,
    });
    expect(built.success).toBe(true);
    const entry = built.outputs.find((output) => output.kind === "entry-point");
    expect(entry?.size).toBeLessThan(40_000);
    expect(built.outputs.reduce((sum, output) => sum + output.size, 0)).toBeGreaterThan(300_000);
    // The bundle makes a handshake with itself.
    const { acceptHandshake, startHandshake } = await import(entry?.path ?? "");
    const started = await startHandshake("a", "5a".repeat(32));
    const accepted = await acceptHandshake(started.hello, () => "5a".repeat(32));
    expect(accepted.session.open(started.finish(accepted.reply).seal("hi"))).toEqual({
      kind: "payload",
      text: "hi",
    });
  } finally {
    await rm(out, { recursive: true });
  }
});
