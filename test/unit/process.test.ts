import { expect, test } from "bun:test";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnPlayer } from "../../src/system/process.ts";
import { eventually, liveMembers } from "../helpers/processes.ts";

// Says that it is ready by making the file $0, so that no signal comes before its traps are set.
const sh = (script: string, ready: string) => ["/bin/sh", "-c", script, ready];

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-process-"));
  try {
    await run(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const exists = (path: string) => Bun.file(path).exists();

test("a player's end is noticed, with its exit code", async () => {
  expect(await spawnPlayer(["/bin/sh", "-c", "exit 7"]).exited).toEqual({ exitCode: 7 });
});

test("a player that a signal ended has no exit code", async () => {
  expect(await spawnPlayer(["/bin/sh", "-c", "kill -KILL $$"]).exited).toEqual({ exitCode: null });
});

test("a player leads a process group of its own", async () => {
  const player = spawnPlayer(["sleep", "600"]);
  expect(await liveMembers(player.pid)).toEqual([player.pid]);
  await player.stop(1000);
  expect(await liveMembers(player.pid)).toEqual([]);
});

test("a player that ends when asked keeps its exit code", () =>
  withFolder(async (folder) => {
    const ready = join(folder, "ready");
    const player = spawnPlayer(sh('trap "exit 3" TERM; : >"$0"; while :; do sleep 0.01; done', ready));
    await eventually(() => exists(ready));
    expect(await player.stop(5000)).toEqual({ exitCode: 3 });
  }));

test("a player that ignores TERM is killed after the grace time", () =>
  withFolder(async (folder) => {
    const ready = join(folder, "ready");
    const player = spawnPlayer(sh('trap "" TERM; : >"$0"; while :; do sleep 1; done', ready));
    await eventually(() => exists(ready));
    expect(await player.stop(100)).toEqual({ exitCode: null });
    expect(await liveMembers(player.pid)).toEqual([]);
  }));

test("a child that ignores TERM does not outlive the stop of a player that obeys it", () =>
  withFolder(async (folder) => {
    const ready = join(folder, "ready");
    const script = '(trap "" TERM; : >"$0"; while :; do sleep 1; done) & exec sleep 600';
    const player = spawnPlayer(sh(script, ready));
    await eventually(() => exists(ready));
    expect((await liveMembers(player.pid)).length).toBeGreaterThan(1);
    await player.stop(100);
    expect(await liveMembers(player.pid)).toEqual([]);
  }));

test("what a player leaves behind ends with it", async () => {
  const player = spawnPlayer(["/bin/sh", "-c", "sleep 600 & exit 0"]);
  expect(await player.exited).toEqual({ exitCode: 0 });
  await player.gone;
  expect(await liveMembers(player.pid)).toEqual([]);
});

test("stopping a player that has ended tells how it ended", async () => {
  const player = spawnPlayer(["/bin/sh", "-c", "exit 4"]);
  await player.exited;
  expect(await player.stop(1000)).toEqual({ exitCode: 4 });
});

test("arguments reach the player as they are: no shell reads them", () =>
  withFolder(async (folder) => {
    const out = join(folder, "out");
    const strange = "$(touch x) `y` ;|&<> * ~ 'q' \"r\" \\ \n é";
    await spawnPlayer(["/bin/sh", "-c", 'printf %s "$1" >"$0"', out, strange]).exited;
    expect(await readFile(out, "utf8")).toBe(strange);
  }));

test("a player that writes without end does not stall, and reads nothing", () =>
  withFolder(async (folder) => {
    const out = join(folder, "out");
    const script = 'head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; wc -c >"$0"';
    expect(await spawnPlayer(sh(script, out)).exited).toEqual({ exitCode: 0 });
    expect((await readFile(out, "utf8")).trim()).toBe("0");
  }));

test("variables of our runtime are not handed on, all others are", () =>
  withFolder(async (folder) => {
    // The environment is taken once at start: a process of its own has both.
    const out = join(folder, "out");
    const code = `import { spawnPlayer } from ${JSON.stringify(join(import.meta.dir, "../../src/system/process.ts"))};
      await spawnPlayer(["/bin/sh", "-c", 'env >"$0"', ${JSON.stringify(out)}]).exited;`;
    const env = { ...process.env, BUN_CONFIG_TEST: "1", PLAYER_TEST: "1" };
    await Bun.spawn([process.execPath, "-e", code], { env, stdio: ["ignore", "inherit", "inherit"] }).exited;
    const names = (await readFile(out, "utf8")).split("\n").map((line) => line.split("=")[0] ?? "");
    expect(names).toContain("PLAYER_TEST");
    expect(names.filter((name) => name.startsWith("BUN_"))).toEqual([]);
  }));

test("a program that cannot be started is refused with a sentence", () =>
  withFolder(async (folder) => {
    const file = join(folder, "file");
    await writeFile(file, "no program");
    expect(() => spawnPlayer([join(folder, "none")])).toThrow(
      /none could not be started: there is no such program$/,
    );
    expect(() => spawnPlayer(["no-such-player-here"])).toThrow(/there is no such program$/);
    expect(() => spawnPlayer([folder])).toThrow(/it is not a program that this user may run$/);
    expect(() => spawnPlayer([file])).toThrow(/it is not a program that this user may run$/);
    await chmod(file, 0o755);
    expect(() => spawnPlayer([file])).toThrow(/it is not a program for this machine$/);
  }));
