/** The service's memory holds keys: no core dump gives them to anybody, and no dump of a player is written beside it. */
import { expect, test } from "bun:test";
import { readdir, readFile } from "node:fs/promises";
import { eventually } from "../helpers/processes.ts";
import { makePlace, noReaders, program, sleeper, startTapdeck } from "../helpers/tapdeck.ts";

/** Runs a command in a folder, and prints whether its signal dumped core (WCOREDUMP, wait(2)). */
const watcher = `
import os, sys
child = os.fork()
if child == 0:
  os.chdir(sys.argv[1])
  os.execv(sys.argv[2], sys.argv[2:])
_, status = os.waitpid(child, 0)
print("signal=%d dumped=%s" % (os.WTERMSIG(status), os.WCOREDUMP(status)), file=sys.stderr, flush=True)
`;

test("neither the service nor a player leaves a core dump, whatever limit it was started with", async () => {
  await using place = await makePlace(`${noReaders}${sleeper(".sfc")}`);
  await place.file("SNES/Game.sfc");
  // This limit is enough for the beginning of a dump.
  const limit = ["/usr/bin/prlimit", "--core=8192:8192"];
  const command = [...limit, "/usr/bin/python3", "-c", watcher, place.folder, program];
  await using service = await startTapdeck(place, command);
  const [child = 0] = await childrenOf(service.pid);
  await service.client.call("launch", "SNES/Game.sfc");
  await service.heard.next("media.started");
  // Until its program has begun, the player is a waiting tapdeck-confine.
  let player = 0;
  await eventually(async () => {
    player = await playerOf(child);
  });
  for (const pid of [child, player]) {
    const limits = await readFile(`/proc/${pid}/limits`, "latin1");
    expect(limits).toMatch(/^Max core file size +1 +1 +bytes/m);
    expect((await readFile(`/proc/${pid}/coredump_filter`, "latin1")).trim()).toBe("00000000");
  }
  process.kill(player, "SIGABRT");
  await service.heard.next("media.stopped");
  process.kill(child, "SIGABRT");
  await eventually(async () => expect(service.log()).toContain("signal=6"));
  await eventually(() => expect(service.log()).toContain("signal=6 dumped=False"));
  expect((await readdir(place.folder)).filter((name) => name.startsWith("core"))).toEqual([]);
});

async function playerOf(service: number): Promise<number> {
  for (const pid of await childrenOf(service))
    if ((await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")).includes("sleep")) return pid;
  throw new Error("no player is a child of the service");
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "latin1");
  return text.trim().split(" ").map(Number);
}
