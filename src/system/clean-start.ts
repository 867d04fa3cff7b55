/**
 * To be imported before anything else: begins the compiled program anew, in the same process, where variables are set that
 * steer its runtime, and without them.
 *
 * Variables that steer the runtime's engine are read before any of our code runs, and some (`BUN_JSC_*`) by their beginning
 * alone. The rest of them the build takes out of the runtime (`tools/sealed-runtime.ts`).
 */

const steering = /^(BUN|JSC)_/;

startClean();

/** Returns where there are none, which is nearly always. */
function startClean(): void {
  const names = Object.keys(process.env).filter((name) => steering.test(name));
  // Run from its sources, the runtime is the developer's own.
  if (names.length === 0 || process.argv[1]?.startsWith("/$bunfs/") !== true) return;
  const rest = Object.entries(process.env).filter(([name]) => !steering.test(name));
  process.execve?.(process.execPath, [process.execPath, ...process.argv.slice(2)], Object.fromEntries(rest));
}
