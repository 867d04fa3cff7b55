/** `tapdeck-share`: the user, the rights and the places of the file server of the share, with other programs in its place. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../../tools/image/meta.ts";
import { run } from "../../../tools/image/run.ts";

const rootTest = test.skipIf(process.getuid?.() !== 0);
const user = 61_901;
let folder: string;
let program: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-share-"));
  program = join(folder, "tapdeck-share");
  const source = join(root, "watchdog/tapdeck-share.c");
  await run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-static", "-o", program, source]);
  await chmod(folder, 0o755);
  await mkdir(join(folder, "own"));
  await chown(join(folder, "own"), user, user);
  await mkdir(join(folder, "other"));
  await chmod(join(folder, "other"), 0o777);
  await writeFile(join(folder, "other/file"), "for all\n", { mode: 0o666 });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

function confined(script: string, port = 1023) {
  const words = [String(user), String(port), join(folder, "own"), "/bin/sh", "-c", script];
  const { exitCode, stdout, stderr } = Bun.spawnSync([program, ...words], { cwd: "/" });
  return [exitCode, stdout.toString().trim(), stderr.toString().trim()] as const;
}

rootTest("it is the user of the share, in no other group, with one right of root", () => {
  const [code, said] = confined(
    "id -u; id -g; id -G; grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs)' /proc/self/status",
  );
  const bind = "0000000000000400"; // CAP_NET_BIND_SERVICE is 10.
  expect([code, said.split(/\s+/)]).toEqual([
    0,
    [
      ...[String(user), String(user), String(user)],
      ...["CapInh:", bind, "CapPrm:", bind, "CapEff:", bind, "CapBnd:", bind, "CapAmb:", bind],
      ...["NoNewPrivs:", "1"],
    ],
  ]);
});

rootTest("it changes its own folder, and neither changes nor reads another one, though all users may", () => {
  const own = join(folder, "own");
  expect(
    confined(
      `echo x >${own}/a && mkdir ${own}/b && mv ${own}/a ${own}/b/c && cat ${own}/b/c && rm -r ${own}/b`,
    ),
  ).toEqual([0, "x", ""]);
  for (const command of [
    `cat ${folder}/other/file`,
    `echo x >${folder}/other/file`,
    `echo x >${folder}/other/new`,
    "ls /tmp",
  ])
    expect([command, confined(command)[0] === 0]).toEqual([command, false]);
  expect(confined("head -c 1 /dev/urandom >/dev/null && cat /etc/passwd >/dev/null")[0]).toBe(0);
});

rootTest("wrong words, and a program that is not there, are told", () => {
  const start = (...words: string[]) => {
    const { exitCode, stderr } = Bun.spawnSync([program, ...words]);
    return [exitCode, stderr.toString().trim()];
  };
  expect(start()).toEqual([64, expect.stringContaining("wrong usage")]);
  expect(start("0", "445", "/", "/bin/sh")).toEqual([64, expect.stringContaining("a user or a port")]);
  expect(start(String(user), "70000", "/", "/bin/sh")).toEqual([
    64,
    expect.stringContaining("a user or a port"),
  ]);
  expect(start(String(user), "445", "/", "/no/program")[0]).toBe(126);
});
