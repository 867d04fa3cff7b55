/** Memory of processes, as the kernel reports it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Megabytes (proc(5), status): resident, and the part of it that is no page of a file. */
export function memoryOf(pids: readonly number[]): { readonly rss: number; readonly anon: number } {
  let [rss, anon] = [0, 0];
  for (const pid of pids) {
    const status = existsSync(`/proc/${pid}/status`) ? readFileSync(`/proc/${pid}/status`, "utf8") : "";
    rss += Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
    anon += Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  }
  return { rss: Math.round(rss), anon: Math.round(anon) };
}

/**
 * Megabytes of one process (proc(5), smaps_rollup): its share of all resident pages, and the pages that no other process has
 * and that the kernel cannot read from a file again.
 */
export function shareOf(pid: number): { readonly pss: number; readonly own: number } {
  const path = `/proc/${pid}/smaps_rollup`;
  const rows = existsSync(path) ? readFileSync(path, "utf8") : "";
  const of = (name: string) => Number(new RegExp(`^${name}: +(\\d+)`, "m").exec(rows)?.[1] ?? 0) / 1024;
  return { pss: of("Pss"), own: of("Private_Dirty") };
}

/** The process, its children, and theirs. */
export function familyOf(pid: number): readonly number[] {
  return [pid, ...childrenOf(pid).flatMap(familyOf)];
}

export function childrenOf(pid: number): readonly number[] {
  if (!existsSync(`/proc/${pid}/task`)) return [];
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const path = `/proc/${pid}/task/${task}/children`;
    return existsSync(path) ? readFileSync(path, "utf8").split(" ").filter(Boolean).map(Number) : [];
  });
}
