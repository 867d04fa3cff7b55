/**
 * What a player left of itself: the living processes of its group, and those that left the group but carry the player's
 * mark in their environment. A process that clears its environment as well cannot be told from anybody else's.
 */
import { readdir, readFile } from "node:fs/promises";
import { uptime } from "node:os";

/** The variable that a player and all that it starts carry. */
export const markName = "TAPDECK_LAUNCH";

export interface Family {
  /** Process group of the player: the id of the program that was started. */
  readonly groupId: number;
  /** The value of `markName`. */
  readonly mark: string;
  /** `os.uptime()` before it was started, in seconds: what is older is none of it. */
  readonly bornSeconds: number;
}

export interface Member {
  readonly pid: number;
  readonly isInGroup: boolean;
  /** It waits for a device, and no signal reaches it (proc(5), state D). */
  readonly isStuck: boolean;
}

// The unit of `starttime`: USER_HZ, 100 on every processor that we run on (time(7)).
const ticksPerSecond = 100;
// `os.uptime` may be a whole number.
const bornMarginSeconds = 2;
const kernelThread = 0x0020_0000; // PF_KTHREAD in `flags` (include/linux/sched.h): none of them has an environment.
// Loading a program from an SD card takes a few milliseconds, and longer where the processor is taken away meanwhile.
const emptyLookMs = 4;
const emptyLooksMax = 10;
const becomingMsMax = 1000;

/** A mark that no other launch has, of this service or another one. */
export function createMarks(): () => Omit<Family, "groupId"> {
  const service = crypto.randomUUID();
  let count = 0;
  return () => ({ mark: `${service}.${++count}`, bornSeconds: uptime() - bornMarginSeconds });
}

/** Looks through the processes, off the main thread; the dead that nobody has reaped are none of the living. */
export async function livingOf(family: Family): Promise<readonly Member[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const members = await Promise.all(ids.map((id) => memberOf(Number(id), family)));
  return members.filter((member) => member !== undefined);
}

/** Whether this one of them lives still. */
export async function isLiving({ pid }: Member, family: Family): Promise<boolean> {
  return (await memberOf(pid, family)) !== undefined;
}

async function memberOf(pid: number, family: Family): Promise<Member | undefined> {
  const stat = await statOf(pid);
  if (stat === undefined) return undefined;
  const { state, group, flags, startedSeconds } = stat;
  const isStuck = state === "D";
  if (group === family.groupId) return { pid, isInGroup: true, isStuck };
  if ((flags & kernelThread) !== 0 || startedSeconds < family.bornSeconds) return undefined;
  return (await isMarked(pid, family.mark)) ? { pid, isInGroup: false, isStuck } : undefined;
}

/** A process that becomes another program has no environment for that moment: it is looked at again until that is over. */
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
 * proc(5), `stat`: pid (name) state ppid pgrp ... flags ... starttime ... startcode; the name may hold anything, brackets
 * too. The kernel has no start of the code of a process that is becoming another program, until behind its environment
 * (fs/binfmt_elf.c, `load_elf_binary`). Undefined for the dead.
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

/** Undefined where it ended between two looks, or belongs to somebody whose environment is not for us. */
async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "latin1").catch(() => undefined);
}
