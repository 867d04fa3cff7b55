/** Processes of this program that may take only what nobody else wants. */

/** Nothing that steers the runtime: a program that finds that begins anew (`src/system/clean-start.ts`). */
export const jobEnvironment: Readonly<Record<string, string | undefined>> = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(BUN|JSC)_/.test(name))),
  // Freed pages go back at once (mimalloc, "Environment Options").
  MIMALLOC_PURGE_DELAY: "0",
};

/**
 * Words before a command. All threads of the process from its first moment on: they get what nobody else wants, and whoever
 * wakes takes their place at once, which a low priority alone does not promise (sched(7), "SCHED_IDLE"; ioprio_set(2), "I/O
 * scheduling classes"). Where these programs are missing, the process asks for a low priority by itself.
 */
export const gently: readonly string[] = [
  ["chrt", "-i", "0"],
  ["ionice", "-c", "3"],
  ["nice", "-n", "19"],
].flatMap((command) => (Bun.which(command[0] ?? "") === null ? [] : command));

/** Compiled, the sources lie in a folder that only the program itself sees, and it must not be told its source. */
export function ownCommand(argument: string, source: string): readonly string[] {
  const isCompiled = Bun.main.startsWith("/$bunfs/");
  return [process.execPath, ...(isCompiled ? [] : [source]), argument];
}
