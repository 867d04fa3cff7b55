/**
 * Players as processes: started without a shell, in a session and so a process group of their own, ended as a whole
 * group. What a player leaves behind of its group ends with it.
 */
import { messageOf, ServiceError } from "../core/errors.ts";

export interface Exit {
  /** Null where a signal ended it. */
  readonly exitCode: number | null;
}

export interface Player {
  readonly pid: number;
  /** Resolves when the player itself has ended. */
  readonly exited: Promise<Exit>;
  /** Asks the group to end (TERM), makes it end after `graceMs` (KILL), and resolves when the player is gone. */
  stop(graceMs: number): Promise<Exit>;
}

// How often a group is looked at that was asked to end and whose leader has: there is no event for it.
const groupPollMs = 10;
const leftoverGraceMs = 1000;

/** Starts `argv`; throws `ServiceError("failed")` with a sentence where the program cannot be started. */
export function spawnPlayer(argv: readonly string[]): Player {
  const child = spawn(argv);
  const { pid } = child;
  const exited = child.exited.then(
    (): Exit => ({ exitCode: child.signalCode === null ? child.exitCode : null }),
  );
  // What the player forked and forgot must not play on.
  void exited.then(() => endGroup(pid, leftoverGraceMs));

  return {
    pid,
    exited,
    async stop(graceMs) {
      await endGroup(pid, graceMs);
      return exited;
    },
  };
}

/** TERM to the whole group, KILL to what is left of it after `graceMs`. */
async function endGroup(pid: number, graceMs: number): Promise<void> {
  signalGroup(pid, "SIGTERM");
  for (let waitedMs = 0; waitedMs < graceMs && isGroupAlive(pid); waitedMs += groupPollMs)
    await Bun.sleep(groupPollMs);
  signalGroup(pid, "SIGKILL");
}

function spawn(argv: readonly string[]) {
  try {
    return Bun.spawn([...argv], {
      stdio: ["ignore", "ignore", "ignore"],
      env: playerEnvironment,
      detached: true,
    });
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    const why = missing ? "there is no such program" : messageOf(error);
    throw new ServiceError("failed", `the player ${argv[0]} could not be started: ${why}`, { cause: error });
  }
}

// Made once: what steers our own runtime must not steer a player that happens to use the same one.
const playerEnvironment: Record<string, string | undefined> = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("BUN_")),
);

function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: nothing of the group is left, which is what was asked for.
  }
}

function isGroupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    // ESRCH, as above.
    return false;
  }
}
