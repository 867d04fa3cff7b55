/**
 * Restarts the compiled program in the same process without the variables of its runtime, if any are set. `main.ts` imports
 * this file first.
 *
 * The JavaScript engine reads its variables before any code of this program runs, and reads some of them (`BUN_JSC_*`)
 * by their prefix. The build removes the other variables from the runtime (`tools/sealed-runtime.ts`).
 */

const all = Object.entries(process.env);
const rest = all.filter(([name]) => !/^(BUN|JSC)_/.test(name));
// A program that runs from its sources uses the developer's runtime.
if (rest.length < all.length && process.argv[1]?.startsWith("/$bunfs/") === true)
  process.execve?.(process.execPath, [process.execPath, ...process.argv.slice(2)], Object.fromEntries(rest));

export {};
