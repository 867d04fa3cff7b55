/**
 * The family of a player: the living processes of its group, and those that left the group but carry the player's mark in
 * their environment. A process that also clears its environment is not found.
 */
import { readdir, readFile } from "node:fs/promises";
import { uptime } from "node:os";

/** The variable that a player and its children carry. */
export const markName = "TAPDECK_LAUNCH";

export interface Family {
  /** The process group of the player, which is the id of the program that was started. */
  readonly groupId: number;
  /** The value of `markName`. */
  readonly mark: string;
  /** The value of `os.uptime()` before the start, in seconds. An older process is no member. */
  readonly bornSeconds: number;
}

interface FamilyMember {
  readonly pid: number;
  readonly isInGroup: boolean;
  /** True if the process waits for a device. Signals wait with it (proc(5), state D). */
  readonly isStuck: boolean;
}

// The unit of `starttime`: USER_HZ, 100 on every supported processor (time(7)).
const ticksPerSecond = 100;
// The margin is needed, because `os.uptime` may be a whole number.
const bornMarginSeconds = 2;
const kernelThread = 0x0020_0000; // The flag PF_KTHREAD (include/linux/sched.h). A kernel thread has no environment.
// Loading a program from an SD card takes a few milliseconds, and longer on a busy processor.
const emptyLookMs = 4;
const emptyLooksMax = 10;
const becomingMsMax = 1000;

/** The present time, and a mark that no other launch of any service has. */
export function nextMark(): Omit<Family, "groupId"> {
  return { mark: crypto.randomUUID(), bornSeconds: uptime() - bornMarginSeconds };
}

/** The living processes of a family. All processes are read, off the main thread. A zombie is not living. */
export async function livingOf(family: Family): Promise<readonly FamilyMember[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const members = await Promise.all(ids.map((id) => memberOf(Number(id), family)));
  return members.filter((member) => member !== undefined);
}

export async function isLiving({ pid }: FamilyMember, family: Family): Promise<boolean> {
  return (await memberOf(pid, family)) !== undefined;
}

async function memberOf(pid: number, family: Family): Promise<FamilyMember | undefined> {
  const stat = await statOf(pid);
  if (stat === undefined) return undefined;
  const { state, group, flags, startedSeconds } = stat;
  const isStuck = state === "D";
  if (group === family.groupId) return { pid, isInGroup: true, isStuck };
  if ((flags & kernelThread) !== 0 || startedSeconds < family.bornSeconds) return undefined;
  return (await isMarked(pid, family.mark)) ? { pid, isInGroup: false, isStuck } : undefined;
}

/** During execve(2) a process has no environment for a moment, so an empty environment is read again. */
async function isMarked(pid: number, mark: string): Promise<boolean> {
  const endMs = performance.now() + becomingMsMax;
  for (let looks = 0; looks < emptyLooksMax && performance.now() < endMs; ) {
    const environment = await textOf(`/proc/${pid}/environ`);
    if (environment === undefined) return false;
    if (environment !== "") return environment.split("\0").includes(`${markName}=${mark}`);
    const stat = await statOf(pid);
    if (stat === undefined) return false;
    if (!stat.isBecoming) looks += 1;
    await Bun.sleep(emptyLookMs);
  }
  return false;
}

/**
 * proc(5), `stat`: pid (name) state ppid pgrp ... flags ... starttime ... startcode; the name may hold any character.
 * During execve(2), `startcode` is 0 until the environment is set (fs/binfmt_elf.c, `load_elf_binary`). The result is
 * undefined for a process that has ended.
 */
async function statOf(pid: number) {
  const text = (await textOf(`/proc/${pid}/stat`)) ?? "";
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state = ""] = fields;
  if (state === "" || "ZX".includes(state)) return undefined;
  return {
    state,
    group: Number(fields[2]),
    flags: Number(fields[6]),
    startedSeconds: Number(fields[19]) / ticksPerSecond,
    isBecoming: fields[23] === "0",
  };
}

/** The text of a file in /proc; undefined if the process has ended, or if another user owns it. */
async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "latin1").catch(() => undefined);
}
