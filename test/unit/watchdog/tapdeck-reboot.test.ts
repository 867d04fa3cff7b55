/**
 * The behaviour of `tapdeck-reboot` that can be tested without a restart; the updates of the emulated board prove the
 * rest.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../../tools/image/meta.ts";
import { run } from "../../../tools/image/run.ts";

let folder: string;
let program: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-reboot-"));
  program = join(folder, "tapdeck-reboot");
  const source = join(root, "watchdog/tapdeck-reboot.c");
  await run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-static", "-o", program, source]);
  // Another user must also be able to run it.
  await chmod(folder, 0o755);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("wrong words, and somebody who is not root, restart nothing", () => {
  const asNobody = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--clear-groups"] : [];
  const ask = (...words: string[]) => {
    const { exitCode, stderr } = Bun.spawnSync([...asNobody, program, ...words]);
    return [exitCode, stderr.toString().trim()];
  };
  expect(ask("--help")).toEqual([64, expect.stringContaining("tapdeck-reboot [WORD]: restarts the machine")]);
  expect(ask("0", "tryboot")).toEqual([64, expect.stringContaining("tapdeck-reboot [WORD]")]);
  expect(ask("0 tryboot")).toEqual([1, "tapdeck-reboot: only root may restart the machine"]);
  expect(ask()).toEqual([1, "tapdeck-reboot: only root may restart the machine"]);
});
