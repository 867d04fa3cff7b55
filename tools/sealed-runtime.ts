/**
 * A runtime that ignores its own variables. A caller that sets `BUN_OPTIONS` or `BUN_BE_BUN` for a compiled program can
 * run code in it, and the compiler has no switch against that. The names in the runtime are therefore changed to names
 * that no environment can have: their first byte becomes NUL. No length changes.
 */
import { chmod, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** Prefixes of names. The build fails if the runtime no longer has a prefix: look for its new name. */
const names = [
  "BUN_OPTIONS", // Sets flags, such as `--preload`.
  "BUN_BE_BUN", // Makes the program the command line tool `bun`.
  "BUN_INSPECT", // Starts a debugger, and loads modules before it.
  "BUN_JSC_", // Sets options of the JavaScript engine.
  "BUN_BYTECODE_", // Names files that the runtime would write.
  "BUN_CONFIG_VERBOSE_FETCH", // Writes requests and their headers to stderr.
  "BUN_ENABLE_CRASH_REPORTING",
  "BUN_CRASH_REPORT_URL", // The address to which the report of a crash would be sent.
  "BUN_WATCHER_TRACE", // Names a file that the runtime would write.
  "BUN_TMPDIR", // The folder to which addons are unpacked; TMPDIR has the same effect. No addon of ours is unpacked (tools/addons.ts).
] as const;

/** Makes `target` from `source` if it is missing or older. */
export async function sealRuntime(source: string, target: string): Promise<void> {
  const [made, from] = await Promise.all([stat(target).catch(() => undefined), stat(source)]);
  const rules = await stat(import.meta.filename);
  if (made !== undefined && made.mtimeMs > Math.max(from.mtimeMs, rules.mtimeMs)) return;
  const bytes = await readFile(source);
  for (const name of names) {
    let found = 0;
    for (let at = bytes.indexOf(name); at >= 0; at = bytes.indexOf(name, at + 1)) {
      bytes[at] = 0;
      found += 1;
    }
    if (found === 0)
      throw new Error(`the runtime does not know ${name}: tools/sealed-runtime.ts is out of date`);
  }
  await mkdir(dirname(target), { recursive: true });
  const fresh = `${target}.${process.pid}`;
  await writeFile(fresh, bytes);
  await chmod(fresh, 0o755);
  await rename(fresh, target);
}
