/**
 * Players as processes, started without a shell in a session of their own, and ended with their whole family. The family is
 * the process group, and processes that left it but carry the mark of the launch (descendants.ts).
 *
 * When a wrapper exits with 0, the rest of its process group is the player. If it ends within 3 s, processes that left
 * the group also belong to the player. When a program exits with another code, the service ends the rest of its family.
 */
import type { StopSignal } from "../core/playback.ts";
import { type Family, isLiving, livingOf } from "./descendants.ts";
import { prepareSpare, takeSpare } from "./spare-player.ts";
import { type Child, type StartOptions, sendSignal, startProcess } from "./start-process.ts";
import { keepLastWords } from "./stderr-tail.ts";

export interface Exit {
  /** The exit code; null if a signal ended the process. */
  readonly exitCode: number | null;
  /** The name of the signal that ended the process, or its number if it has no name. */
  readonly signal?: string | number;
}

export type Player = ReturnType<typeof spawnPlayer>;

/** The standard input and output of a player that reads commands from its input. */
export interface Talk {
  /** Writes a text. Never throws, even if the player has ended. */
  say(text: string): void;
  /** Writes bytes. Resolves with true once the player's pipe has taken them, and with false if the player has ended. */
  send(bytes: Uint8Array): Promise<boolean>;
  /** Ends the player's standard input. */
  end(): void;
  readonly output: ReadableStream<Uint8Array>;
}

interface PlayerOptions extends StartOptions {
  /** False for a program that is known to be the player itself and no wrapper. */
  readonly mayHandOn?: boolean;
}

// Polls of processes that are not children of the service: those that were asked to end, and those of a wrapper.
const endPollMs = 20;
const handedOnPollMs = 250;
const leftoverGraceMs = 1000;
// The kernel ends a killed process at once, unless it waits for a device or for a processor.
const killMsMax = 200;
const starvedMsMax = 1000;
// A wrapper has started the real program and has ended within this time.
const starterMsMax = 3000;

/** Starts `argv`. Throws `ServiceError("failed")` with a sentence if the program cannot be started. */
export function spawnPlayer(argv: readonly string[], options: PlayerOptions = {}) {
  const startedMs = performance.now();
  const { child, family } = takeSpare(argv, options) ?? startProcess(argv, options);
  prepareSpare(options);
  const { pid } = child;
  const words = keepLastWords(child.stderr);
  const { talk, said } = talkOf(child);
  const line = options.hasLine === true ? (child.stdio[3] ?? undefined) : undefined;
  const leader = child.exited.then(
    (): Exit =>
      child.signalCode === null ? { exitCode: child.exitCode } : { exitCode: null, signal: child.signalCode },
  );
  const leaderRuns = () => child.exitCode === null && child.signalCode === null;
  const stopped = Promise.withResolvers<void>();
  let ending: Promise<void> | undefined;
  let deadlineMs = Number.POSITIVE_INFINITY;
  const endAll = (graceMs: number, signal: StopSignal) => {
    deadlineMs = Math.min(deadlineMs, performance.now() + graceMs);
    const order = { leader, leaderRuns, signal: `SIG${signal}`, deadlineMs: () => deadlineMs } as const;
    ending ??= endFamily(family, order).finally(stopped.resolve);
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
      await said?.close();
    });
  return {
    pid,
    /** Resolves when the player has ended, with the exit of the program that was started. */
    exited,
    /** Resolves after `exited`, when no process of the player's family is left. */
    gone,
    /** The service's end of the socket at the player's descriptor 3, if `hasLine` is set. The caller closes it. */
    line,
    /** The player's input and output, if `hasTalk` is set. The caller reads all of the output. */
    talk,
    /** The last lines of its error output. If a player with `hasTalk` wrote no errors, the last lines of its output. */
    lastWords: async () => (await words.lines()) || complaintsIn((await said?.lines()) ?? ""),
    /**
     * Sends `signal` to the family and KILL after `graceMs`, and resolves when no process is left. A second call can
     * shorten the grace time but not extend it.
     */
    async stop(graceMs: number, signal: StopSignal = "TERM"): Promise<Exit> {
      await endAll(graceMs, signal);
      return leader;
    },
  };
}

/** The lines without the responses to commands (src/players/retroarch-line.ts). */
function complaintsIn(output: string): string {
  return output
    .split("\n")
    .filter((line) => !line.startsWith("GET_"))
    .join("\n");
}

function talkOf({ stdin, stdout, exited }: Pick<Child, "stdin" | "stdout" | "exited">): {
  readonly talk?: Talk;
  readonly said?: ReturnType<typeof keepLastWords>;
} {
  if (typeof stdin !== "object" || stdout === undefined) return {};
  const quietly = (act: () => unknown) => {
    try {
      void Promise.resolve(act()).catch(() => {});
    } catch {
      // The error EPIPE means that the player has ended. Its exit has the reason.
    }
  };
  void exited.then(() => quietly(() => stdin.end()));
  const [output, copy] = stdout.tee();
  const talk = {
    output,
    async send(bytes: Uint8Array) {
      try {
        await stdin.write(bytes);
        await stdin.flush();
        return true;
      } catch {
        // The error EPIPE means that the player has ended. Its exit has the reason.
        return false;
      }
    },
    end: () => quietly(() => stdin.end()),
    say(text: string) {
      quietly(() => stdin.write(text));
      quietly(() => stdin.flush());
    },
  };
  return { talk, said: keepLastWords(copy) };
}

/** Resolves when no process is left of the player that a wrapper has started. */
async function outlived(family: Family, withEscaped: boolean): Promise<void> {
  const find = async () => (await livingOf(family)).find(({ isInGroup }) => isInGroup || withEscaped);
  // The second look finds a process that forked during the first.
  const onePlayer = async () => (await find()) ?? (await find());
  for (let one = await onePlayer(); one !== undefined; one = await onePlayer())
    while (await isLiving(one, family)) await Bun.sleep(handedOnPollMs);
}

interface Ending {
  readonly leader: Promise<Exit>;
  readonly leaderRuns: () => boolean;
  readonly signal: `SIG${StopSignal}`;
  /** The deadline in milliseconds of `performance.now`. A later call of `stop` may make it earlier. */
  readonly deadlineMs: () => number;
}

/** Sends the signal to the family, and KILL to the remaining processes at the deadline. */
async function endFamily(family: Family, { leader, leaderRuns, signal, deadlineMs }: Ending): Promise<void> {
  const asked = new Set<number>();
  sendSignal(-family.groupId, signal);
  for (;;) {
    const left = await livingOf(family);
    if (!leaderRuns() && left.length === 0) return;
    for (const { pid, isInGroup } of left) {
      if (isInGroup || asked.has(pid)) continue;
      asked.add(pid);
      sendSignal(pid, signal);
    }
    const restMs = deadlineMs() - performance.now();
    if (restMs <= 0) break;
    await shortly(leaderRuns() ? leader : undefined, Math.min(endPollMs, restMs));
  }
  const killedMs = performance.now();
  // A process may fork between two looks, so each round kills again.
  for (;;) {
    sendSignal(-family.groupId, "SIGKILL");
    const left = await livingOf(family);
    if (!leaderRuns() && left.length === 0) return;
    for (const { pid, isInGroup } of left) if (!isInGroup) sendSignal(pid, "SIGKILL");
    const isHopeless = left.every(({ isStuck }) => isStuck);
    if (performance.now() - killedMs >= (isHopeless ? killMsMax : starvedMsMax)) return;
    await shortly(leaderRuns() ? leader : undefined, endPollMs);
  }
}

async function shortly(event: Promise<unknown> | undefined, ms: number): Promise<void> {
  await (event === undefined ? Bun.sleep(ms) : Promise.race([event, Bun.sleep(ms)]));
}
