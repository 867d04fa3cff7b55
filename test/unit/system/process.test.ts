import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { livingOf, markName, nextMark } from "../../../src/system/descendants.ts";
import { spawnPlayer } from "../../../src/system/process.ts";
import { eventually, eventuallyExists, eventuallyReaped, liveMembers, run } from "../../helpers/processes.ts";

// Creates the file $0 when it is ready, so no signal comes before its traps are set.
const sh = (script: string, ready: string) => ["/bin/sh", "-c", script, ready];

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-process-"));
  try {
    await run(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A shell that writes its own id to the file $0, and then runs for ever. */
const loop = (first: string) =>
  `/bin/sh -c '${first.replaceAll("'", "")}; echo $$ >"$0.new"; mv "$0.new" "$0"; while :; do sleep 0.05; done' "$0"`;

async function processIn(file: string): Promise<number> {
  const said = async () => Number(await readFile(file, "utf8").catch(() => ""));
  await eventually(async () => expect(await said()).toBeGreaterThan(0));
  return said();
}

/** A zombie that its own parent has not reaped no longer runs. */
function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !"ZX".includes(stat.slice(stat.lastIndexOf(")") + 2)[0] ?? "Z");
  } catch {
    return false;
  }
}

test("a player's end is noticed, with its exit code", async () => {
  expect(await spawnPlayer(["/bin/sh", "-c", "exit 7"]).exited).toEqual({ exitCode: 7 });
});

test("a player that a signal ended has no exit code", async () => {
  expect(await spawnPlayer(["/bin/sh", "-c", "kill -KILL $$"]).exited).toEqual({
    exitCode: null,
    signal: "SIGKILL",
  });
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
    await eventuallyExists(ready);
    expect(await player.stop(5000)).toEqual({ exitCode: 3 });
  }));

test("a player that ignores TERM is killed after the grace time", () =>
  withFolder(async (folder) => {
    const ready = join(folder, "ready");
    const player = spawnPlayer(sh('trap "" TERM; : >"$0"; while :; do sleep 1; done', ready));
    await eventuallyExists(ready);
    expect(await player.stop(100)).toEqual({ exitCode: null, signal: "SIGKILL" });
    expect(await liveMembers(player.pid)).toEqual([]);
  }));

test("a child that ignores TERM does not outlive the stop of a player that obeys it", () =>
  withFolder(async (folder) => {
    const ready = join(folder, "ready");
    const script = '(trap "" TERM; : >"$0"; while :; do sleep 1; done) & exec sleep 600';
    const player = spawnPlayer(sh(script, ready));
    await eventuallyExists(ready);
    expect((await liveMembers(player.pid)).length).toBeGreaterThan(1);
    await player.stop(100);
    expect(await liveMembers(player.pid)).toEqual([]);
  }));

test("processes that a player leaves behind end with it, if it ended badly or was known to be the player itself", async () => {
  for (const [script, options] of [
    ["sleep 600 & exit 5", {}],
    ["sleep 600 & exit 0", { mayHandOn: false }],
  ] as const) {
    const player = spawnPlayer(["/bin/sh", "-c", script], options);
    expect(await player.exited).toEqual({ exitCode: script.endsWith("5") ? 5 : 0 });
    await player.gone;
    expect(await liveMembers(player.pid)).toEqual([]);
  }
});

test("a program that starts the player and leaves is not its end: what is left of its group is the player", () =>
  withFolder(async (folder) => {
    const stop = join(folder, "stop");
    const player = spawnPlayer(["/bin/sh", "-c", 'until [ -e "$0" ]; do sleep 0.01; done & exit 0', stop]);
    let hasExited = false;
    void player.exited.then(() => (hasExited = true));
    await eventuallyReaped(player.pid);
    // The loop of the shell still runs, and perhaps also the program that the loop waits for.
    expect(await liveMembers(player.pid)).not.toEqual([]);
    expect(hasExited).toBe(false);
    await writeFile(stop, "");
    expect(await player.exited).toEqual({ exitCode: 0 });
    await player.gone;
  }));

test("a player that left the group of its starter is the player all the same, and is stopped with it", () =>
  withFolder(async (folder) => {
    const ready = join(folder, "ready");
    const player = spawnPlayer(sh(`setsid ${loop('trap "exit 0" TERM')} & exit 0`, ready));
    const game = await processIn(ready);
    await eventuallyReaped(player.pid);
    expect(await liveMembers(player.pid)).toEqual([]);
    expect(isRunning(game)).toBe(true);
    expect(await player.stop(5000)).toEqual({ exitCode: 0 });
    expect(isRunning(game)).toBe(false);
  }));

test("a process that is about to become another program is not taken for a stranger", () =>
  withFolder(async (folder) => {
    const script = join(folder, "again");
    await writeFile(script, '#!/bin/sh\nexec "$0"\n');
    await chmod(script, 0o755);
    const birth = nextMark();
    const env = { ...process.env, [markName]: birth.mark };
    const child = Bun.spawn([script], { env, stdio: ["ignore", "ignore", "ignore"] });
    try {
      // The child leads no group, like a process that has left the player's group.
      const family = { ...birth, groupId: await neverGiven() };
      for (let looks = 0; looks < 200; looks++)
        expect(await livingOf(family)).toEqual([
          { pid: child.pid, isInGroup: false, isStuck: expect.any(Boolean) },
        ]);
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
  }));

/** The id of no process. */
const neverGiven = async () => Number(await readFile("/proc/sys/kernel/pid_max", "latin1"));

const alone = ["unshare", "--pid", "--fork", "--mount-proc"];
const canSetLastId =
  existsSync("/proc/sys/kernel/ns_last_pid") && Bun.spawnSync([...alone, "true"]).exitCode === 0;

// The test runs in a separate PID namespace, so other processes do not take the ids.
test.skipIf(!canSetLastId)(
  "nothing outlives a stop if the kernel came to its highest process id meanwhile, and began again at the lowest",
  () =>
    withFolder(async (folder) => {
      const script = join(import.meta.dir, "../../programs/past-last-id.ts");
      const { out, error } = await run([...alone, process.execPath, script, join(folder, "said")]);
      expect(error).toBe("");
      const { leader, lowest, alive } = JSON.parse(out);
      expect(lowest).toBeLessThan(leader);
      expect(alive).toEqual([]);
    }),
);

test("nothing outlives a stop: not what forked twice, left the group and ignores TERM", () =>
  withFolder(async (folder) => {
    const ready = join(folder, "ready");
    const player = spawnPlayer(sh(`(setsid ${loop('trap "" TERM')} &) & exec sleep 600`, ready));
    const escaped = await processIn(ready);
    const before = await liveMembers(player.pid);
    expect(before).toContain(player.pid);
    expect(before).not.toContain(escaped);
    await player.stop(100);
    expect(await liveMembers(player.pid)).toEqual([]);
    await eventually(() => !isRunning(escaped));
    await player.gone;
  }));

test("a player without mercy for its own marks is ended as a group, and hangs nobody", () =>
  withFolder(async (folder) => {
    // A process that clears its environment and leaves the group cannot be recognized. It keeps our pipe, but nothing else.
    const ready = join(folder, "ready");
    const player = spawnPlayer(sh(`env -i setsid ${loop(":")} & exec sleep 600`, ready));
    const stranger = await processIn(ready);
    await player.stop(100);
    await player.gone;
    expect(isRunning(stranger)).toBe(true);
    process.kill(stranger, "SIGKILL");
  }));

test("no descriptor outlives a player, whatever it forked, however it ended", async () => {
  const open = () => readdirSync("/proc/self/fd").length;
  await spawnPlayer(["true"]).gone;
  const before = open();
  for (const script of ["exit 0", "exit 1", "kill -KILL $$", "sleep 600 & exit 1", "exec sleep 600"]) {
    const player = spawnPlayer(["/bin/sh", "-c", script]);
    await player.stop(100);
    await player.gone;
  }
  await eventually(() => expect(open()).toBeLessThanOrEqual(before));
});

test("the dead are buried: no zombie of ours is left after a stop", async () => {
  const player = spawnPlayer(["/bin/sh", "-c", "sleep 600 & sleep 600"]);
  await eventually(async () => expect((await liveMembers(player.pid)).length).toBeGreaterThanOrEqual(2));
  await player.stop(1000);
  await eventuallyReaped(player.pid);
});

test("the last lines that it wrote to its error output are known, after a flood too", async () => {
  const script =
    'head -c 1000000 /dev/zero >&2; printf "\\033[31mone\\033[0m\\n\\ntwo\\r\\nthree" >&2; exit 3';
  const player = spawnPlayer(["/bin/sh", "-c", script]);
  await player.exited;
  expect(await player.lastWords()).toEndWith("one\ntwo\nthree");
  expect((await player.lastWords()).length).toBeLessThan(1000);
});

test("a player that gives its reason in its output and not in its error output was silent", async () => {
  const player = spawnPlayer(["/bin/sh", "-c", "echo GET_STATUS CONTENTLESS; echo no such game; exit 1"], {
    hasTalk: true,
  });
  await new Response(player.talk?.output).text();
  await player.exited;
  expect(await player.lastWords()).toBe("no such game");
  const both = spawnPlayer(["/bin/sh", "-c", "echo hello; echo no core >&2; exit 1"], { hasTalk: true });
  await both.exited;
  expect(await both.lastWords()).toBe("no core");
});

test("a player finds its own variables, its folder and its input", () =>
  withFolder(async (folder) => {
    const player = spawnPlayer(
      ["/bin/sh", "-c", 'printf "%s %s %s" "$GAME" "$PWD" "$(cat /dev/stdin)" >out'],
      {
        environment: { GAME: "on" },
        folder,
        input: new TextEncoder().encode("told"),
      },
    );
    expect(await player.exited).toEqual({ exitCode: 0 });
    expect(await readFile(join(folder, "out"), "utf8")).toBe(`on ${folder} told`);
    expect(() => spawnPlayer(["true"], { folder: join(folder, "none") })).toThrow(/in the folder .*none/);
  }));

test("stopping a player that has ended returns how it ended", async () => {
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

test("players get the variables of a fixed list, and nothing else of what stands around", () =>
  withFolder(async (folder) => {
    // The environment is read once, when a process starts, so the player is started from a process of its own.
    const out = join(folder, "out");
    const code = `import { spawnPlayer } from ${JSON.stringify(join(import.meta.dir, "../../../src/system/process.ts"))};
      await spawnPlayer(["/bin/sh", "-c", 'env >"$0"', ${JSON.stringify(out)}]).exited;`;
    const env = {
      ...process.env,
      BUN_CONFIG_TEST: "1",
      LD_PRELOAD: "",
      PASSWORD: "hunter2",
      NODE_OPTIONS: "",
      TAPDECK_CLIENT_SECRET: "5a",
      DISPLAY: ":7",
      LC_TIME: "C",
      XDG_RUNTIME_DIR: "/run/user/7",
      SDL_VIDEODRIVER: "kmsdrm",
    };
    await Bun.spawn([process.execPath, "-e", code], { env, stdio: ["ignore", "inherit", "inherit"] }).exited;
    const names = (await readFile(out, "utf8")).split("\n").map((line) => line.split("=")[0] ?? "");
    for (const name of ["PATH", "DISPLAY", "LC_TIME", "XDG_RUNTIME_DIR", "SDL_VIDEODRIVER"])
      expect(names).toContain(name);
    expect(names.filter((name) => /^(BUN_|LD_|NODE_|PASSWORD|TAPDECK_CLIENT)/.test(name))).toEqual([]);
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
