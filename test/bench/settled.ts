/** Waits until a service of a bench has nothing left to do. */
import { existsSync, readFileSync } from "node:fs";
import { settledMs as releasedMs } from "../../src/services/code-release.ts";
import type { Running } from "../helpers/tapdeck.ts";
import { familyOf } from "./memory.ts";

/** The service has collected the garbage of its start by then, and has released the code of it for the first time. */
const settledMs = releasedMs + 5000;
const lookEveryMs = 500;

/**
 * Waits for the end of the jobs that the service starts by itself, and for its collection of garbage. A start or a change of
 * files causes an index run that may begin late, and the tags of audio files are read after it, so each of them begins the
 * wait again.
 */
export async function settled(
  { client, pid }: Pick<Running, "client" | "pid">,
  forMs = settledMs,
): Promise<void> {
  for (let quietMs = 0; quietMs < forMs; quietMs += lookEveryMs) {
    await Bun.sleep(lookEveryMs);
    const { database } = await client.call("media");
    if (database.indexing || familyOf(pid).some(isJob)) quietMs = 0;
  }
}

function isJob(pid: number): boolean {
  const path = `/proc/${pid}/cmdline`;
  const command = existsSync(path) ? readFileSync(path, "latin1") : "";
  return /-job\0/.test(command) && !command.includes("watch-job");
}
