/** This program: its version, and the command with which it starts itself again for jobs in the background. */
import { constants, setPriority } from "node:os";
import { version as packageVersion } from "../../package.json";

/** A plain semver version, because known clients switch features by it. */
export const tapdeckVersion: string = packageVersion;
export const platform = "linux";
/** True for a compiled program, and false for one that runs from its sources. */
const isCompiled: boolean = Bun.main.startsWith("/$bunfs/");

/** The environment without variables of the runtime, with which this program would restart itself (`clean-start.ts`). */
export const plainEnvironment: Readonly<Record<string, string | undefined>> = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(BUN|JSC)_/.test(name)),
);

export const jobEnvironment: typeof plainEnvironment = {
  ...plainEnvironment,
  // In milliseconds: mimalloc soon returns freed pages (mimalloc, "Environment Options"). At 0 an index takes 6 % longer, and its peak
  // is the same.
  MIMALLOC_PURGE_DELAY: "10",
};

/**
 * Words before a command that give all its threads idle scheduling from the start. Other threads preempt them at once,
 * which a low priority does not ensure (sched(7), "SCHED_IDLE"; ioprio_set(2), "I/O scheduling classes"). If these
 * programs are missing, the process lowers its own priority.
 */
export const gently: readonly string[] = [
  ["chrt", "-i", "0"],
  ["ionice", "-c", "3"],
  ["nice", "-n", "19"],
].flatMap((command) => (Bun.which(command[0] ?? "") === null ? [] : command));

/** Lowers the priority of this process on the processor. The kernel derives its priority on the disk from that. */
export function lowerPriority(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // The process has no right to lower it, so it runs at the normal priority.
  }
}

/** Replaces the process by a fresh start of this program with the same arguments, so its supervisor sees no end. */
export function restartProgram(): void {
  const words = [process.execPath, ...(isCompiled ? [] : [Bun.main]), ...process.argv.slice(2)];
  process.execve?.(process.execPath, words);
}

/** The command that starts this program with `argument`. Only a program that is not compiled needs the path of its source. */
export function ownCommand(argument: string, source: string): readonly string[] {
  return [process.execPath, ...(isCompiled ? [] : [source]), argument];
}

/**
 * Writes the input of a child, and ends it. A child that ends before it has read the whole input causes no fault, because its
 * exit has the reason. Without the wait, the broken pipe would be an unhandled rejection, which ends this process.
 */
export async function giveInput({ stdin }: { readonly stdin: Bun.FileSink }, text: string): Promise<void> {
  try {
    await stdin.write(text);
    await stdin.end();
  } catch {
    // The error is EPIPE.
  }
}
