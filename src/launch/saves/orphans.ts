/**
 * A RetroArch whose service has died: it is asked to end, which writes its saves. It is known by the settings file in our
 * folder in memory that it was started with.
 */
import { readdir, readFile } from "node:fs/promises";
import { orphanSaveMsMax } from "../../core/limits.ts";

const pollMs = 50;

/** The word of its command line begins so, with the folder in memory behind it. */
export const settingsOption = "--appendconfig=";

/** Ends those of this folder, and resolves when they are gone, or were killed. */
export async function endOrphans(memory: string): Promise<void> {
  const deadline = performance.now() + orphanSaveMsMax;
  let asked = new Set<number>();
  for (;;) {
    const found = await orphansOf(memory);
    if (found.length === 0) return;
    const isLate = performance.now() >= deadline;
    for (const pid of found) if (isLate || !asked.has(pid)) send(pid, isLate ? "SIGKILL" : "SIGTERM");
    if (isLate) return;
    asked = new Set(found);
    await Bun.sleep(pollMs);
  }
}

async function orphansOf(memory: string): Promise<readonly number[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const ours = await Promise.all(
    ids.map(async (id) => {
      const line = await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "");
      return line.split("\0").some((word) => word.startsWith(`${settingsOption}${memory}/`));
    }),
  );
  return ids.filter((_id, nth) => ours[nth]).map(Number);
}

function send(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
