/**
 * Players as processes: started without a shell, in a session and so a process group of their own, and ended as a whole:
 * the group, and what left it but carries the mark of its launch.
 *
 * The group is the player: a program that starts the real one and ends well hands on to what is left of its group, and,
 * where it ends as fast as starters do, to what left the group too. One that ends badly takes the rest with it.
 */
import type { StopSignal } from "../core/playback.ts";
import { type Family, isLiving, livingOf } from "./descendants.ts";
import { prepareSpare, takeSpare } from "./spare-player.ts";
import { type Child, type StartOptions, startProcess } from "./start-process.ts";
import { keepLastWords } from "./stderr-tail.ts";

export interface Exit {
  /** Null where a signal ended it. */
  readonly exitCode: number | null;
}

export interface Player {
  readonly pid: number;
  /** Resolves when the player has ended, with how the program that was started did. */
  readonly exited: Promise<Exit>;
  /** Resolves when, after that, nothing of it is left. */
  readonly gone: Promise<void>;
  /** The last lines that it wrote to its error output; empty where it said nothing. */
  lastWords(): Promise<string>;
  /** Our end of a socket that is its descriptor 3, where it was asked for; whoever asked closes it. */
  readonly line: number | undefined;
  /** Where it was asked for; whoever asked reads all of the output. */
  readonly talk: Talk | undefined;
  /**
   * Asks all of it to end by `signal`, TERM where none is given, makes it end after `graceMs` (KILL), and resolves when it is
   * gone. Called again, it shortens the grace that is left, and cannot stretch it.
   */
  stop(graceMs: number, signal?: StopSignal): Promise<Exit>;
}

/** The standard input and output of a player that takes commands there. */
export interface Talk {
  /** Never throws: a player that has ended takes nothing more, which is not our fault. */
  say(text: string): void;
  readonly output: ReadableStream<Uint8Array>;
}

export interface PlayerOptions extends StartOptions {
  /** False for a program that is known to be the player itself, so that nothing it leaves behind is. */
  readonly mayHandOn?: boolean;
}

// How often processes are looked at that nobody tells us of: those that were asked to end, and those handed on to.
const endPollMs = 20;
const handedOnPollMs = 250;
const leftoverGraceMs = 1000;
// The kernel ends a killed process at once, unless it waits for a device; then nobody can help it. One that waits for a
// processor only is worth waiting for, too.
const killMsMax = 200;
const starvedMsMax = 1000;
// A program that starts another one and leaves is done by then.
const starterMsMax = 3000;

/** Starts `argv`; throws `ServiceError("failed")` with a sentence where the program cannot be started. */
export function spawnPlayer(argv: readonly string[], options: PlayerOptions = {}): Player {
  const startedMs = performance.now();
  const { child, family } = takeSpare(argv, options) ?? startProcess(argv, options);
  prepareSpare(options);
  const { pid } = child;
  const words = keepLastWords(child.stderr);
  const line = options.hasLine === true ? (child.stdio[3] ?? undefined) : undefined;
  const leader: Promise<Exit> = child.exited.then(() => ({
    exitCode: child.signalCode === null ? child.exitCode : null,
  }));
  const leaderRuns = () => child.exitCode === null && child.signalCode === null;
  const stopped = Promise.withResolvers<void>();
  let ending: Promise<void> | undefined;
  let deadlineMs = Number.POSITIVE_INFINITY;
  const endAll = (graceMs: number, signal: StopSignal) => {
    deadlineMs = Math.min(deadlineMs, performance.now() + graceMs);
    const order = { signal: `SIG${signal}`, deadlineMs: () => deadlineMs } as const;
    ending ??= endFamily(family, { leader, leaderRuns }, order).finally(stopped.resolve);
    return ending;
  };
  const exited = leader.then(async (exit) => {
    if (options.mayHandOn !== false && exit.exitCode === 0 && ending === undefined) {
      const isStarter = performance.now() - startedMs < starterMsMax;
      await Promise.race([stopped.promise, outlived(family, isStarter)]);
    }
    return exit;
  });
  const gone = exited
    .then(() => endAll(leftoverGraceMs, "TERM"))
    .finally(async () => {
      await words.lines();
      await words.close();
    });
  return {
    pid,
    exited,
    gone,
    line,
    talk: talkOf(child),
    lastWords: words.lines,
    async stop(graceMs, signal = "TERM") {
      await endAll(graceMs, signal);
      return leader;
    },
  };
}

function talkOf({ stdin, stdout, exited }: Pick<Child, "stdin" | "stdout" | "exited">): Talk | undefined {
  if (typeof stdin !== "object" || stdout === undefined) return undefined;
  const quietly = (act: () => unknown) => {
    try {
      void Promise.resolve(act()).catch(() => {});
    } catch {
      // EPIPE: it has ended, and its exit tells more.
    }
  };
  void exited.then(() => quietly(() => stdin.end()));
  return {
    output: stdout,
    say(text) {
      quietly(() => stdin.write(text));
      quietly(() => stdin.flush());
    },
  };
}

/** Resolves when nothing is left that the program handed on to. */
async function outlived(family: Family, withEscaped: boolean): Promise<void> {
  const onePlayer = async () =>
    (await livingOf(family)).find((member) => member.isInGroup || withEscaped) ??
    // What forked while the list was read is in the next one.
    (await livingOf(family)).find((member) => member.isInGroup || withEscaped);
  for (let one = await onePlayer(); one !== undefined; one = await onePlayer())
    while (await isLiving(one, family)) await Bun.sleep(handedOnPollMs);
}

interface Leader {
  readonly leader: Promise<Exit>;
  readonly leaderRuns: () => boolean;
}

interface EndOrder {
  readonly signal: `SIG${StopSignal}`;
  /** By `performance.now`; asked again and again, for it may come nearer. */
  readonly deadlineMs: () => number;
}

/** The signal to all of it, KILL to what is left at the deadline. */
async function endFamily(
  family: Family,
  { leader, leaderRuns }: Leader,
  { signal, deadlineMs }: EndOrder,
): Promise<void> {
  const asked = new Set<number>();
  send(-family.groupId, signal);
  for (;;) {
    const left = await livingOf(family);
    if (!leaderRuns() && left.length === 0) return;
    for (const { pid, isInGroup } of left) {
      if (isInGroup || asked.has(pid)) continue;
      asked.add(pid);
      send(pid, signal);
    }
    const restMs = deadlineMs() - performance.now();
    if (restMs <= 0) break;
    await shortly(leaderRuns() ? leader : undefined, Math.min(endPollMs, restMs));
  }
  const killedMs = performance.now();
  // What was just about to fork may have done so between two looks: hence once more each time.
  for (;;) {
    send(-family.groupId, "SIGKILL");
    const left = await livingOf(family);
    if (!leaderRuns() && left.length === 0) return;
    for (const { pid, isInGroup } of left) if (!isInGroup) send(pid, "SIGKILL");
    const isHopeless = left.every(({ isStuck }) => isStuck);
    if (performance.now() - killedMs >= (isHopeless ? killMsMax : starvedMsMax)) return;
    await shortly(leaderRuns() ? leader : undefined, endPollMs);
  }
}

async function shortly(event: Promise<unknown> | undefined, ms: number): Promise<void> {
  await (event === undefined ? Bun.sleep(ms) : Promise.race([event, Bun.sleep(ms)]));
}

function send(target: number, signal: EndOrder["signal"] | "SIGKILL"): void {
  try {
    process.kill(target, signal);
  } catch {
    // ESRCH: nothing of it is left, which is what was asked for.
  }
}
