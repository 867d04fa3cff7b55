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

export function childrenOf(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const path = `/proc/${pid}/task/${task}/children`;
    return existsSync(path) ? readFileSync(path, "utf8").split(" ").filter(Boolean).map(Number) : [];
  });
}
