/**
 * The machine code and constants of this program in memory. A start maps 46 MB of them, and an idle service needs 19 MB. The rest
 * counts as memory of this process, and the kernel keeps mapped pages longer than others.
 */
import { readFile, readlink } from "node:fs/promises";
import { dropPages } from "./libc.ts";

/**
 * Unmaps them, and returns the number of bytes in these mappings. The kernel maps each page again at its next use, from the page
 * cache unless that memory was needed. A mapping with an anonymous page is kept: this process has written the page, which is not that
 * of the file any more. Rejects if the kernel has no `smaps` (CONFIG_PROC_PAGE_MONITOR).
 */
export async function releaseCode(): Promise<number> {
  const program = await readlink("/proc/self/exe");
  const smaps = await readFile("/proc/self/smaps", "latin1");
  let released = 0;
  for (const { from, to, path, anonymousKb } of readOnlyMappings(smaps)) {
    if (path === program && anonymousKb === 0 && dropPages(from, to - from)) released += Number(to - from);
  }
  return released;
}

interface Mapping {
  readonly from: bigint;
  readonly to: bigint;
  readonly path: string;
  /** Unknown counts as written. `Private_Dirty` also counts pages of a file that was written a moment ago. */
  readonly anonymousKb: number;
}

/** The mappings of files that this process cannot write (proc(5), smaps). */
function readOnlyMappings(smaps: string): readonly Mapping[] {
  const found = smaps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) r-[x-]p \S+ \S+ \d+ +(\/.*)\n((?:\w+:.*\n)+)/gm);
  return [...found].map(([, from, to, path = "", rows = ""]) => ({
    from: BigInt(`0x${from}`),
    to: BigInt(`0x${to}`),
    path,
    anonymousKb: Number(/^Anonymous: +(\d+)/m.exec(rows)?.[1] ?? 1),
  }));
}
