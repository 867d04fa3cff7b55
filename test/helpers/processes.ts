/** Running and looking at real processes, and waiting for what no event tells. */
import { readdir, readFile } from "node:fs/promises";

/** Runs a command to its end, and returns what it said, without the white space around it. */
export async function run(command: readonly string[]) {
  const child = Bun.spawn([...command], { stdio: ["ignore", "pipe", "pipe"] });
  const [out, error] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { out: out.trim(), error: error.trim(), code: await child.exited };
}

/** What a command prints; throws where it fails. */
export async function printed(command: readonly string[]): Promise<string> {
  const { out, error, code } = await run(command);
  if (code !== 0) throw new Error(`${command.join(" ")}: exit code ${code}: ${error}`);
  return out;
}

/** Process ids of the living members of a process group; the dead that nobody has reaped are none. */
export async function liveMembers(group: number): Promise<readonly number[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const living = await Promise.all(
    ids.map(async (id) => {
      // It may end between the two looks.
      const stat = await readFile(`/proc/${id}/stat`, "latin1").catch(() => "");
      const [state = "Z", , pgrp] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(pgrp) === group && !"ZX".includes(state);
    }),
  );
  return ids.filter((_, index) => living[index]).map(Number);
}

/** Resolves as soon as `holds`; fails after `msMax`, a minute. */
export async function eventually(holds: () => boolean | Promise<boolean>, msMax = 60_000): Promise<void> {
  const deadline = performance.now() + msMax;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`did not come true: ${holds}`);
    await Bun.sleep(2);
  }
}
