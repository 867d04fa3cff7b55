/** The Buildroot tree, and a way for its tests to run programs. */
import { join, resolve } from "node:path";

export const root = join(import.meta.dir, "../..");
export const tree = join(root, "buildroot");

/** The folder of Buildroot itself, which the caller names, because Buildroot is in no package registry. */
export const buildroot = process.env.BUILDROOT_DIR ? resolve(process.env.BUILDROOT_DIR) : undefined;

/** Returns the standard output. If the program fails, throws with all its output. */
export async function run(
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const child = Bun.spawn([...argv], {
    cwd,
    env: { ...process.env, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${argv.join(" ")}\n${out}${err}`);
  return out;
}

/** The command for `make` in the output folder `out`, by the rules of Buildroot with our tree. */
export function makeIn(out: string): readonly string[] {
  return ["make", "-s", "-C", buildroot ?? "", `BR2_EXTERNAL=${tree}`, `O=${out}`];
}
