/**
 * The mark of players: tapdeck-confine sets their limit of file locks to 0 (RLIMIT_LOCKS, getrlimit(2)). Linux has not used this
 * limit since 2.4.25. Every descendant inherits it, through execve(2), setsid(2) and a cleared environment, and only
 * CAP_SYS_RESOURCE, which no player has, could raise it. Each process may read the limits of all others (proc(5)).
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { codeOf } from "../core/errors.ts";
import { holdersMsMax, ordinaryProcessMsMax } from "../core/limits.ts";

const processes = "/proc";

/** The mark of a process; `hidden` means that the kernel does not show the limits of this process. */
type Mark = "player" | "other" | "ended" | "hidden";

export function markOf(pid: number, folder = processes): Mark {
  try {
    const limits = readFileSync(`${folder}/${pid}/limits`, "latin1");
    // The file of a process that ends is empty.
    return limits === "" ? "ended" : hasMark(limits) ? "player" : "other";
  } catch (error) {
    return isGone(error) ? "ended" : "hidden";
  }
}

/** Whether these are the limits of a player. The first number is the soft limit, and the second the hard limit. */
export function hasMark(limits: string): boolean {
  return /^Max file locks +0 +0 /m.test(limits);
}

/** The processes that hold some sockets. */
export interface Holders {
  readonly byPlayers: ReadonlySet<string>;
  readonly byOthers: ReadonlySet<string>;
  /** False if a player may hold sockets that are not in the list. */
  readonly isComplete: boolean;
}

// A tap waits at most this long while processes are searched.
const sliceMs = 2;

/** Finds the holders of the sockets with these inodes, for a service of the user `uid`. */
export async function holdersOf(
  inodes: ReadonlySet<string>,
  uid: number,
  folder = processes,
  nowMs = () => performance.now(),
): Promise<Holders> {
  const links = new Set([...inodes].map((inode) => `socket:[${inode}]`));
  const byPlayers = new Set<string>();
  const byOthers = new Set<string>();
  const beganMs = nowMs();
  let sliceEndMs = beganMs + sliceMs;
  const rest = async () => {
    if (nowMs() < sliceEndMs) return;
    await setImmediate();
    sliceEndMs = nowMs() + sliceMs;
  };
  const found = (isComplete: boolean): Holders => ({ byPlayers, byOthers, isComplete });
  const ordinary = ordinaryIn(folder, nowMs());
  for (const pid of likelyFirst(pidsOf(folder))) {
    // Once all sockets have a holder, a further holder changes the result only if it is a player.
    const isSecond = byOthers.size === links.size;
    if (isSecond && ordinary.has(pid)) continue;
    await rest();
    const mark = markOf(pid, folder);
    if (mark === "hidden" && isOfUser(pid, uid, folder)) return found(false);
    if (mark === "ended" || mark === "hidden") continue;
    if (mark === "other") ordinary.add(pid);
    if (mark === "other" && isSecond) continue;
    const descriptors = descriptorsOf(pid, folder);
    const isHiding = descriptors === undefined && mark === "player";
    if (isHiding && isOfUser(pid, uid, folder) && isRunning(pid, folder)) return found(false);
    for (const descriptor of descriptors ?? []) {
      await rest();
      const link = descriptorLink(pid, descriptor, folder);
      // The mark is read again, because another process may have got the number meanwhile.
      if (!links.has(link)) continue;
      const isPlayer = markOf(pid, folder) !== "other";
      (isPlayer ? byPlayers : byOthers).add(link.slice("socket:[".length, -1));
      if (!isPlayer) recent = [pid, ...recent.filter((one) => one !== pid)].slice(0, recentMax);
    }
    if (nowMs() - beganMs > holdersMsMax) return found(false);
  }
  return found(true);
}

// This state is global: the last callers. They only decide the order of the next search.
let recent: readonly number[] = [];
const recentMax = 8;

// This state is global: the processes that had no mark a moment ago. Reading the limits of a process takes longer than
// the rest of a search.
let ordinaryPids:
  | { readonly folder: string; readonly untilMs: number; readonly pids: Set<number> }
  | undefined;

/**
 * The processes without a mark. A process gets the mark at the start of a player, before it runs the player's code, and
 * a number is used again only after thousands of others. Within `ordinaryProcessMsMax` none of them can therefore
 * become a player that has connected.
 */
function ordinaryIn(folder: string, nowMs: number): Set<number> {
  if (ordinaryPids?.folder !== folder || nowMs > ordinaryPids.untilMs)
    ordinaryPids = { folder, untilMs: nowMs + ordinaryProcessMsMax, pids: new Set() };
  return ordinaryPids.pids;
}

/**
 * The last callers, and after them the newest processes. The descriptors of the others need not be listed once a caller
 * is found.
 */
function likelyFirst(pids: readonly number[]): readonly number[] {
  return [
    ...pids.filter((pid) => recent.includes(pid)),
    ...pids.filter((pid) => !recent.includes(pid)).reverse(),
  ];
}

export function pidsOf(folder = processes): readonly number[] {
  return readdirSync(folder)
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/**
 * The descriptors of a process; undefined if the process does not show them, because it is another user's, is not
 * dumpable, or has ended.
 */
export function descriptorsOf(pid: number, folder = processes): readonly string[] | undefined {
  try {
    return readdirSync(`${folder}/${pid}/fd`);
  } catch {
    return undefined;
  }
}

/** The target of a descriptor; empty if it was closed meanwhile. */
export function descriptorLink(pid: number, descriptor: string, folder = processes): string {
  try {
    return readlinkSync(`${folder}/${pid}/fd/${descriptor}`);
  } catch {
    return "";
  }
}

/**
 * Whether a process may be a player of a service of this user: one of its user ids is that user's (proc(5), `status`).
 * A player cannot change its ids, unless the service is root. The owner of the process's folder is no proof, because it
 * is root for a process that is not dumpable.
 */
function isOfUser(pid: number, uid: number, folder: string): boolean {
  try {
    const status = readFileSync(`${folder}/${pid}/status`, "latin1");
    const ids = /^Uid:\s+(.*)$/m.exec(status)?.[1] ?? "";
    return uid === 0 || ids === "" || ids.split(/\s+/).includes(String(uid));
  } catch (error) {
    return !isGone(error);
  }
}

/** False for a process that has ended and that its parent has not waited for (proc(5), `stat`). It has no descriptors. */
function isRunning(pid: number, folder: string): boolean {
  try {
    const stat = readFileSync(`${folder}/${pid}/stat`, "latin1");
    return !/^ [ZX]/.test(stat.slice(stat.lastIndexOf(")") + 1));
  } catch (error) {
    return !isGone(error);
  }
}

function isGone(error: unknown): boolean {
  return ["ENOENT", "ESRCH"].includes(codeOf(error));
}
