/**
 * Players as processes: started without a shell, in a session and so a process group of their own, ended as a whole
 * group. What a player leaves behind of its group ends with it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { messageOf, ServiceError } from "../core/errors.ts";

export interface Exit {
  /** Null where a signal ended it. */
  readonly exitCode: number | null;
}

export interface Player {
  readonly pid: number;
  /** Resolves when the player itself has ended. */
  readonly exited: Promise<Exit>;
  /** Resolves when, after that, nothing of its group is left. */
  readonly gone: Promise<void>;
  /** Asks the group to end (TERM), makes it end after `graceMs` (KILL), and resolves when all of it is gone. */
  stop(graceMs: number): Promise<Exit>;
}

// How often a group is looked at that was asked to end and whose leader has: there is no event for it.
const groupPollMs = 10;
const leftoverGraceMs = 1000;
// The kernel ends a killed process at once, unless it waits for a device; then nobody can help it.
const killMsMax = 200;

/** Starts `argv`; throws `ServiceError("failed")` with a sentence where the program cannot be started. */
export function spawnPlayer(argv: readonly string[]): Player {
  const child = spawn(argv);
  const { pid } = child;
  const exited = child.exited.then(
    (): Exit => ({ exitCode: child.signalCode === null ? child.exitCode : null }),
  );
  // What the player forked and forgot must not play on.
  const group: Group = { pid, leaderRuns: () => child.exitCode === null && child.signalCode === null };
  const gone = exited.then(() => endGroup(group, leftoverGraceMs));

  return {
    pid,
    exited,
    gone,
    async stop(graceMs) {
      await endGroup(group, graceMs);
      return exited;
    },
  };
}

interface Group {
  /** Of its leader, and so of the group. */
  readonly pid: number;
  readonly leaderRuns: () => boolean;
}

/** TERM to the whole group, KILL to what is left of it after `graceMs`. */
async function endGroup(group: Group, graceMs: number): Promise<void> {
  signalGroup(group, "SIGTERM");
  if (await isGroupGone(group, graceMs)) return;
  signalGroup(group, "SIGKILL");
  await isGroupGone(group, killMsMax);
}

/** Waits for the end of the group, at most `ms`; tells whether it came. */
async function isGroupGone(group: Group, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  while (isGroupAlive(group)) {
    if (performance.now() >= deadline) return false;
    await Bun.sleep(groupPollMs);
  }
  return true;
}

const refusals: Readonly<Record<string, string>> = {
  ENOENT: "there is no such program",
  EACCES: "it is not a program that this user may run",
  ENOEXEC: "it is not a program for this machine",
};

function spawn(argv: readonly string[]) {
  try {
    return Bun.spawn([...argv], {
      stdio: ["ignore", "ignore", "ignore"],
      env: playerEnvironment,
      detached: true,
    });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const why = refusals[code] ?? messageOf(error);
    throw new ServiceError("failed", `the player ${argv[0]} could not be started: ${why}`, { cause: error });
  }
}

// Made once: what steers our own runtime must not steer a player that happens to use the same one.
const playerEnvironment: Record<string, string | undefined> = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("BUN_")),
);

function signalGroup({ pid }: Group, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: nothing of the group is left, which is what was asked for.
  }
}

function isGroupAlive({ pid, leaderRuns }: Group): boolean {
  if (leaderRuns()) return true;
  try {
    process.kill(-pid, 0);
  } catch {
    // ESRCH, as above.
    return false;
  }
  // Dead members that nobody has reaped still answer, for as long as whoever inherited them likes.
  return readdirSync("/proc").some((name) => /^\d+$/.test(name) && isLiveMember(name, pid));
}

/** proc(5), `stat`: pid (name) state ppid pgrp; the name may hold anything, brackets too. */
function isLiveMember(process: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${process}/stat`, "latin1");
    const [state = "", , pgrp] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(pgrp) === group && !"ZX".includes(state);
  } catch {
    // It ended between the two looks.
    return false;
  }
}
