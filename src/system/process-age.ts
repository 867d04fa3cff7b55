/**
 * Which processes may be younger than a given one, found out without a look into each: the kernel gives process ids in
 * turn, up to the highest and then from the lowest again (kernel/pid.c, `alloc_pid`), to threads as well.
 */
import { readFile } from "node:fs/promises";

/** A process, and what was known soon after it was started. */
export interface Elder {
  readonly pid: number;
  /** `forksEver()` then. */
  readonly forks: Promise<number | undefined>;
}

/** How the ids of this machine go round, now. */
export interface Round {
  /** Of the youngest. */
  readonly lastId: number;
  readonly idsMax: number;
  readonly forks: number;
}

/** Processes and threads that were started since the machine was (proc(5), `/proc/stat`, `processes`). */
export async function forksEver(): Promise<number | undefined> {
  return numberIn("/proc/stat", /^processes (\d+)$/m);
}

/**
 * Of these ids, which were listed before this is called, those of the elder itself and of all that may have come after it:
 * every one of them where that cannot be told.
 */
export async function youngerOf(ids: readonly number[], elder: Elder): Promise<readonly number[]> {
  const [forksThen, forks, lastId, idsMax] = await Promise.all([
    elder.forks,
    forksEver(),
    numberIn("/proc/loadavg", / (\d+)\n$/),
    numberIn("/proc/sys/kernel/pid_max", /^(\d+)\n$/),
  ]);
  if (forksThen === undefined || forks === undefined || lastId === undefined || idsMax === undefined)
    return ids;
  return isInTurn(elder.pid, forksThen, { forks, lastId, idsMax })
    ? ids.filter((id) => id >= elder.pid)
    : ids;
}

/** Whether all ids that were given since this one are higher. */
export function isInTurn(pid: number, forksThen: number, { forks, lastId, idsMax }: Round): boolean {
  // The count may have been taken a little late, and a start that was refused takes an id uncounted: half a round is room.
  return lastId >= pid && forks - forksThen < idsMax / 2;
}

async function numberIn(path: string, form: RegExp): Promise<number | undefined> {
  const text = await readFile(path, "latin1").catch(() => "");
  const [, digits] = form.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
